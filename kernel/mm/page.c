/* SPDX-License-Identifier: MIT
 *
 * page.c: the page allocator, a binary buddy system over all RAM.
 *
 * The page array covers the RAM from its lowest to its highest address; holes and reserved pages
 * stay PAGE_RESERVED. A free block of 2^n pages is linked, by its first page, in the list of order
 * n, and its buddy at the same order is never free too (they would have been merged). `lock` (irq)
 * guards lists, states and the counts.
 */
#include <kernel/lock.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>

static struct spinlock lock;
static struct list free_lists[PAGE_ORDER_MAX + 1];
static struct page *pages; /* of frame first_frame + i */
static u64 first_frame;
static u64 frames;
static u64 free_count;
static u64 total_count;

static u64 frame_of(const struct page *page)
{
	return first_frame + (u64)(page - pages);
}

struct page *page_of_pa(u64 pa)
{
	u64 frame = pa >> PAGE_SHIFT;

	if (frame < first_frame || frame - first_frame >= frames)
		return NULL;
	return &pages[frame - first_frame];
}

u64 page_pa(const struct page *page)
{
	return frame_of(page) << PAGE_SHIFT;
}

void *page_va(const struct page *page)
{
	return phys_to_virt(page_pa(page));
}

/* The other half of the block of order + 1 that `page` begins or ends, if it is a free block of
 * this order. */
static struct page *free_buddy(const struct page *page, u32 order)
{
	struct page *buddy = page_of_pa((frame_of(page) ^ BIT(order)) << PAGE_SHIFT);

	return buddy != NULL && buddy->state == PAGE_FREE && buddy->order == order ? buddy : NULL;
}

static void free_block(struct page *page, u32 order)
{
	free_count += BIT(order);
	while (order < PAGE_ORDER_MAX) {
		struct page *buddy = free_buddy(page, order);

		if (buddy == NULL)
			break;
		list_remove(&buddy->link);
		if (buddy < page) {
			page->state = PAGE_TAIL;
			page = buddy;
		} else {
			buddy->state = PAGE_TAIL;
		}
		order++;
	}
	page->state = PAGE_FREE;
	page->order = (u8)order;
	list_insert_head(&free_lists[order], &page->link);
}

struct page *page_alloc(u32 order)
{
	u64 flags = spin_lock_irq(&lock);
	struct page *page = NULL;
	u32 have = order;

	while (have <= PAGE_ORDER_MAX && list_empty(&free_lists[have]))
		have++;
	if (have <= PAGE_ORDER_MAX) {
		page = LIST_FIRST(&free_lists[have], struct page, link);
		list_remove(&page->link);
		while (have > order) { /* give the upper halves back */
			have--;
			page[BIT(have)].state = PAGE_FREE;
			page[BIT(have)].order = (u8)have;
			list_insert_head(&free_lists[have], &page[BIT(have)].link);
		}
		free_count -= BIT(order);
		page->state = PAGE_USED;
		page->order = (u8)order;
		page->refs = 1;
	}
	spin_unlock_irq(&lock, flags);
	return page;
}

struct page *page_alloc_zeroed(u32 order)
{
	struct page *page = page_alloc(order);

	if (page != NULL)
		memset(page_va(page), 0, (size_t)PAGE_SIZE << order);
	return page;
}

struct page *page_alloc_run(u64 count)
{
	u32 order = 0;
	struct page *run;

	while (BIT(order) < count)
		if (++order > PAGE_ORDER_MAX)
			return NULL;
	run = page_alloc(order);
	if (run == NULL)
		return NULL;
	memset(page_va(run), 0, count << PAGE_SHIFT);
	for (u64 i = 0; i < BIT(order); i++) {
		run[i].state = PAGE_USED;
		run[i].order = 0;
		run[i].refs = 1;
	}
	for (u64 i = count; i < BIT(order); i++)
		page_put(&run[i]);
	return run;
}

void page_get(struct page *page)
{
	u32 was = __atomic_fetch_add(&page->refs, 1, __ATOMIC_RELAXED);

	KASSERT(was > 0);
}

void page_put(struct page *page)
{
	u32 was = __atomic_fetch_sub(&page->refs, 1, __ATOMIC_ACQ_REL);
	u64 flags;

	KASSERT(was > 0);
	if (was > 1)
		return;
	flags = spin_lock_irq(&lock);
	KASSERT(page->state != PAGE_FREE && page->state != PAGE_TAIL &&
		page->state != PAGE_RESERVED);
	free_block(page, page->order);
	spin_unlock_irq(&lock, flags);
}

u64 pages_free(void)
{
	return __atomic_load_n(&free_count, __ATOMIC_RELAXED);
}

u64 pages_total(void)
{
	return total_count;
}

static bool overlaps(const struct range *range, u64 start, u64 end)
{
	return range->start < end && start < range->start + range->size;
}

/* First place in RAM for `size` bytes that no reserved range touches. */
static u64 find_unreserved(u64 size)
{
	for (u32 i = 0; i < machine.rams; i++) {
		u64 at = ALIGN_UP(machine.ram[i].start, PAGE_SIZE);
		bool moved = true;

		while (moved && at + size <= machine.ram[i].start + machine.ram[i].size) {
			moved = false;
			for (u32 r = 0; r < machine.reserveds; r++) {
				const struct range *range = &machine.reserved[r];

				if (overlaps(range, at, at + size)) {
					at = ALIGN_UP(range->start + range->size, PAGE_SIZE);
					moved = true;
				}
			}
			if (!moved)
				return at;
		}
	}
	panic("no room for the page array");
}

/* Free what lies in RAM and in no reserved range, page by page; merging makes the blocks. */
static void release_range(const struct range *ram)
{
	u64 at = ALIGN_UP(ram->start, PAGE_SIZE);
	u64 end = ALIGN_DOWN(ram->start + ram->size, PAGE_SIZE);

	while (at < end) {
		u64 next = at + PAGE_SIZE;
		bool reserved = false;

		for (u32 r = 0; r < machine.reserveds; r++) {
			const struct range *range = &machine.reserved[r];

			if (overlaps(range, at, at + PAGE_SIZE)) {
				reserved = true;
				next = MAX(next, ALIGN_DOWN(range->start + range->size, PAGE_SIZE));
			}
		}
		if (!reserved) {
			total_count++;
			free_block(page_of_pa(at), 0);
		}
		at = next;
	}
}

void page_init(void)
{
	u64 low = UINT64_MAX, high = 0, at, bytes;

	for (u32 i = 0; i < machine.rams; i++) {
		low = MIN(low, machine.ram[i].start);
		high = MAX(high, machine.ram[i].start + machine.ram[i].size);
	}
	KASSERT(low < high);
	first_frame = ALIGN_DOWN(low, (u64)PAGE_SIZE << PAGE_ORDER_MAX) >> PAGE_SHIFT;
	frames = (ALIGN_DOWN(high, PAGE_SIZE) >> PAGE_SHIFT) - first_frame;
	bytes = ALIGN_UP(frames * sizeof(struct page), PAGE_SIZE);
	at = find_unreserved(bytes);
	KASSERT(machine.reserveds < MACHINE_RANGES_MAX);
	machine.reserved[machine.reserveds++] = (struct range){at, bytes};
	pages = phys_to_virt(at);
	memset(pages, 0, bytes); /* PAGE_RESERVED */
	for (u32 i = 0; i <= PAGE_ORDER_MAX; i++)
		list_init(&free_lists[i]);
	for (u32 i = 0; i < machine.rams; i++)
		release_range(&machine.ram[i]);
}
