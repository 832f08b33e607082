// Reset, the interrupt line, and the configurations a model refuses. The functions of
// test_pmu_cpu.h live here too: they need nothing but resets and writes.
#include "test_pmu_cpu.h"

#include <string.h>

const struct pmu_cpu_config test_config_32 = {
	.name = "test-32",
	.version = PMU_V3P1,
	.counter_count = 6,
	.counter_bits = 32,
	.hpmn = 6,
	.implementer = 0x41,
	.idcode = 0x7f,
	.has_el2 = true,
	.has_el3 = true,
	.has_aarch32 = true,
	.pmceid0 = 0xffffffff,
	.pmceid1 = 0xffffffff,
};

const struct pmu_cpu_config test_config_64 = {
	.name = "test-64",
	.version = PMU_V3P7,
	.counter_count = 6,
	.counter_bits = 64,
	.hpmn = 6,
	.implementer = 0x41,
	.has_el2 = true,
	.has_el3 = true,
	.has_aarch32 = true,
	.pmceid0 = 0xffffffff,
	.pmceid1 = 0xffffffff,
};

struct test_cpu test_cpu_make(const struct pmu_cpu_config *config)
{
	struct test_cpu test;

	test.model = pmu_model_create(&config, 1, 1);
	cr_assert_not_null(test.model);
	test.cpu = pmu_model_cpu(test.model, 0);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, 0);
	test_cpu_set(&test, 1, PMU_PMCNTENCLR_EL0, UINT32_MAX);
	test_cpu_set(&test, 1, PMU_PMINTENCLR_EL1, UINT32_MAX);
	test_cpu_set(&test, 1, PMU_PMOVSCLR_EL0, UINT32_MAX);
	test_cpu_set(&test, 1, PMU_PMSELR_EL0, 0);
	test_cpu_set(&test, 1, PMU_PMUSERENR_EL0, 0);
	test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, 0);
	test_cpu_set(&test, 1, PMU_PMCCFILTR_EL0, 0);
	for (unsigned int i = 0; i < config->counter_count; i++) {
		test_cpu_set(&test, 1, test_evcntr(i), 0);
		test_cpu_set(&test, 1, test_evtyper(i), 0);
	}
	return test;
}

void test_cpu_free(struct test_cpu *test)
{
	pmu_model_destroy(test->model);
	test->model = NULL;
}

uint64_t test_cpu_get(const struct test_cpu *test, unsigned int el, enum pmu_reg reg)
{
	uint64_t value = 0;
	char name[PMU_REG_NAME_MAX];

	cr_assert(pmu_reg_format(reg, name));
	cr_assert_eq(pmu_cpu_read(test->cpu, el, reg, &value), PMU_ACCESS_DONE, "%s", name);
	return value;
}

void test_cpu_set(struct test_cpu *test, unsigned int el, enum pmu_reg reg, uint64_t value)
{
	char name[PMU_REG_NAME_MAX];

	cr_assert(pmu_reg_format(reg, name));
	cr_assert_eq(pmu_cpu_write(test->cpu, el, reg, value), PMU_ACCESS_DONE, "%s", name);
}

void test_cpu_count(struct test_cpu *test, unsigned int counter, uint32_t filter, uint64_t value)
{
	test_cpu_set(test, 1, test_evtyper(counter), filter);
	test_cpu_set(test, 1, test_evcntr(counter), value);
	test_cpu_set(test, 1, PMU_PMCNTENSET_EL0, 1u << counter);
}

// Everything software can read, at EL2.
static size_t snapshot(struct pmu_cpu *cpu, uint64_t values[PMU_REG_COUNT])
{
	size_t count = 0;

	for (unsigned int reg = 0; reg < PMU_REG_COUNT; reg++)
		if (pmu_cpu_read(cpu, 2, (enum pmu_reg)reg, &values[count]) == PMU_ACCESS_DONE)
			count++;
	return count;
}

Test(pmu_reset, same_seed_same_state)
{
	const struct pmu_cpu_config *configs[2] = {&test_config_32, &test_config_32};
	struct pmu_model *a = pmu_model_create(configs, 2, 42);
	struct pmu_model *b = pmu_model_create(configs, 2, 42);
	struct pmu_model *c = pmu_model_create(configs, 2, 43);
	uint64_t va[PMU_REG_COUNT], vb[PMU_REG_COUNT], vc[PMU_REG_COUNT], other[PMU_REG_COUNT];
	size_t count = snapshot(pmu_model_cpu(a, 0), va);

	cr_assert_gt(count, 20);
	cr_assert_eq(snapshot(pmu_model_cpu(b, 0), vb), count);
	cr_assert_eq(snapshot(pmu_model_cpu(c, 0), vc), count);
	cr_assert_eq(snapshot(pmu_model_cpu(a, 1), other), count);
	cr_expect_arr_eq(va, vb, count * sizeof(va[0]), "same seed, another state");
	cr_expect_arr_neq(va, vc, count * sizeof(va[0]), "another seed, the same state");
	cr_expect_arr_neq(va, other, count * sizeof(va[0]), "CPUs reset alike");

	pmu_model_reset(c, 42);
	snapshot(pmu_model_cpu(c, 0), vc);
	cr_expect_arr_eq(va, vc, count * sizeof(va[0]), "a reset is not a creation");
	pmu_model_destroy(a);
	pmu_model_destroy(b);
	pmu_model_destroy(c);
}

// Over many seeds every UNKNOWN bit takes both values and no other bit does.
Test(pmu_reset, unknown_fields_vary)
{
	const struct pmu_cpu_config *config = &test_config_32;
	struct pmu_model *model = pmu_model_create(&config, 1, 0);
	struct pmu_cpu *cpu = pmu_model_cpu(model, 0);
	static const struct {
		enum pmu_reg reg;
		uint64_t varies;
	} cases[] = {
		{PMU_PMCR_EL0, 0x78},
		{PMU_PMCNTENSET_EL0, 0x8000003f},
		{PMU_PMINTENSET_EL1, 0x8000003f},
		{PMU_PMOVSSET_EL0, 0x8000003f},
		{PMU_PMSELR_EL0, 0x1f},
		{PMU_PMUSERENR_EL0, 0xf},
		{PMU_PMCCNTR_EL0, UINT64_MAX},
		{PMU_PMCCFILTR_EL0, 0xfc000000},
		{PMU_PMEVCNTR0_EL0, 0xffffffff},
		{PMU_PMEVTYPER0_EL0, 0xfc00ffff},
		{PMU_MDCR_EL2, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ones = 0, zeros = 0, value = 0;

		for (uint64_t seed = 0; seed < 64; seed++) {
			pmu_model_reset(model, seed);
			cr_assert_eq(pmu_cpu_read(cpu, 2, cases[i].reg, &value), PMU_ACCESS_DONE);
			ones |= value;
			zeros |= ~value;
		}
		cr_expect_eq(ones & zeros, cases[i].varies, "register %d: %lx", cases[i].reg,
			ones & zeros);
	}
	pmu_model_destroy(model);
}

Test(pmu_reset, enable_is_clear_and_nothing_counts)
{
	const struct pmu_cpu_config *config = &test_config_64;
	struct pmu_model *model = pmu_model_create(&config, 1, 0);
	struct pmu_cpu *cpu = pmu_model_cpu(model, 0);

	for (uint64_t seed = 0; seed < 64; seed++) {
		uint64_t pmcr = PMU_PMCR_E;

		pmu_model_reset(model, seed);
		cr_assert_eq(pmu_cpu_read(cpu, 1, PMU_PMCR_EL0, &pmcr), PMU_ACCESS_DONE);
		cr_expect_eq(pmcr & PMU_PMCR_E, 0);
		cr_expect_not(pmu_cpu_line(cpu), "line high out of reset");
		for (unsigned int el = 0; el < PMU_EL_COUNT; el++)
			cr_expect_eq(pmu_cpu_counting(cpu, el), 0);
	}
	pmu_model_destroy(model);
}

// The line is the level of flag, interrupt enable and PMCR_EL0.E, per counter.
Test(pmu_line, is_a_level)
{
	static const struct {
		uint32_t overflowed, interrupting, pmcr;
		bool line;
	} cases[] = {
		{0x1, 0x1, PMU_PMCR_E, true},
		{0x1, 0x1, 0, false},
		{0x1, 0x2, PMU_PMCR_E, false},
		{0x2, 0x3, PMU_PMCR_E, true},
		{0x0, 0x3f, PMU_PMCR_E, false},
		{0x3f, 0x0, PMU_PMCR_E, false},
		{0x80000000, 0x80000000, PMU_PMCR_E, true},
		{0x80000000, 0x80000000, 0, false},
		{0x80000000, 0x0000003f, PMU_PMCR_E, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_32);

		test_cpu_set(&test, 1, PMU_PMOVSSET_EL0, cases[i].overflowed);
		test_cpu_set(&test, 1, PMU_PMINTENSET_EL1, cases[i].interrupting);
		test_cpu_set(&test, 1, PMU_PMCR_EL0, cases[i].pmcr);
		cr_expect_eq(pmu_cpu_line(test.cpu), cases[i].line, "case %zu", i);
		test_cpu_free(&test);
	}
}

// It falls only when the last raised and enabled flag is cleared, and rises again with the
// enable alone: an acknowledged flag of one counter does not swallow another's.
Test(pmu_line, falls_with_the_last_flag)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 1, PMU_PMINTENSET_EL1, 0x3);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	test_cpu_count(&test, 0, 0x08, UINT32_MAX);
	test_cpu_count(&test, 1, 0x08, UINT32_MAX - 1);
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, 0x08, 1), 0x1);
	cr_expect(pmu_cpu_line(test.cpu));
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, 0x08, 1), 0x2);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSCLR_EL0), 0x3);
	test_cpu_set(&test, 1, PMU_PMOVSCLR_EL0, 0x1);
	cr_expect(pmu_cpu_line(test.cpu));
	test_cpu_set(&test, 1, PMU_PMINTENCLR_EL1, 0x2);
	cr_expect_not(pmu_cpu_line(test.cpu));
	test_cpu_set(&test, 1, PMU_PMINTENSET_EL1, 0x2);
	cr_expect(pmu_cpu_line(test.cpu));
	test_cpu_set(&test, 1, PMU_PMOVSCLR_EL0, 0x2);
	cr_expect_not(pmu_cpu_line(test.cpu));
	test_cpu_free(&test);
}

// Counters at and above MDCR_EL2.HPMN interrupt under HPME instead of PMCR_EL0.E.
Test(pmu_line, second_range_has_its_own_enable)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 2, PMU_PMOVSSET_EL0, 0x20);
	test_cpu_set(&test, 2, PMU_PMINTENSET_EL1, 0x20);
	test_cpu_set(&test, 2, PMU_MDCR_EL2, 4);
	test_cpu_set(&test, 2, PMU_PMCR_EL0, PMU_PMCR_E);
	cr_expect_not(pmu_cpu_line(test.cpu));
	test_cpu_set(&test, 2, PMU_PMCR_EL0, 0);
	test_cpu_set(&test, 2, PMU_MDCR_EL2, 4 | PMU_MDCR_HPME);
	cr_expect(pmu_cpu_line(test.cpu));
	test_cpu_free(&test);
}

Test(pmu_config, contradictions_are_refused)
{
	static const uint16_t unsorted[] = {0x50, 0x40};
	struct pmu_cpu_config bad[7];
	const struct pmu_cpu_config *config;

	for (size_t i = 0; i < 7; i++)
		bad[i] = test_config_32;
	bad[0].counter_count = 32;
	bad[1].counter_bits = 64;  // without PMUv3p5
	bad[2].version = PMU_V3P5; // with 32 bits
	bad[3].hpmn = 7;           // more than there are
	bad[4].hpmn = 0;           // needs FEAT_HPMN0
	bad[5].has_el2 = false;    // no EL2, and an HPMN below the count
	bad[5].hpmn = 3;
	bad[6].imp_events = unsorted;
	bad[6].imp_event_count = 2;
	for (size_t i = 0; i < 7; i++) {
		config = &bad[i];
		cr_expect_not(pmu_cpu_config_valid(config), "case %zu", i);
		cr_expect_null(pmu_model_create(&config, 1, 0), "case %zu", i);
	}
	config = &test_config_32;
	cr_expect_null(pmu_model_create(&config, 0, 0));
	cr_expect(pmu_cpu_config_valid(config));
}

Test(pmu_barrier, counts_writes_since)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	pmu_cpu_barrier(test.cpu);
	cr_expect_eq(pmu_cpu_unsynchronized_writes(test.cpu), 0);
	test_cpu_set(&test, 1, PMU_PMSELR_EL0, 3);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, 0);
	test_cpu_get(&test, 1, PMU_PMCR_EL0);
	cr_expect_eq(pmu_cpu_write(test.cpu, 0, PMU_PMCR_EL0, 0), PMU_ACCESS_TRAP_EL1);
	cr_expect_eq(pmu_cpu_unsynchronized_writes(test.cpu), 2);
	pmu_cpu_barrier(test.cpu);
	cr_expect_eq(pmu_cpu_unsynchronized_writes(test.cpu), 0);
	test_cpu_free(&test);
}
