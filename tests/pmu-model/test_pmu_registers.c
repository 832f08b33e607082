// Register accesses: set and clear pairs, selection, resets by PMCR_EL0, software increments,
// what each exception level may reach, and what MDCR_EL2.HPMN hides.
#include "test_pmu_cpu.h"

#define DONE    PMU_ACCESS_DONE
#define TRAP    PMU_ACCESS_TRAP_EL1
#define TRAP2   PMU_ACCESS_TRAP_EL2
#define UNDEF   PMU_ACCESS_UNDEFINED
#define ALL_SIX 0x8000003fu

Test(pmu_registers, set_and_clear_pairs)
{
	static const struct {
		enum pmu_reg set, clear;
	} pairs[] = {
		{PMU_PMCNTENSET_EL0, PMU_PMCNTENCLR_EL0},
		{PMU_PMINTENSET_EL1, PMU_PMINTENCLR_EL1},
		{PMU_PMOVSSET_EL0, PMU_PMOVSCLR_EL0},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_32);

		test_cpu_set(&test, 1, pairs[i].set, UINT64_MAX);
		cr_expect_eq(test_cpu_get(&test, 1, pairs[i].set), ALL_SIX, "pair %zu", i);
		cr_expect_eq(test_cpu_get(&test, 1, pairs[i].clear), ALL_SIX, "pair %zu", i);
		test_cpu_set(&test, 1, pairs[i].clear, 0x80000005);
		cr_expect_eq(test_cpu_get(&test, 1, pairs[i].set), 0x3a, "pair %zu", i);
		test_cpu_set(&test, 1, pairs[i].set, 0x4);
		cr_expect_eq(test_cpu_get(&test, 1, pairs[i].clear), 0x3e, "pair %zu", i);
		test_cpu_free(&test);
	}
}

// What of a written value stays.
Test(pmu_registers, writable_bits)
{
	static const struct {
		enum pmu_reg reg;
		uint64_t reads_32, reads_64; // after writing all ones
	} cases[] = {
		{PMU_PMCR_EL0, 0x417f3079, 0x410032f9},
		{PMU_PMSELR_EL0, 0x1f, 0x1f},
		{PMU_PMUSERENR_EL0, 0xf, 0xf},
		{PMU_PMCCNTR_EL0, UINT64_MAX, UINT64_MAX},
		{PMU_PMCCFILTR_EL0, 0xfc000000, 0xfc000000},
		{PMU_PMEVCNTR0_EL0, 0xffffffff, UINT64_MAX},
		{PMU_PMEVTYPER0_EL0, 0xfc00ffff, 0xfc00ffff},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu narrow = test_cpu_make(&test_config_32);
		struct test_cpu wide = test_cpu_make(&test_config_64);

		test_cpu_set(&narrow, 1, cases[i].reg, UINT64_MAX);
		test_cpu_set(&wide, 1, cases[i].reg, UINT64_MAX);
		cr_expect_eq(test_cpu_get(&narrow, 1, cases[i].reg), cases[i].reads_32,
			"case %zu: %lx", i, test_cpu_get(&narrow, 1, cases[i].reg));
		cr_expect_eq(test_cpu_get(&wide, 1, cases[i].reg), cases[i].reads_64,
			"case %zu: %lx", i, test_cpu_get(&wide, 1, cases[i].reg));
		test_cpu_free(&narrow);
		test_cpu_free(&wide);
	}
}

// PMUv3 has event numbers of 10 bits; AArch64-only CPUs have LC set for good and no divider.
Test(pmu_registers, fields_by_version)
{
	struct pmu_cpu_config config = test_config_32;
	struct test_cpu test;

	config.version = PMU_V3;
	config.has_aarch32 = false;
	config.pmceid0 = UINT64_MAX;
	test = test_cpu_make(&config);
	test_cpu_set(&test, 1, test_evtyper(0), 0xffff);
	cr_expect_eq(test_cpu_get(&test, 1, test_evtyper(0)), 0x3ff);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_D);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCR_EL0) & 0x7ff, PMU_PMCR_LC);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCEID0_EL0), UINT32_MAX);
	test_cpu_free(&test);
}

// A CPU that stores RES0 bits reads them back; none has an effect.
Test(pmu_registers, stored_res0_bits_are_inert)
{
	struct pmu_cpu_config config = test_config_32;
	struct test_cpu test;
	uint32_t filter = 0x3e00fc00; // NSK, NSU, NSH, M, MT, evtCount[15:10]

	config.version = PMU_V3;
	config.has_el2 = config.has_el3 = false;
	config.res0_is_stored = true;
	test = test_cpu_make(&config);
	test_cpu_count(&test, 0, PMU_EVENT_SW_INCR | filter, 0xffffffff);
	cr_expect_eq(test_cpu_get(&test, 1, test_evtyper(0)), filter);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_LP | PMU_PMCR_DP);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCR_EL0) & 0x7ff,
		PMU_PMCR_E | PMU_PMCR_LP | PMU_PMCR_DP);
	test_cpu_set(&test, 1, PMU_PMUSERENR_EL0, PMU_USERENR_EN);
	test_cpu_set(&test, 0, PMU_PMSWINC_EL0, 1);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 0);
	test_cpu_set(&test, 1, PMU_PMSWINC_EL0, 1);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 1);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSSET_EL0), 1);
	test_cpu_free(&test);
}

Test(pmu_registers, selection)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	for (unsigned int i = 0; i < 6; i++) {
		test_cpu_set(&test, 1, PMU_PMSELR_EL0, i);
		test_cpu_set(&test, 1, PMU_PMXEVTYPER_EL0, 0x10 + i);
		test_cpu_set(&test, 1, PMU_PMXEVCNTR_EL0, 100 + i);
	}
	for (unsigned int i = 0; i < 6; i++) {
		cr_expect_eq(test_cpu_get(&test, 1, test_evtyper(i)), 0x10 + i);
		cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(i)), 100 + i);
		test_cpu_set(&test, 1, PMU_PMSELR_EL0, i);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMXEVTYPER_EL0), 0x10 + i);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMXEVCNTR_EL0), 100 + i);
	}
	// 31 selects the cycle counter's filter, and no event counter.
	test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, 77);
	test_cpu_set(&test, 1, PMU_PMSELR_EL0, 31);
	test_cpu_set(&test, 1, PMU_PMXEVTYPER_EL0, PMU_FILTER_U | 0x11);
	test_cpu_set(&test, 1, PMU_PMXEVCNTR_EL0, 5);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCFILTR_EL0), PMU_FILTER_U);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), 77);
	// A counter that is not there reads as zero and ignores writes.
	test_cpu_set(&test, 1, PMU_PMSELR_EL0, 6);
	test_cpu_set(&test, 1, PMU_PMXEVTYPER_EL0, 0x11);
	test_cpu_set(&test, 1, PMU_PMXEVCNTR_EL0, 5);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMXEVTYPER_EL0), 0);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMXEVCNTR_EL0), 0);
	test_cpu_free(&test);
}

// P and C reset values, each its own, and neither flags, enables nor themselves.
Test(pmu_registers, pmcr_resets)
{
	static const struct {
		uint32_t pmcr;
		uint64_t event_value, cycle_value;
	} cases[] = {
		{0, 1000, 2000},
		{PMU_PMCR_P, 0, 2000},
		{PMU_PMCR_C, 1000, 0},
		{PMU_PMCR_P | PMU_PMCR_C, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_32);

		for (unsigned int n = 0; n < 6; n++)
			test_cpu_set(&test, 1, test_evcntr(n), 1000);
		test_cpu_set(&test, 1, PMU_PMCCNTR_EL0, 2000);
		test_cpu_set(&test, 1, PMU_PMOVSSET_EL0, ALL_SIX);
		test_cpu_set(&test, 1, PMU_PMCNTENSET_EL0, 0x15);
		test_cpu_set(&test, 1, PMU_PMCR_EL0, cases[i].pmcr | PMU_PMCR_X);
		for (unsigned int n = 0; n < 6; n++)
			cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(n)), cases[i].event_value);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), cases[i].cycle_value);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSCLR_EL0), ALL_SIX);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCNTENSET_EL0), 0x15);
		cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCR_EL0) & 0x7ff, PMU_PMCR_X);
		test_cpu_free(&test);
	}
}

// Software increments count where event 0 is programmed, enabled and not filtered at the level
// of the write; they overflow like any event.
Test(pmu_registers, software_increment)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 1, PMU_PMUSERENR_EL0, PMU_USERENR_SW);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_E);
	test_cpu_count(&test, 0, PMU_EVENT_SW_INCR, 10);
	test_cpu_count(&test, 1, 0x08, 10);
	test_cpu_count(&test, 2, PMU_EVENT_SW_INCR | PMU_FILTER_P, 10);
	test_cpu_count(&test, 3, PMU_EVENT_SW_INCR | PMU_FILTER_U, 10);
	test_cpu_count(&test, 4, PMU_EVENT_SW_INCR, 0xffffffff);
	test_cpu_count(&test, 5, PMU_EVENT_SW_INCR, 10);
	test_cpu_set(&test, 1, PMU_PMCNTENCLR_EL0, 0x20);
	test_cpu_set(&test, 1, PMU_PMSWINC_EL0, ALL_SIX & ~1u);
	test_cpu_set(&test, 0, PMU_PMSWINC_EL0, ALL_SIX & ~0x10u);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 11);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(1)), 10);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(2)), 11);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(3)), 11);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(4)), 0);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(5)), 10);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCCNTR_EL0), 0);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMOVSSET_EL0), 0x10);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, 0);
	test_cpu_set(&test, 1, PMU_PMSWINC_EL0, 1);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(0)), 11, "PMCR_EL0.E is clear");
	test_cpu_free(&test);
}

// Rows: register; columns: what EL0 gets for each PMUSERENR_EL0, reading and writing.
Test(pmu_access, at_el0)
{
	static const struct {
		enum pmu_reg reg;
		enum pmu_access read[5], write[5]; // 0, EN, SW, CR, ER
	} cases[] = {
		{PMU_PMCR_EL0, {TRAP, DONE, TRAP, TRAP, TRAP}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMCNTENSET_EL0, {TRAP, DONE, TRAP, TRAP, TRAP},
			{TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMCNTENCLR_EL0, {TRAP, DONE, TRAP, TRAP, TRAP},
			{TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMINTENSET_EL1, {UNDEF, UNDEF, UNDEF, UNDEF, UNDEF},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
		{PMU_PMINTENCLR_EL1, {UNDEF, UNDEF, UNDEF, UNDEF, UNDEF},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
		{PMU_PMOVSSET_EL0, {TRAP, DONE, TRAP, TRAP, TRAP}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMOVSCLR_EL0, {TRAP, DONE, TRAP, TRAP, TRAP}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMSWINC_EL0, {UNDEF, UNDEF, UNDEF, UNDEF, UNDEF},
			{TRAP, DONE, DONE, TRAP, TRAP}},
		{PMU_PMSELR_EL0, {TRAP, DONE, TRAP, TRAP, DONE}, {TRAP, DONE, TRAP, TRAP, DONE}},
		{PMU_PMXEVTYPER_EL0, {TRAP, DONE, TRAP, TRAP, TRAP},
			{TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMXEVCNTR_EL0, {TRAP, DONE, TRAP, TRAP, DONE}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMEVCNTR0_EL0, {TRAP, DONE, TRAP, TRAP, DONE}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMEVTYPER0_EL0, {TRAP, DONE, TRAP, TRAP, TRAP},
			{TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMCCNTR_EL0, {TRAP, DONE, TRAP, DONE, TRAP}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMCCFILTR_EL0, {TRAP, DONE, TRAP, TRAP, TRAP}, {TRAP, DONE, TRAP, TRAP, TRAP}},
		{PMU_PMUSERENR_EL0, {DONE, DONE, DONE, DONE, DONE},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
		{PMU_PMCEID0_EL0, {TRAP, DONE, TRAP, TRAP, TRAP},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
		{PMU_PMCEID1_EL0, {TRAP, DONE, TRAP, TRAP, TRAP},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
		{PMU_PMMIR_EL1, {UNDEF, UNDEF, UNDEF, UNDEF, UNDEF},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
		{PMU_MDCR_EL2, {UNDEF, UNDEF, UNDEF, UNDEF, UNDEF},
			{UNDEF, UNDEF, UNDEF, UNDEF, UNDEF}},
	};
	static const uint32_t userenrs[5] = {
		0, PMU_USERENR_EN, PMU_USERENR_SW, PMU_USERENR_CR, PMU_USERENR_ER};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned int j = 0; j < 5; j++) {
			struct test_cpu test = test_cpu_make(&test_config_64);
			uint64_t value = 0xabcd;
			enum pmu_access access;

			test_cpu_set(&test, 1, PMU_PMUSERENR_EL0, userenrs[j]);
			access = pmu_cpu_read(test.cpu, 0, cases[i].reg, &value);
			cr_expect_eq(access, cases[i].read[j], "read %zu/%u: %d", i, j, access);
			if (access != DONE)
				cr_expect_eq(value, 0xabcd, "a trapped read gave a value");
			access = pmu_cpu_write(test.cpu, 0, cases[i].reg, 1);
			cr_expect_eq(access, cases[i].write[j], "write %zu/%u: %d", i, j, access);
			test_cpu_free(&test);
		}
	}
}

Test(pmu_access, at_el1_and_el2)
{
	static const struct {
		enum pmu_reg reg;
		uint32_t mdcr;
		unsigned int el;
		enum pmu_access read, write;
	} cases[] = {
		{PMU_PMCR_EL0, 6, 1, DONE, DONE},
		{PMU_PMCR_EL0, 6 | PMU_MDCR_TPMCR, 1, TRAP2, TRAP2},
		{PMU_PMCR_EL0, 6 | PMU_MDCR_TPMCR, 2, DONE, DONE},
		{PMU_PMSELR_EL0, 6 | PMU_MDCR_TPMCR, 1, DONE, DONE},
		{PMU_PMSELR_EL0, 6 | PMU_MDCR_TPM, 1, TRAP2, TRAP2},
		{PMU_PMUSERENR_EL0, 6 | PMU_MDCR_TPM, 0, TRAP2, UNDEF},
		{PMU_PMCCNTR_EL0, 6 | PMU_MDCR_TPM, 0, TRAP, TRAP}, // PMUSERENR_EL0 comes first
		{PMU_PMSWINC_EL0, 6, 1, UNDEF, DONE},
		{PMU_PMCEID0_EL0, 6, 1, DONE, UNDEF},
		{PMU_PMMIR_EL1, 6, 1, DONE, UNDEF},
		{PMU_MDCR_EL2, 6, 1, UNDEF, UNDEF},
		{PMU_MDCR_EL2, 6, 2, DONE, DONE},
		{PMU_REG_COUNT, 6, 2, UNDEF, UNDEF},
		{(enum pmu_reg)(PMU_PMEVCNTR0_EL0 + 31), 6, 2, UNDEF, UNDEF},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_cpu test = test_cpu_make(&test_config_64);
		uint64_t value;

		test_cpu_set(&test, 2, PMU_MDCR_EL2, cases[i].mdcr);
		cr_expect_eq(pmu_cpu_read(test.cpu, cases[i].el, cases[i].reg, &value),
			cases[i].read, "case %zu", i);
		cr_expect_eq(pmu_cpu_write(test.cpu, cases[i].el, cases[i].reg, 6), cases[i].write,
			"case %zu", i);
		test_cpu_free(&test);
	}
}

// What is absent by version or by level.
Test(pmu_access, absent_registers)
{
	struct pmu_cpu_config config = test_config_32;
	struct test_cpu test;
	uint64_t value;

	config.has_el2 = false;
	test = test_cpu_make(&config);
	cr_expect_eq(pmu_cpu_read(test.cpu, 1, PMU_PMMIR_EL1, &value), UNDEF, "before PMUv3p4");
	cr_expect_eq(pmu_cpu_read(test.cpu, 2, PMU_PMCR_EL0, &value), UNDEF, "no EL2");
	test_cpu_free(&test);
}

// EL1 sees the counters below HPMN only; EL2 sees all.
Test(pmu_access, hpmn_hides_counters)
{
	struct test_cpu test = test_cpu_make(&test_config_32);

	test_cpu_set(&test, 2, PMU_PMCNTENSET_EL0, ALL_SIX);
	test_cpu_set(&test, 2, test_evcntr(4), 44);
	test_cpu_set(&test, 2, test_evtyper(4), 0x8);
	test_cpu_set(&test, 2, test_evcntr(3), 33);
	test_cpu_set(&test, 2, PMU_MDCR_EL2, 4);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCR_EL0) >> PMU_PMCR_N_SHIFT & 0x1f, 4);
	cr_expect_eq(test_cpu_get(&test, 2, PMU_PMCR_EL0) >> PMU_PMCR_N_SHIFT & 0x1f, 6);
	cr_expect_eq(test_cpu_get(&test, 1, PMU_PMCNTENSET_EL0), 0x8000000f);
	test_cpu_set(&test, 1, PMU_PMCNTENCLR_EL0, UINT32_MAX);
	cr_expect_eq(test_cpu_get(&test, 2, PMU_PMCNTENSET_EL0), 0x30);
	cr_expect_eq(test_cpu_get(&test, 1, test_evcntr(4)), 0);
	cr_expect_eq(test_cpu_get(&test, 1, test_evtyper(4)), 0);
	test_cpu_set(&test, 1, test_evcntr(4), 1);
	test_cpu_set(&test, 1, PMU_PMSELR_EL0, 4);
	test_cpu_set(&test, 1, PMU_PMXEVCNTR_EL0, 2);
	test_cpu_set(&test, 1, PMU_PMCR_EL0, PMU_PMCR_P);
	cr_expect_eq(test_cpu_get(&test, 2, test_evcntr(4)), 44);
	cr_expect_eq(test_cpu_get(&test, 2, test_evcntr(3)), 0);
	test_cpu_set(&test, 2, PMU_PMCR_EL0, PMU_PMCR_P);
	cr_expect_eq(test_cpu_get(&test, 2, test_evcntr(4)), 0);
	// The second range runs under HPME, not under E.
	test_cpu_set(&test, 2, PMU_PMCR_EL0, PMU_PMCR_E);
	cr_expect_eq(pmu_cpu_counting(test.cpu, 1), 0);
	test_cpu_set(&test, 2, PMU_MDCR_EL2, 4 | PMU_MDCR_HPME);
	cr_expect_eq(pmu_cpu_counting(test.cpu, 1), 0x30);
	test_cpu_free(&test);
}

Test(pmu_registers, names)
{
	char name[PMU_REG_NAME_MAX];

	cr_assert(pmu_reg_format(PMU_PMCR_EL0, name));
	cr_expect_str_eq(name, "PMCR_EL0");
	cr_assert(pmu_reg_format(test_evcntr(30), name));
	cr_expect_str_eq(name, "PMEVCNTR30_EL0");
	cr_assert(pmu_reg_format(test_evtyper(30), name));
	cr_expect_str_eq(name, "PMEVTYPER30_EL0");
	cr_expect_not(pmu_reg_format((enum pmu_reg)(PMU_MDCR_EL2 + 1), name));
	cr_expect_not(pmu_reg_format((enum pmu_reg)(PMU_PMEVCNTR0_EL0 + 31), name));
	cr_expect_not(pmu_reg_format(PMU_REG_COUNT, name));
}
