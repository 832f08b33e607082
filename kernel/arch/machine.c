/* SPDX-License-Identifier: MIT
 *
 * machine.c: reads the flattened device tree, with libfdt, into the one struct that the rest of the
 * kernel uses.
 *
 * Runs once, on the boot CPU, before there is memory to allocate. Devices are found by compatible
 * string anywhere in the tree; addresses are taken through `ranges` only as far as a one-to-one
 * bus, which is what QEMU virt and the RK3588 have. What the tree does not name stays zero, and the
 * user of the field decides whether it can do without.
 */
#include <libfdt.h>

#include <kernel/arch.h>
#include <kernel/irq.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/printk.h>
#include <kernel/string.h>

struct machine machine;

#define MPIDR_AFFINITY 0xff00ffffffull

static u64 read_cells(const fdt32_t *cell, int cells)
{
	u64 value = 0;

	for (int i = 0; i < cells; i++)
		value = value << 32 | fdt32_to_cpu(cell[i]);
	return value;
}

/* Entry `index` of the node's `reg`; false: there is none. */
static bool read_reg(const void *fdt, int node, u32 index, struct range *range)
{
	int parent = fdt_parent_offset(fdt, node);
	int ac = fdt_address_cells(fdt, parent);
	int sc = fdt_size_cells(fdt, parent);
	int len;
	const fdt32_t *reg = fdt_getprop(fdt, node, "reg", &len);

	if (reg == NULL || ac < 0 || sc < 0 || (int)(index + 1) * (ac + sc) * 4 > len)
		return false;
	reg += (int)index * (ac + sc);
	range->start = read_cells(reg, ac);
	range->size = read_cells(reg + ac, sc);
	return true;
}

static u64 read_number(const void *fdt, int node, const char *name, u64 otherwise)
{
	int len;
	const fdt32_t *p = fdt_getprop(fdt, node, name, &len);

	return p != NULL && (len == 4 || len == 8) ? read_cells(p, len / 4) : otherwise;
}

/* The INTID of entry `index` of `interrupts`: cells are type (0 SPI, 1 PPI), number, flags, and for
 * a partitioned PPI a fourth that does not matter here. */
static u32 read_interrupt(const void *fdt, int node, u32 index, u32 cells)
{
	int len;
	const fdt32_t *p = fdt_getprop(fdt, node, "interrupts", &len);

	if (p == NULL || (int)((index + 1) * cells * 4) > len)
		return 0;
	p += index * cells;
	return fdt32_to_cpu(p[1]) + (fdt32_to_cpu(p[0]) == 1 ? IRQ_PPI_BASE : IRQ_SPI_BASE);
}

static void add_range(struct range *list, u32 *count, u64 start, u64 size)
{
	if (size == 0)
		return;
	KASSERT(*count < MACHINE_RANGES_MAX);
	list[(*count)++] = (struct range){start, size};
}

static void reserve(u64 start, u64 size)
{
	add_range(machine.reserved, &machine.reserveds, start, size);
}

static void read_chosen(const void *fdt)
{
	int chosen = fdt_path_offset(fdt, "/chosen");
	const char *args;
	u64 start, end;

	if (chosen < 0)
		return;
	args = fdt_getprop(fdt, chosen, "bootargs", NULL);
	if (args != NULL)
		string_copy(machine.bootargs, args, sizeof(machine.bootargs));
	start = read_number(fdt, chosen, "linux,initrd-start", 0);
	end = read_number(fdt, chosen, "linux,initrd-end", 0);
	if (end > start) {
		machine.initrd = (struct range){start, end - start};
		reserve(start, end - start);
	}
}

static void read_memory(const void *fdt, u64 fdt_pa)
{
	struct range range;
	int node = -1;
	int child;

	while ((node = fdt_node_offset_by_prop_value(fdt, node, "device_type", "memory", 7)) >= 0)
		for (u32 i = 0; read_reg(fdt, node, i, &range); i++)
			add_range(machine.ram, &machine.rams, range.start, range.size);

	for (int i = 0; i < fdt_num_mem_rsv(fdt); i++) {
		uint64_t start, size;

		if (fdt_get_mem_rsv(fdt, i, &start, &size) == 0)
			reserve(start, size);
	}
	node = fdt_path_offset(fdt, "/reserved-memory");
	if (node >= 0)
		fdt_for_each_subnode (child, fdt, node)
			for (u32 i = 0; read_reg(fdt, child, i, &range); i++)
				reserve(range.start, range.size);
	reserve(fdt_pa, fdt_totalsize(fdt));
}

static void read_cpus(const void *fdt)
{
	u64 boot = SYSREG_READ(mpidr_el1) & MPIDR_AFFINITY;
	int cpus = fdt_path_offset(fdt, "/cpus");
	int node;

	machine.mpidr[0] = boot;
	machine.cpus = 1;
	if (cpus < 0)
		return;
	fdt_for_each_subnode (node, fdt, cpus) {
		const char *type = fdt_getprop(fdt, node, "device_type", NULL);
		struct range reg;

		if (type == NULL || strcmp(type, "cpu") != 0 || !read_reg(fdt, node, 0, &reg))
			continue;
		if (reg.start != boot && machine.cpus < CPUS_MAX)
			machine.mpidr[machine.cpus++] = reg.start;
	}
}

static void read_gic(const void *fdt)
{
	int node = fdt_node_offset_by_compatible(fdt, -1, "arm,gic-v3");
	struct range range;

	if (node < 0)
		panic("the device tree has no arm,gic-v3");
	if (read_reg(fdt, node, 0, &range))
		machine.gic_dist = range;
	machine.gic_redists = (u32)read_number(fdt, node, "#redistributor-regions", 1);
	machine.gic_redist_stride = read_number(fdt, node, "redistributor-stride", 0);
	KASSERT(machine.gic_redists <= MACHINE_REDISTS_MAX);
	for (u32 i = 0; i < machine.gic_redists; i++)
		read_reg(fdt, node, 1 + i, &machine.gic_redist[i]);
}

static void read_interrupts(const void *fdt)
{
	static const char *const pmus[] = {
		"arm,armv8-pmuv3",
		"arm,cortex-a53-pmu",
		"arm,cortex-a55-pmu",
		"arm,cortex-a57-pmu",
		"arm,cortex-a72-pmu",
		"arm,cortex-a76-pmu",
	};
	int gic = fdt_node_offset_by_compatible(fdt, -1, "arm,gic-v3");
	u32 cells = (u32)read_number(fdt, gic, "#interrupt-cells", 3);
	int timer = fdt_node_offset_by_compatible(fdt, -1, "arm,armv8-timer");

	if (timer < 0)
		panic("the device tree has no arm,armv8-timer");
	machine.timer_intid = read_interrupt(
		fdt, timer, 2, cells); /* secure, physical, virtual, hypervisor */
	for (size_t i = 0; i < ARRAY_LEN(pmus) && machine.pmu_intid == 0; i++) {
		int node = fdt_node_offset_by_compatible(fdt, -1, pmus[i]);

		if (node >= 0)
			machine.pmu_intid = read_interrupt(fdt, node, 0, cells);
	}
	if (machine.uart_intid !=
		0) /* found with the device, whose interrupt needs the cell count */
		machine.uart_intid = read_interrupt(fdt, (int)machine.uart_intid, 0, cells);
}

static const struct {
	const char *compatible;
	enum uart_kind kind;
} uarts[] = {
	{"arm,pl011", UART_PL011},
	{"snps,dw-apb-uart", UART_8250},
	{"ns16550a", UART_8250},
};

static bool take_uart(const void *fdt, int node)
{
	for (size_t i = 0; i < ARRAY_LEN(uarts); i++) {
		if (fdt_node_check_compatible(fdt, node, uarts[i].compatible) != 0)
			continue;
		if (!read_reg(fdt, node, 0, &machine.uart_regs))
			return false;
		machine.uart = uarts[i].kind;
		machine.uart_reg_shift = (u32)read_number(fdt, node, "reg-shift", 0);
		machine.uart_intid = (u32)node; /* replaced in read_interrupts() */
		return true;
	}
	return false;
}

/* The port that /chosen names, else the first of a known kind. */
static void read_uart(const void *fdt)
{
	int chosen = fdt_path_offset(fdt, "/chosen");
	const char *path = chosen >= 0 ? fdt_getprop(fdt, chosen, "stdout-path", NULL) : NULL;

	if (path != NULL) {
		const char *options = strchr(path, ':');
		int len = options != NULL ? (int)(options - path) : (int)strlen(path);
		int node = fdt_path_offset_namelen(fdt, path, len);

		if (node >= 0 && take_uart(fdt, node))
			return;
	}
	for (size_t i = 0; i < ARRAY_LEN(uarts); i++) {
		int node = fdt_node_offset_by_compatible(fdt, -1, uarts[i].compatible);

		if (node >= 0 && take_uart(fdt, node))
			return;
	}
}

static void read_psci(const void *fdt)
{
	int node = fdt_node_offset_by_compatible(fdt, -1, "arm,psci-1.0");
	const char *method;

	if (node < 0)
		node = fdt_node_offset_by_compatible(fdt, -1, "arm,psci-0.2");
	if (node < 0)
		return;
	method = fdt_getprop(fdt, node, "method", NULL);
	machine.psci = method != NULL;
	machine.psci_smc = method != NULL && strcmp(method, "smc") == 0;
}

void machine_read(const void *fdt, u64 fdt_pa)
{
	struct range rtc;
	int node;

	if (fdt_check_header(fdt) != 0)
		panic("no device tree at %lx", fdt_pa);
	read_uart(fdt);
	uart_init();
	read_chosen(fdt);
	read_memory(fdt, fdt_pa);
	read_cpus(fdt);
	read_gic(fdt);
	read_interrupts(fdt);
	read_psci(fdt);
	node = fdt_node_offset_by_compatible(fdt, -1, "arm,pl031");
	if (node >= 0 && read_reg(fdt, node, 0, &rtc))
		machine.rtc = rtc.start;
}

bool boot_arg(const char *name, char *value, size_t size)
{
	const char *p = machine.bootargs;
	size_t name_len = strlen(name);

	while (*p != '\0') {
		size_t word = 0;

		while (p[word] != '\0' && p[word] != ' ')
			word++;
		if (word == 2 && p[0] == '-' && p[1] == '-')
			return false;
		if (word > name_len && strncmp(p, name, name_len) == 0 && p[name_len] == '=') {
			string_copy(value, p + name_len + 1, MIN(size, word - name_len));
			return true;
		}
		p += word;
		while (*p == ' ')
			p++;
	}
	return false;
}
