/* SPDX-License-Identifier: MIT
 *
 * sample.c: periods, the samples that are due, what of them fits into the ring, and every record
 * that is taken out of it.
 *
 * A period is over when as many occurrences as it has were counted; what is over becomes one sample
 * when the interrupt's handler runs or the event leaves its counter, whichever is first. Whole
 * periods that passed meanwhile are skipped, the rest begins the next one. From the sizes of the
 * records and what the reader took, it follows what fits, so the content of the ring is known in
 * advance, record by record (perf_event_open(2), "MMAP layout" and PERF_RECORD_SAMPLE):
 *
 *   B1  no record that was not due           B2  records parse
 *   B3  what found no room, and only that, is told by a LOST record in front of the next one
 *   B7  times do not go back                 C6  a READ sample shows values of one instant
 *   P1  IP, TID, TIME, CPU, PERIOD, ids are right
 *   X1  exclude_kernel shows no kernel address
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#define LOST_BYTES   24u
#define RECORD_MAX   UINT16_MAX
#define KERNEL_SPACE (UINT64_C(1) << 63)

bool event_samples(const struct oracle_event *event)
{
	return event->attr.sample_period != 0 && (event->attr.flags & TALLY_ATTR_FREQ) == 0;
}

/* ---- sizes ---- */

static uint32_t words(uint64_t type, uint64_t mask)
{
	uint32_t count = 0;

	for (uint64_t rest = type & mask; rest; rest &= rest - 1)
		count++;
	return count;
}

static uint32_t sample_bytes(const struct oracle_event *event)
{
	uint64_t type = event->attr.sample_type;
	const uint64_t one_word = TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME |
				  TALLY_SAMPLE_ID | TALLY_SAMPLE_CPU | TALLY_SAMPLE_PERIOD |
				  TALLY_SAMPLE_STREAM_ID | TALLY_SAMPLE_IDENTIFIER;

	return 8 + 8 * words(type, one_word) +
	       ((type & TALLY_SAMPLE_READ) != 0 ? answer_size(event) : 0);
}

static uint32_t lost_bytes(const struct oracle_event *event)
{
	const uint64_t trailer = TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME | TALLY_SAMPLE_ID |
				 TALLY_SAMPLE_STREAM_ID | TALLY_SAMPLE_CPU |
				 TALLY_SAMPLE_IDENTIFIER;

	if ((event->attr.flags & TALLY_ATTR_SAMPLE_ID_ALL) == 0)
		return LOST_BYTES;
	return LOST_BYTES + 8 * words(event->attr.sample_type, trailer);
}

/* ---- the queue of records that must come ---- */

static struct moment *push(struct ring *ring)
{
	if (ring->first + ring->count == ring->room) {
		if (ring->first > ring->room / 2) {
			memmove(ring->moment, ring->moment + ring->first,
				ring->count * sizeof(*ring->moment));
			ring->first = 0;
		} else {
			ring->room = ring->room ? 2 * ring->room : 16;
			ring->moment = oracle_grow(
				ring->moment, ring->room * sizeof(*ring->moment));
		}
	}
	return &ring->moment[ring->first + ring->count++];
}

void sample_ring_new(struct oracle_event *event, const struct operation_mmap *mmap)
{
	bool unsure = event->ring.changing_due;

	sample_ring_gone(event);
	event->ring.mapped = true;
	event->ring.unsure = unsure;
	event->ring.overwrite = !mmap->writable;
	event->ring.pages = mmap->pages;
	event->ring.size = (mmap->pages - 1) * 4096;
}

void sample_ring_gone(struct oracle_event *event)
{
	struct ring *ring = &event->ring;
	uint32_t draining = ring->draining;
	uint32_t changing = ring->changing;

	for (uint32_t i = 0; i < ring->count; i++)
		free(ring->moment[ring->first + i].reading);
	free(ring->moment);
	*ring = (struct ring){.draining = draining, .changing = changing};
}

void sample_drained(struct oracle *o, struct oracle_event *event, uint64_t bytes)
{
	struct ring *ring = &event->ring;

	ring->tail += bytes;
	if (ring->mapped && !ring->unsure && !ring->overwrite && !event->unchecked &&
		ring->tail > ring->head)
		oracle_violate(o, "B1", ORACLE_NOBODY, event, ring->head, ring->tail,
			"the reader took %" PRIu64 " bytes of %" PRIu64 " that were written",
			ring->tail, ring->head);
}

/* ---- a sample is due ---- */

static void name_task(struct oracle *o, uint32_t tid, uint32_t *pid_out, uint32_t *tid_out)
{
	const struct task *task = task_find(o, tid);

	*pid_out = task ? task->pid : 0;
	*tid_out = task ? task->tid : 0;
}

/* Who was current: the task of a task event; for a CPU event, at a switch, the one or the other. */
static void find_task(
	struct oracle *o, uint32_t index, const struct oracle_event *event, struct moment *moment)
{
	const struct cpu *cpu = &o->cpu[index];
	uint32_t tid = event->tid != ORACLE_TASK_NONE ? event->tid : cpu->tid;
	uint32_t other = event->tid == ORACLE_TASK_NONE && cpu->switched_ns == cpu->last_ns
				 ? cpu->left_tid
				 : tid;
	const struct task *task = task_find(o, tid);

	name_task(o, tid, &moment->pid, &moment->tid);
	name_task(o, other, &moment->other_pid, &moment->other_tid);
	moment->program = task ? task->program : ORACLE_NOBODY;
}

static void take_reading(const struct oracle_event *event, struct moment *moment)
{
	struct answer *answer = oracle_grow(NULL, sizeof(*answer));

	answer_of(event, answer);
	if (answer->unsure) {
		for (uint32_t i = 0; i < answer->count; i++)
			answer->word[i] = (struct range){0, UINT64_MAX};
	}
	moment->reading_count = answer->count;
	moment->reading = oracle_allocate(answer->count * sizeof(*moment->reading));
	memcpy(moment->reading, answer->word, answer->count * sizeof(*moment->reading));
	free(answer);
}

/* Is a call under way that may change who is in the event's group? */
static bool group_is_open(const struct oracle *o, const struct oracle_event *event)
{
	for (uint32_t i = 0; o->calls_active != 0 && i < o->call_count; i++) {
		const struct call *call = &o->call[i];
		uint8_t kind = o->description->operations[i].kind;

		if (!call->active)
			continue;
		if (kind == OPERATION_EXIT || kind == OPERATION_EXEC)
			return true; /* closes what its process has */
		if (kind == OPERATION_OPEN && call->group && call->group->leader == event->leader)
			return true;
		if ((kind == OPERATION_CLOSE || kind == OPERATION_MUNMAP) && call->event &&
			call->event->leader == event->leader)
			return true;
	}
	return false;
}

/* Does the size of its samples depend on who is in the group? */
static bool shows_group(const struct oracle_event *event)
{
	return (event->attr.sample_type & TALLY_SAMPLE_READ) != 0 &&
	       (event->attr.read_format & TALLY_FORMAT_GROUP) != 0;
}

/* Put it into the ring, or lose it. */
static void write_sample(
	const struct oracle *o, struct oracle_event *event, const struct moment *moment)
{
	struct ring *ring = &event->ring;
	uint64_t size = sample_bytes(event);
	uint64_t need = size + (ring->lost != 0 ? lost_bytes(event) : 0);
	bool fits = need < ring->size && ring->size - 1 - (ring->head - ring->tail) >= need;
	bool may_fit = need < ring->size && ring->draining != 0;

	if (ring->changing != 0 && !ring->mapped)
		ring->changing_due = event->lost_unsure = true;
	if (!ring->mapped || ring->size == 0) {
		event->without_ring++;
		return;
	}
	if (shows_group(event) && group_is_open(o, event))
		ring->unsure = true;
	if (ring->unsure || (!fits && may_fit && !ring->overwrite)) {
		ring->unsure = event->lost_unsure = true;
		event->written++; /* or lost */
		return;
	}
	if (size > RECORD_MAX || (!fits && !ring->overwrite)) {
		event->lost_unsure |= ring->changing != 0;
		event->lost++;
		ring->lost++;
		return;
	}
	event->written++;
	ring->head += need;
	if (ring->overwrite)
		return;
	if (ring->lost != 0) {
		struct moment *told = push(ring);

		*told = *moment;
		told->lost = ring->lost;
		told->reading = NULL;
		ring->lost = 0;
	}
	*push(ring) = *moment;
	if ((event->attr.sample_type & TALLY_SAMPLE_READ) != 0)
		take_reading(event, &ring->moment[ring->first + ring->count - 1]);
}

static void due(struct oracle *o, uint32_t index, struct oracle_event *event, const uint64_t *pc,
	uint8_t el)
{
	uint64_t period = event->attr.sample_period;
	uint64_t periods = event->since / period;
	struct moment moment = {.t_ns = o->cpu[index].last_ns, .cpu = index, .period = period};
	bool hidden = !pc || (el != 0 && (event->attr.flags & TALLY_ATTR_EXCLUDE_KERNEL) != 0);

	if (periods == 0)
		return;
	event->due += periods;
	event->skipped += periods - 1;
	event->since %= period;
	find_task(o, index, event, &moment);
	moment.exact_ip = !hidden;
	moment.ip = hidden ? 0 : *pc;
	moment.user = !hidden && el == 0;
	write_sample(o, event, &moment);
}

void sample_settle(struct oracle *o, uint32_t index, const uint64_t *pc, uint8_t el)
{
	for (uint32_t slot = 0; slot < PMU_COUNTERS_MAX; slot++) {
		const struct residence *holder = o->cpu[index].counter[slot].holder;

		if (holder && holder->event && event_samples(holder->event))
			due(o, index, holder->event, pc, el);
	}
}

void sample_leave(struct oracle *o, uint32_t index, struct oracle_event *event)
{
	due(o, index, event, NULL, 0);
}

/* ---- a record was taken out ---- */

struct reader {
	const uint8_t *bytes;
	size_t size;
	size_t at;
};

static uint64_t next(struct reader *reader)
{
	uint64_t word = 0;

	if (reader->at + 8 <= reader->size)
		memcpy(&word, reader->bytes + reader->at, 8);
	reader->at += 8;
	return word;
}

static void compare(struct oracle *o, const struct oracle_event *event, const char *law,
	const char *what, uint64_t expected, uint64_t found)
{
	if (expected != found)
		oracle_violate(o, law, ORACLE_NOBODY, event, expected, found,
			"record: %s is 0x%" PRIx64 ", not 0x%" PRIx64, what, found, expected);
}

static void judge_tid(struct oracle *o, const struct oracle_event *event,
	const struct moment *moment, uint64_t word)
{
	uint64_t expected = moment->pid | (uint64_t)moment->tid << 32;
	uint64_t other = moment->other_pid | (uint64_t)moment->other_tid << 32;

	if (word != other)
		compare(o, event, "P1", "pid and tid", expected, word);
}

static void judge_time(
	struct oracle *o, struct oracle_event *event, const struct moment *moment, uint64_t word)
{
	if (word < event->ring.last_t_ns)
		compare(o, event, "B7", "time, after an earlier one,", event->ring.last_t_ns, word);
	event->ring.last_t_ns = word;
	compare(o, event, "P1", "time", moment->t_ns, word);
}

static void judge_ip(struct oracle *o, const struct oracle_event *event,
	const struct moment *moment, uint64_t ip, uint16_t misc)
{
	const struct machine_program *program = NULL;
	uint64_t first = 0, last = 0;

	if ((event->attr.flags & TALLY_ATTR_EXCLUDE_KERNEL) != 0 && ip >= KERNEL_SPACE)
		compare(o, event, "X1", "ip, of an event without kernel,", 0, ip);
	if (moment->exact_ip) {
		compare(o, event, "P1", "ip", moment->ip, ip);
		compare(o, event, "P1", "misc", moment->user ? TALLY_MISC_USER : TALLY_MISC_KERNEL,
			misc);
		return;
	}
	if (ip == 0)
		return;
	if (moment->program < o->description->program_count)
		program = &o->description->programs[moment->program];
	if (program && program->function_count != 0) {
		first = machine_function_address(program, 0, false);
		last = machine_function_address(program, program->function_count - 1, false) +
		       program->functions[program->function_count - 1].size;
	}
	if (ip < first || ip >= last || misc != TALLY_MISC_USER)
		compare(o, event, "P1", "ip, outside the program,", first, ip);
}

static void judge_lost(struct oracle *o, struct oracle_event *event, const struct moment *moment,
	struct reader *reader)
{
	uint64_t type = event->attr.sample_type;

	compare(o, event, "B3", "id of LOST", event->residence->id, next(reader));
	compare(o, event, "B3", "number of lost records", moment->lost, next(reader));
	if (reader->at == reader->size)
		return;
	if ((type & TALLY_SAMPLE_TID) != 0)
		judge_tid(o, event, moment, next(reader));
	if ((type & TALLY_SAMPLE_TIME) != 0)
		judge_time(o, event, moment, next(reader));
	if ((type & TALLY_SAMPLE_ID) != 0)
		compare(o, event, "P1", "id", event->residence->id, next(reader));
	if ((type & TALLY_SAMPLE_STREAM_ID) != 0)
		compare(o, event, "P1", "stream id", event->residence->id, next(reader));
	if ((type & TALLY_SAMPLE_CPU) != 0)
		compare(o, event, "P1", "cpu", moment->cpu, next(reader));
	if ((type & TALLY_SAMPLE_IDENTIFIER) != 0)
		compare(o, event, "P1", "identifier", event->residence->id, next(reader));
}

static void judge_reading(struct oracle *o, const struct oracle_event *event,
	const struct moment *moment, struct reader *reader)
{
	for (uint32_t k = 0; k < moment->reading_count; k++) {
		uint64_t word = next(reader);
		struct range range = moment->reading[k];

		if (word < range.least || word > range.most)
			oracle_violate(o, "C6", ORACLE_NOBODY, event, range.least, word,
				"sample of %" PRIu64 " ns: word %u of its reading is %" PRIu64
				", not %" PRIu64,
				moment->t_ns, k, word, range.least);
	}
}

static void judge_sample(struct oracle *o, struct oracle_event *event, const struct moment *moment,
	struct reader *reader, uint16_t misc)
{
	uint64_t type = event->attr.sample_type;
	uint64_t id = event->residence->id;

	if ((type & TALLY_SAMPLE_IDENTIFIER) != 0)
		compare(o, event, "P1", "identifier", id, next(reader));
	if ((type & TALLY_SAMPLE_IP) != 0)
		judge_ip(o, event, moment, next(reader), misc);
	if ((type & TALLY_SAMPLE_TID) != 0)
		judge_tid(o, event, moment, next(reader));
	if ((type & TALLY_SAMPLE_TIME) != 0)
		judge_time(o, event, moment, next(reader));
	if ((type & TALLY_SAMPLE_ID) != 0)
		compare(o, event, "P1", "id", id, next(reader));
	if ((type & TALLY_SAMPLE_STREAM_ID) != 0)
		compare(o, event, "P1", "stream id", id, next(reader));
	if ((type & TALLY_SAMPLE_CPU) != 0)
		compare(o, event, "P1", "cpu", moment->cpu, next(reader));
	if ((type & TALLY_SAMPLE_PERIOD) != 0)
		compare(o, event, "P1", "period", moment->period, next(reader));
	if ((type & TALLY_SAMPLE_READ) != 0)
		judge_reading(o, event, moment, reader);
}

/* A record whose moment is not known: that it is one, and of a kind that there is. */
static void judge_loosely(struct oracle *o, struct oracle_event *event,
	const struct tally_record_header *header, size_t size)
{
	/* how many members a group's reading shows may be open too */
	if (header->type == TALLY_RECORD_SAMPLE &&
		(shows_group(event) || size == sample_bytes(event)))
		event->seen++;
	else if (header->type != TALLY_RECORD_LOST || size != lost_bytes(event))
		oracle_violate(o, "B2", ORACLE_NOBODY, event, sample_bytes(event), size,
			"a record of type %u and %zu bytes", header->type, size);
}

void sample_record(struct oracle *o, uint32_t number, const uint8_t *bytes, size_t size)
{
	struct oracle_event *event = number < o->event_count ? o->numbered[number] : NULL;
	struct tally_record_header header = {0};
	struct reader reader = {.bytes = bytes, .size = size, .at = sizeof(header)};
	struct moment moment;
	uint32_t type;

	if (size >= sizeof(header))
		memcpy(&header, bytes, sizeof(header));
	if (!event || size < sizeof(header) || header.size != size || size % 8 != 0) {
		oracle_violate(o, "B2", ORACLE_NOBODY, event, header.size, size,
			"a record of %zu bytes that says %u", size, header.size);
		return;
	}
	o->tally.records++;
	if (event->unchecked)
		return;
	if (event->ring.unsure || event->ring.overwrite) {
		judge_loosely(o, event, &header, size);
		return;
	}
	if (event->ring.count == 0) {
		oracle_violate(o, "B1", ORACLE_NOBODY, event, 0, header.type,
			"a record of type %u that was not due", header.type);
		return;
	}
	moment = event->ring.moment[event->ring.first++];
	event->ring.count--;
	type = moment.lost != 0 ? TALLY_RECORD_LOST : TALLY_RECORD_SAMPLE;
	if (header.type != type) {
		compare(o, event, "B3", "type", type, header.type);
	} else if (type == TALLY_RECORD_LOST) {
		judge_lost(o, event, &moment, &reader);
	} else {
		event->seen++;
		judge_sample(o, event, &moment, &reader, header.misc);
	}
	if (header.type == type && reader.at != size)
		compare(o, event, "B2", "size", reader.at, size);
	free(moment.reading);
}
