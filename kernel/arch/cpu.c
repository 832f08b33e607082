/* SPDX-License-Identifier: MIT
 *
 * cpu.c: the table of CPUs and the per-CPU registers that are the same in every boot.
 *
 * cpu_init_this() runs once on each CPU, first thing in C, IRQs off. It lets EL0 read the virtual
 * counter, use FP and SIMD, and keeps it from the PMU and the debug registers.
 */
#include <kernel/arch.h>
#include <kernel/cpu.h>
#include <kernel/mmu.h>

struct cpu cpus[CPUS_MAX];
u32 cpus_possible = 1;

_Static_assert(offsetof(struct cpu, running) == 0, "vectors.S and head.S read it");
_Static_assert(offsetof(struct cpu, clock) == CLOCK_SCALE_OFFSET, "clock.h reads it");

/* Arm ARM DDI 0487: CPACR_EL1 in D19.2, PMUSERENR_EL0 in D19.5, CNTKCTL_EL1 in D19.12. */
void cpu_init_this(void)
{
	u64 pmuver = (SYSREG_READ(id_aa64dfr0_el1) >> 8) & 0xf;

	SYSREG_WRITE(cpacr_el1, 3ull << 20); /* FPEN: no trap; SVE stays trapped */
	SYSREG_WRITE(cntkctl_el1, BIT(1));   /* EL0VCTEN */
	SYSREG_WRITE(mdscr_el1, 0);
	SYSREG_WRITE(oslar_el1, 0);
	SYSREG_WRITE(contextidr_el1, 0);
	SYSREG_WRITE(tpidrro_el0, 0);
	if (pmuver != 0 && pmuver != 0xf)
		SYSREG_WRITE(pmuserenr_el0, 0);
	isb();
}

u64 cpus_online_mask(void)
{
	u64 mask = 0;

	for (u32 i = 0; i < cpus_possible; i++)
		if (__atomic_load_n(&cpus[i].online, __ATOMIC_ACQUIRE))
			mask |= BIT(i);
	return mask;
}

/* MIDR_EL1: implementer 0x41 (Arm) and part number, from the cores' reference manuals. */
const char *cpu_part_name(u64 midr)
{
	static const struct {
		u32 part;
		const char *name;
	} parts[] = {
		{0xd03, "cortex-a53"},
		{0xd05, "cortex-a55"},
		{0xd07, "cortex-a57"},
		{0xd08, "cortex-a72"},
		{0xd09, "cortex-a73"},
		{0xd0a, "cortex-a75"},
		{0xd0b, "cortex-a76"},
		{0xd0c, "neoverse-n1"},
		{0xd41, "cortex-a78"},
		{0xd44, "cortex-x1"},
	};

	if (((midr >> 24) & 0xff) != 0x41)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].part == ((midr >> 4) & 0xfff))
			return parts[i].name;
	return NULL;
}
