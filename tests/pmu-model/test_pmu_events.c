// Event arithmetic: wraps at both widths, filters, the divider, chains, freezing, and the exact
// distance to the next overflow.
#include "test_pmu_cpu.h"

#define INST 0x08u
#define CYC  PMU_EVENT_CPU_CYCLES

// One counter, one retire call.
Test(pmu_events, wrap)
{
	static const struct {
		const struct pmu_cpu_config *config;
		uint32_t pmcr;
		unsigned int counter; // 31: the cycle counter
		uint64_t start, count, value;
		bool overflow;
	} cases[] = {
		{&test_config_32, 0, 2, 0, 0, 0, false},
		{&test_config_32, 0, 2, 0xfffffffe, 1, 0xffffffff, false},
		{&test_config_32, 0, 2, 0xffffffff, 1, 0, true},
		{&test_config_32, 0, 2, 0xffffffff, 5, 4, true},
		{&test_config_32, 0, 2, 5, UINT64_C(3) << 32, 5, true},
		{&test_config_32, 0, 2, 0, 0xffffffff, 0xffffffff, false},
		// LP has no place in a PMU of 32 bits: writing it changes nothing.
		{&test_config_32, PMU_PMCR_LP, 2, 0xffffffff, 1, 0, true},
		// 64 bits, flag at bit 31: the counter itself goes on.
		{&test_config_64, 0, 2, 0xffffffff, 1, UINT64_C(1) << 32, true},
		{&test_config_64, 0, 2, UINT64_C(0x7ffffffff), 2, UINT64_C(0x800000001), true},
		{&test_config_64, 0, 2, UINT64_MAX, 1, 0, true},
		{&test_config_64, PMU_PMCR_LP, 2, 0xffffffff, 1, UINT64_C(1) << 32, false},
		{&test_config_64, PMU_PMCR_LP, 2, UINT64_MAX, 1, 0, true},
		{&test_config_64, PMU_PMCR_LP, 2, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, true},
		{&test_config_32, 0, 31, 0xffffffff, 1, UINT64_C(1) << 32, true},
		{&test_config_32, PMU_PMCR_LC, 31, 0xffffffff, 1, UINT64_C(1) << 32, false},
		{&test_config_32, PMU_PMCR_LC, 31, UINT64_MAX, 1, 0, true},
		{&test_config_32, PMU_PMCR_LC, 31, UINT64_MAX - 1, 1, UINT64_MAX, false},
		{&test_config_64, PMU_PMCR_LP, 31, 0xffffffff, 1, UINT64_C(1) << 32, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(cases[i].config);
		bool cycles = cases[i].counter == PMU_CYCLE_COUNTER;
		enum pmu_reg reg = cycles ? PMU_PMCCNTR_EL0 : test_evcntr(cases[i].counter);
		uint32_t bit = 1u << cases[i].counter;
		uint32_t wrapped;

		test_cpu_set(&test, 1, PMU_PMCR_EL0, cases[i].pmcr | PMU_PMCR_E);
		if (!cycles)
			test_cpu_set(&test, 1, test_evtyper(cases[i].counter), INST);
		test_cpu_set(&test, 1, reg, cases[i].start);
		test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, bit);
		wrapped = pmu_cpu_retire(test.cpu, 1, cycles ? CYC : INST, cases[i].count);
		cr_expect_eq(wrapped, cases[i].overflow ? bit : 0, "case %zu: wrapped", i);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSSET_EL0), cases[i].overflow ? bit : 0,
			"case %zu: flag", i);
		cr_expect_eq(test_cpu_get(&test, 1, reg), cases[i].value, "case %zu: value", i);
		test_cpu_free(&test);
	}
}

// A flag stays until software clears that bit; a second wrap leaves it set and is reported.
Test(pmu_events, flags_are_sticky_and_cleared_one_by_one)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	test_cpu_count(&test, 0, INST, UINT32_MAX);
	test_cpu_count(&test, 3, INST, UINT32_MAX);
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, INST, 1), 0x9);
	test_cpu_set(&test, 1, PMU_PMOVSCLR_EL0, 0x8);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSSET_EL0), 0x1);
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, INST, UINT64_C(1) << 32), 0x9);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSCLR_EL0), 0x9);
	test_cpu_set(&test, 1, PMU_PMOVSCLR_EL0, 0);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSCLR_EL0), 0x9);
	test_cpu_free(&test);
}

// P and NSK, U and NSU must agree; NSH lets EL2 in; M is about EL3 and changes nothing here.
Test(pmu_events, filters)
{
	static const struct {
		uint32_t filter;
		bool el3, el2;
		uint8_t counts_at_els;
	} cases[] = {
		{0, true, true, 0x3},
		{PMU_FILTER_P, true, true, 0x1},
		{PMU_FILTER_U, true, true, 0x2},
		{PMU_FILTER_P | PMU_FILTER_U, true, true, 0x0},
		{PMU_FILTER_NSK, true, true, 0x1},
		{PMU_FILTER_NSU, true, true, 0x2},
		{PMU_FILTER_P | PMU_FILTER_NSK, true, true, 0x3},
		{PMU_FILTER_U | PMU_FILTER_NSU, true, true, 0x3},
		{PMU_FILTER_NSH, true, true, 0x7},
		{PMU_FILTER_NSH | PMU_FILTER_P, true, true, 0x5},
		{PMU_FILTER_NSH | PMU_FILTER_P | PMU_FILTER_U, true, true, 0x4},
		{PMU_FILTER_M, true, true, 0x3},
		// Without EL3 (EL2) the bits are RES0.
		{PMU_FILTER_NSK | PMU_FILTER_NSU, false, true, 0x3},
		{PMU_FILTER_NSH, true, false, 0x3},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pmu_cpu_config config = test_config_32;
		struct test_cpu test;

		config.has_el2 = cases[i].el2;
		config.has_el3 = cases[i].el3;
		test = test_cpu_make(&config);
		test_cpu_count(&test, 1, INST | cases[i].filter, 0);
		test_cpu_set(&test, 1, PMU_PMCCFILTR_EL0, cases[i].filter);
		test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1u << 31);
		test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_LC);
		for (unsigned int el = 0; el < PMU_EL_COUNT; el++) {
			bool counts = cases[i].counts_at_els >> el & 1;

			test_cpu_set(&test, 1, test_evcntr(1), 100);
			test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, 100);
			pmu_cpu_retire(test.cpu, el, INST, 7);
			pmu_cpu_retire(test.cpu, el, CYC, 9);
			cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), counts ? 107 : 100,
				"case %zu, EL%u", i, el);
			cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), counts ? 109 : 100,
				"case %zu, EL%u, cycles", i, el);
			cr_expect_eq(pmu_cpu_counting(test.cpu, el), counts ? 0x80000002 : 0,
				"case %zu, EL%u, mask", i, el);
		}
		test_cpu_free(&test);
	}
}

// What is not enabled, not this event or not implemented stands still.
Test(pmu_events, counts_only_its_own)
{
	struct pmu_cpu_config config = test_config_32;
	struct test_cpu test;

	config.pmceid0 &= ~(UINT64_C(1) << 0x0c);
	test = test_cpu_make(&config);
	test_cpu_count(&test, 0, INST, 10);
	test_cpu_count(&test, 1, 0x0c, 10); // absent from PMCEID0_EL0
	test_cpu_count(&test, 2, 0x10, 10);
	test_cpu_count(&test, 3, INST, 10);
	test_cpu_set(&test, 1, PMU_PMCNTENCLR_EL0, 0x8);
	pmu_cpu_retire(test.cpu, 0, INST, 5); // PMCR_EL0.E is clear
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 10);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	pmu_cpu_retire(test.cpu, 0, INST, 5);
	pmu_cpu_retire(test.cpu, 0, 0x0c, 5);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 15);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 10);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(2)), 10);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(3)), 10);
	cr_expect_eq(test_cpu_get(&test, 1, test_evtyper(1)), 0x0c, "reads back all the same");
	test_cpu_free(&test);
}

// Two counters of the same event, and cycles on an event counter beside the cycle counter.
Test(pmu_events, several_counters_of_one_event)
{
	struct test_cpu test = test_cpu_make(&test_config_32);
	uint16_t events[PMU_COUNTERS_MAX];

	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_LC);
	test_cpu_count(&test, 0, INST, 0);
	test_cpu_count(&test, 1, CYC, 5);
	test_cpu_count(&test, 4, INST | PMU_FILTER_U, 0);
	test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1u << 31);
	pmu_cpu_retire(test.cpu, 1, INST, 3);
	pmu_cpu_retire(test.cpu, 0, INST, 4);
	pmu_cpu_retire(test.cpu, 0, CYC, 50);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 7);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 55);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(4)), 3);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), 50);
	cr_expect_eq(pmu_cpu_demand(test.cpu, 1, events), 2);
	cr_expect_eq(events[0], INST);
	cr_expect_eq(events[1], CYC);
	cr_expect_eq(pmu_cpu_counting(test.cpu, 0), 0x80000003);
	cr_expect_eq(pmu_cpu_counting(test.cpu, 1), 0x80000013);
	cr_expect_eq(pmu_cpu_demand(test.cpu, 2, events), 0);
	test_cpu_free(&test);
}

// PMCR_EL0.D: one count in 64 cycles, the remainder carried; LC overrides it; event counters
// that count cycles are not divided.
Test(pmu_events, cycle_divider)
{
	struct test_cpu test = test_cpu_make(&test_config_32);
	uint64_t until;

	test_cpu_count(&test, 0, CYC, 0);
	test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1u << 31);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_D);
	test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, 0xffffffff);
	until = pmu_cpu_until_overflow(test.cpu, PMU_CYCLE_COUNTER);
	cr_assert(until >= 1 && until <= 64, "%lu", until);
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, CYC, until - 1), 0);
	cr_expect_eq(pmu_cpu_until_overflow(test.cpu, PMU_CYCLE_COUNTER), 1);
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, CYC, 1), 0x80000000);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), UINT64_C(1) << 32);
	test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, 0);
	for (unsigned int i = 0; i < 640; i++)
		pmu_cpu_retire(test.cpu, 0, CYC, 3);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), 30);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), until + 1920);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_D | PMU_PMCR_LC);
	pmu_cpu_retire(test.cpu, 0, CYC, 3);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), 33);
	test_cpu_free(&test);
}

Test(pmu_chain, odd_counts_overflows_of_even)
{
	struct test_cpu test = test_cpu_make(&test_config_32);
	uint16_t events[PMU_COUNTERS_MAX];

	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	test_cpu_count(&test, 2, INST, 0xfffffff0);
	test_cpu_count(&test, 3, PMU_EVENT_CHAIN, 0xfffffffe);
	test_cpu_count(&test, 4, PMU_EVENT_CHAIN, 9); // even: counts nothing
	cr_expect_eq(pmu_cpu_demand(test.cpu, 0, events), 1);
	cr_expect_eq(events[0], INST);
	cr_expect_eq(pmu_cpu_driving_event(test.cpu, 3), INST);
	cr_expect_eq(pmu_cpu_driving_event(test.cpu, 4), PMU_EVENT_NONE);
	cr_expect_eq(pmu_cpu_until_overflow(test.cpu, 2), 16);
	cr_expect_eq(pmu_cpu_until_overflow(test.cpu, 3), 16 + (UINT64_C(1) << 32));
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, INST, 16), 0x4);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(3)), 0xffffffff);
	cr_expect_eq(pmu_cpu_until_overflow(test.cpu, 3), UINT64_C(1) << 32);
	cr_expect_eq(pmu_cpu_retire(test.cpu, 0, INST, (UINT64_C(3) << 32) + 1), 0xc);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(2)), 1);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(3)), 2);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(4)), 9);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSSET_EL0), 0xc);
	test_cpu_free(&test);
}

// A counter that was chained and counts something else now is on its own again.
Test(pmu_chain, ends_with_the_event)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	test_cpu_count(&test, 0, INST, UINT32_MAX);
	test_cpu_count(&test, 1, PMU_EVENT_CHAIN, 0);
	test_cpu_count(&test, 1, 0x10, 0);
	cr_expect_eq(pmu_cpu_driving_event(test.cpu, 1), 0x10);
	pmu_cpu_retire(test.cpu, 0, INST, 1);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 0);
	pmu_cpu_retire(test.cpu, 0, 0x10, 3);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 3);
	test_cpu_free(&test);
}

// The odd counter's own enable and filter hold for the overflows of its neighbour.
Test(pmu_chain, odd_needs_its_own_enable_and_filter)
{
	static const struct {
		uint32_t filter;
		bool enabled;
		uint64_t value;
	} cases[] = {
		{0, true, 1},
		{0, false, 0},
		{PMU_FILTER_U, true, 0},
		{PMU_FILTER_P, true, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_32);

		test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
		test_cpu_count(&test, 0, INST, UINT32_MAX);
		test_cpu_count(&test, 1, PMU_EVENT_CHAIN | cases[i].filter, 0);
		if (!cases[i].enabled)
			test_cpu_set(&test, 1, PMU_PMCNTENCLR_EL0, 0x2);
		pmu_cpu_retire(test.cpu, 0, INST, 1);
		cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), cases[i].value, "case %zu", i);
		test_cpu_free(&test);
	}
}

// PMCR_EL0.FZO: an overflow stops the first range at that very occurrence, until it is cleared.
// The cycle counter goes on unless DP is set.
Test(pmu_freeze, on_overflow)
{
	for (unsigned int dp = 0; dp < 2; dp++) {
		struct test_cpu test = test_cpu_make(&test_config_64);
		uint32_t pmcr = PMU_PMCR_E | PMU_PMCR_FZO | (dp ? PMU_PMCR_DP : 0);

		test_cpu_set(&test, 1, PMU_PMCR_EL0, pmcr);
		test_cpu_count(&test, 0, INST, 0xfffffff0);
		test_cpu_count(&test, 1, INST, 0);
		test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1u << 31);
		cr_expect_eq(pmu_cpu_retire(test.cpu, 0, INST, 100), 0x1);
		pmu_cpu_retire(test.cpu, 0, CYC, 100);
		cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), UINT64_C(1) << 32);
		cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 16);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), dp ? 0 : 100);
		cr_expect_eq(pmu_cpu_counting(test.cpu, 0), dp ? 0 : 0x80000000);
		test_cpu_set(&test, 1, PMU_PMOVSCLR_EL0, 0x1);
		pmu_cpu_retire(test.cpu, 0, INST, 100);
		cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 116);
		test_cpu_free(&test);
	}
}

// Each range freezes by its own control and its own flags; the cycle counter's flag freezes none.
Test(pmu_freeze, by_range)
{
	static const struct {
		uint32_t pmcr, mdcr, overflowed, counting;
	} cases[] = {
		{PMU_PMCR_FZO, 0, 0x01, 0x10},
		{PMU_PMCR_FZO, 0, 0x20, 0x11},
		{PMU_PMCR_FZO, 0, 0x80000000, 0x11},
		{0, PMU_MDCR_HPMFZO, 0x20, 0x01},
		{0, PMU_MDCR_HPMFZO, 0x01, 0x11},
		{PMU_PMCR_FZO, PMU_MDCR_HPMFZO, 0x21, 0x00},
		{0, 0, 0x8000003f, 0x11},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_64);

		test_cpu_count(&test, 0, INST, 0);
		test_cpu_count(&test, 4, INST, 0);
		test_cpu_set(&test, 2, PMU_MDCR_EL2, 4 | PMU_MDCR_HPME | cases[i].mdcr);
		test_cpu_set(&test, 2, PMU_PMCR_EL0, PMU_PMCR_E | cases[i].pmcr);
		test_cpu_set(&test, 2, PMU_PMOVSSET_EL0, cases[i].overflowed);
		cr_expect_eq(pmu_cpu_counting(test.cpu, 1), cases[i].counting, "case %zu", i);
		test_cpu_set(&test, 2, PMU_PMOVSCLR_EL0, UINT32_MAX);
		cr_expect_eq(pmu_cpu_counting(test.cpu, 1), 0x11, "case %zu", i);
		test_cpu_free(&test);
	}
}

// MDCR_EL2.HPMD stops the first range at EL2, HCCD the cycle counter there.
Test(pmu_prohibit, at_el2)
{
	static const struct {
		uint32_t mdcr, pmcr;
		uint32_t counting_el2;
	} cases[] = {
		{0, 0, 0x80000021},
		{PMU_MDCR_HPMD, 0, 0x80000020},
		{PMU_MDCR_HPMD, PMU_PMCR_DP, 0x00000020},
		{PMU_MDCR_HCCD, 0, 0x00000021},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_64);

		test_cpu_count(&test, 0, INST | PMU_FILTER_NSH, 0);
		test_cpu_count(&test, 5, INST | PMU_FILTER_NSH, 0);
		test_cpu_set(&test, 1, PMU_PMCCFILTR_EL0, PMU_FILTER_NSH);
		test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1u << 31);
		test_cpu_set(&test, 2, PMU_MDCR_EL2, 4 | PMU_MDCR_HPME | cases[i].mdcr);
		test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | cases[i].pmcr);
		cr_expect_eq(pmu_cpu_counting(test.cpu, 2), cases[i].counting_el2, "case %zu", i);
		cr_expect_eq(pmu_cpu_counting(test.cpu, 1), 0x80000021, "case %zu", i);
		test_cpu_free(&test);
	}
}

// until_overflow(c) - 1 occurrences do not overflow, one more does: over widths, starts, chains.
Test(pmu_until, is_exact)
{
	static const uint64_t starts[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		UINT64_C(0x100000000), UINT64_C(0xfffffffffffffffe), UINT64_MAX};
	static const uint32_t pmcrs[] = {0, PMU_PMCR_LP | PMU_PMCR_LC, PMU_PMCR_D};
	unsigned int checked = 0;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (size_t j = 0; j < sizeof(pmcrs) / sizeof(pmcrs[0]); j++) {
			struct test_cpu test = test_cpu_make(&test_config_64);

			test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | pmcrs[j]);
			test_cpu_count(&test, 0, CYC, starts[i]);
			test_cpu_count(&test, 1, PMU_EVENT_CHAIN, 0xfffffffd);
			test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, starts[i]);
			test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1u << 31);
			for (uint32_t bit = 1; bit; bit = bit == 2 ? 1u << 31 : bit << 1) {
				unsigned int counter = (unsigned int)__builtin_ctz(bit);
				uint64_t until = pmu_cpu_until_overflow(test.cpu, counter);
				uint32_t wrapped;

				if (until == UINT64_MAX)
					continue;
				wrapped = pmu_cpu_retire(test.cpu, 0, CYC, until - 1);
				cr_expect_eq(
					wrapped & bit, 0, "start %zu, pmcr %zu, %u", i, j, counter);
				cr_expect_eq(pmu_cpu_until_overflow(test.cpu, counter), 1);
				wrapped = pmu_cpu_retire(test.cpu, 0, CYC, 1);
				cr_expect_eq(wrapped & bit, bit, "start %zu, pmcr %zu, %u", i, j,
					counter);
				checked++;
			}
			test_cpu_free(&test);
		}
	}
	cr_expect_gt(checked, 50);
}

// Only counters that would newly raise an enabled flag, driven by this event at this level.
Test(pmu_until, interrupt)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_LC);
	test_cpu_count(&test, 0, INST, 0xffffff00);
	test_cpu_count(&test, 1, PMU_EVENT_CHAIN, 0xffffffff);
	test_cpu_count(&test, 2, INST | PMU_FILTER_U, 0xfffffff0);
	cr_expect_eq(pmu_cpu_until_interrupt(test.cpu, 0, INST), UINT64_MAX);
	test_cpu_set(&test, 1, PMU_PMINTENSET_EL1, 0x2);
	cr_expect_eq(pmu_cpu_until_interrupt(test.cpu, 0, INST), 0x100, "by the chained one");
	test_cpu_set(&test, 1, PMU_PMINTENSET_EL1, 0x4);
	cr_expect_eq(pmu_cpu_until_interrupt(test.cpu, 1, INST), 0x10);
	cr_expect_eq(pmu_cpu_until_interrupt(test.cpu, 0, INST), 0x100);
	cr_expect_eq(pmu_cpu_until_interrupt(test.cpu, 0, CYC), UINT64_MAX);
	test_cpu_set(&test, 1, PMU_PMOVSSET_EL0, 0x4);
	cr_expect_eq(pmu_cpu_until_interrupt(test.cpu, 1, INST), 0x100, "already up");
	test_cpu_free(&test);
}

// The generation moves with what counts, and stands still otherwise.
Test(pmu_generation, moves_with_the_configuration)
{
	struct test_cpu test = test_cpu_make(&test_config_32);
	uint64_t before = pmu_cpu_generation(test.cpu);

	pmu_cpu_retire(test.cpu, 0, INST, 5);
	test_cpu_get(&test, 1, PMU_PMCR_EL0);
	test_cpu_set(&test, 1, test_evcntr(0), 5);
	cr_expect_eq(pmu_cpu_generation(test.cpu), before);
	test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 1);
	cr_expect_neq(pmu_cpu_generation(test.cpu), before);
	before = pmu_cpu_generation(test.cpu);
	test_cpu_set(&test, 1, test_evtyper(0), INST);
	cr_expect_neq(pmu_cpu_generation(test.cpu), before);
	test_cpu_free(&test);
}
