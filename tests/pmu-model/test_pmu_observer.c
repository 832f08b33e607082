// The observer: what it is told, when, and that its log alone rebuilds every counter.
#include "test_pmu_cpu.h"

#include <string.h>

#define LOG_MAX 4096

struct log {
	struct pmu_change changes[LOG_MAX];
	size_t count;
	uint64_t clock_ns;
};

static uint64_t log_now_ns(void *context, unsigned int cpu)
{
	(void)cpu;
	return ((struct log *)context)->clock_ns;
}

static void log_change(void *context, const struct pmu_change *change)
{
	struct log *log = context;

	cr_assert_lt(log->count, LOG_MAX);
	log->changes[log->count++] = *change;
}

static struct log *watch(struct test_cpu *test)
{
	static struct log log;
	struct pmu_observer observer = {&log, log_now_ns, log_change};

	memset(&log, 0, sizeof(log));
	pmu_model_observe(test->model, &observer);
	return &log;
}

Test(pmu_observer, is_told_every_counter_first)
{
	struct test_cpu test = test_cpu_make(&test_config_32);
	struct log *log = watch(&test);
	uint32_t seen = 0;

	for (size_t i = 0; i < log->count; i++)
		seen |= 1u << log->changes[i].counter;
	cr_expect_eq(log->count, 7);
	cr_expect_eq(seen, 0x8000003f);
	test_cpu_free(&test);
}

Test(pmu_observer, is_told_of_changes_only)
{
	struct test_cpu test = test_cpu_make(&test_config_32);
	struct log *log = watch(&test);
	const struct pmu_change *last;

	log->clock_ns = 1234;
	log->count = 0;
	test_cpu_set(&test, 1, PMU_PMSELR_EL0, 3);
	test_cpu_set(&test, 1, PMU_PMINTENSET_EL1, 3);
	test_cpu_set(&test, 1, PMU_PMOVSSET_EL0, 3);
	test_cpu_set(&test, 1, PMU_PMCNTENCLR_EL0, 3);
	test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 3); // E is clear: still nothing counts
	cr_expect_eq(log->count, 0);
	test_cpu_set(&test, 1, test_evtyper(1), 0x08 | PMU_FILTER_P);
	cr_assert_eq(log->count, 1);
	last = &log->changes[0];
	cr_expect_eq(last->cause, PMU_CHANGE_CONFIG);
	cr_expect_eq(last->counter, 1);
	cr_expect_eq(last->event, 0x08);
	cr_expect_eq(last->filter, 0x08 | PMU_FILTER_P);
	cr_expect_eq(last->counts_at_els, 0);
	cr_expect_eq(last->now_ns, 1234);
	log->clock_ns = 2000;
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	cr_assert_eq(log->count, 3);
	cr_expect_eq(log->changes[1].counter, 0);
	cr_expect_eq(log->changes[1].counts_at_els, 0x3);
	cr_expect_eq(log->changes[2].counter, 1);
	cr_expect_eq(log->changes[2].counts_at_els, 0x1);
	cr_expect_eq(log->changes[2].now_ns, 2000);
	test_cpu_set(&test, 1, test_evcntr(1), 99);
	cr_assert_eq(log->count, 4);
	cr_expect_eq(log->changes[3].cause, PMU_CHANGE_VALUE);
	cr_expect_eq(log->changes[3].value, 99);
	test_cpu_set(&test, 1, PMU_PMSWINC_EL0, 0x3);
	cr_assert_eq(log->count, 5);
	cr_expect_eq(log->changes[4].cause, PMU_CHANGE_SWINC);
	cr_expect_eq(log->changes[4].counter, 0);
	cr_expect_eq(log->changes[4].value, 1);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_D);
	cr_assert_eq(log->count, 6);
	cr_expect_eq(log->changes[5].counter, 31);
	cr_expect(log->changes[5].divided_by_64);
	cr_expect_eq(log->changes[5].overflow_bits, 32);
	pmu_model_observe(test.model, NULL);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_P);
	cr_expect_eq(log->count, 6);
	test_cpu_free(&test);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

// A shadow that knows only the log and the occurrences agrees with the counters, through random
// configuration changes. Without the divider and chains, which are arithmetic, not intervals.
Test(pmu_observer, log_rebuilds_the_counters)
{
	static const enum pmu_reg written[] = {PMU_PMCR_EL0, PMU_PMCNTENSET_EL0, PMU_PMCNTENCLR_EL0,
		PMU_PMEVTYPER0_EL0, PMU_PMEVCNTR0_EL0, PMU_PMEVTYPER0_EL0 + 1, PMU_PMCCFILTR_EL0,
		PMU_PMCCNTR_EL0, PMU_PMSWINC_EL0};
	struct test_cpu test = test_cpu_make(&test_config_32);
	struct log *log = watch(&test);
	struct pmu_change shadow[PMU_COUNTERS_MAX] = {0};
	uint64_t random = 88172645463325252, counted = 0;

	for (unsigned int step = 0; step < 20000; step++) {
		uint64_t r = next_random(&random), value = next_random(&random);
		unsigned int el = (unsigned int)(r >> 8) % 2;
		uint16_t event = r >> 16 & 1 ? PMU_EVENT_CPU_CYCLES : 0x08;

		if (r % 3) {
			enum pmu_reg reg =
				written[(r >> 20) % (sizeof(written) / sizeof(written[0]))];

			if (reg == PMU_PMCR_EL0)
				value = PMU_PMCR_LC | (value & 7);
			else if (reg >= PMU_PMEVTYPER0_EL0)
				value = (value & 0xc8000000) | (value & 1 ? 0x11 : value & 8);
			test_cpu_set(&test, 1, reg, value);
		} else {
			for (unsigned int c = 0; c < PMU_COUNTERS_MAX; c++)
				if ((shadow[c].counts_at_els >> el & 1) &&
					shadow[c].event == event) {
					shadow[c].value += r >> 40;
					counted++;
				}
			pmu_cpu_retire(test.cpu, el, event, r >> 40);
		}
		for (size_t i = 0; i < log->count; i++)
			shadow[log->changes[i].counter] = log->changes[i];
		log->count = 0;
		for (unsigned int c = 0; c < 6; c++)
			cr_assert_eq(test_cpu_get(&test, 1, test_evcntr(c)),
				(uint32_t)shadow[c].value, "step %u, counter %u", step, c);
		cr_assert_eq(
			test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), shadow[31].value, "step %u", step);
	}
	cr_expect_gt(counted, 1000);
	test_cpu_free(&test);
}
