/* SPDX-License-Identifier: MIT
 *
 * page.h: physical pages and kernel memory.
 *
 * Every page of RAM has a struct page. A page handed out has a reference count: 1 for its first
 * holder, one more for every further mapping; the last page_put() frees it. Blocks of 2^order pages
 * are counted as one, in their first page. All of it may be called with IRQs off; nothing sleeps.
 * Callers treat NULL as ENOMEM.
 */
#ifndef KERNEL_PAGE_H
#define KERNEL_PAGE_H

#include <kernel/list.h>
#include <kernel/types.h>

enum page_state {
	PAGE_RESERVED, /* never handed out */
	PAGE_FREE,     /* head of a free block */
	PAGE_TAIL,     /* inside a free or a larger block */
	PAGE_USED,
	PAGE_SLAB,  /* cut into objects of one size */
	PAGE_LARGE, /* a kmalloc() of more than half a page */
};

struct page {
	struct list link; /* free list of its order */
	u32 refs;         /* atomic */
	u8 state;         /* enum page_state; under the allocator's lock */
	u8 order;
	u8 slab_class;
};

#define PAGE_ORDER_MAX 10u /* 4 MiB */

/* Boot: take over the RAM of `machine` that is not reserved. */
void page_init(void);

struct page *page_alloc(u32 order); /* contents undefined */
struct page *page_alloc_zeroed(u32 order);
/* `count` zeroed pages in a row, each counted and freed by itself; at most 2^PAGE_ORDER_MAX. */
struct page *page_alloc_run(u64 count);
void page_get(struct page *page);
void page_put(struct page *page);
struct page *page_of_pa(u64 pa); /* NULL: not RAM */
u64 page_pa(const struct page *page);
void *page_va(const struct page *page);
u64 pages_free(void);
u64 pages_total(void);

/* Objects of any size, aligned to 16 bytes. kmalloc() leaves the contents undefined. */
void *kmalloc(size_t size);
void *kzalloc(size_t size);
void kfree(void *object);
/* Objects handed out now: for leak checks. */
u64 kmalloc_live(void);

#endif
