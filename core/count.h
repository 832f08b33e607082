/* SPDX-License-Identifier: MIT
 *
 * count.h: slices: the stretches in which an event counts in a slot. All: IRQs off, on the CPU
 * given.
 */
#ifndef TALLY_CORE_COUNT_H
#define TALLY_CORE_COUNT_H

#include "event.h"

/* The events that `ctx`, loaded here, has in the slots of `mask`, which nobody uses, count there
 * from the next pmuv3_run() on. */
void tally_slices_begin(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t mask);

/* Stop the counters in `mask`, held by events of `ctx`, loaded here, account what they counted, and
 * sample what became due. Their slots are free in the pool after it. A call of pmuv3_run() must
 * follow. */
void tally_slices_end(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t mask);

/* The PMU interrupt: account and sample what overflowed. `regs`: what it stopped. false: no flag of
 * ours was set. */
bool tally_slices_overflow(struct tally_cpu *cpu, const struct tally_regs *regs);

/* Events counted since `event->stood`; changes nothing. The CPU's counters are paused or this one
 * stopped. */
uint64_t tally_slice_live(const struct tally_cpu *cpu, const struct tally_event *event);

#endif
