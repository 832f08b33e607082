/* SPDX-License-Identifier: MIT
 *
 * ring.c: the mmap output buffer between the CPU that writes it and a reader on another.
 *
 * The writer is core/ring.c, used as core/sample.c uses it; the reader does what the ABI says
 * (perf_event_open(2)). The ring holds 32 bytes and the records are of 16, 24 and 8, so the second
 * finds room only behind a reader that was quick, and then wraps. No interrupt writes a ring: its
 * home has them off.
 *
 * Judged, by the names of verification's laws: B1 the head never goes back; B2 what lies between
 * tail and head parses; B3 every record is read, unread or lost; B4, B6 a record holds what was
 * written, by value here and by order of accesses in the memory model.
 */
#include <explorer/plans.h>

#include <stdio.h>

#include <ring.h> /* of core/ */

#define DATA_SIZE   32u
#define RECORDS     3u
#define ROUNDS      2u
#define HEADER_SIZE 8u
#define RECORD_TYPE 9u
#define WORDS_MAX   2u

static const uint32_t sizes[RECORDS] = {16, 24, 8};

struct ring_world {
	struct tally_ring ring;
	_Alignas(64) struct tally_control_page control;
	_Alignas(64) uint64_t data[DATA_SIZE / 8];

	/* the writer's */
	_Alignas(64) uint32_t lost;

	/* the reader's */
	_Alignas(64) uint64_t head;
	uint32_t taken; /* records */
	uint32_t last;  /* number of the last one taken, from 1 */
	const char *wrong;
};

static void setup(void *world)
{
	struct ring_world *w = world;

	w->ring.control = &w->control;
	w->ring.pages = 2;
	w->ring.data = (uint8_t *)w->data;
	w->ring.size = DATA_SIZE;
	w->ring.refs = 1;
}

/* ---- the writer ---- */

/* What word k of record `number` holds. */
static uint64_t word(uint32_t number, uint32_t k)
{
	return (uint64_t)number << 32 | k;
}

static void write_records(void *world)
{
	struct ring_world *w = world;

	for (uint32_t i = 0; i < RECORDS; i++) {
		struct tally_cursor cursor;

		if (!tally_ring_reserve(&w->ring, sizes[i], &cursor)) {
			w->lost++;
			continue;
		}
		cursor_header(&cursor, RECORD_TYPE, i + 1, sizes[i]);
		for (uint32_t k = 0; k < (sizes[i] - HEADER_SIZE) / 8; k++)
			cursor_u64(&cursor, word(i + 1, k));
		tally_ring_publish(&w->ring, &cursor);
	}
}

/* ---- the reader ---- */

static uint64_t word_at(const struct ring_world *w, uint64_t position)
{
	return w->data[position % DATA_SIZE / 8];
}

/* What is wrong with the record at `tail`, or NULL: then *tail is behind it, and *number says which
 * it is. */
static const char *parse(
	const struct ring_world *w, uint64_t *tail, uint64_t head, uint32_t *number)
{
	uint64_t header = word_at(w, *tail);
	uint32_t size = (uint32_t)(header >> 48), misc = (uint32_t)(header >> 32) & 0xffff;

	if (head - *tail < HEADER_SIZE || (uint32_t)header != RECORD_TYPE || misc == 0 ||
		misc > RECORDS)
		return "B6: this is no header of a record";
	if (size != sizes[misc - 1] || size > head - *tail)
		return "B2: a record has another size than it was written with";
	for (uint32_t k = 0; k < (size - HEADER_SIZE) / 8; k++) {
		if (word_at(w, *tail + HEADER_SIZE + 8 * k) != word(misc, k))
			return "B6: a record does not hold what was written";
	}
	if (misc <= *number)
		return "B4: a record comes twice, or late";
	*tail += size;
	*number = misc;
	return NULL;
}

static void read_records(void *world)
{
	struct ring_world *w = world;
	uint64_t tail = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint64_t head = __atomic_load_n(&w->control.data_head, __ATOMIC_ACQUIRE);

		if (head < w->head)
			w->wrong = "B1: the head went back";
		w->head = head;
		while (w->wrong == NULL && tail != head) {
			w->wrong = parse(w, &tail, head, &w->last);
			w->taken += w->wrong == NULL;
		}
		if (w->wrong != NULL)
			return;
		__atomic_store_n(&w->control.data_tail, tail, __ATOMIC_RELEASE);
	}
}

/* ---- at rest ---- */

static const char *check(const void *world)
{
	const struct ring_world *w = world;
	uint64_t tail = w->control.data_tail;
	uint32_t unread = 0, last = w->last;
	static char text[96];

	if (w->wrong != NULL)
		return w->wrong;
	if (w->control.data_head < w->head || w->control.data_head - tail > DATA_SIZE)
		return "B1: the head is behind the reader, or laps the tail";
	while (tail != w->control.data_head) {
		const char *wrong = parse(w, &tail, w->control.data_head, &last);

		if (wrong != NULL)
			return wrong;
		unread++;
	}
	if (w->taken + unread + w->lost == RECORDS)
		return NULL;
	snprintf(text, sizeof(text), "B3: %u written, but %u read, %u unread, %u lost", RECORDS,
		(unsigned int)w->taken, (unsigned int)unread, (unsigned int)w->lost);
	return text;
}

const struct explorer_plan explorer_plan_ring = {.name = "ring",
	.world_size = sizeof(struct ring_world),
	.cpus = 2,
	.setup = setup,
	.run = {write_records, read_records},
	.check = check};
