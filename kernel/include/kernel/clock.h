/* SPDX-License-Identifier: MIT
 *
 * clock.h: the kernel's clock: nanoseconds since boot from the virtual counter (Arm ARM DDI 0487,
 * D11.1.2). Includes nothing of the kernel.
 */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <stdint.h>

/* Written once at boot. ns = (CNTVCT - start) * ns_per_count >> 32. */
struct clock_scale {
	uint64_t start;
	uint64_t ns_per_count;  /* 32.32 fixed point */
	uint64_t counts_per_ns; /* 32.32 fixed point */
};

extern struct clock_scale clock_scale;

static inline uint64_t clock_count(void)
{
	uint64_t count;

	/* The ISB keeps the read from being made ahead of what came before. */
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(count)::"memory");
	return count;
}

/* Monotonic, the same on all CPUs. Any context. */
static inline uint64_t clock_ns(void)
{
	return (uint64_t)((unsigned __int128)(clock_count() - clock_scale.start) *
				  clock_scale.ns_per_count >>
			  32);
}

#endif
