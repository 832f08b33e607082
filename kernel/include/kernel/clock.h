/* SPDX-License-Identifier: MIT
 *
 * clock.h: the kernel's clock: nanoseconds since boot from the virtual counter (Arm ARM DDI 0487,
 * D11.1.2).
 *
 * Includes nothing of the kernel, and reaches the scale through TPIDR_EL1, in each CPU's struct
 * cpu: the engine inlines clock_ns(), and its objects shall need no symbol but the HAL's.
 */
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H

#include <stdint.h>

/* The same on all CPUs, written once at boot. ns = (CNTVCT - start) * ns_per_count >> 32. */
struct clock_scale {
	uint64_t start;
	uint64_t ns_per_count;  /* 32.32 fixed point */
	uint64_t counts_per_ns; /* 32.32 fixed point */
};

#define CLOCK_SCALE_OFFSET 8 /* in struct cpu; asserted in cpu.c */

/* Any CPU's will do: whoever migrates after the read holds an equal one. */
static inline const struct clock_scale *clock_scale(void)
{
	uintptr_t cpu;

	__asm__("mrs %0, tpidr_el1" : "=r"(cpu));
	return (const struct clock_scale *)(cpu + CLOCK_SCALE_OFFSET);
}

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
	const struct clock_scale *scale = clock_scale();

	return (uint64_t)((unsigned __int128)(clock_count() - scale->start) * scale->ns_per_count >>
			  32);
}

#endif
