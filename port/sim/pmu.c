/* SPDX-License-Identifier: MIT
 *
 * pmu.c: the PMU's registers, as hal.h has them, on the PMU model.
 *
 * A write takes effect at once; or, when the machine's policy wants late registers, some accesses
 * later, at the latest at the next barrier or where the hook or the call ends, which returns to the
 * task and so synchronises (Arm ARM DDI 0487, D13.1.2, "Synchronization requirements for AArch64
 * System registers", and context synchronization events). Writes take effect in the order in which
 * they were made, and a read of a register finds the writes to that register.
 */
#include <tally/hal.h>

#include <string.h>

#include "hal_scope.h"

/* The model's name of a register that is one there; PMU_REG_COUNT for what is answered here. */
static enum pmu_reg model_register(uint32_t reg)
{
	switch (reg) {
	case HAL_PMCR:
		return PMU_PMCR_EL0;
	case HAL_PMCEID0:
		return PMU_PMCEID0_EL0;
	case HAL_PMCEID1:
		return PMU_PMCEID1_EL0;
	case HAL_PMCNTENSET:
		return PMU_PMCNTENSET_EL0;
	case HAL_PMCNTENCLR:
		return PMU_PMCNTENCLR_EL0;
	case HAL_PMINTENSET:
		return PMU_PMINTENSET_EL1;
	case HAL_PMINTENCLR:
		return PMU_PMINTENCLR_EL1;
	case HAL_PMOVSSET:
		return PMU_PMOVSSET_EL0;
	case HAL_PMOVSCLR:
		return PMU_PMOVSCLR_EL0;
	case HAL_PMUSERENR:
		return PMU_PMUSERENR_EL0;
	case HAL_PMCCNTR:
		return PMU_PMCCNTR_EL0;
	case HAL_PMCCFILTR:
		return PMU_PMCCFILTR_EL0;
	default:
		break;
	}
	if (reg >= HAL_PMEVCNTR && reg < HAL_PMEVTYPER)
		return (enum pmu_reg)(PMU_PMEVCNTR0_EL0 + (reg - HAL_PMEVCNTR));
	if (reg >= HAL_PMEVTYPER && reg < HAL_PMU_REGS)
		return (enum pmu_reg)(PMU_PMEVTYPER0_EL0 + (reg - HAL_PMEVTYPER));
	return PMU_REG_COUNT;
}

static _Noreturn void refuse_register(struct machine *m, const char *how, uint32_t reg)
{
	char name[PMU_REG_NAME_MAX] = "?";

	if (model_register(reg) < PMU_REG_COUNT)
		pmu_reg_format(model_register(reg), name);
	machine_fail(
		m, "CPU %u: PMU register %s (%u) cannot be %s", machine_cpu(m), name, reg, how);
}

/* ---- writes that are under way ---- */

#define DELAY_MAX 4u /* accesses; beyond: the barrier */

static void write_now(struct machine *m, uint32_t reg, uint64_t value)
{
	if (pmu_cpu_write(machine_pmu(m), 1, model_register(reg), value) != PMU_ACCESS_DONE)
		refuse_register(m, "written", reg);
}

/* The first `count` writes under way take effect. */
static void take_effect(struct machine *m, struct late_writes *late, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		write_now(m, late->write[i].reg, late->write[i].value);
	late->count -= count;
	if (count != 0)
		memmove(late->write, late->write + count, late->count * sizeof(late->write[0]));
}

/* Another access: those whose delay is over, and all before them, take effect. */
static void pass_access(struct machine *m, struct late_writes *late)
{
	uint32_t due = 0;

	for (uint32_t i = 0; i < late->count; i++) {
		if (late->write[i].delay != 0 && --late->write[i].delay == 0)
			due = i + 1;
	}
	take_effect(m, late, due);
}

void port_synchronize(struct port_sim *port)
{
	struct late_writes *late = &port->late[machine_cpu(port->machine)];

	if (late->count != 0)
		take_effect(port->machine, late, late->count);
}

static bool write_is_late(struct machine *m, struct late_writes *late, uint32_t reg, uint64_t value)
{
	uint32_t answer;

	if (!machine_late_registers(m) || late->count == LATE_WRITES_MAX)
		return false;
	answer = machine_choice(m, MACHINE_CHOICE_HARDWARE, 2 + DELAY_MAX);
	if (answer == 0)
		return false;
	late->write[late->count++] = (struct late_write){
		.reg = reg, .value = value, .delay = answer > DELAY_MAX ? 0 : answer};
	return true;
}

/* ---- accesses ---- */

/* A read of a register comes after the writes to it. */
static void find_writes(struct machine *m, struct late_writes *late, uint32_t reg)
{
	for (uint32_t i = late->count; i > 0; i--) {
		if (late->write[i - 1].reg == reg) {
			take_effect(m, late, i);
			return;
		}
	}
}

/* Only where a run is explored does anything happen in front of an access. */
static void before_read(struct port_sim *port, uint32_t reg)
{
	struct machine *m = port->machine;
	struct late_writes *late = &port->late[machine_cpu(m)];

	if (port->checking)
		return;
	machine_execute(m);
	pass_access(m, late);
	find_writes(m, late, reg);
}

/* true: the write is under way, and takes effect later. */
static bool before_write(struct port_sim *port, uint32_t reg, uint64_t value)
{
	struct machine *m = port->machine;
	struct late_writes *late = &port->late[machine_cpu(m)];

	machine_execute(m);
	pass_access(m, late);
	if (write_is_late(m, late, reg, value))
		return true;
	take_effect(m, late, late->count);
	return false;
}

uint64_t hal_pmu_read(uint32_t reg)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	const struct pmu_cpu *pmu = machine_pmu(m);
	const struct pmu_cpu_config *config = pmu_cpu_config(pmu);
	enum pmu_reg name = model_register(reg);
	uint64_t value;

	require_masked(m, "a PMU register is read");
	if (port_running()->explored)
		before_read(port_running(), reg);
	if (reg == HAL_MIDR)
		return config->midr;
	if (reg == HAL_ID_AA64DFR0) /* DDI 0487, D19.2.59: PMUVer, bits 11:8 */
		return (uint64_t)config->version << 8;
	if (name == PMU_REG_COUNT || pmu_cpu_read(pmu, 1, name, &value) != PMU_ACCESS_DONE)
		refuse_register(m, "read", reg);
	return value;
}

void hal_pmu_write(uint32_t reg, uint64_t value)
{
	HAL_SCOPE;
	struct machine *m = machine_here();

	require_masked(m, "a PMU register is written");
	if (model_register(reg) == PMU_REG_COUNT)
		refuse_register(m, "written", reg);
	if (!port_running()->explored || !before_write(port_running(), reg, value))
		write_now(m, reg, value);
}

void hal_pmu_barrier(void)
{
	HAL_SCOPE;
	struct machine *m = machine_here();

	require_masked(m, "a PMU barrier");
	if (port_running()->explored) {
		machine_execute(m);
		port_synchronize(port_running());
	}
	pmu_cpu_barrier(machine_pmu(m));
}
