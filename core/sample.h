/* SPDX-License-Identifier: MIT
 *
 * sample.h: what happens when a period is over.
 */
#ifndef TALLY_CORE_SAMPLE_H
#define TALLY_CORE_SAMPLE_H

#include "event.h"

/* The sample bits that are written. */
#define TALLY_SAMPLE_KNOWN                                                                         \
	(TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME | TALLY_SAMPLE_ID |                \
		TALLY_SAMPLE_CPU | TALLY_SAMPLE_PERIOD | TALLY_SAMPLE_STREAM_ID |                  \
		TALLY_SAMPLE_READ | TALLY_SAMPLE_IDENTIFIER)

/* Bytes of a sample record with this sample_type, but for its READ part. any. */
uint32_t tally_sample_size(uint64_t type);

/* The period of `event` ended event->late events ago: write the sample, begin the next period.
 * The clock of its context is up to date. `regs`: what the interrupt stopped, or NULL: the task is
 * being switched out or its event stopped.
 * IRQs off, on `cpu`, whose counters are paused or those of the event's group stopped. */
void tally_sample_due(
	struct tally_cpu *cpu, struct tally_event *event, const struct tally_regs *regs);

#endif
