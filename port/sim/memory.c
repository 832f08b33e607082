/* SPDX-License-Identifier: MIT
 *
 * memory.c: the engine's memory: every block is known, so that nothing is lost, freed twice or
 * freed with another size without being noticed, and freed memory is overwritten.
 *
 * Host memory; takes no simulated time. Whether an allocation may be made at all, or is to fail, is
 * hal.c's business.
 */
#include "port.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC     UINT64_C(0x7a11b10c4a110c8d)
#define POISON    0xdb
#define PAGES_MAX 16384u /* 64 MiB: more than any honest ring */

static void grow(struct memory *memory, size_t bytes)
{
	memory->held += bytes;
	if (memory->held > memory->peak)
		memory->peak = memory->held;
}

void *memory_alloc(struct memory *memory, size_t size)
{
	struct block *block;

	_Static_assert(
		sizeof(struct block) % 16 == 0, "what follows a block is aligned to 16 bytes");
	if (size > SIZE_MAX / 2)
		return NULL;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		return NULL;
	block->size = size;
	block->magic = MAGIC;
	block->next = memory->blocks;
	if (block->next)
		block->next->prev = block;
	memory->blocks = block;
	grow(memory, size);
	machine_order_fresh(block + 1, size);
	return block + 1;
}

/* Where somebody judges accesses, freed memory is not used again in this run: so that any access to
 * it is seen. */
static void bury(struct memory *memory, struct block *block)
{
	block->magic = 0;
	machine_order_freed(block + 1, block->size);
	if (!port_is_judged()) {
		free(block);
		return;
	}
	block->next = memory->buried;
	memory->buried = block;
}

const char *memory_free(struct memory *memory, void *at, size_t size)
{
	struct block *block = (struct block *)at - 1;

	if (block->magic != MAGIC)
		return "memory is freed that is not allocated";
	if (block->size != size)
		return "memory is freed with another size than it was allocated with";
	if (block->prev)
		block->prev->next = block->next;
	else
		memory->blocks = block->next;
	if (block->next)
		block->next->prev = block->prev;
	memory->held -= size;
	memset(at, POISON, size);
	bury(memory, block);
	return NULL;
}

void *memory_pages_alloc(struct memory *memory, size_t count)
{
	struct pages *pages;

	if (count == 0 || count > PAGES_MAX)
		return NULL;
	pages = calloc(1, sizeof(*pages));
	if (!pages)
		return NULL;
	pages->base = aligned_alloc(TALLY_PAGE_SIZE, count * TALLY_PAGE_SIZE);
	if (!pages->base) {
		free(pages);
		return NULL;
	}
	memset(pages->base, 0, count * TALLY_PAGE_SIZE);
	pages->count = count;
	pages->held = true;
	pages->next = memory->pages;
	memory->pages = pages;
	machine_order_fresh(pages->base, count * TALLY_PAGE_SIZE);
	grow(memory, count * TALLY_PAGE_SIZE);
	return pages->base;
}

static struct pages **find_pages(struct memory *memory, const void *base)
{
	struct pages **at = &memory->pages;

	while (*at && (*at)->base != base)
		at = &(*at)->next;
	return at;
}

static void release(struct memory *memory, struct pages *pages)
{
	if (pages->held || pages->mappings != 0)
		return;
	*find_pages(memory, pages->base) = pages->next;
	machine_order_freed(pages->base, pages->count * TALLY_PAGE_SIZE);
	if (port_is_judged()) {
		pages->next = memory->buried_pages;
		memory->buried_pages = pages;
		return;
	}
	memset(pages->base, POISON, pages->count * TALLY_PAGE_SIZE);
	free(pages->base);
	free(pages);
}

const char *memory_pages_free(struct memory *memory, void *base, size_t count)
{
	struct pages *pages = *find_pages(memory, base);

	if (!pages || !pages->held)
		return "pages are freed that are not allocated";
	if (pages->count != count)
		return "pages are freed in another number than they were allocated";
	pages->held = false;
	memory->held -= count * TALLY_PAGE_SIZE;
	release(memory, pages);
	return NULL;
}

struct pages *memory_pages_map(struct memory *memory, void *base)
{
	struct pages *pages = *find_pages(memory, base);

	if (pages)
		pages->mappings++;
	return pages;
}

void memory_pages_unmap(struct memory *memory, struct pages *pages)
{
	pages->mappings--;
	release(memory, pages);
}

static void drop_pages(struct pages **list)
{
	while (*list) {
		struct pages *pages = *list;

		*list = pages->next;
		free(pages->base);
		free(pages);
	}
}

void memory_drop(struct memory *memory)
{
	while (memory->buried) {
		struct block *block = memory->buried;

		memory->buried = block->next;
		free(block);
	}
	while (memory->blocks) {
		struct block *block = memory->blocks;

		memory->blocks = block->next;
		free(block);
	}
	drop_pages(&memory->pages);
	drop_pages(&memory->buried_pages);
}
