/* SPDX-License-Identifier: MIT
 *
 * sample.c: periods and sample records.
 *
 * A period that ended begins the next one with what came after its end, so over time samples times
 * period is the count. An interrupt that comes a whole period or more late writes one sample; the
 * whole periods it skipped are counted in a statistic. A record that finds no room, or no ring, is
 * counted, never waited for. Layout: perf_event_open(2), PERF_RECORD_SAMPLE and struct sample_id.
 * All: IRQs off, on the CPU that is the ring's home; nothing is allocated.
 */
#include "sample.h"

#include "bits.h"
#include "atomic.h"
#include "read.h"

#define LOST_SIZE 24u

/* What a record says about the moment. */
struct moment {
	uint64_t ip;
	uint64_t time_ns;
	struct hal_ids ids;
	uint32_t cpu;
	bool user;
};

static uint32_t id_size(uint64_t type)
{
	return 8 * bits_count(type & (TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME | TALLY_SAMPLE_ID |
					     TALLY_SAMPLE_STREAM_ID | TALLY_SAMPLE_CPU |
					     TALLY_SAMPLE_IDENTIFIER));
}

/* What a sample and the trailer of every other record have in common, in this order. */
static void put_ids(
	struct tally_cursor *cursor, const struct tally_event *event, const struct moment *moment)
{
	uint64_t type = event->attr.sample_type;

	if ((type & TALLY_SAMPLE_TID) != 0)
		cursor_u32s(cursor, moment->ids.pid, moment->ids.tid);
	if ((type & TALLY_SAMPLE_TIME) != 0)
		cursor_u64(cursor, moment->time_ns);
	if ((type & TALLY_SAMPLE_ID) != 0)
		cursor_u64(cursor, event->id);
	if ((type & TALLY_SAMPLE_STREAM_ID) != 0)
		cursor_u64(cursor, event->id);
	if ((type & TALLY_SAMPLE_CPU) != 0)
		cursor_u32s(cursor, moment->cpu, 0);
}

/* The trailer of records that are not samples, with sample_id_all. */
static void put_trailer(
	struct tally_cursor *cursor, const struct tally_event *event, const struct moment *moment)
{
	put_ids(cursor, event, moment);
	if ((event->attr.sample_type & TALLY_SAMPLE_IDENTIFIER) != 0)
		cursor_u64(cursor, event->id);
}

static void put_lost(struct tally_cursor *cursor, const struct tally_event *event,
	const struct moment *moment, uint32_t size)
{
	cursor_header(cursor, TALLY_RECORD_LOST, 0, size);
	cursor_u64(cursor, event->id);
	cursor_u64(cursor, event->ring->lost);
	if (size > LOST_SIZE)
		put_trailer(cursor, event, moment);
}

static void put_sample(struct tally_cursor *cursor, const struct tally_event *event,
	const struct tally_cpu *cpu, const struct moment *moment, uint32_t size)
{
	uint64_t type = event->attr.sample_type;

	cursor_header(cursor, TALLY_RECORD_SAMPLE,
		moment->user ? TALLY_MISC_USER : TALLY_MISC_KERNEL, size);
	if ((type & TALLY_SAMPLE_IDENTIFIER) != 0)
		cursor_u64(cursor, event->id);
	if ((type & TALLY_SAMPLE_IP) != 0)
		cursor_u64(cursor, moment->ip);
	put_ids(cursor, event, moment);
	if ((type & TALLY_SAMPLE_PERIOD) != 0)
		cursor_u64(cursor, event->period);
	if ((type & TALLY_SAMPLE_READ) != 0)
		tally_read_put(cursor, event, cpu);
}

uint32_t tally_sample_size(uint64_t type)
{
	uint32_t words = bits_count(type & TALLY_SAMPLE_KNOWN & ~TALLY_SAMPLE_READ);

	return (uint32_t)sizeof(struct tally_record_header) + 8 * words;
}

static void write_sample(
	struct tally_cpu *cpu, struct tally_event *event, const struct moment *moment)
{
	struct tally_ring *ring = event->ring;
	struct tally_cursor cursor;
	uint32_t size = event->sample_size;
	uint32_t lost_size = 0;

	if (ring == NULL || ring->size == 0)
		return;
	if ((event->attr.sample_type & TALLY_SAMPLE_READ) != 0)
		size += tally_read_size(event);
	if (ring->lost > 0) {
		bool trailer = (event->attr.flags & TALLY_ATTR_SAMPLE_ID_ALL) != 0;

		lost_size = LOST_SIZE + (trailer ? id_size(event->attr.sample_type) : 0);
	}
	/* both or neither: a gap is reported in front of the first record after it */
	if (size > UINT16_MAX || !tally_ring_reserve(ring, lost_size + size, &cursor)) {
		ring->lost++;
		event->lost++;
		return;
	}
	if (lost_size > 0)
		put_lost(&cursor, event, moment, lost_size);
	put_sample(&cursor, event, cpu, moment, size);
	ring->lost = 0;
	tally_ring_publish(ring, &cursor);
}

/* Where was the task? An event that leaves the kernel out never shows a kernel address, though the
 * interrupt may have come that late; nor is there an interrupted place when the task is being
 * switched out. */
static void find_place(
	struct moment *moment, const struct tally_event *event, const struct tally_regs *regs)
{
	struct tally_regs user;
	const struct tally_task *task = hal_current();
	bool hidden = regs == NULL ||
		      (!regs->user && (event->attr.flags & TALLY_ATTR_EXCLUDE_KERNEL) != 0);

	if (hidden && task != NULL && hal_user_regs(task, &user))
		regs = &user;
	else if (hidden)
		regs = NULL;
	moment->ip = regs != NULL ? regs->pc : 0;
	moment->user = regs != NULL && regs->user;
}

void tally_sample_due(
	struct tally_cpu *cpu, struct tally_event *event, const struct tally_regs *regs)
{
	uint64_t skipped = event->late / event->period;
	struct moment moment = {.time_ns = event->ctx->loaded_at_ns, .cpu = cpu->index};
	const struct tally_task *task = hal_current();

	if (task != NULL)
		moment.ids = hal_task_ids(task);
	find_place(&moment, event, regs);
	atomic_add_relaxed(&event->engine->statistic[TALLY_STAT_SAMPLES], 1u);
	write_sample(cpu, event, &moment);
	event->period_left = event->period - event->late % event->period;
	event->late = 0;
	if (skipped > 0) {
		atomic_add_relaxed(&event->engine->statistic[TALLY_STAT_PERIODS_SKIPPED], skipped);
		hal_trace(HAL_TRACE_SKIPPED, event->id, skipped);
	}
}
