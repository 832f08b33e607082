/* SPDX-License-Identifier: MIT
 *
 * read.c: read(2) of events and groups (perf_event_open(2), "Reading results").
 *
 * A read is one edit: with the counters of the CPU paused, all values are of one instant. It is
 * laid out in the kernel's memory under the context's mutex and copied to the user after it is
 * dropped.
 */
#include "read.h"

#include "assert.h"
#include "bits.h"
#include "errno.h"
#include "pmuv3.h"

struct read_edit {
	struct tally_edit edit;
	const struct tally_event *event;
	struct tally_cursor cursor;
	bool error;
};

static uint32_t words(uint64_t read_format, uint64_t mask)
{
	return bits_count(read_format & mask);
}

uint32_t tally_read_bytes(uint64_t read_format, uint32_t nr)
{
	uint32_t times = words(
		read_format, TALLY_FORMAT_TOTAL_TIME_ENABLED | TALLY_FORMAT_TOTAL_TIME_RUNNING);
	uint32_t entry = 1 + words(read_format, TALLY_FORMAT_ID | TALLY_FORMAT_LOST);

	if ((read_format & TALLY_FORMAT_GROUP) == 0)
		return 8 * (times + entry);
	return 8 * (1 + times + entry * nr);
}

uint32_t tally_read_size(const struct tally_event *event)
{
	return tally_read_bytes(event->attr.read_format, 1 + event->leader->members_count);
}

static void put_times(
	struct tally_cursor *cursor, uint64_t format, const struct tally_reading *reading)
{
	if ((format & TALLY_FORMAT_TOTAL_TIME_ENABLED) != 0)
		cursor_u64(cursor, reading->enabled_ns);
	if ((format & TALLY_FORMAT_TOTAL_TIME_RUNNING) != 0)
		cursor_u64(cursor, reading->running_ns);
}

static void put_id_lost(
	struct tally_cursor *cursor, uint64_t format, const struct tally_event *event)
{
	if ((format & TALLY_FORMAT_ID) != 0)
		cursor_u64(cursor, event->id);
	if ((format & TALLY_FORMAT_LOST) != 0)
		cursor_u64(cursor, event->lost);
}

void tally_read_put(
	struct tally_cursor *cursor, const struct tally_event *event, const struct tally_cpu *cpu)
{
	uint64_t format = event->attr.read_format;
	const struct tally_event *leader = event->leader;
	struct tally_reading reading;

	if ((format & TALLY_FORMAT_GROUP) == 0) {
		reading = tally_event_reading(event, cpu);
		cursor_u64(cursor, reading.value);
		put_times(cursor, format, &reading);
		put_id_lost(cursor, format, event);
		return;
	}
	reading = tally_event_reading(leader, cpu);
	cursor_u64(cursor, 1 + leader->members_count);
	put_times(cursor, format, &reading);
	cursor_u64(cursor, reading.value);
	put_id_lost(cursor, format, leader);
	TALLY_MEMBERS_FOR_EACH(member, leader)
	{
		cursor_u64(cursor, tally_event_reading(member, cpu).value);
		put_id_lost(cursor, format, member);
	}
}

static void read_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	struct read_edit *read = TALLY_CONTAINER(edit, struct read_edit, edit);

	(void)ctx;
	read->error = read->event->state == TALLY_ERROR;
	if (read->error)
		return;
	if (cpu != NULL && cpu->pool.on)
		pmuv3_pause(&cpu->pool);
	tally_read_put(&read->cursor, read->event, cpu);
	if (cpu != NULL && cpu->pool.on)
		pmuv3_resume(&cpu->pool);
}

int64_t tally_event_read(struct tally_event *event, uint64_t buffer, size_t size)
{
	struct read_edit read = {.event = event};
	uint32_t needed;
	int64_t result;

	hal_mutex_lock(&event->ctx->mutex);
	needed = tally_read_size(event);
	read.cursor = (struct tally_cursor){
		.data = hal_alloc(needed), .mask = UINT64_MAX, .end = needed};
	if (read.cursor.data != NULL)
		tally_context_edit(event->ctx, &read.edit, read_fn);
	hal_mutex_unlock(&event->ctx->mutex);
	if (read.cursor.data == NULL)
		return -TALLY_ENOMEM;
	if (read.error)
		result = 0;
	else if (size < needed)
		result = -TALLY_ENOSPC;
	else
		result = hal_copy_to_user(buffer, read.cursor.data, needed) == 0 ? (int64_t)needed
										 : -TALLY_EFAULT;
	hal_free(read.cursor.data, needed);
	return result;
}
