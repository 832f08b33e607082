// The machines that scenarios name, and the event sets of their CPUs.
#include "test_pmu_cpu.h"

#include <string.h>

Test(pmu_presets, all_are_valid_and_found_by_name)
{
	const struct pmu_preset *preset;
	unsigned int index = 0;

	for (; (preset = pmu_preset_get(index)); index++) {
		struct pmu_model *model = pmu_model_create(preset->cpus, preset->cpu_count, 1);

		cr_expect_not_null(model, "%s", preset->name);
		cr_expect_eq(pmu_preset_find(preset->name), preset);
		for (unsigned int i = 0; i < preset->cpu_count; i++)
			cr_expect_eq(pmu_cpu_config_find(preset->cpus[i]->name), preset->cpus[i]);
		if (model)
			cr_expect_eq(pmu_model_cpu_count(model), preset->cpu_count);
		pmu_model_destroy(model);
	}
	cr_expect_eq(index, 6);
	cr_expect_null(pmu_preset_find("rk3399"));
	cr_expect_null(pmu_cpu_config_find("cortex-a73"));
}

Test(pmu_presets, rk3588_is_four_and_four)
{
	const struct pmu_preset *preset = pmu_preset_find("rk3588");

	cr_assert_not_null(preset);
	cr_assert_eq(preset->cpu_count, 8);
	for (unsigned int i = 0; i < 8; i++) {
		const struct pmu_cpu_config *cpu = preset->cpus[i];

		cr_expect_eq(cpu->midr >> 4 & 0xfff, i < 4 ? 0xd05 : 0xd0b, "CPU %u", i);
		cr_expect_eq(cpu->counter_count, 6);
		cr_expect_eq(cpu->counter_bits, 32);
	}
}

Test(pmu_presets, small_machines)
{
	static const struct {
		const char *name;
		unsigned int cpu_count;
	} cases[] = {{"h1", 1}, {"h2", 2}, {"bl", 4}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pmu_preset *preset = pmu_preset_find(cases[i].name);

		cr_assert_not_null(preset);
		cr_expect_eq(preset->cpu_count, cases[i].cpu_count);
		for (unsigned int cpu = 0; cpu < preset->cpu_count; cpu++) {
			cr_expect_eq(preset->cpus[cpu]->counter_count, 4);
			for (uint16_t event = 0; event < 0x40; event++)
				cr_expect(pmu_cpu_has_event(preset->cpus[cpu], event));
		}
	}
	cr_expect_eq(pmu_preset_find("bl")->cpus[0], pmu_preset_find("bl")->cpus[1]);
	cr_expect_eq(pmu_preset_find("bl")->cpus[2], pmu_preset_find("bl")->cpus[3]);
	cr_expect_neq(pmu_preset_find("bl")->cpus[1]->midr, pmu_preset_find("bl")->cpus[2]->midr);
}

Test(pmu_presets, event_sets_differ_as_the_manuals_say)
{
	static const struct {
		uint16_t event;
		bool a55, a76;
	} cases[] = {
		{0x00, true, true},   // SW_INCR
		{0x06, true, false},  // LD_RETIRED
		{0x08, true, true},   // INST_RETIRED
		{0x0c, true, false},  // PC_WRITE_RETIRED
		{0x11, true, true},   // CPU_CYCLES
		{0x1e, true, true},   // CHAIN
		{0x1f, false, false}, // L1D_CACHE_ALLOCATE
		{0x21, true, true},   // BR_RETIRED
		{0x27, false, false}, // L2I_CACHE
		{0x31, false, true},  // REMOTE_ACCESS
		{0x37, true, true},   // LL_CACHE_MISS_RD
		{0x38, true, false},  // REMOTE_ACCESS_RD
		{0x3f, false, false},
		{0x40, true, true},  // L1D_CACHE_RD
		{0x46, false, true}, // L1D_CACHE_WB_VICTIM
		{0xa2, true, false}, // L3D_CACHE_REFILL_RD
		{0xec, true, false}, // STALL_BACKEND_ST_TLB
		{0xff, false, false},
		{0x4000, false, false},
	};
	const struct pmu_cpu_config *a55 = pmu_cpu_config_find("cortex-a55");
	const struct pmu_cpu_config *a76 = pmu_cpu_config_find("cortex-a76");

	cr_assert(a55 && a76);
	cr_expect_eq(a55->pmceid0, 0x7fffffff);
	cr_expect_eq(a55->pmceid1, 0x01f0ae7f);
	cr_expect_eq(a76->pmceid0, 0x7fff0f3f);
	cr_expect_eq(a76->pmceid1, 0x00f2ae7f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(pmu_cpu_has_event(a55, cases[i].event), cases[i].a55, "A55 %x",
			cases[i].event);
		cr_expect_eq(pmu_cpu_has_event(a76, cases[i].event), cases[i].a76, "A76 %x",
			cases[i].event);
	}
	cr_expect(pmu_cpu_has_event(pmu_cpu_config_find("pmu-wide"), 0x4004));
	cr_expect_not(pmu_cpu_has_event(pmu_cpu_config_find("pmu-wide"), 0x4000));
}
