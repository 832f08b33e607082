/* SPDX-License-Identifier: MIT
 *
 * mm.h: user address spaces.
 *
 * An mm has a page table, an ASID and a sorted list of areas. Everything in it is under mm->lock
 * (sleeping), the page table too; faults take it, so no user memory is touched while it is held.
 * Pages appear on first touch. A private page is shared, read-only, by a fork and copied on write
 * when its reference count is above one.
 */
#ifndef KERNEL_MM_H
#define KERNEL_MM_H

#include <kernel/list.h>
#include <kernel/lock.h>
#include <kernel/mmu.h>
#include <kernel/types.h>

struct file;
struct page;
struct area;

/* What an object that can be mapped supplies. Called with the mm's lock held, in task context. */
struct area_ops {
	/* The page at `index` pages from the start of the object; one reference goes to the caller.
	 * 0, or -errno (the toucher gets SIGBUS). */
	int (*page)(struct area *area, u64 index, struct page **page);
	/* One more area on the same object (an area was split). May be NULL. */
	void (*opened)(struct area *area);
	/* An area is gone; its pages are unmapped and the TLB is flushed. Called without the lock.
	 * May be NULL. */
	void (*closed)(struct area *area);
};

enum area_flags {
	AREA_SHARED = 1,    /* writes go to the object */
	AREA_GROWSDOWN = 2, /* the stack */
	AREA_NOFORK = 4,    /* a child does not get it */
};

struct area {
	struct list link;
	u64 start, end; /* bytes, whole pages */
	u32 prot;
	u32 flags;
	u64 index;                  /* object page at `start` */
	const struct area_ops *ops; /* NULL: anonymous */
	struct file *file;          /* held, or NULL */
	void *object;               /* for ops */
};

struct mm {
	u32 refs; /* atomic */
	struct mutex lock;
	pte_t *table;
	u64 asid;
	struct list areas;
	u64 brk_start, brk_end;
	u64 stack_top;
	u64 pages; /* mapped now */
};

#define STACK_MAX_BYTES (8ull << 20)

struct mm *mm_new(void);
struct mm *mm_fork(struct mm *from);
void mm_get(struct mm *mm);
void mm_put(struct mm *mm);
/* Make `mm` (or none) the caller's. */
void mm_use(struct mm *mm);

/* A new area; `at` 0: anywhere, below the stack. With `fixed` what was there goes. On success *at
 * is the start. The area takes over `file`'s reference and `object`. 0 or -errno. */
struct area_request {
	u64 at;
	u64 size;
	u32 prot;
	u32 flags;
	bool fixed;
	u64 index;
	const struct area_ops *ops;
	struct file *file;
	void *object;
};
int mm_map(struct mm *mm, struct area_request *request);
/* Fill ops and object for `size` bytes of new memory that forks share (mm/shared.c). 0 or -ENOMEM.
 */
int shared_memory_request(struct area_request *request);
int mm_unmap(struct mm *mm, u64 at, u64 size);
int mm_protect(struct mm *mm, u64 at, u64 size, u32 prot);
u64 mm_brk(struct mm *mm, u64 end);
/* Service a fault at `va` for `need` (enum prot). 0, -EFAULT (no such area or right: SIGSEGV),
 * -ENOMEM, -EIO. */
int mm_fault(struct mm *mm, u64 va, u32 need);

/* ---- user memory (arch/uaccess.S): 0 or -EFAULT; task context, no mm lock held ---- */
int copy_from_user(void *to, u64 from, u64 size);
int copy_to_user(u64 to, const void *from, u64 size);
int clear_user(u64 to, u64 size);
/* The string's length without the 0, -EFAULT, or -ENAMETOOLONG if it needs more than `size` bytes
 * with the 0. */
s64 copy_string_from_user(char *to, u64 from, u64 size);
/* Read without servicing faults: any context. */
int copy_from_user_nofault(void *to, u64 from, u64 size);

#endif
