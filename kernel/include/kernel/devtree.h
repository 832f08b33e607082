/* SPDX-License-Identifier: MIT
 *
 * devtree.h: from a flattened device tree to a struct machine (arch/devtree.c).
 */
#ifndef KERNEL_DEVTREE_H
#define KERNEL_DEVTREE_H

#include <kernel/machine.h>

/* The most that the boot protocol lets a tree have (Linux, arch/arm64/booting). */
#define DEVTREE_BYTES_MAX (2u << 20)

/* MPIDR_EL1 without the bits that are no affinity (Arm ARM DDI 0487, D19.2). */
#define MPIDR_AFFINITY 0xff00ffffffull

/* Fill `m`, all of it, from the tree at `fdt` (8-byte aligned, at most `bytes_max` long), which
 * lies at the physical address `fdt_pa`; boot_mpidr: the affinity fields of this CPU. NULL, or what
 * is wrong with the tree, in one sentence: then `m` holds what was found until there, the UART
 * first. A pure function: reads nothing but the tree. */
const char *devtree_read(
	struct machine *m, const void *fdt, size_t bytes_max, u64 fdt_pa, u64 boot_mpidr);

#endif
