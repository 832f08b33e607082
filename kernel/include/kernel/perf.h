/* SPDX-License-Identifier: MIT
 *
 * perf.h: the engine in this kernel: the one instance, and what the kernel calls besides the hooks
 * of tally.h. Supplied by port/kernel.
 */
#ifndef KERNEL_PERF_H
#define KERNEL_PERF_H

#include <tally/tally.h>

extern struct tally_engine tally_engine;

/* Describe the machine to the engine and bring it up on every CPU that is online. Task context,
 * before the first user program. */
void perf_init(void);

/* The tick of this CPU, IRQs off. */
void perf_tick(void);

#endif
