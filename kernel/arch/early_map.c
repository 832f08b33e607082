/* SPDX-License-Identifier: MIT
 *
 * early_map.c: the page tables with which the MMU is first switched on.
 *
 * Runs on the boot CPU with the MMU off, at physical addresses, before anything else in C: only
 * PC-relative references are made, no pointer from initialised data is used, and nothing is called
 * outside this file. It maps
 *   - the image, identically, in TTBR0's table (left as soon as the jump is made, used again by
 * each secondary);
 *   - the image at KIMAGE_BASE: text read-only and executable, constants read-only, data and .bss
 * read-write;
 *   - the 4 MiB that hold the device tree, in the linear map.
 * The rest of the linear map is added by arch/mmu.c once the tree has said where the RAM is.
 */
#include <kernel/arch.h>
#include <kernel/mmu.h>

#include "tables.h"

#define IMAGE_MAX_BYTES (8u << 20)

void early_map(u64 image_pa, u64 fdt_pa);

extern char text_start[], text_end[], rodata_end[], image_end[];

pte_t idmap_table[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
pte_t kernel_table[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
u64 tcr_value;
u64 kimage_voffset;

static pte_t idmap_l1[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static pte_t idmap_l2[2][TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static pte_t image_l1[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static pte_t image_l2[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static pte_t image_l3[IMAGE_MAX_BYTES / L2_BLOCK][TABLE_ENTRIES]
	__attribute__((aligned(PAGE_SIZE)));
static pte_t fdt_l1[TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));
static pte_t fdt_l2[2][TABLE_ENTRIES] __attribute__((aligned(PAGE_SIZE)));

static pte_t table_entry(const pte_t *table)
{
	return (u64)table | PTE_VALID | PTE_TABLE; /* the MMU is off: addresses are physical */
}

/* 2 MiB blocks for `size` bytes at `pa`, at virtual address `va`; the range lies in at most two
 * GiB. */
static void map_blocks(
	pte_t *l0, pte_t *l1, pte_t (*l2)[TABLE_ENTRIES], u64 va, u64 pa, u64 size, pte_t bits)
{
	u64 first = va >> L1_SHIFT;

	l0[TABLE_INDEX(va, L0_SHIFT)] = table_entry(l1);
	for (u64 off = 0; off < size; off += L2_BLOCK) {
		pte_t *table = l2[((va + off) >> L1_SHIFT) - first];

		l1[TABLE_INDEX(va + off, L1_SHIFT)] = table_entry(table);
		table[TABLE_INDEX(va + off, L2_SHIFT)] = (pa + off) | bits | PTE_VALID;
	}
}

static void map_image(u64 image_pa)
{
	u64 size = (u64)(image_end - text_start);
	u64 text = (u64)(text_end - text_start);
	u64 rodata = (u64)(rodata_end - text_start);

	kernel_table[TABLE_INDEX((u64)KIMAGE_BASE, L0_SHIFT)] = table_entry(image_l1);
	image_l1[TABLE_INDEX((u64)KIMAGE_BASE, L1_SHIFT)] = table_entry(image_l2);
	for (u64 off = 0; off < size; off += PAGE_SIZE) {
		u64 va = (u64)KIMAGE_BASE + off;
		pte_t bits = off < text     ? PTE_KERNEL_TEXT
			     : off < rodata ? PTE_KERNEL_RODATA
					    : PTE_KERNEL_DATA;
		pte_t *l3 = image_l3[off / L2_BLOCK];

		image_l2[TABLE_INDEX(va, L2_SHIFT)] = table_entry(l3);
		l3[TABLE_INDEX(va, L3_SHIFT)] = (image_pa + off) | bits | PTE_VALID | PTE_PAGE;
	}
}

/* TCR_EL1 (Arm ARM DDI 0487, D19.2): 48-bit addresses on both sides, 4 KiB granules, write-back
 * inner-shareable walks, as many physical address bits as there are up to 48, 16-bit ASIDs where
 * there are. */
static u64 tcr_for_this_cpu(void)
{
	u64 mmfr0 = SYSREG_READ(id_aa64mmfr0_el1);
	u64 parange = mmfr0 & 0xf;
	u64 walks = BIT(8) | BIT(10) | (3ull << 12);
	u64 tcr = 16 | walks | ((16 | walks) << 16) | (2ull << 30);

	tcr |= MIN(parange, 5ull) << 32;
	if (((mmfr0 >> 4) & 0xf) == 2)
		tcr |= BIT(36);
	return tcr;
}

void early_map(u64 image_pa, u64 fdt_pa)
{
	u64 size = ALIGN_UP((u64)(image_end - text_start), L2_BLOCK);
	u64 fdt_start = ALIGN_DOWN(fdt_pa, L2_BLOCK);

	if (size > IMAGE_MAX_BYTES)
		for (;;)
			cpu_relax();
	kimage_voffset = (u64)KIMAGE_BASE - image_pa;
	tcr_value = tcr_for_this_cpu();
	map_blocks(idmap_table, idmap_l1, idmap_l2, image_pa, image_pa, size, PTE_KERNEL_IDMAP);
	map_image(image_pa);
	map_blocks(kernel_table, fdt_l1, fdt_l2, fdt_start + (u64)LINEAR_BASE, fdt_start,
		2 * L2_BLOCK, PTE_KERNEL_DATA);
	dsb_sy();
}
