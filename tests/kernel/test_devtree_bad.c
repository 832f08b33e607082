/* SPDX-License-Identifier: MIT
 *
 * test_devtree_bad.c: what the kernel says to trees that are wrong. Each gets one sentence, or is
 * read as far as it makes sense; none makes the reader crash, read beyond the tree (tree.h), loop,
 * or find a machine that cannot be.
 */
#include <criterion/criterion.h>
#include <kernel/devtree.h>
#include <kernel/irq.h>
#include <libfdt.h>
#include <stdint.h>
#include <string.h>

#include "tree.h"

#define FDT_PA       0x8300000ull
#define ROOM_BYTES   1024u
#define CELLS_MAX    8u
#define CORRUPTIONS  6000u
#define FLIPS_MAX    6u
#define ADDRESS_BITS 47u

static const char *const names[] = {"rk3588_vendor", "rk3588_mainline", "qemu_virt"};

/* One wrong thing. No property: the node is deleted. No cells: the property is deleted. */
struct edit {
	const char *tree, *node, *property;
	u32 count;
	u32 cells[CELLS_MAX];
	const char *problem; /* NULL: the tree is still good enough */
};

#define GIC_RK   "/interrupt-controller@fe600000"
#define GIC_VIRT "/intc@8000000"

static const struct edit edits[] = {
	/* missing */
	{"qemu_virt", "/memory@40000000", NULL, 0, {0}, "no memory"},
	{"qemu_virt", "/cpus", NULL, 0, {0}, "no /cpus"},
	{"qemu_virt", "/cpus/cpu@0", NULL, 0, {0}, "the CPU that boots is not in /cpus"},
	{"qemu_virt", GIC_VIRT, NULL, 0, {0}, "no arm,gic-v3"},
	{"qemu_virt", "/timer", NULL, 0, {0}, "no arm,armv8-timer"},
	{"qemu_virt", "/psci", "method", 0, {0}, "the method of PSCI is neither smc nor hvc"},
	{"qemu_virt", GIC_VIRT, "reg", 0, {0}, "arm,gic-v3 has no distributor"},
	{"qemu_virt", "/timer", "interrupts", 0, {0}, "arm,armv8-timer has no virtual timer PPI"},
	{"qemu_virt", "/psci", NULL, 0, {0}, NULL},
	{"qemu_virt", "/pmu", NULL, 0, {0}, NULL},
	{"qemu_virt", "/chosen", NULL, 0, {0}, NULL},
	{"qemu_virt", "/pl011@9000000", NULL, 0, {0}, NULL},
	{"rk3588_vendor", "/aliases", NULL, 0, {0}, NULL},
	{"rk3588_mainline", GIC_RK "/ppi-partitions", NULL, 0, {0}, NULL},
	/* cell counts */
	{"qemu_virt", GIC_VIRT, "#interrupt-cells", 0, {0},
		"arm,gic-v3 has neither 3 nor 4 interrupt cells"},
	{"qemu_virt", GIC_VIRT, "#interrupt-cells", 1, {2},
		"arm,gic-v3 has neither 3 nor 4 interrupt cells"},
	{"qemu_virt", GIC_VIRT, "#interrupt-cells", 1, {0x40000000},
		"arm,gic-v3 has neither 3 nor 4 interrupt cells"},
	{"qemu_virt", "/", "#address-cells", 1, {0}, "no memory"},
	{"qemu_virt", "/", "#address-cells", 1, {3}, "no memory"},
	{"qemu_virt", "/", "#size-cells", 1, {0x7fffffff}, "no memory"},
	{"qemu_virt", "/", "#size-cells", 1, {0}, "no memory"},
	{"qemu_virt", "/cpus", "#address-cells", 1, {2}, "a CPU's reg is no MPIDR"},
	{"qemu_virt", "/cpus", "#size-cells", 1, {1}, "a CPU's reg is no MPIDR"},
	{"qemu_virt", GIC_VIRT, "reg", 3, {0, 0x8000000, 0}, "arm,gic-v3 has no distributor"},
	{"qemu_virt", GIC_VIRT, "reg", 4, {0, 0x8000000, 0, 0x10000},
		"arm,gic-v3 lacks a redistributor region"},
	/* huge, or not possible */
	{"qemu_virt", "/memory@40000000", "reg", 4, {0, 0x40000000, UINT32_MAX, UINT32_MAX},
		"memory lies outside the address space"},
	{"qemu_virt", "/memory@40000000", "reg", 4, {UINT32_MAX, UINT32_MAX - 4095, 0, 4096},
		"memory lies outside the address space"},
	{"qemu_virt", "/memory@40000000", "reg", 4, {0, 0x40000000, 0, 0}, "no memory"},
	{"qemu_virt", "/memory@40000000", "reg", 8,
		{0, 0x40000000, 0, 0x20000000, 0, 0x50000000, 0, 0x20000000},
		"two ranges of memory overlap"},
	{"rk3588_vendor", "/reserved-memory/cma@10000000", "reg", 4,
		{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, "a reservation of memory wraps"},
	{"qemu_virt", "/chosen", "linux,initrd-end", 1, {0x47000000},
		"the initrd does not lie in memory"},
	{"qemu_virt", "/chosen", "linux,initrd-end", 2, {1, 0},
		"the initrd does not lie in memory"},
	{"qemu_virt", "/chosen", "linux,initrd-start", 1, {0x8000000},
		"the initrd does not lie in memory"},
	{"qemu_virt", "/cpus/cpu@1", "reg", 1, {0x80000001}, "a CPU's reg is no MPIDR"},
	{"qemu_virt", "/cpus/cpu@1", "reg", 1, {2}, "two CPUs have one MPIDR"},
	{"qemu_virt", "/cpus/cpu@1", "reg", 1, {0}, "two CPUs have one MPIDR"},
	{"qemu_virt", GIC_VIRT, "#redistributor-regions", 1, {UINT32_MAX},
		"arm,gic-v3 has too many redistributor regions, or none"},
	{"qemu_virt", GIC_VIRT, "#redistributor-regions", 1, {0},
		"arm,gic-v3 has too many redistributor regions, or none"},
	{"qemu_virt", GIC_VIRT, "#redistributor-regions", 1, {4},
		"arm,gic-v3 lacks a redistributor region"},
	{"qemu_virt", GIC_VIRT, "redistributor-stride", 2, {0, 0x20004},
		"arm,gic-v3 has an impossible redistributor-stride"},
	{"qemu_virt", GIC_VIRT, "redistributor-stride", 2, {UINT32_MAX, 0},
		"arm,gic-v3 has an impossible redistributor-stride"},
	{"qemu_virt", GIC_VIRT, "reg", 8, {0, 0x8000000, 0, 0x10000, 0, 0x80a0000, 0x100, 0},
		"arm,gic-v3 lacks a redistributor region"},
	{"rk3588_vendor", "/timer", "interrupts", 6, {1, 13, 4, 1, 14, 4},
		"arm,armv8-timer has no virtual timer PPI"},
	{"rk3588_vendor", "/timer", "interrupts", 3, {1, 16, 4},
		"arm,armv8-timer has no virtual timer PPI"},
	{"qemu_virt", "/pl011@9000000", "reg", 4, {0, 0x9000000, UINT32_MAX, 0}, NULL},
	{"qemu_virt", "/pl011@9000000", "interrupts", 3, {0, UINT32_MAX, 4}, NULL},
	{"rk3588_mainline", "/serial@feb50000", "reg-shift", 1, {31}, NULL},
	{"qemu_virt", "/pmu", "interrupts", 3, {0, 7, 4}, NULL},
	{"rk3588_mainline", "/pmu-a55", "interrupts", 4, {1, 7, 4, 0x7777}, NULL},
	/* text without an end, where text is expected */
	{"qemu_virt", "/chosen", "stdout-path", 1, {0x2f706c30}, NULL},
	{"qemu_virt", "/chosen", "bootargs", 1, {0x41414141}, NULL},
	{"qemu_virt", "/psci", "method", 1, {0x736d6361},
		"the method of PSCI is neither smc nor hvc"},
};

/* Whatever is found must be possible: what the kernel computes with it cannot overflow. */
static void check_possible(const struct machine *m)
{
	cr_assert(m->rams >= 1 && m->rams <= MACHINE_RANGES_MAX);
	for (u32 i = 0; i < m->rams; i++)
		cr_assert(m->ram[i].size > 0 && m->ram[i].start >> ADDRESS_BITS == 0 &&
			  (m->ram[i].start + m->ram[i].size - 1) >> ADDRESS_BITS == 0);
	cr_assert(m->reserveds <= MACHINE_RANGES_MAX - 2);
	for (u32 i = 0; i < m->reserveds; i++)
		cr_assert(m->reserved[i].start + m->reserved[i].size >= m->reserved[i].start);
	cr_assert(m->cpus >= 1 && m->cpus <= CPUS_MAX);
	for (u32 i = 0; i < CPUS_MAX; i++) {
		cr_assert_eq(m->mpidr[i] & ~MPIDR_AFFINITY, 0);
		cr_assert(m->pmu_intid[i] == 0 || (m->pmu_intid[i] >= 16 && m->pmu_intid[i] < 32));
	}
	cr_assert(m->timer_intid >= 16 && m->timer_intid < 32);
	cr_assert(m->uart_intid < IRQS_MAX);
	cr_assert(m->gic_dist.size >= 0x10000 && m->gic_redists >= 1 &&
		  m->gic_redists <= MACHINE_REDISTS_MAX);
	for (u32 i = 0; i < m->gic_redists; i++)
		cr_assert(m->gic_redist[i].size >= 0x20000);
	cr_assert(m->uart == UART_NONE || m->uart_regs.size >= 32);
	cr_assert(m->uart_reg_shift <= 2);
	cr_assert(memchr(m->bootargs, '\0', BOOTARGS_MAX) != NULL);
}

static void apply(struct tree *tree, const struct edit *edit)
{
	int node = fdt_path_offset(tree->bytes, edit->node), error;
	fdt32_t cells[CELLS_MAX];

	cr_assert(node >= 0, "%s: no %s", edit->tree, edit->node);
	for (u32 i = 0; i < CELLS_MAX; i++)
		cells[i] = cpu_to_fdt32(edit->cells[i]);
	if (edit->property == NULL)
		error = fdt_del_node(tree->bytes, node);
	else if (edit->count == 0)
		error = fdt_delprop(tree->bytes, node, edit->property);
	else
		error = fdt_setprop(
			tree->bytes, node, edit->property, cells, (int)(4 * edit->count));
	cr_assert_eq(error, 0, "%s %s: %s", edit->node, edit->property, fdt_strerror(error));
}

Test(devtree_bad, edits)
{
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		const struct edit *edit = &edits[i];
		struct tree good = tree_load(edit->tree);
		struct tree tree = tree_copy_with_room(&good, ROOM_BYTES);
		struct machine m;
		const char *problem;

		apply(&tree, edit);
		cr_assert_eq(fdt_pack(tree.bytes), 0);
		problem = devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0);
		if (edit->problem == NULL) {
			cr_assert(problem == NULL, "edit %zu, %s %s: %s", i, edit->node,
				edit->property, problem);
			check_possible(&m);
		} else {
			cr_assert(problem != NULL, "edit %zu, %s %s: accepted", i, edit->node,
				edit->property);
			cr_assert_str_eq(problem, edit->problem);
		}
		tree_free(&tree);
		tree_free(&good);
	}
}

/* Accepted, but what is wrong in them is not taken. */
Test(devtree_bad, not_taken)
{
	static const struct edit endless = {
		"qemu_virt", "/chosen", "bootargs", 1, {0x41414141}, NULL};
	static const struct edit no_such_ppi = {
		"qemu_virt", "/pl011@9000000", "interrupts", 3, {1, 20, 4}, NULL};
	struct tree good = tree_load("qemu_virt");
	struct tree tree = tree_copy_with_room(&good, ROOM_BYTES);
	struct machine m;

	apply(&tree, &endless);
	apply(&tree, &no_such_ppi);
	cr_assert(devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0) == NULL);
	cr_assert_str_eq(m.bootargs, "");
	cr_assert_eq(m.uart_intid, 0);
	tree_free(&tree);
	tree_free(&good);
}

/* A tag that does not exist, where a node begins. */
Test(devtree_bad, damaged)
{
	struct tree tree = tree_load("qemu_virt");
	int node = fdt_path_offset(tree.bytes, "/chosen");
	const fdt32_t tag = cpu_to_fdt32(7);
	struct machine m;

	cr_assert(node > 0);
	memcpy(tree.bytes + fdt_off_dt_struct(tree.bytes) + node, &tag, sizeof(tag));
	cr_assert_str_eq(
		devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0), "the device tree is damaged");
	tree_free(&tree);
}

/* libfdt 1.6 follows such an alias for ever. */
Test(devtree_bad, alias_of_itself, .timeout = 20)
{
	struct tree good = tree_load("rk3588_mainline");
	struct tree tree = tree_copy_with_room(&good, ROOM_BYTES);
	struct machine m;

	cr_assert_eq(fdt_setprop_string(tree.bytes, fdt_path_offset(tree.bytes, "/aliases"),
			     "serial2", "serial2"),
		0);
	cr_assert(devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0) == NULL);
	cr_assert_eq(m.uart_regs.start, 0xfeb50000, "the first port of a known kind");
	tree_free(&tree);
	tree_free(&good);
}

Test(devtree_bad, too_many)
{
	struct tree good = tree_load("rk3588_vendor");
	struct tree tree = tree_copy_with_room(&good, 64 * ROOM_BYTES);
	int reserved = fdt_path_offset(tree.bytes, "/reserved-memory");
	fdt64_t regs[2 * (MACHINE_RANGES_MAX + 1)];
	struct machine m;

	for (u32 i = 0; i <= MACHINE_RANGES_MAX; i++) {
		regs[2 * i] = cpu_to_fdt64(0x100000ull * i + 0x40000000);
		regs[2 * i + 1] = cpu_to_fdt64(4096);
	}
	cr_assert_eq(fdt_setprop(tree.bytes, fdt_path_offset(tree.bytes, "/memory@200000"), "reg",
			     regs, (int)sizeof(regs)),
		0);
	cr_assert_str_eq(
		devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0), "memory has too many ranges");
	tree_free(&tree);
	tree = tree_copy_with_room(&good, 64 * ROOM_BYTES);
	cr_assert_eq(
		fdt_setprop(tree.bytes, fdt_subnode_offset(tree.bytes, reserved, "cma@10000000"),
			"reg", regs, (int)sizeof(regs)),
		0);
	cr_assert_str_eq(devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0),
		"memory has too many reservations");
	tree_free(&tree);
	tree_free(&good);
}

/* Every length that is not the whole: by the memory that is there, and by the header's word. */
Test(devtree_bad, truncated, .timeout = 60)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tree good = tree_load(names[i]);

		for (size_t size = 0; size < good.size; size++) {
			struct tree tree = tree_copy(&good, size);
			struct machine m;

			cr_assert(devtree_read(&m, tree.bytes, size, FDT_PA, 0) != NULL,
				"%s: %zu bytes are enough", names[i], size);
			if (size >= sizeof(struct fdt_header)) {
				fdt_set_totalsize(tree.bytes, (u32)size);
				cr_assert(devtree_read(&m, tree.bytes, size, FDT_PA, 0) != NULL,
					"%s: said to be %zu bytes long", names[i], size);
			}
			tree_free(&tree);
		}
		tree_free(&good);
	}
}

/* xorshift64 (Marsaglia 2003) */
static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void corrupt(struct tree *tree, u64 *state)
{
	static const u32 words[] = {
		0, 1, 2, 3, 4, 9, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX};
	u64 flips = 1 + next_random(state) % FLIPS_MAX;

	for (u64 i = 0; i < flips; i++) {
		u64 kind = next_random(state) % 3;
		size_t at = next_random(state) % (tree->size - 4);
		fdt32_t word = cpu_to_fdt32(
			words[next_random(state) % (sizeof(words) / sizeof(words[0]))]);

		if (kind == 0)
			tree->bytes[at] = (unsigned char)next_random(state);
		else if (kind == 1)
			tree->bytes[at] ^= (unsigned char)(1u << next_random(state) % 8);
		else
			memcpy(tree->bytes + (at & ~(size_t)3), &word, 4);
	}
}

Test(devtree_bad, corrupted, .timeout = 120)
{
	u64 state = 0x9e3779b97f4a7c15ull;
	u32 refused = 0, read = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tree good = tree_load(names[i]);

		for (u32 k = 0; k < CORRUPTIONS; k++) {
			struct tree tree = tree_copy(&good, good.size);
			struct machine m;
			const char *problem;

			corrupt(&tree, &state);
			problem = devtree_read(&m, tree.bytes, tree.size, FDT_PA, 0);
			if (problem == NULL)
				check_possible(&m);
			else
				cr_assert(strlen(problem) > 0);
			refused += problem != NULL;
			read += problem == NULL;
			tree_free(&tree);
		}
		tree_free(&good);
	}
	/* Both happen often, or the corruption is not what it is meant to be. */
	cr_assert(refused > CORRUPTIONS / 4 && read > CORRUPTIONS / 4, "%u refused, %u read",
		refused, read);
}
