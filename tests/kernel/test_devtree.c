/* SPDX-License-Identifier: MIT
 *
 * test_devtree.c: the kernel finds in a device tree what the machine has: RK3588 boards in both
 * forms that are in the field, and QEMU's machine `virt`.
 */
#include <criterion/criterion.h>
#include <kernel/devtree.h>
#include <libfdt.h>
#include <string.h>

#include "tree.h"

#define FDT_PA 0x8300000ull

static void check_range(const char *what, struct range got, u64 start, u64 size)
{
	cr_assert(got.start == start && got.size == size, "%s: %lx + %lx, not %lx + %lx", what,
		got.start, got.size, start, size);
}

/* Is the range among those that must not be handed out? */
static bool is_reserved(const struct machine *m, u64 start, u64 size)
{
	for (u32 i = 0; i < m->reserveds; i++)
		if (m->reserved[i].start == start && m->reserved[i].size == size)
			return true;
	return false;
}

static struct machine read_tree(const char *name, u64 boot_mpidr)
{
	struct tree tree = tree_load(name);
	struct machine m;
	const char *problem = devtree_read(&m, tree.bytes, tree.size, FDT_PA, boot_mpidr);

	cr_assert(problem == NULL, "%s: %s", name, problem);
	cr_assert(is_reserved(&m, FDT_PA, tree.size), "the tree itself is not reserved");
	tree_free(&tree);
	return m;
}

/* What both forms of the RK3588's tree say in their own words. */
static void check_rk3588(const struct machine *m)
{
	check_range("memory", m->ram[0], 0x200000, 0xefe00000);
	cr_assert_eq(m->rams, 2);
	cr_assert_eq(m->cpus, 8);
	for (u32 cpu = 0; cpu < 8; cpu++) {
		cr_assert_eq(m->mpidr[cpu], cpu * 0x100, "CPU %u: MPIDR %lx", cpu, m->mpidr[cpu]);
		cr_assert_eq(m->pmu_intid[cpu], 23, "CPU %u: PMU %u", cpu, m->pmu_intid[cpu]);
	}
	for (u32 cpu = 8; cpu < CPUS_MAX; cpu++)
		cr_assert_eq(m->pmu_intid[cpu], 0);
	check_range("distributor", m->gic_dist, 0xfe600000, 0x10000);
	cr_assert_eq(m->gic_redists, 1);
	check_range("redistributors", m->gic_redist[0], 0xfe680000, 0x100000);
	cr_assert_eq(m->gic_redist_stride, 0);
	cr_assert_eq(m->timer_intid, 27);
	cr_assert_eq(m->uart, UART_8250);
	check_range("UART", m->uart_regs, 0xfeb50000, 0x100);
	cr_assert_eq(m->uart_reg_shift, 2);
	cr_assert_eq(m->uart_intid, 365);
	cr_assert(m->psci && m->psci_smc);
	cr_assert_eq(m->rtc, 0);
}

Test(devtree, rk3588_vendor)
{
	struct machine m = read_tree("rk3588_vendor", 0);

	check_rk3588(&m);
	check_range("high memory", m.ram[1], 0x100000000, 0x300000000);
	check_range("initrd", m.initrd, 0xa200000, 0x100000);
	cr_assert(is_reserved(&m, 0xa200000, 0x100000), "the initrd");
	cr_assert(is_reserved(&m, 0x110000, 0xf0000), "/memreserve/");
	cr_assert(is_reserved(&m, 0x10000000, 0x10000000), "/reserved-memory");
	cr_assert_eq(m.reserveds, 4);
	cr_assert_str_eq(m.bootargs,
		"earlycon=uart8250,mmio32,0xfeb50000 console=ttyFIQ0 init=/bin/x -- word");
}

Test(devtree, rk3588_mainline)
{
	struct machine m = read_tree("rk3588_mainline", 0);

	check_rk3588(&m);
	check_range("high memory", m.ram[1], 0x100000000, 0x10000000);
	cr_assert_eq(m.initrd.size, 0);
	cr_assert_eq(m.reserveds, 1);
	cr_assert_str_eq(m.bootargs, "");
}

/* The boot CPU is index 0 wherever it stands in the tree, with its own PMU. */
Test(devtree, boots_on_a_big_core)
{
	struct machine m = read_tree("rk3588_mainline", 0x400);
	static const u64 mpidr[] = {0x400, 0, 0x100, 0x200, 0x300, 0x500, 0x600, 0x700};

	cr_assert_eq(m.cpus, 8);
	for (u32 cpu = 0; cpu < 8; cpu++) {
		cr_assert_eq(m.mpidr[cpu], mpidr[cpu]);
		cr_assert_eq(m.pmu_intid[cpu], 23);
	}
}

Test(devtree, qemu_virt)
{
	struct machine m = read_tree("qemu_virt", 2);

	check_range("memory", m.ram[0], 0x40000000, 0x20000000);
	cr_assert_eq(m.rams, 1, "secure memory is not ours");
	cr_assert_eq(m.cpus, 4);
	cr_assert(m.mpidr[0] == 2 && m.mpidr[1] == 0 && m.mpidr[2] == 1 && m.mpidr[3] == 3);
	check_range("distributor", m.gic_dist, 0x8000000, 0x10000);
	cr_assert_eq(m.gic_redists, 2);
	check_range("redistributors", m.gic_redist[0], 0x80a0000, 0xf60000);
	check_range("high redistributors", m.gic_redist[1], 0x4000000000, 0x4000000);
	cr_assert_eq(m.timer_intid, 27);
	cr_assert_eq(m.uart, UART_PL011);
	check_range("UART", m.uart_regs, 0x9000000, 0x1000);
	cr_assert_eq(m.uart_reg_shift, 0);
	cr_assert_eq(m.uart_intid, 33);
	cr_assert(m.psci && !m.psci_smc);
	for (u32 cpu = 0; cpu < 4; cpu++)
		cr_assert_eq(m.pmu_intid[cpu], 23);
	cr_assert_eq(m.rtc, 0x9010000);
	check_range("initrd", m.initrd, 0x48000000, 0x100000);
}

/* PMU interrupts that differ between the clusters, and a CPU whose PMU has none. */
Test(devtree, pmu_per_cpu)
{
	struct tree tree = tree_load("rk3588_mainline");
	struct machine m;
	int pmu = fdt_path_offset(tree.bytes, "/pmu-a76");
	int part = fdt_path_offset(
		tree.bytes, "/interrupt-controller@fe600000/ppi-partitions/interrupt-partition-1");

	cr_assert(pmu >= 0 && part >= 0);
	cr_assert_eq(fdt_setprop_inplace_namelen_partial(
			     tree.bytes, pmu, "interrupts", 10, 4, &(fdt32_t){cpu_to_fdt32(6)}, 4),
		0);
	cr_assert_eq(fdt_setprop_inplace_namelen_partial(tree.bytes, part, "affinity", 8, 12,
			     &(fdt32_t){cpu_to_fdt32(0x1234)}, 4),
		0);
	cr_assert(devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0) == NULL);
	for (u32 cpu = 0; cpu < 8; cpu++)
		cr_assert_eq(m.pmu_intid[cpu],
			cpu < 4   ? 23
			: cpu < 7 ? 22
				  : 0,
			"CPU %u: %u", cpu, m.pmu_intid[cpu]);
	tree_free(&tree);
}
