/* SPDX-License-Identifier: MIT
 *
 * ring.h: the mmap output buffer.
 *
 * A ring has a home, the CPU or the context of its event: only code that owns the home, IRQs off,
 * writes it, whole records only. So it needs no lock and no atomic reserve. References are held by
 * events and mappings, taken before the edit that publishes and dropped after the edit that
 * unlinks.
 */
#ifndef TALLY_CORE_RING_H
#define TALLY_CORE_RING_H

#include <tally/tally.h>

struct tally_ring {
	struct tally_engine *engine;
	struct tally_control_page *control; /* page 0; the reader writes data_tail */
	uint64_t pages;                     /* the control page included */
	uint8_t *data;
	uint64_t size;     /* of data in bytes: 0 or a power of two */
	uint64_t head;     /* bytes ever written; home */
	uint64_t lost;     /* records dropped since the last LOST record; home */
	bool overwrite;    /* the reader can't write data_tail: old records give way */
	uint32_t mappings; /* under the mutex of the event's context */
	uint32_t refs;     /* under the mutex of the event's context */
};

/* A place for one record. */
struct tally_cursor {
	uint8_t *data;
	uint64_t mask;
	uint64_t position;
	uint64_t end;
};

/* A ring of `pages` pages with one reference; NULL: no memory. task. */
struct tally_ring *tally_ring_new(struct tally_engine *e, uint64_t pages, bool overwrite);
void tally_ring_put(struct tally_ring *ring);

/* Reserve `size` bytes (a multiple of 8). false: there is no room, nothing changed. home. */
bool tally_ring_reserve(struct tally_ring *ring, uint64_t size, struct tally_cursor *cursor);

/* Make what was written through a full cursor visible to the reader. home. */
void tally_ring_publish(struct tally_ring *ring, const struct tally_cursor *cursor);

static inline void cursor_u64(struct tally_cursor *cursor, uint64_t value)
{
	*(uint64_t *)(void *)(cursor->data + (cursor->position & cursor->mask)) = value;
	cursor->position += 8;
}

static inline void cursor_u32s(struct tally_cursor *cursor, uint32_t first, uint32_t second)
{
	cursor_u64(cursor, first | (uint64_t)second << 32);
}

static inline void cursor_header(
	struct tally_cursor *cursor, uint32_t type, uint32_t misc, uint32_t size)
{
	cursor_u64(cursor, type | (uint64_t)(uint16_t)misc << 32 | (uint64_t)(uint16_t)size << 48);
}

#endif
