/* SPDX-License-Identifier: MIT
 *
 * late_registers.c: every write to a PMU register takes effect as late as hal.h allows: at the next
 * barrier, or when the hook or the call ends, where the return to the task synchronises (Arm ARM,
 * context synchronization events). Linked in front of the HAL by --wrap.
 */
#include <stdlib.h>
#include <tally/tally.h>

#define CPUS   64u
#define WRITES 256u

void __real_hal_pmu_write(uint32_t reg, uint64_t value);
void __wrap_hal_pmu_write(uint32_t reg, uint64_t value);
void __real_hal_pmu_barrier(void);
void __wrap_hal_pmu_barrier(void);
void __real_tally_check(struct tally_engine *e);
void __wrap_tally_check(struct tally_engine *e);
int __real_hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg);
int __wrap_hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg);
void __real_tally_cpu_offline(struct tally_engine *e);
void __wrap_tally_cpu_offline(struct tally_engine *e);

static struct {
	struct {
		uint32_t reg;
		uint64_t value;
	} write[WRITES];
	uint32_t count;
} pending[CPUS];

static void take_effect(void)
{
	uint32_t cpu = hal_cpu();

	for (uint32_t i = 0; i < pending[cpu].count; i++)
		__real_hal_pmu_write(pending[cpu].write[i].reg, pending[cpu].write[i].value);
	pending[cpu].count = 0;
}

void __wrap_hal_pmu_write(uint32_t reg, uint64_t value)
{
	uint32_t cpu = hal_cpu();
	uint32_t i = pending[cpu].count++;

	if (i == WRITES)
		abort();
	pending[cpu].write[i].reg = reg;
	pending[cpu].write[i].value = value;
}

void __wrap_hal_pmu_barrier(void)
{
	take_effect();
	__real_hal_pmu_barrier();
}

/* The simulator checks the engine after each hook. */
void __wrap_tally_check(struct tally_engine *e)
{
	take_effect();
	__real_tally_check(e);
}

struct call {
	void (*fn)(void *arg);
	void *arg;
};

static void called(void *arg)
{
	struct call *call = arg;

	call->fn(call->arg);
	take_effect();
}

int __wrap_hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg)
{
	struct call call = {fn, arg};

	return __real_hal_call(cpu, called, &call);
}

void __wrap_tally_cpu_offline(struct tally_engine *e)
{
	__real_tally_cpu_offline(e);
	take_effect();
}
