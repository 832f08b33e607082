/* SPDX-License-Identifier: MIT
 *
 * kmalloc.c: kernel memory in any size.
 *
 * Up to half a page: one of eight sizes, powers of two from 16 bytes, cut from whole pages that
 * stay with their size. Above: a block of pages of its own. The struct page of an object says which
 * it is, so kfree() needs no size. `lock` (irq) guards the free lists. A freed object is filled
 * with a pattern, so that a use after it shows.
 */
#include <kernel/lock.h>
#include <kernel/mmu.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>

#define CLASS_MIN_SHIFT 4u
#define CLASSES         8u /* 16 .. 2048 */
#define FREED_BYTE      0x6b

struct free_object {
	struct free_object *next;
};

static struct spinlock lock;
static struct free_object *free_objects[CLASSES];
static u64 live;

static u32 class_for(size_t size)
{
	u32 class = 0;

	while (((size_t)1 << (class + CLASS_MIN_SHIFT)) < size)
		class ++;
	return class;
}

static void *alloc_large(size_t size)
{
	u32 order = 0;
	struct page *page;

	while (((size_t)PAGE_SIZE << order) < size)
		if (++order > PAGE_ORDER_MAX)
			return NULL;
	page = page_alloc(order);
	if (page == NULL)
		return NULL;
	page->state = PAGE_LARGE;
	return page_va(page);
}

static bool refill(u32 class)
{
	struct page *page = page_alloc(0);
	size_t size = (size_t)1 << (class + CLASS_MIN_SHIFT);

	if (page == NULL)
		return false;
	page->state = PAGE_SLAB;
	page->slab_class = (u8) class;
	for (size_t at = 0; at < PAGE_SIZE; at += size) {
		struct free_object *object = (void *)((char *)page_va(page) + at);

		object->next = free_objects[class];
		free_objects[class] = object;
	}
	return true;
}

void *kmalloc(size_t size)
{
	struct free_object *object = NULL;
	u32 class;
	u64 flags;

	if (size > PAGE_SIZE / 2) {
		object = alloc_large(size);
	} else {
		class = class_for(size);
		flags = spin_lock_irq(&lock);
		if (free_objects[class] != NULL || refill(class)) {
			object = free_objects[class];
			free_objects[class] = object->next;
		}
		spin_unlock_irq(&lock, flags);
	}
	if (object != NULL)
		__atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
	return object;
}

void *kzalloc(size_t size)
{
	void *object = kmalloc(size);

	if (object != NULL)
		memset(object, 0, size);
	return object;
}

void kfree(void *memory)
{
	struct page *page;
	struct free_object *object = memory;
	u64 flags;

	if (memory == NULL)
		return;
	__atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
	page = page_of_pa(ALIGN_DOWN(virt_to_phys(memory), PAGE_SIZE));
	KASSERT(page != NULL && (page->state == PAGE_LARGE || page->state == PAGE_SLAB));
	if (page->state == PAGE_LARGE) {
		page->state = PAGE_USED;
		page_put(page);
		return;
	}
	memset(memory, FREED_BYTE, (size_t)1 << (page->slab_class + CLASS_MIN_SHIFT));
	flags = spin_lock_irq(&lock);
	object->next = free_objects[page->slab_class];
	free_objects[page->slab_class] = object;
	spin_unlock_irq(&lock, flags);
}

u64 kmalloc_live(void)
{
	return __atomic_load_n(&live, __ATOMIC_RELAXED);
}
