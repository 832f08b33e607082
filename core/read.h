/* SPDX-License-Identifier: MIT
 *
 * read.h: the layouts of read(2) and of PERF_SAMPLE_READ.
 */
#ifndef TALLY_CORE_READ_H
#define TALLY_CORE_READ_H

#include "event.h"

/* A group's read may have at most this many bytes. */
#define TALLY_READ_MAX 16384u

/* Bytes of a read of `nr` events with this read_format. any. */
uint32_t tally_read_bytes(uint64_t read_format, uint32_t nr);

/* Bytes of a read through `event` now. owner, or mutex. */
uint32_t tally_read_size(const struct tally_event *event);

/* Write the values. `cpu`: where the context is loaded, its counters paused or those of the group
 * stopped; or NULL. owner. */
void tally_read_put(
	struct tally_cursor *cursor, const struct tally_event *event, const struct tally_cpu *cpu);

#endif
