/* SPDX-License-Identifier: MIT
 *
 * ring.c: space, wrap and publication of the mmap output buffer (perf_event_open(2), "MMAP
 * layout").
 *
 * Records are multiples of 8 bytes at multiples of 8, so no word of a record ever straddles the end
 * of the data. One byte stays free, so that full and empty differ. data_tail belongs to the reader,
 * who may write anything there: it is read once per record and enters only a masked difference.
 * data_head is written, never read back.
 */
#include "ring.h"

#include "assert.h"
#include "atomic.h"

#define CONTROL_SIZE         96u /* the fields of the control page in front of its reserved bytes */
#define CONTROL_CAP_BIT0_OFF UINT64_C(2)

struct tally_ring *tally_ring_new(struct tally_engine *e, uint64_t pages, bool overwrite)
{
	struct tally_ring *ring = hal_alloc(sizeof(*ring));
	uint8_t *memory;

	TALLY_ASSERT(pages == 1 || (pages > 1 && ((pages - 1) & (pages - 2)) == 0));
	if (ring == NULL)
		return NULL;
	memory = hal_pages_alloc(pages);
	if (memory == NULL) {
		hal_free(ring, sizeof(*ring));
		return NULL;
	}
	ring->engine = e;
	ring->control = (struct tally_control_page *)(void *)memory;
	ring->pages = pages;
	ring->data = memory + TALLY_PAGE_SIZE;
	ring->size = (pages - 1) * TALLY_PAGE_SIZE;
	ring->overwrite = overwrite;
	ring->refs = 1;
	ring->control->size = CONTROL_SIZE;
	ring->control->capabilities = CONTROL_CAP_BIT0_OFF;
	ring->control->data_offset = TALLY_PAGE_SIZE;
	ring->control->data_size = ring->size;
	atomic_add_relaxed(&e->statistic[TALLY_STAT_RINGS], 1u);
	return ring;
}

void tally_ring_put(struct tally_ring *ring)
{
	TALLY_ASSERT(ring->refs > 0);
	if (--ring->refs > 0)
		return;
	TALLY_ASSERT(ring->mappings == 0);
	atomic_sub_acq_rel(&ring->engine->statistic[TALLY_STAT_RINGS], 1u);
	hal_pages_free(ring->control, ring->pages);
	hal_free(ring, sizeof(*ring));
}

void *tally_ring_page(struct tally_ring *ring, uint64_t page)
{
	TALLY_ASSERT(page < ring->pages);
	return (uint8_t *)ring->control + page * TALLY_PAGE_SIZE;
}

bool tally_ring_reserve(struct tally_ring *ring, uint64_t size, struct tally_cursor *cursor)
{
	uint64_t mask = ring->size - 1;

	TALLY_ASSERT(ring->size != 0 && size % 8 == 0);
	if (size >= ring->size)
		return false;
	if (!ring->overwrite) {
		/* acquire, partner: the reader's store of data_tail after its last load of what it
		 * frees */
		uint64_t tail = atomic_load_acquire(&ring->control->data_tail);

		if (((tail - ring->head - 1) & mask) < size)
			return false;
	}
	cursor->data = ring->data;
	cursor->mask = mask;
	cursor->position = ring->head;
	cursor->end = ring->head + size;
	return true;
}

void tally_ring_publish(struct tally_ring *ring, const struct tally_cursor *cursor)
{
	TALLY_ASSERT(cursor->position == cursor->end);
	ring->head = cursor->end;
	/* release, partner: the reader's load of data_head before it reads the record */
	atomic_store_release(&ring->control->data_head, ring->head);
}
