// One modelled CPU for a unit test: created from a configuration, brought to a known state by
// register writes alone, and accessed with failing accesses made test failures.
#ifndef TEST_PMU_CPU_H
#define TEST_PMU_CPU_H

#include "pmu_model/pmu_model.h"

#include <criterion/criterion.h>

struct test_cpu {
	struct pmu_model *model;
	struct pmu_cpu *cpu;
};

// PMUv3 with 6 counters of 32 bits; all levels; the common events.
extern const struct pmu_cpu_config test_config_32;
// PMUv3p7 with 6 counters of 64 bits.
extern const struct pmu_cpu_config test_config_64;

// A CPU with every register 0 but PMCR_EL0.LC of a 64-bit-only one.
struct test_cpu test_cpu_make(const struct pmu_cpu_config *config);
void test_cpu_free(struct test_cpu *test);

uint64_t test_cpu_get(const struct test_cpu *test, unsigned int el, enum pmu_reg reg);
void test_cpu_set(struct test_cpu *test, unsigned int el, enum pmu_reg reg, uint64_t value);
// Makes event counter `counter` count `event` from `value`, enabled.
void test_cpu_count(struct test_cpu *test, unsigned int counter, uint32_t filter, uint64_t value);

static inline enum pmu_reg test_evcntr(unsigned int counter)
{
	return (enum pmu_reg)(PMU_PMEVCNTR0_EL0 + counter);
}

static inline enum pmu_reg test_evtyper(unsigned int counter)
{
	return (enum pmu_reg)(PMU_PMEVTYPER0_EL0 + counter);
}

#endif
