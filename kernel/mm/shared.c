/* SPDX-License-Identifier: MIT
 *
 * shared.c: anonymous memory that a process shares with its forks (mmap of MAP_SHARED |
 * MAP_ANONYMOUS).
 *
 * An object holds the pages touched so far, each with a reference of its own; every area on it
 * holds the object. Pages appear on first touch by anybody, under the object's lock, which is taken
 * inside the toucher's mm lock.
 */
#include <kernel/errno.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/printk.h>

struct shared_memory {
	u32 areas; /* atomic */
	struct mutex lock;
	u64 count;
	struct page *pages[]; /* under lock; NULL: not touched yet */
};

static int shared_page(struct area *area, u64 index, struct page **page)
{
	struct shared_memory *shared = area->object;

	KASSERT(index < shared->count);
	mutex_lock(&shared->lock);
	if (shared->pages[index] == NULL)
		shared->pages[index] = page_alloc_zeroed(0);
	*page = shared->pages[index];
	if (*page != NULL)
		page_get(*page);
	mutex_unlock(&shared->lock);
	return *page != NULL ? 0 : -ENOMEM;
}

static void shared_opened(struct area *area)
{
	struct shared_memory *shared = area->object;

	__atomic_fetch_add(&shared->areas, 1, __ATOMIC_RELAXED);
}

static void shared_closed(struct area *area)
{
	struct shared_memory *shared = area->object;

	if (__atomic_fetch_sub(&shared->areas, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	for (u64 i = 0; i < shared->count; i++)
		if (shared->pages[i] != NULL)
			page_put(shared->pages[i]);
	kfree(shared);
}

static const struct area_ops shared_ops = {
	.page = shared_page,
	.opened = shared_opened,
	.closed = shared_closed,
};

int shared_memory_request(struct area_request *request)
{
	u64 count = ALIGN_UP(request->size, PAGE_SIZE) >> PAGE_SHIFT;
	struct shared_memory *shared = NULL;

	if (count < USER_END >> PAGE_SHIFT)
		shared = kzalloc(sizeof(*shared) + count * sizeof(shared->pages[0]));
	if (shared == NULL)
		return -ENOMEM;
	shared->areas = 1;
	shared->count = count;
	mutex_init(&shared->lock);
	request->index = 0;
	request->ops = &shared_ops;
	request->object = shared;
	return 0;
}
