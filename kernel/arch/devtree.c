/* SPDX-License-Identifier: MIT
 *
 * devtree.c: reads the flattened device tree, with libfdt, into the one struct that the rest of the
 * kernel uses.
 *
 * Pure: no device, no register, no allocation, no panic; so the tests run it on any host. The tree
 * is firmware's: nothing in it is believed before it is checked. What the kernel cannot do without
 * (memory, the boot CPU, the interrupt controller, the timer) and what is there but makes no sense
 * is a problem, said in one sentence; what else the tree does not name stays zero, and the user of
 * the field decides.
 *
 * Devices are found by compatible string anywhere in the tree; `ranges` are taken to be one to one,
 * as they are on QEMU virt and the RK3588. Formats: Devicetree Specification 0.4; the interrupt
 * controller's cells: the binding arm,gic-v3.
 */
#include <libfdt.h>

#include <kernel/devtree.h>
#include <kernel/irq.h>
#include <kernel/string.h>

#define ADDRESS_END      BIT(47) /* the room of the linear map (mmu.h) */
#define DEVICE_BYTES_MAX (64ull << 20)
#define DIST_BYTES       0x10000u /* GICv3 architecture (Arm IHI 0069), 12.8 */
#define REDIST_BYTES     0x20000u /* 12.10 */
#define REDIST_ALIGN     0x10000u
#define UART_SHIFT_MAX   2u
#define PPIS             16u
/* Two more are added later: the kernel's image and the table of pages. */
#define RESERVED_MAX (MACHINE_RANGES_MAX - 2u)

struct reader {
	struct machine *m;
	const void *fdt;
	u32 cells;                /* of one interrupt */
	u32 cpu_handle[CPUS_MAX]; /* phandles by CPU index; 0: the node has none */
	int uart_node;
	const char *problem; /* the first */
};

static bool fails(struct reader *r, const char *problem)
{
	if (r->problem == NULL)
		r->problem = problem;
	return false;
}

/* ---- properties ---- */

static u64 read_cells(const fdt32_t *cell, int cells)
{
	u64 value = 0;

	for (int i = 0; i < cells; i++)
		value = value << 32 | fdt32_to_cpu(cell[i]);
	return value;
}

/* A property as an array of cells; their number is 0 if there is none. */
static const fdt32_t *read_array(const struct reader *r, int node, const char *name, u32 *count)
{
	int len = 0;
	const fdt32_t *cells = fdt_getprop(r->fdt, node, name, &len);

	*count = cells != NULL && len > 0 ? (u32)len / 4 : 0;
	return cells;
}

/* The first string of a property; NULL: there is none, or it does not end. */
static const char *read_text(const struct reader *r, int node, const char *name)
{
	int len = 0;
	const char *text = fdt_getprop(r->fdt, node, name, &len);

	return text != NULL && len > 0 && memchr(text, '\0', (size_t)len) != NULL ? text : NULL;
}

/* A number of one or two cells. */
static u64 read_number(const struct reader *r, int node, const char *name, u64 otherwise)
{
	u32 count;
	const fdt32_t *cells = read_array(r, node, name, &count);

	return count == 1 || count == 2 ? read_cells(cells, (int)count) : otherwise;
}

/* Entry `index` of the node's `reg`; false: there is none. */
static bool read_reg(const struct reader *r, int node, u32 index, struct range *range)
{
	int parent = fdt_parent_offset(r->fdt, node);
	int address_cells = fdt_address_cells(r->fdt, parent);
	int size_cells = fdt_size_cells(r->fdt, parent);
	const fdt32_t *reg;
	u32 count, entry;

	if (address_cells < 1 || address_cells > 2 || size_cells < 0 || size_cells > 2)
		return false;
	entry = (u32)(address_cells + size_cells);
	reg = read_array(r, node, "reg", &count);
	if (index >= count / entry)
		return false;
	reg += index * entry;
	range->start = read_cells(reg, address_cells);
	range->size = read_cells(reg + address_cells, size_cells);
	return true;
}

/* The INTID of entry `index` of `interrupts`, or 0. Cells: type (0 SPI, 1 PPI), number, flags, and
 * for a partitioned PPI a phandle. */
static u32 read_interrupt(const struct reader *r, int node, u32 index)
{
	u32 count, number;
	const fdt32_t *cells = read_array(r, node, "interrupts", &count);

	if (index >= count / r->cells)
		return 0;
	cells += index * r->cells;
	number = fdt32_to_cpu(cells[1]);
	switch (fdt32_to_cpu(cells[0])) {
	case 0:
		return number < IRQS_MAX - IRQ_SPI_BASE ? IRQ_SPI_BASE + number : 0;
	case 1:
		return number < PPIS ? IRQ_PPI_BASE + number : 0;
	default:
		return 0;
	}
}

static u32 only_ppi(u32 intid)
{
	return intid >= IRQ_PPI_BASE && intid < IRQ_PPI_BASE + PPIS ? intid : 0;
}

static bool usable(const struct reader *r, int node)
{
	const char *status = read_text(r, node, "status");

	return status == NULL || strcmp(status, "okay") == 0 || strcmp(status, "ok") == 0;
}

/* The first usable node of this kind after `node` (-1: from the start), or a negative number. */
static int next_compatible(const struct reader *r, int node, const char *compatible)
{
	do
		node = fdt_node_offset_by_compatible(r->fdt, node, compatible);
	while (node >= 0 && !usable(r, node));
	return node;
}

static bool in_address_space(const struct range *range)
{
	return range->size != 0 && range->start < ADDRESS_END &&
	       range->size <= ADDRESS_END - range->start;
}

static bool is_device(const struct range *range, u64 bytes_min)
{
	return in_address_space(range) && range->size >= bytes_min &&
	       range->size <= DEVICE_BYTES_MAX;
}

/* ---- console ---- */

static const struct {
	const char *compatible;
	enum uart_kind kind;
} uarts[] = {
	{"arm,pl011", UART_PL011},
	{"snps,dw-apb-uart", UART_8250},
	{"ns16550a", UART_8250},
};

static bool take_uart(struct reader *r, int node)
{
	struct machine *m = r->m;
	u64 shift = read_number(r, node, "reg-shift", 0);
	struct range regs;

	for (size_t i = 0; i < ARRAY_LEN(uarts); i++) {
		if (fdt_node_check_compatible(r->fdt, node, uarts[i].compatible) != 0)
			continue;
		if (!read_reg(r, node, 0, &regs) || !is_device(&regs, 8ull << UART_SHIFT_MAX) ||
			shift > UART_SHIFT_MAX)
			return false;
		m->uart = uarts[i].kind;
		m->uart_regs = regs;
		m->uart_reg_shift = (u32)shift;
		r->uart_node = node;
		return true;
	}
	return false;
}

/* The node of a path or an alias of `len` characters. Aliases are resolved here: libfdt 1.6 follows
 * one that names itself for ever. */
static int find_path(const struct reader *r, const char *path, size_t len)
{
	int aliases, alias_len = 0;
	const char *full;

	if (len > 0 && path[0] == '/')
		return fdt_path_offset_namelen(r->fdt, path, (int)len);
	aliases = fdt_path_offset(r->fdt, "/aliases");
	if (aliases < 0 || len == 0)
		return -1;
	full = fdt_getprop_namelen(r->fdt, aliases, path, (int)len, &alias_len);
	if (full == NULL || alias_len < 2 || full[0] != '/' || full[alias_len - 1] != '\0')
		return -1;
	return fdt_path_offset(r->fdt, full);
}

/* The address in "earlycon=uart8250,mmio32,0xfeb50000" of the boot arguments, or 0. Trees of vendor
 * kernels have no stdout-path, and the port that is the console is disabled in them: a debugger of
 * that kernel drives it. */
static u64 earlycon_address(const char *args)
{
	static const char word[] = "earlycon=";
	const char *p = args;
	u64 address = 0;

	while (*p != '\0' && strncmp(p, word, sizeof(word) - 1) != 0)
		p++;
	while (*p != '\0' && *p != ' ' && strncmp(p, ",0x", 3) != 0)
		p++;
	if (*p != ',')
		return 0;
	for (p += 3;; p++) {
		char c = *p | 0x20;

		if (c >= '0' && c <= '9')
			address = address << 4 | (u64)(c - '0');
		else if (c >= 'a' && c <= 'f')
			address = address << 4 | (u64)(c - 'a' + 10);
		else
			return address;
	}
}

/* The port that /chosen names by path or by address, else the first of a known kind. None is no
 * problem: the kernel is silent then. */
static void find_uart(struct reader *r)
{
	int chosen = fdt_path_offset(r->fdt, "/chosen");
	const char *path = chosen >= 0 ? read_text(r, chosen, "stdout-path") : NULL;
	u64 named = earlycon_address(r->m->bootargs);
	struct range regs;

	r->uart_node = -1;
	if (path != NULL) {
		const char *options = strchr(path, ':');
		size_t len = options != NULL ? (size_t)(options - path) : strlen(path);
		int node = find_path(r, path, len);

		if (node >= 0 && take_uart(r, node))
			return;
	}
	for (size_t i = 0; i < ARRAY_LEN(uarts) && named != 0; i++) {
		int node = -1;

		while ((node = fdt_node_offset_by_compatible(r->fdt, node, uarts[i].compatible)) >=
			0)
			if (read_reg(r, node, 0, &regs) && regs.start == named &&
				take_uart(r, node))
				return;
	}
	for (size_t i = 0; i < ARRAY_LEN(uarts); i++) {
		int node = next_compatible(r, -1, uarts[i].compatible);

		if (node >= 0 && take_uart(r, node))
			return;
	}
}

/* ---- memory ---- */

static void find_bootargs(struct reader *r)
{
	int chosen = fdt_path_offset(r->fdt, "/chosen");
	const char *args = chosen >= 0 ? read_text(r, chosen, "bootargs") : NULL;
	size_t len = args != NULL ? strnlen(args, BOOTARGS_MAX - 1) : 0;

	if (len > 0)
		memcpy(r->m->bootargs, args, len);
}

static bool add_ram(struct reader *r, const struct range *range)
{
	struct machine *m = r->m;

	if (range->size == 0)
		return true;
	if (!in_address_space(range))
		return fails(r, "memory lies outside the address space");
	for (u32 i = 0; i < m->rams; i++)
		if (range->start < m->ram[i].start + m->ram[i].size &&
			m->ram[i].start < range->start + range->size)
			return fails(r, "two ranges of memory overlap");
	if (m->rams == MACHINE_RANGES_MAX)
		return fails(r, "memory has too many ranges");
	m->ram[m->rams++] = *range;
	return true;
}

static bool reserve(struct reader *r, u64 start, u64 size)
{
	struct machine *m = r->m;

	if (size == 0)
		return true;
	if (size > UINT64_MAX - start)
		return fails(r, "a reservation of memory wraps");
	if (m->reserveds == RESERVED_MAX)
		return fails(r, "memory has too many reservations");
	m->reserved[m->reserveds++] = (struct range){start, size};
	return true;
}

static bool find_reservations(struct reader *r)
{
	int node = fdt_path_offset(r->fdt, "/reserved-memory");
	struct range range;
	int child;

	for (int i = 0; i < fdt_num_mem_rsv(r->fdt); i++) {
		uint64_t start, size;

		if (fdt_get_mem_rsv(r->fdt, i, &start, &size) == 0 && !reserve(r, start, size))
			return false;
	}
	if (node < 0)
		return true;
	fdt_for_each_subnode (child, r->fdt, node)
		for (u32 i = 0; read_reg(r, child, i, &range); i++)
			if (!reserve(r, range.start, range.size))
				return false;
	return true;
}

static bool find_initrd(struct reader *r)
{
	int chosen = fdt_path_offset(r->fdt, "/chosen");
	struct machine *m = r->m;
	u64 start, end;

	if (chosen < 0)
		return true;
	start = read_number(r, chosen, "linux,initrd-start", 0);
	end = read_number(r, chosen, "linux,initrd-end", 0);
	if (start == 0 && end == 0)
		return true;
	for (u32 i = 0; i < m->rams; i++) {
		if (start < m->ram[i].start || start >= end ||
			end > m->ram[i].start + m->ram[i].size)
			continue;
		m->initrd = (struct range){start, end - start};
		return reserve(r, start, end - start);
	}
	return fails(r, "the initrd does not lie in memory");
}

static bool find_memory(struct reader *r, u64 fdt_pa)
{
	struct range range;
	int node = -1;

	while ((node = fdt_node_offset_by_prop_value(
			r->fdt, node, "device_type", "memory", sizeof("memory"))) >= 0) {
		if (!usable(r, node))
			continue; /* QEMU's secure memory */
		for (u32 i = 0; read_reg(r, node, i, &range); i++)
			if (!add_ram(r, &range))
				return false;
	}
	if (r->m->rams == 0)
		return fails(r, "no memory");
	return find_reservations(r) && reserve(r, fdt_pa, fdt_totalsize(r->fdt)) && find_initrd(r);
}

/* ---- CPUs ---- */

static bool add_cpu(struct reader *r, int node, u64 mpidr)
{
	struct machine *m = r->m;
	u32 handle = fdt_get_phandle(r->fdt, node);

	if (mpidr == m->mpidr[0]) {
		if (r->cpu_handle[0] != 0)
			return fails(r, "two CPUs have one MPIDR");
		/* Without a phandle no list can name it; it has been found all the same. */
		r->cpu_handle[0] = handle != 0 ? handle : UINT32_MAX;
		return true;
	}
	for (u32 i = 1; i < m->cpus; i++)
		if (m->mpidr[i] == mpidr)
			return fails(r, "two CPUs have one MPIDR");
	if (m->cpus < CPUS_MAX) { /* those beyond stay off */
		r->cpu_handle[m->cpus] = handle;
		m->mpidr[m->cpus++] = mpidr;
	}
	return true;
}

static bool find_cpus(struct reader *r, u64 boot_mpidr)
{
	int cpus = fdt_path_offset(r->fdt, "/cpus");
	int node;

	r->m->mpidr[0] = boot_mpidr;
	r->m->cpus = 1;
	if (cpus < 0)
		return fails(r, "no /cpus");
	fdt_for_each_subnode (node, r->fdt, cpus) {
		const char *type = read_text(r, node, "device_type");
		struct range reg;

		if (type == NULL || strcmp(type, "cpu") != 0)
			continue;
		if (!read_reg(r, node, 0, &reg) || (reg.start & ~MPIDR_AFFINITY) != 0)
			return fails(r, "a CPU's reg is no MPIDR");
		if (!add_cpu(r, node, reg.start))
			return false;
	}
	return r->cpu_handle[0] != 0 || fails(r, "the CPU that boots is not in /cpus");
}

static bool find_psci(struct reader *r)
{
	int node = next_compatible(r, -1, "arm,psci-1.0");
	const char *method;

	if (node < 0)
		node = next_compatible(r, -1, "arm,psci-0.2");
	if (node < 0)
		return true;
	method = read_text(r, node, "method");
	if (method == NULL || (strcmp(method, "smc") != 0 && strcmp(method, "hvc") != 0))
		return fails(r, "the method of PSCI is neither smc nor hvc");
	r->m->psci = true;
	r->m->psci_smc = strcmp(method, "smc") == 0;
	return true;
}

/* ---- interrupts ---- */

static bool find_gic(struct reader *r)
{
	int node = next_compatible(r, -1, "arm,gic-v3");
	struct machine *m = r->m;
	u64 redists;

	if (node < 0)
		return fails(r, "no arm,gic-v3");
	r->cells = (u32)read_number(r, node, "#interrupt-cells", 0);
	if (r->cells != 3 && r->cells != 4)
		return fails(r, "arm,gic-v3 has neither 3 nor 4 interrupt cells");
	if (!read_reg(r, node, 0, &m->gic_dist) || !is_device(&m->gic_dist, DIST_BYTES))
		return fails(r, "arm,gic-v3 has no distributor");
	redists = read_number(r, node, "#redistributor-regions", 1);
	if (redists < 1 || redists > MACHINE_REDISTS_MAX)
		return fails(r, "arm,gic-v3 has too many redistributor regions, or none");
	for (u32 i = 0; i < redists; i++)
		if (!read_reg(r, node, 1 + i, &m->gic_redist[i]) ||
			!is_device(&m->gic_redist[i], REDIST_BYTES))
			return fails(r, "arm,gic-v3 lacks a redistributor region");
	m->gic_redists = (u32)redists;
	m->gic_redist_stride = read_number(r, node, "redistributor-stride", 0);
	if (m->gic_redist_stride % REDIST_ALIGN != 0 || m->gic_redist_stride > DEVICE_BYTES_MAX)
		return fails(r, "arm,gic-v3 has an impossible redistributor-stride");
	return true;
}

static bool find_timer(struct reader *r)
{
	int node = next_compatible(r, -1, "arm,armv8-timer");
	int index;

	if (node < 0)
		return fails(r, "no arm,armv8-timer");
	/* Without names the order is: secure, physical, virtual, hypervisor. */
	index = fdt_stringlist_search(r->fdt, node, "interrupt-names", "virt");
	r->m->timer_intid = only_ppi(read_interrupt(r, node, index >= 0 ? (u32)index : 2));
	return r->m->timer_intid != 0 || fails(r, "arm,armv8-timer has no virtual timer PPI");
}

static void set_pmu_of(struct reader *r, u32 handle, u32 intid)
{
	for (u32 cpu = 0; cpu < r->m->cpus; cpu++)
		if (r->cpu_handle[cpu] == handle && handle != 0 && handle != UINT32_MAX)
			r->m->pmu_intid[cpu] = intid;
}

/* Whose PMU is it? The CPUs of the interrupt's partition, else of `interrupt-affinity`, else all.
 * Only PPIs: an SPI per CPU would have to be routed to it. */
static void take_pmu(struct reader *r, int node)
{
	u32 intid = only_ppi(read_interrupt(r, node, 0));
	u32 count;
	const fdt32_t *list = read_array(r, node, "interrupts", &count);
	u32 partition = intid != 0 && r->cells == 4 ? fdt32_to_cpu(list[3]) : 0;

	if (intid == 0)
		return;
	if (partition != 0) {
		int group = fdt_node_offset_by_phandle(r->fdt, partition);

		count = 0;
		if (group >= 0)
			list = read_array(r, group, "affinity", &count);
	} else {
		list = read_array(r, node, "interrupt-affinity", &count);
		for (u32 cpu = 0; cpu < r->m->cpus && count == 0; cpu++)
			r->m->pmu_intid[cpu] = intid;
	}
	for (u32 i = 0; i < count; i++)
		set_pmu_of(r, fdt32_to_cpu(list[i]), intid);
}

static void find_pmus(struct reader *r)
{
	static const char *const pmus[] = {
		"arm,armv8-pmuv3",
		"arm,cortex-a53-pmu",
		"arm,cortex-a55-pmu",
		"arm,cortex-a57-pmu",
		"arm,cortex-a72-pmu",
		"arm,cortex-a76-pmu",
	};

	for (size_t i = 0; i < ARRAY_LEN(pmus); i++) {
		int node = -1;

		while ((node = next_compatible(r, node, pmus[i])) >= 0)
			take_pmu(r, node);
	}
}

static void find_rest(struct reader *r)
{
	int node = next_compatible(r, -1, "arm,pl031");
	struct range regs;

	if (node >= 0 && read_reg(r, node, 0, &regs) && is_device(&regs, 4))
		r->m->rtc = regs.start;
	if (r->uart_node >= 0) {
		u32 intid = read_interrupt(r, r->uart_node, 0);

		r->m->uart_intid = intid >= IRQ_SPI_BASE ? intid : 0;
	}
}

const char *devtree_read(
	struct machine *m, const void *fdt, size_t bytes_max, u64 fdt_pa, u64 boot_mpidr)
{
	struct reader r = {.m = m, .fdt = fdt};

	memset(m, 0, sizeof(*m));
	if (bytes_max < sizeof(struct fdt_header) || fdt_check_header(fdt) != 0)
		return "no device tree";
	if (fdt_totalsize(fdt) > bytes_max)
		return "the device tree is longer than it may be";
	if (fdt_check_full(fdt, fdt_totalsize(fdt)) != 0)
		return "the device tree is damaged";
	find_bootargs(&r);
	find_uart(&r);
	if (find_memory(&r, fdt_pa) && find_cpus(&r, boot_mpidr) && find_psci(&r) && find_gic(&r) &&
		find_timer(&r)) {
		find_pmus(&r);
		find_rest(&r);
	}
	return r.problem;
}
