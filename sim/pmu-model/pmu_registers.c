// Register accesses: who may access what from which exception level, and what a read or a write
// does. All writes pass through `write_register`, the one place where they take effect.
//
// Access rules are those of the Arm ARM's register descriptions (DDI 0487, part D, PMU
// registers): UNDEFINED first, then PMUSERENR_EL0 for EL0, then MDCR_EL2.{TPM,TPMCR} for both.
// Lower levels see the counters below MDCR_EL2.HPMN only. CONSTRAINED UNPREDICTABLE choices:
// a numbered or selected counter that is not implemented or not visible is RAZ/WI, and so is
// PMXEVCNTR_EL0 with the cycle counter selected.
#include "pmu_cpu.h"

#include <stdio.h>

#define NUMBERED(reg, base) ((reg) >= (base) && (reg) < (base) + PMU_EVENT_COUNTERS_MAX)

// What a register's accesses need.
enum {
	READABLE = 1 << 0,
	WRITABLE = 1 << 1,
	RW = READABLE | WRITABLE,
	NOT_AT_EL0 = 1 << 2,
	EL0_READ_BY_CR = 1 << 3, // read at EL0 allowed by PMUSERENR_EL0.CR alone
	EL0_READ_BY_ER = 1 << 4,
	EL0_WRITE_BY_ER = 1 << 5,
	EL0_WRITE_BY_SW = 1 << 6,
	EL0_READ_ONLY = 1 << 7, // read at EL0 always, written never
};

static const struct {
	const char *name;
	uint8_t rules;
} registers[] = {
	[PMU_PMCR_EL0] = {"PMCR_EL0", RW},
	[PMU_PMCNTENSET_EL0] = {"PMCNTENSET_EL0", RW},
	[PMU_PMCNTENCLR_EL0] = {"PMCNTENCLR_EL0", RW},
	[PMU_PMINTENSET_EL1] = {"PMINTENSET_EL1", RW | NOT_AT_EL0},
	[PMU_PMINTENCLR_EL1] = {"PMINTENCLR_EL1", RW | NOT_AT_EL0},
	[PMU_PMOVSSET_EL0] = {"PMOVSSET_EL0", RW},
	[PMU_PMOVSCLR_EL0] = {"PMOVSCLR_EL0", RW},
	[PMU_PMSWINC_EL0] = {"PMSWINC_EL0", WRITABLE | EL0_WRITE_BY_SW},
	[PMU_PMSELR_EL0] = {"PMSELR_EL0", RW | EL0_READ_BY_ER | EL0_WRITE_BY_ER},
	[PMU_PMXEVTYPER_EL0] = {"PMXEVTYPER_EL0", RW},
	[PMU_PMXEVCNTR_EL0] = {"PMXEVCNTR_EL0", RW | EL0_READ_BY_ER},
	[PMU_PMCCNTR_EL0] = {"PMCCNTR_EL0", RW | EL0_READ_BY_CR},
	[PMU_PMCCFILTR_EL0] = {"PMCCFILTR_EL0", RW},
	[PMU_PMUSERENR_EL0] = {"PMUSERENR_EL0", RW | EL0_READ_ONLY},
	[PMU_PMCEID0_EL0] = {"PMCEID0_EL0", READABLE},
	[PMU_PMCEID1_EL0] = {"PMCEID1_EL0", READABLE},
	[PMU_PMMIR_EL1] = {"PMMIR_EL1", READABLE | NOT_AT_EL0},
	[PMU_MDCR_EL2] = {"MDCR_EL2", RW | NOT_AT_EL0},
};

#define PLAIN_REGISTERS (sizeof(registers) / sizeof(registers[0]))

bool pmu_reg_format(enum pmu_reg reg, char name[PMU_REG_NAME_MAX])
{
	if (NUMBERED(reg, PMU_PMEVCNTR0_EL0))
		return snprintf(name, PMU_REG_NAME_MAX, "PMEVCNTR%u_EL0",
			       (unsigned int)reg - PMU_PMEVCNTR0_EL0) > 0;
	if (NUMBERED(reg, PMU_PMEVTYPER0_EL0))
		return snprintf(name, PMU_REG_NAME_MAX, "PMEVTYPER%u_EL0",
			       (unsigned int)reg - PMU_PMEVTYPER0_EL0) > 0;
	if (reg >= PLAIN_REGISTERS)
		return false;
	return snprintf(name, PMU_REG_NAME_MAX, "%s", registers[reg].name) > 0;
}

// The rules of a register, 0 for one that this CPU does not have.
static unsigned int rules_of(const struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg)
{
	if (NUMBERED(reg, PMU_PMEVCNTR0_EL0))
		return RW | EL0_READ_BY_ER;
	if (NUMBERED(reg, PMU_PMEVTYPER0_EL0))
		return RW;
	if (reg >= PLAIN_REGISTERS)
		return 0;
	if (reg == PMU_PMMIR_EL1 && cpu->config->version < PMU_V3P4)
		return 0;
	if (reg == PMU_MDCR_EL2 && (!cpu->config->has_el2 || el < 2))
		return 0;
	return registers[reg].rules;
}

static bool allowed_at_el0(uint32_t userenr, unsigned int rules, bool write)
{
	if (userenr & PMU_USERENR_EN)
		return true;
	if (!write && (rules & EL0_READ_BY_CR) && (userenr & PMU_USERENR_CR))
		return true;
	if ((rules & (write ? EL0_WRITE_BY_ER : EL0_READ_BY_ER)) && (userenr & PMU_USERENR_ER))
		return true;
	return write && (rules & EL0_WRITE_BY_SW) && (userenr & PMU_USERENR_SW);
}

static enum pmu_access check_access(
	const struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, bool write)
{
	unsigned int rules = rules_of(cpu, el, reg);

	assert(el < PMU_EL_COUNT);
	if (!(rules & (write ? WRITABLE : READABLE)))
		return PMU_ACCESS_UNDEFINED;
	if (el == 2)
		return cpu->config->has_el2 ? PMU_ACCESS_DONE : PMU_ACCESS_UNDEFINED;
	if (el == 0) {
		if ((rules & NOT_AT_EL0) || (write && (rules & EL0_READ_ONLY)))
			return PMU_ACCESS_UNDEFINED;
		if (!(rules & EL0_READ_ONLY) && !allowed_at_el0(cpu->userenr, rules, write))
			return PMU_ACCESS_TRAP_EL1;
	}
	if (cpu->mdcr & PMU_MDCR_TPM)
		return PMU_ACCESS_TRAP_EL2;
	if (reg == PMU_PMCR_EL0 && (cpu->mdcr & PMU_MDCR_TPMCR))
		return PMU_ACCESS_TRAP_EL2;
	return PMU_ACCESS_DONE;
}

// The counters that level `el` can see.
static uint32_t visible(const struct pmu_cpu *cpu, unsigned int el)
{
	return el == 2 ? cpu->implemented : cpu->first_range;
}

// The counter that a selecting or numbered register means, as a mask; 0 for none visible.
static uint32_t counter_of(const struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg)
{
	unsigned int counter;

	if (reg == PMU_PMXEVCNTR_EL0 || reg == PMU_PMXEVTYPER_EL0)
		counter = cpu->select;
	else if (reg == PMU_PMCCNTR_EL0 || reg == PMU_PMCCFILTR_EL0)
		counter = PMU_CYCLE_COUNTER;
	else if (reg >= PMU_PMEVTYPER0_EL0)
		counter = (unsigned int)reg - PMU_PMEVTYPER0_EL0;
	else
		counter = (unsigned int)reg - PMU_PMEVCNTR0_EL0;
	if (reg == PMU_PMXEVCNTR_EL0 && counter == PMU_CYCLE_COUNTER)
		return 0;
	return visible(cpu, el) & (1u << counter);
}

static uint32_t read_pmcr(const struct pmu_cpu *cpu, unsigned int el)
{
	const struct pmu_cpu_config *config = cpu->config;
	uint32_t counters = config->counter_count;

	if (el < 2 && config->has_el2)
		counters = cpu->mdcr & PMU_MDCR_HPMN;
	return (uint32_t)config->implementer << PMU_PMCR_IMP_SHIFT |
	       (uint32_t)config->idcode << PMU_PMCR_ID_SHIFT | counters << PMU_PMCR_N_SHIFT |
	       cpu->pmcr;
}

static uint64_t read_register(const struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg)
{
	// Upper halves of PMCEID<n>_EL0 are RES0 before PMUv3p1.
	uint64_t ids = cpu->config->version >= PMU_V3P1 ? UINT64_MAX : UINT32_MAX;
	uint32_t counter;

	switch (reg) {
	case PMU_PMCR_EL0:
		return read_pmcr(cpu, el);
	case PMU_PMCNTENSET_EL0:
	case PMU_PMCNTENCLR_EL0:
		return cpu->enabled & visible(cpu, el);
	case PMU_PMINTENSET_EL1:
	case PMU_PMINTENCLR_EL1:
		return cpu->interrupting & visible(cpu, el);
	case PMU_PMOVSSET_EL0:
	case PMU_PMOVSCLR_EL0:
		return cpu->overflowed & visible(cpu, el);
	case PMU_PMSELR_EL0:
		return cpu->select;
	case PMU_PMUSERENR_EL0:
		return cpu->userenr;
	case PMU_PMCEID0_EL0:
		return cpu->config->pmceid0 & ids;
	case PMU_PMCEID1_EL0:
		return cpu->config->pmceid1 & ids;
	case PMU_PMMIR_EL1:
		return cpu->config->pmmir;
	case PMU_MDCR_EL2:
		return cpu->mdcr;
	default:
		break;
	}
	counter = counter_of(cpu, el, reg);
	if (!counter)
		return 0;
	if (reg == PMU_PMXEVTYPER_EL0 || reg == PMU_PMCCFILTR_EL0 || reg >= PMU_PMEVTYPER0_EL0)
		return cpu->filter[pmu_lowest(counter)];
	return cpu->value[pmu_lowest(counter)];
}

static void write_value(struct pmu_cpu *cpu, unsigned int counter, uint64_t value)
{
	cpu->value[counter] = value & pmu_cpu_value_mask(cpu->config, counter);
	pmu_cpu_tell_value(cpu, counter, PMU_CHANGE_VALUE);
}

static void write_pmcr(struct pmu_cpu *cpu, unsigned int el, uint32_t value)
{
	uint32_t writable = pmu_cpu_pmcr_writable(cpu->config);
	uint32_t changed;

	// P resets the event counters that the level can see, C the cycle counter; neither
	// touches overflow flags (Arm ARM, PMCR_EL0).
	if (value & PMU_PMCR_P)
		for (uint32_t rest = visible(cpu, el) & ~PMU_CYCLE_BIT; rest; rest &= rest - 1)
			write_value(cpu, pmu_lowest(rest), 0);
	if (value & PMU_PMCR_C)
		write_value(cpu, PMU_CYCLE_COUNTER, 0);
	value = (value & writable) | (cpu->config->has_aarch32 ? 0 : PMU_PMCR_LC);
	changed = cpu->pmcr ^ value;
	cpu->pmcr = value;
	// E is written often; what D, LC and LP decide needs a pass over all counters.
	if (changed & (PMU_PMCR_D | PMU_PMCR_LC | PMU_PMCR_LP))
		pmu_cpu_derive(cpu);
	else
		pmu_cpu_derive_counting(cpu);
}

static void write_mdcr(struct pmu_cpu *cpu, uint32_t value)
{
	uint32_t writable = PMU_MDCR_HPMN | PMU_MDCR_TPMCR | PMU_MDCR_TPM | PMU_MDCR_HPME;
	uint32_t hpmn = value & PMU_MDCR_HPMN;

	if (cpu->config->version >= PMU_V3P1)
		writable |= PMU_MDCR_HPMD;
	if (cpu->config->version >= PMU_V3P5)
		writable |= PMU_MDCR_HCCD | PMU_MDCR_HLP;
	if (cpu->config->version >= PMU_V3P7)
		writable |= PMU_MDCR_HPMFZO;
	// An HPMN of 0 or above PMCR_EL0.N is CONSTRAINED UNPREDICTABLE: here it acts, and reads
	// back, as the number of counters implemented.
	if (hpmn == 0 || hpmn > cpu->config->counter_count)
		value = (value & ~PMU_MDCR_HPMN) | cpu->config->counter_count;
	cpu->mdcr = value & writable;
	pmu_cpu_derive(cpu);
}

static void write_filter(struct pmu_cpu *cpu, unsigned int counter, uint64_t value)
{
	cpu->filter[counter] = (uint32_t)value & pmu_cpu_filter_writable(cpu->config, counter);
	pmu_cpu_derive_counter(cpu, counter);
}

static void write_overflowed(struct pmu_cpu *cpu, uint32_t flags)
{
	cpu->overflowed = flags;
	// Only counters that freeze on overflow depend on the flags.
	if ((cpu->pmcr & PMU_PMCR_FZO) || (cpu->mdcr & PMU_MDCR_HPMFZO))
		pmu_cpu_derive_counting(cpu);
}

static void write_counter_register(
	struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, uint64_t value)
{
	uint32_t counter = counter_of(cpu, el, reg);

	if (!counter)
		return;
	if (reg == PMU_PMXEVTYPER_EL0 || reg == PMU_PMCCFILTR_EL0 || reg >= PMU_PMEVTYPER0_EL0)
		write_filter(cpu, pmu_lowest(counter), value);
	else
		write_value(cpu, pmu_lowest(counter), value);
}

static void write_register(struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, uint64_t value)
{
	uint32_t mask = (uint32_t)value & visible(cpu, el);

	switch (reg) {
	case PMU_PMCR_EL0:
		write_pmcr(cpu, el, (uint32_t)value);
		break;
	case PMU_PMCNTENSET_EL0:
		cpu->enabled |= mask;
		pmu_cpu_derive_counting(cpu);
		break;
	case PMU_PMCNTENCLR_EL0:
		cpu->enabled &= ~mask;
		pmu_cpu_derive_counting(cpu);
		break;
	case PMU_PMINTENSET_EL1:
		cpu->interrupting |= mask;
		break;
	case PMU_PMINTENCLR_EL1:
		cpu->interrupting &= ~mask;
		break;
	case PMU_PMOVSSET_EL0:
		write_overflowed(cpu, cpu->overflowed | mask);
		break;
	case PMU_PMOVSCLR_EL0:
		write_overflowed(cpu, cpu->overflowed & ~mask);
		break;
	case PMU_PMSWINC_EL0:
		pmu_cpu_software_increment(cpu, el, mask);
		break;
	case PMU_PMSELR_EL0:
		cpu->select = (uint32_t)value & 0x1fu;
		break;
	case PMU_PMUSERENR_EL0:
		cpu->userenr = (uint32_t)value & 0xfu;
		break;
	case PMU_MDCR_EL2:
		write_mdcr(cpu, (uint32_t)value);
		break;
	default:
		write_counter_register(cpu, el, reg, value);
		break;
	}
}

enum pmu_access pmu_cpu_read(
	const struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, uint64_t *value)
{
	enum pmu_access access = check_access(cpu, el, reg, false);

	if (access == PMU_ACCESS_DONE)
		*value = read_register(cpu, el, reg);
	return access;
}

enum pmu_access pmu_cpu_write(
	struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, uint64_t value)
{
	enum pmu_access access = check_access(cpu, el, reg, true);

	if (access != PMU_ACCESS_DONE)
		return access;
	cpu->unsynchronized_writes++;
	write_register(cpu, el, reg, value);
	return PMU_ACCESS_DONE;
}

void pmu_cpu_barrier(struct pmu_cpu *cpu)
{
	cpu->unsynchronized_writes = 0;
}

unsigned int pmu_cpu_unsynchronized_writes(const struct pmu_cpu *cpu)
{
	return cpu->unsynchronized_writes;
}
