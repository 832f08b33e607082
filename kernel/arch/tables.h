/* SPDX-License-Identifier: MIT
 *
 * tables.h: descriptors of VMSAv8-64 translation tables, stage 1, 4 KiB granule (Arm ARM DDI 0487,
 * D8.3).
 *
 * Private to arch/. PTE_KERNEL_* and PTE_USER are attribute sets; the type bits (valid, table or
 * page) are added by who makes the descriptor.
 */
#ifndef KERNEL_ARCH_TABLES_H
#define KERNEL_ARCH_TABLES_H

#include <kernel/types.h>

#define TABLE_ENTRIES 512u
#define L0_SHIFT      39
#define L1_SHIFT      30
#define L2_SHIFT      21
#define L3_SHIFT      12
#define L1_BLOCK      (1ull << L1_SHIFT)
#define L2_BLOCK      (1ull << L2_SHIFT)

#define TABLE_INDEX(va, shift) (((va) >> (shift)) & (TABLE_ENTRIES - 1))

#define PTE_VALID     BIT(0)
#define PTE_TABLE     BIT(1)          /* levels 0 to 2: a table, not a block */
#define PTE_PAGE      BIT(1)          /* level 3 */
#define PTE_ATTR(n)   ((u64)(n) << 2) /* index into MAIR_EL1, set in head.S */
#define PTE_AP_EL0    BIT(6)
#define PTE_AP_RO     BIT(7)
#define PTE_SH_INNER  (3ull << 8)
#define PTE_AF        BIT(10)
#define PTE_NG        BIT(11)
#define PTE_PXN       BIT(53)
#define PTE_UXN       BIT(54)
#define PTE_ADDR_MASK 0x0000fffffffff000ull

#define PTE_NORMAL (PTE_ATTR(0) | PTE_SH_INNER | PTE_AF)
#define PTE_DEVICE (PTE_ATTR(1) | PTE_AF)

#define PTE_KERNEL_TEXT   (PTE_NORMAL | PTE_AP_RO | PTE_UXN)
#define PTE_KERNEL_RODATA (PTE_NORMAL | PTE_AP_RO | PTE_UXN | PTE_PXN)
#define PTE_KERNEL_DATA   (PTE_NORMAL | PTE_UXN | PTE_PXN)
#define PTE_KERNEL_DEVICE (PTE_DEVICE | PTE_UXN | PTE_PXN)
#define PTE_KERNEL_IDMAP  (PTE_NORMAL | PTE_UXN)
#define PTE_USER          (PTE_NORMAL | PTE_AP_EL0 | PTE_NG | PTE_PXN)

extern u64 idmap_table[TABLE_ENTRIES];
extern u64 kernel_table[TABLE_ENTRIES];

#endif
