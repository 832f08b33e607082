/* SPDX-License-Identifier: MIT
 *
 * mm.c: user address spaces: their life, their areas, mapping and unmapping.
 *
 * The list of areas is sorted and without overlap. Neighbouring areas are not merged. An area's
 * pages are in the page table or nowhere: unmapping drops them. Rules of the lock are in
 * kernel/mm.h; area_ops.closed and file_put() are called without it, because they may close a file,
 * which may do anything. An ASID belongs to an mm for its life; with 8-bit ASIDs that limits the
 * number of address spaces to 255.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#define MMAP_TOP  (USER_END - (1ull << 32)) /* below the stack and its room to grow */
#define ASIDS_MAX 65536u
#define AREAS_MAX 65530u

static struct spinlock asid_lock;
static u64 asids[ASIDS_MAX / 64];
static u32 asid_last;

static s64 asid_take(void)
{
	u32 count = 1u << mmu_asid_bits();
	s64 found = -EAGAIN;
	u64 flags = spin_lock_irq(&asid_lock);

	for (u32 i = 1; i <= count && found < 0; i++) {
		u32 asid = (asid_last + i) & (count - 1);

		if (asid != 0 && !(asids[asid / 64] & BIT(asid % 64))) {
			asids[asid / 64] |= BIT(asid % 64);
			asid_last = asid;
			found = asid;
		}
	}
	spin_unlock_irq(&asid_lock, flags);
	return found;
}

static void asid_release(u64 asid)
{
	u64 flags;

	tlb_flush_asid(asid);
	flags = spin_lock_irq(&asid_lock);
	asids[asid / 64] &= ~BIT(asid % 64);
	spin_unlock_irq(&asid_lock, flags);
}

struct mm *mm_new(void)
{
	struct mm *mm = kzalloc(sizeof(*mm));
	s64 asid;

	if (mm == NULL)
		return NULL;
	mm->table = user_table_new();
	if (mm->table == NULL)
		goto no_table;
	asid = asid_take();
	if (asid < 0)
		goto no_asid;
	mm->asid = (u64)asid;
	mm->refs = 1;
	mutex_init(&mm->lock);
	list_init(&mm->areas);
	return mm;

no_asid:
	user_table_free(mm->table);
no_table:
	kfree(mm);
	return NULL;
}

void mm_get(struct mm *mm)
{
	__atomic_fetch_add(&mm->refs, 1, __ATOMIC_RELAXED);
}

void mm_use(struct mm *mm)
{
	u64 flags = irq_save();

	current->mm = mm;
	mmu_switch_user(mm != NULL ? mm->table : NULL, mm != NULL ? mm->asid : 0);
	irq_restore(flags);
}

/* Drop the pages of [start, end); under the lock. The TLB is flushed before the pages go. */
static void drop_pages(struct mm *mm, u64 start, u64 end)
{
	for (u64 va = start; va < end; va += PAGE_SIZE) {
		pte_t *pte = user_pte(mm->table, va, false);

		if (pte == NULL) {
			va = ALIGN_DOWN(va, 1ull << 21) + (1ull << 21) -
			     PAGE_SIZE; /* no table here at all */
			continue;
		}
		if (user_pte_present(*pte)) {
			struct page *page = page_of_pa(user_pte_pa(*pte));

			__atomic_store_n(pte, 0, __ATOMIC_RELEASE);
			tlb_flush_page(va, mm->asid);
			mm->pages--;
			page_put(page);
		}
	}
}

static void area_free(struct area *area)
{
	if (area->ops != NULL && area->ops->closed != NULL)
		area->ops->closed(area);
	if (area->file != NULL)
		file_put(area->file);
	kfree(area);
}

static void free_areas(struct list *areas)
{
	LIST_FOR_EACH_SAFE (pos, areas) {
		list_remove(pos);
		area_free(LIST_ENTRY(pos, struct area, link));
	}
}

void mm_put(struct mm *mm)
{
	if (__atomic_fetch_sub(&mm->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	LIST_FOR_EACH (pos, &mm->areas) {
		struct area *area = LIST_ENTRY(pos, struct area, link);

		drop_pages(mm, area->start, area->end);
	}
	KASSERT(mm->pages == 0);
	free_areas(&mm->areas);
	asid_release(mm->asid);
	user_table_free(mm->table);
	kfree(mm);
}

/* The first area that ends above `va`, or NULL. */
static struct area *area_above(struct mm *mm, u64 va)
{
	LIST_FOR_EACH (pos, &mm->areas) {
		struct area *area = LIST_ENTRY(pos, struct area, link);

		if (area->end > va)
			return area;
	}
	return NULL;
}

static void area_insert(struct mm *mm, struct area *area)
{
	struct area *next = area_above(mm, area->start);

	KASSERT(next == NULL || next->start >= area->end);
	list_insert_before(next != NULL ? &next->link : &mm->areas, &area->link);
}

/* One more area on what `area` maps. */
static struct area *area_copy(const struct area *area)
{
	struct area *copy = kmalloc(sizeof(*copy));

	if (copy == NULL)
		return NULL;
	*copy = *area;
	list_init(&copy->link);
	if (copy->file != NULL)
		file_get(copy->file);
	if (copy->ops != NULL && copy->ops->opened != NULL)
		copy->ops->opened(copy);
	return copy;
}

/* Make `at` a border between areas. 0 or -ENOMEM. */
static int split_at(struct mm *mm, u64 at)
{
	struct area *area = area_above(mm, at);
	struct area *upper;

	if (area == NULL || area->start >= at)
		return 0;
	upper = area_copy(area);
	if (upper == NULL)
		return -ENOMEM;
	upper->start = at;
	upper->index += (at - area->start) >> PAGE_SHIFT;
	upper->flags &= ~(u32)AREA_GROWSDOWN;
	area->end = at;
	list_insert_head(&area->link, &upper->link);
	return 0;
}

/* Move the areas of [start, end) to `gone`, unmapped. Under the lock; the caller frees them without
 * it. */
static int cut_range(struct mm *mm, u64 start, u64 end, struct list *gone)
{
	if (split_at(mm, start) != 0 || split_at(mm, end) != 0)
		return -ENOMEM;
	LIST_FOR_EACH_SAFE (pos, &mm->areas) {
		struct area *area = LIST_ENTRY(pos, struct area, link);

		if (area->start >= start && area->end <= end) {
			drop_pages(mm, area->start, area->end);
			list_remove(pos);
			list_insert_tail(gone, pos);
		}
	}
	return 0;
}

/* The highest gap of `size` bytes below MMAP_TOP, or 0. */
static u64 find_gap(struct mm *mm, u64 size)
{
	u64 top = MMAP_TOP;

	for (struct list *pos = mm->areas.prev; pos != &mm->areas; pos = pos->prev) {
		struct area *area = LIST_ENTRY(pos, struct area, link);

		if (area->start >= top)
			continue;
		if (area->end < top && top - area->end >= size)
			break;
		top = area->start;
	}
	return top >= size + PAGE_SIZE * 16 ? top - size : 0;
}

static int place(struct mm *mm, struct area_request *request, struct list *gone)
{
	struct area *next;

	if (request->fixed)
		return cut_range(mm, request->at, request->at + request->size, gone);
	if (request->at != 0 && request->at + request->size <= MMAP_TOP) {
		next = area_above(mm, request->at);
		if (next == NULL || next->start >= request->at + request->size)
			return 0; /* the hint is free */
	}
	request->at = find_gap(mm, request->size);
	return request->at != 0 ? 0 : -ENOMEM;
}

int mm_map(struct mm *mm, struct area_request *request)
{
	struct list gone = LIST_INIT(gone);
	struct area *area;
	int error;

	request->size = ALIGN_UP(request->size, PAGE_SIZE);
	if (request->size == 0 || request->size > USER_END ||
		request->at > USER_END - request->size || request->at % PAGE_SIZE != 0)
		return -ENOMEM;
	area = kzalloc(sizeof(*area));
	if (area == NULL)
		return -ENOMEM;
	mutex_lock(&mm->lock);
	error = place(mm, request, &gone);
	if (error == 0) {
		*area = (struct area){
			.start = request->at,
			.end = request->at + request->size,
			.prot = request->prot,
			.flags = request->flags,
			.index = request->index,
			.ops = request->ops,
			.file = request->file,
			.object = request->object,
		};
		area_insert(mm, area);
	}
	mutex_unlock(&mm->lock);
	free_areas(&gone);
	if (error != 0)
		kfree(area);
	return error;
}

int mm_unmap(struct mm *mm, u64 at, u64 size)
{
	struct list gone = LIST_INIT(gone);
	int error;

	if (at % PAGE_SIZE != 0 || size == 0 || size > USER_END || at > USER_END - size)
		return -EINVAL;
	mutex_lock(&mm->lock);
	error = cut_range(mm, at, at + ALIGN_UP(size, PAGE_SIZE), &gone);
	mutex_unlock(&mm->lock);
	free_areas(&gone);
	return error;
}

/* Give the area's pages its new rights. Writing is given back by the next fault, which knows who
 * shares a page. */
static void protect_pages(struct mm *mm, const struct area *area)
{
	for (u64 va = area->start; va < area->end; va += PAGE_SIZE) {
		pte_t *pte = user_pte(mm->table, va, false);
		u64 pa;

		if (pte == NULL || !user_pte_present(*pte))
			continue;
		pa = user_pte_pa(*pte);
		if (area->prot & PROT_EXEC)
			icache_sync(phys_to_virt(pa), PAGE_SIZE);
		__atomic_store_n(
			pte, user_pte_make(pa, area->prot & ~(u32)PROT_WRITE), __ATOMIC_RELEASE);
		tlb_flush_page(va, mm->asid);
	}
}

int mm_protect(struct mm *mm, u64 at, u64 size, u32 prot)
{
	u64 end = at + ALIGN_UP(size, PAGE_SIZE);
	u64 covered = at;
	int error = 0;

	if (at % PAGE_SIZE != 0 || end < at || end > USER_END)
		return -EINVAL;
	mutex_lock(&mm->lock);
	if (split_at(mm, at) != 0 || split_at(mm, end) != 0)
		error = -ENOMEM;
	LIST_FOR_EACH (pos, &mm->areas) {
		struct area *area = LIST_ENTRY(pos, struct area, link);

		if (error != 0 || area->start < at || area->end > end)
			continue;
		if (area->start != covered)
			break;
		covered = area->end;
		area->prot = prot;
		protect_pages(mm, area);
	}
	mutex_unlock(&mm->lock);
	if (error == 0 && covered < end)
		error = -ENOMEM;
	return error;
}

u64 mm_brk(struct mm *mm, u64 end)
{
	u64 old_end = ALIGN_UP(mm->brk_end, PAGE_SIZE);
	u64 new_end = ALIGN_UP(end, PAGE_SIZE);

	if (end < mm->brk_start || end > mm->brk_start + (1ull << 36))
		return mm->brk_end;
	if (new_end < old_end && mm_unmap(mm, new_end, old_end - new_end) != 0)
		return mm->brk_end;
	if (new_end > old_end) {
		struct area_request request = {
			.at = old_end, .size = new_end - old_end, .prot = PROT_READ | PROT_WRITE};

		if (mm_map(mm, &request) != 0)
			return mm->brk_end;
		if (request.at != old_end) { /* something is in the way */
			mm_unmap(mm, request.at, request.size);
			return mm->brk_end;
		}
	}
	mm->brk_end = end;
	return end;
}

/* Give `to` the pages that `area` has in `from`: private ones read-only on both sides. Both locks
 * need not be held: `to` is not in use yet. */
static int copy_pages(struct mm *to, struct mm *from, const struct area *area)
{
	for (u64 va = area->start; va < area->end; va += PAGE_SIZE) {
		pte_t *src = user_pte(from->table, va, false);
		pte_t *dst;

		if (src == NULL) {
			va = ALIGN_DOWN(va, 1ull << 21) + (1ull << 21) - PAGE_SIZE;
			continue;
		}
		if (!user_pte_present(*src))
			continue;
		dst = user_pte(to->table, va, true);
		if (dst == NULL)
			return -ENOMEM;
		if (!(area->flags & AREA_SHARED) && user_pte_writable(*src))
			*src = user_pte_readonly(*src);
		*dst = *src;
		page_get(page_of_pa(user_pte_pa(*src)));
		to->pages++;
	}
	return 0;
}

struct mm *mm_fork(struct mm *from)
{
	struct mm *to = mm_new();
	int error = 0;

	if (to == NULL)
		return NULL;
	mutex_lock(&from->lock);
	to->brk_start = from->brk_start;
	to->brk_end = from->brk_end;
	to->stack_top = from->stack_top;
	LIST_FOR_EACH (pos, &from->areas) {
		struct area *area = LIST_ENTRY(pos, struct area, link);
		struct area *copy;

		if (area->flags & AREA_NOFORK)
			continue;
		copy = area_copy(area);
		if (copy == NULL) {
			error = -ENOMEM;
			break;
		}
		list_insert_tail(&to->areas, &copy->link);
		error = copy_pages(to, from, area);
		if (error != 0)
			break;
	}
	tlb_flush_asid(from->asid); /* pages that became read-only */
	mutex_unlock(&from->lock);
	if (error != 0) {
		mm_put(to);
		return NULL;
	}
	return to;
}
