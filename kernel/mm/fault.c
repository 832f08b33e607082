/* SPDX-License-Identifier: MIT
 *
 * fault.c: what happens when a user address is touched and the page table says no; and copies to
 * and from user memory.
 *
 * Under the mm's lock. A page comes from the area's object (a reference to the object's own page),
 * or is new and zero. Private areas on an object get the object's page read-only and a copy of it
 * at the first write. A writable private page that a fork shares is copied, or taken over when the
 * count says that nobody else has it: counts only fall meanwhile, because a fork of this mm needs
 * the lock.
 */
#include <kernel/errno.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

u64 uaccess_copy_from(void *to, u64 from, u64 size);
u64 uaccess_copy_to(u64 to, const void *from, u64 size);
u64 uaccess_clear(u64 to, u64 size);

static void set_pte(struct mm *mm, pte_t *pte, u64 va, struct page *page, u32 prot)
{
	if (user_pte_present(*pte)) {
		/* Break before make: another page, or more rights, only through an invalid entry.
		 */
		__atomic_store_n(pte, 0, __ATOMIC_RELEASE);
		tlb_flush_page(va, mm->asid);
	} else {
		mm->pages++;
	}
	if (prot & PROT_EXEC)
		icache_sync(page_va(page), PAGE_SIZE);
	__atomic_store_n(pte, user_pte_make(page_pa(page), prot), __ATOMIC_RELEASE);
	dsb_ishst(); /* before the access is tried again */
	isb();
}

static struct area *find_area(struct mm *mm, u64 va)
{
	LIST_FOR_EACH (pos, &mm->areas) {
		struct area *area = LIST_ENTRY(pos, struct area, link);
		struct area *below;

		if (va >= area->end)
			continue;
		if (va >= area->start)
			return area;
		if (!(area->flags & AREA_GROWSDOWN) || area->end - va > STACK_MAX_BYTES)
			return NULL;
		below = pos->prev == &mm->areas ? NULL : LIST_ENTRY(pos->prev, struct area, link);
		va = ALIGN_DOWN(va, PAGE_SIZE);
		if (below != NULL && below->end > va)
			return NULL;
		area->start = va; /* the stack grows */
		return area;
	}
	return NULL;
}

/* A first touch. */
static int fault_in(struct mm *mm, struct area *area, u64 va, pte_t *pte, u32 need)
{
	bool private = !(area->flags & AREA_SHARED);
	u32 prot = area->prot;
	struct page *page, *copy;
	int error;

	if (area->ops == NULL) {
		page = page_alloc_zeroed(0);
		if (page == NULL)
			return -ENOMEM;
		set_pte(mm, pte, va, page, prot);
		return 0;
	}
	error = area->ops->page(area, area->index + ((va - area->start) >> PAGE_SHIFT), &page);
	if (error != 0)
		return error;
	if (private && need == PROT_WRITE) {
		copy = page_alloc(0);
		if (copy != NULL)
			memcpy(page_va(copy), page_va(page), PAGE_SIZE);
		page_put(page);
		if (copy == NULL)
			return -ENOMEM;
		page = copy;
	} else if (private) {
		prot &= ~(u32)PROT_WRITE;
	}
	set_pte(mm, pte, va, page, prot);
	return 0;
}

/* A write to a page that is there and read-only in an area that may be written. */
static int fault_write(struct mm *mm, struct area *area, u64 va, pte_t *pte)
{
	struct page *page = page_of_pa(user_pte_pa(*pte));
	struct page *copy;

	if ((area->flags & AREA_SHARED) || __atomic_load_n(&page->refs, __ATOMIC_ACQUIRE) == 1) {
		set_pte(mm, pte, va, page, area->prot);
		return 0;
	}
	copy = page_alloc(0);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(page_va(copy), page_va(page), PAGE_SIZE);
	set_pte(mm, pte, va, copy, area->prot);
	page_put(page);
	return 0;
}

static int fault_locked(struct mm *mm, u64 va, u32 need)
{
	struct area *area = find_area(mm, va);
	pte_t *pte;

	if (area == NULL || !(area->prot & need))
		return -EFAULT;
	va = ALIGN_DOWN(va, PAGE_SIZE);
	pte = user_pte(mm->table, va, true);
	if (pte == NULL)
		return -ENOMEM;
	if (!user_pte_present(*pte))
		return fault_in(mm, area, va, pte, need);
	if (need == PROT_WRITE && !user_pte_writable(*pte))
		return fault_write(mm, area, va, pte);
	return 0; /* another thread was faster */
}

int mm_fault(struct mm *mm, u64 va, u32 need)
{
	int error;

	KASSERT(va < USER_END);
	mutex_lock(&mm->lock);
	error = fault_locked(mm, va, need);
	mutex_unlock(&mm->lock);
	return error;
}

static bool user_range(u64 at, u64 size)
{
	return size <= USER_END && at <= USER_END - size;
}

int copy_from_user(void *to, u64 from, u64 size)
{
	return user_range(from, size) && uaccess_copy_from(to, from, size) == 0 ? 0 : -EFAULT;
}

int copy_to_user(u64 to, const void *from, u64 size)
{
	return user_range(to, size) && uaccess_copy_to(to, from, size) == 0 ? 0 : -EFAULT;
}

int clear_user(u64 to, u64 size)
{
	return user_range(to, size) && uaccess_clear(to, size) == 0 ? 0 : -EFAULT;
}

int copy_from_user_nofault(void *to, u64 from, u64 size)
{
	int error;

	if (current->mm == NULL)
		return -EFAULT;
	current->nofault++;
	__asm__ volatile("" ::: "memory");
	error = copy_from_user(to, from, size);
	__asm__ volatile("" ::: "memory");
	current->nofault--;
	return error;
}

s64 copy_string_from_user(char *to, u64 from, u64 size)
{
	u64 n = 0;

	while (n < size) {
		/* Up to the end of a page at a time: the next may not be there. */
		u64 part = MIN(size - n, PAGE_SIZE - (from + n) % PAGE_SIZE);
		char *end;

		if (copy_from_user(to + n, from + n, part) != 0)
			return -EFAULT;
		end = memchr(to + n, '\0', part);
		if (end != NULL)
			return end - to;
		n += part;
	}
	return -ENAMETOOLONG;
}
