/* SPDX-License-Identifier: MIT
 *
 * mmu.c: kernel and user translation tables, TLB and instruction cache maintenance.
 *
 * The kernel's tables only grow: the linear map and device registers at boot, kernel stacks later.
 * Boot-time tables come from a small pool in .bss until mmu_pages_ready(). Entries go from invalid
 * to valid only, so the kernel side never needs a TLB flush. kernel_tables guards them.
 *
 * User tables belong to an mm and are changed under its lock. The TLB instructions used are the
 * inner-shareable broadcast forms, so no IPI is needed. Break-before-make (Arm ARM DDI 0487, D8.14)
 * holds because a valid entry that changes its address is first made invalid and flushed by
 * mm/mm.c.
 */
#include <kernel/arch.h>
#include <kernel/lock.h>
#include <kernel/mmu.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>

#include "tables.h"

#define POOL_TABLES 48u

static pte_t pool[POOL_TABLES][TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static u32 pool_used;
static bool pages_ready;
static struct spinlock kernel_tables;
static pte_t empty_table[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));

extern char image_end[];

/* Tables in the image are reached through its own mapping: the linear map may not exist yet. */
static pte_t *table_va(u64 pa)
{
	u64 image_pa = (u64)KIMAGE_BASE - kimage_voffset;

	if (pa >= image_pa && pa < (u64)image_end - kimage_voffset)
		return (pte_t *)(pa + kimage_voffset);
	return phys_to_virt(pa);
}

static pte_t *table_new(void)
{
	struct page *page;

	if (!pages_ready) {
		KASSERT(pool_used < POOL_TABLES);
		return pool[pool_used++];
	}
	page = page_alloc_zeroed(0);
	return page != NULL ? page_va(page) : NULL;
}

/* The table below entry `e`, made if it is missing and `make`. NULL: missing, or no memory, or a
 * block. */
static pte_t *table_below(pte_t *e, bool make)
{
	pte_t *table;

	if (*e & PTE_VALID)
		return *e & PTE_TABLE ? table_va(*e & PTE_ADDR_MASK) : NULL;
	if (!make)
		return NULL;
	table = table_new();
	if (table == NULL)
		return NULL;
	dsb_ishst(); /* the walker must see a cleared table */
	__atomic_store_n(e, virt_to_phys(table) | PTE_VALID | PTE_TABLE, __ATOMIC_RELEASE);
	return table;
}

static pte_t *walk(pte_t *root, u64 va, u32 last_shift, bool make)
{
	pte_t *table = root;

	for (u32 shift = L0_SHIFT; shift > last_shift; shift -= 9) {
		table = table_below(&table[TABLE_INDEX(va, shift)], make);
		if (table == NULL)
			return NULL;
	}
	return &table[TABLE_INDEX(va, last_shift)];
}

/* Map [pa, pa + size) in the linear map, with the largest blocks that fit. What is mapped already
 * is left alone. */
static void map_linear(u64 pa, u64 size, pte_t bits)
{
	u64 end = ALIGN_UP(pa + size, PAGE_SIZE);
	u64 flags = spin_lock_irq(&kernel_tables);

	pa = ALIGN_DOWN(pa, PAGE_SIZE);
	while (pa < end) {
		u64 va = pa + (u64)LINEAR_BASE;
		u32 shift = L3_SHIFT;
		pte_t *e;

		if (pa % L1_BLOCK == 0 && end - pa >= L1_BLOCK)
			shift = L1_SHIFT;
		else if (pa % L2_BLOCK == 0 && end - pa >= L2_BLOCK)
			shift = L2_SHIFT;
		e = walk(kernel_table, va, shift, true);
		/* A level that is split already (or still a block): go down, or step over it. */
		while (e != NULL && (*e & PTE_VALID) && (*e & PTE_TABLE) && shift > L3_SHIFT) {
			shift -= 9;
			e = walk(kernel_table, va, shift, true);
		}
		if (e != NULL && !(*e & PTE_VALID))
			*e = pa | bits | PTE_VALID | (shift == L3_SHIFT ? PTE_PAGE : 0);
		pa += 1ull << shift;
	}
	dsb_ishst();
	isb();
	spin_unlock_irq(&kernel_tables, flags);
}

void mmu_map_linear(u64 pa, u64 size)
{
	map_linear(pa, size, PTE_KERNEL_DATA);
}

void *mmu_map_device(u64 pa, u64 size)
{
	map_linear(pa, size, PTE_KERNEL_DEVICE);
	return phys_to_virt(pa);
}

int mmu_map_kernel_page(u64 va, u64 pa)
{
	u64 flags = spin_lock_irq(&kernel_tables);
	pte_t *e = walk(kernel_table, va, L3_SHIFT, true);

	if (e != NULL) {
		KASSERT(!(*e & PTE_VALID));
		*e = pa | PTE_KERNEL_DATA | PTE_VALID | PTE_PAGE;
		dsb_ishst();
		isb();
	}
	spin_unlock_irq(&kernel_tables, flags);
	return e != NULL ? 0 : -1;
}

u64 mmu_kernel_walk(u64 va)
{
	pte_t *table = kernel_table;

	if (va < (u64)LINEAR_BASE)
		return 0;
	for (u32 shift = L0_SHIFT; shift >= L3_SHIFT; shift -= 9) {
		pte_t e = table[TABLE_INDEX(va, shift)];

		if (!(e & PTE_VALID))
			return 0;
		if (shift == L3_SHIFT || !(e & PTE_TABLE))
			return (e & PTE_ADDR_MASK) + (va & ((1ull << shift) - 1));
		table = table_va(e & PTE_ADDR_MASK);
	}
	return 0;
}

void mmu_pages_ready(void)
{
	pages_ready = true;
}

void mmu_init_this_cpu(void)
{
	mmu_switch_user(NULL, 0);
	__asm__ volatile("tlbi vmalle1" ::: "memory"); /* the identity map is gone */
	__asm__ volatile("dsb nsh" ::: "memory");
	isb();
}

pte_t *user_table_new(void)
{
	struct page *page = page_alloc_zeroed(0);

	return page != NULL ? page_va(page) : NULL;
}

static void free_level(pte_t *table, u32 shift)
{
	if (shift > L3_SHIFT) {
		for (u32 i = 0; i < TABLE_ENTRIES; i++)
			if (table[i] & PTE_VALID)
				free_level(table_va(table[i] & PTE_ADDR_MASK), shift - 9);
	}
	page_put(page_of_pa(virt_to_phys(table)));
}

void user_table_free(pte_t *root)
{
	free_level(root, L0_SHIFT);
}

pte_t *user_pte(pte_t *root, u64 va, bool make)
{
	KASSERT(va < USER_END);
	return walk(root, va, L3_SHIFT, make);
}

pte_t user_pte_make(u64 pa, u32 prot)
{
	pte_t pte = pa | PTE_USER | PTE_VALID | PTE_PAGE;

	if (!(prot & PROT_WRITE))
		pte |= PTE_AP_RO;
	if (!(prot & PROT_EXEC))
		pte |= PTE_UXN;
	if (!(prot & (PROT_READ | PROT_WRITE | PROT_EXEC)))
		pte &= ~PTE_AP_EL0;
	return pte;
}

bool user_pte_present(pte_t pte)
{
	return (pte & PTE_VALID) != 0;
}

bool user_pte_writable(pte_t pte)
{
	return (pte & PTE_VALID) != 0 && !(pte & PTE_AP_RO);
}

pte_t user_pte_readonly(pte_t pte)
{
	return pte | PTE_AP_RO;
}

u64 user_pte_pa(pte_t pte)
{
	return pte & PTE_ADDR_MASK;
}

void mmu_switch_user(pte_t *root, u64 asid)
{
	u64 pa = virt_to_phys(root != NULL ? root : empty_table);

	SYSREG_WRITE(ttbr0_el1, pa | (asid << 48));
	isb();
}

/* The dsb before orders the table write before the invalidation, the one after waits for it (DDI
 * 0487, D8.14.5). */
void tlb_flush_page(u64 va, u64 asid)
{
	u64 arg = (asid << 48) | ((va >> PAGE_SHIFT) & 0xfffffffffffull);

	dsb_ishst();
	__asm__ volatile("tlbi vae1is, %0" ::"r"(arg) : "memory");
	dsb_ish();
	isb();
}

void tlb_flush_asid(u64 asid)
{
	dsb_ishst();
	__asm__ volatile("tlbi aside1is, %0" ::"r"(asid << 48) : "memory");
	dsb_ish();
	isb();
}

u32 mmu_asid_bits(void)
{
	return ((SYSREG_READ(id_aa64mmfr0_el1) >> 4) & 0xf) == 2 ? 16 : 8;
}

void icache_sync(const void *va, u64 size)
{
	u64 ctr = SYSREG_READ(ctr_el0);
	u64 line = 4ull << ((ctr >> 16) & 0xf);
	u64 end = (u64)va + size;

	for (u64 a = ALIGN_DOWN((u64)va, line); a < end; a += line)
		__asm__ volatile("dc cvau, %0" ::"r"(a) : "memory");
	dsb_ish();
	__asm__ volatile("ic ialluis" ::: "memory");
	dsb_ish();
	isb();
}
