/* SPDX-License-Identifier: MIT
 *
 * mmu.h: address space layout and page tables (VMSAv8-64, 4 KiB granule, 48-bit addresses; Arm ARM
 * DDI 0487, D8).
 *
 *   TTBR0  0x0000000000000000  user
 *   TTBR1  0xffff000000000000  linear map: physical address + LINEAR_BASE, RAM and devices
 *          0xffff800080000000  kernel image
 *          0xffffa00000000000  kernel stacks, with unmapped gaps
 *
 * Kernel tables change under their own lock. A user table is changed under its mm's lock; the
 * caller says when the TLB is to be flushed.
 */
#ifndef KERNEL_MMU_H
#define KERNEL_MMU_H

#define PAGE_SHIFT  12
#define PAGE_SIZE   4096
#define KIMAGE_BASE 0xffff800080000000
#define LINEAR_BASE 0xffff000000000000
#define STACKS_BASE 0xffffa00000000000

/* A stack is the upper half of a naturally aligned slot, so that bit STACK_SHIFT of any address in
 * it is 1, and of an address just below it 0: the vectors find an overflow with one bit test. */
#define STACK_SHIFT 14
#define STACK_SIZE  (1 << STACK_SHIFT)
#define STACK_SLOT  (2 * STACK_SIZE)

#ifndef __ASSEMBLER__

#include <kernel/types.h>

#define USER_END 0x0001000000000000ull

enum prot {
	PROT_READ = 1,
	PROT_WRITE = 2,
	PROT_EXEC = 4,
};

typedef u64 pte_t;

/* Where the loaded image lies; set before any C of ours but early_map.c runs. */
extern u64 kimage_voffset; /* image virtual address - physical address */

static inline void *phys_to_virt(u64 pa)
{
	return (void *)(pa + (u64)LINEAR_BASE);
}

/* Of an address in the linear map or in the kernel image. */
static inline u64 virt_to_phys(const void *va)
{
	u64 a = (u64)va;

	return a >= (u64)KIMAGE_BASE ? a - kimage_voffset : a - (u64)LINEAR_BASE;
}

/* ---- kernel map ---- */
void mmu_init_this_cpu(void);
void mmu_map_linear(u64 pa, u64 size);
/* Device-nGnRE registers; returns their address in the linear map. */
void *mmu_map_device(u64 pa, u64 size);
int mmu_map_kernel_page(u64 va, u64 pa);
/* Physical address behind a kernel virtual address, or 0. */
u64 mmu_kernel_walk(u64 va);
/* From here on tables come from the page allocator. */
void mmu_pages_ready(void);

/* ---- user tables ---- */
pte_t *user_table_new(void);
void user_table_free(pte_t *root); /* every page has been unmapped */
/* The last-level entry of `va`, or NULL (with `make`: no memory). */
pte_t *user_pte(pte_t *root, u64 va, bool make);
pte_t user_pte_make(u64 pa, u32 prot);
bool user_pte_present(pte_t pte);
bool user_pte_writable(pte_t pte);
pte_t user_pte_readonly(pte_t pte);
u64 user_pte_pa(pte_t pte);

/* Use this table and ASID on this CPU; NULL: no user space. */
void mmu_switch_user(pte_t *root, u64 asid);
void tlb_flush_page(u64 va, u64 asid);
void tlb_flush_asid(u64 asid);
u32 mmu_asid_bits(void);
/* Make instructions written through the linear map visible to fetches, on all CPUs. */
void icache_sync(const void *va, u64 size);

#endif
#endif
