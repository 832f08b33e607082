// The life of a model: creation, warm reset, and what follows from the registers: which counters
// exist for whom, what each counts and at which exception levels, and the interrupt line.
//
// Invariant: the `derive` functions are the only writers of derived state (see pmu_cpu.h). Only
// configuration writes call them; counting itself never needs them, except for counters that
// freeze on overflow (PMCR_EL0.FZO). Enabling and disabling counters, the most frequent write by
// far, costs a few mask operations.
//
// Reset follows the Arm ARM's register descriptions: on a Warm reset PMCR_EL0.E is 0 and the
// other fields of the PMU registers are architecturally UNKNOWN. Here an UNKNOWN field takes a
// pseudo-random value, so that software which relies on zero fails.
#include "pmu_cpu.h"

#include <stdlib.h>
#include <string.h>

// splitmix64: a small generator whose every seed is good.
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

bool pmu_cpu_config_valid(const struct pmu_cpu_config *config)
{
	if (config->counter_count > PMU_EVENT_COUNTERS_MAX)
		return false;
	if (config->counter_bits != 32 && config->counter_bits != 64)
		return false;
	if ((config->counter_bits == 64) != (config->version >= PMU_V3P5))
		return false;
	if (config->hpmn > config->counter_count)
		return false;
	// MDCR_EL2.HPMN is meaningful with EL2 only, and 0 needs FEAT_HPMN0, which is not modelled.
	if (config->has_el2 ? config->hpmn == 0 && config->counter_count != 0
			    : config->hpmn != config->counter_count)
		return false;
	for (size_t i = 1; i < config->imp_event_count; i++)
		if (config->imp_events[i - 1] >= config->imp_events[i])
			return false;
	return true;
}

struct pmu_model *pmu_model_create(
	const struct pmu_cpu_config *const configs[], unsigned int cpu_count, uint64_t seed)
{
	struct pmu_model *model;

	if (cpu_count == 0 || cpu_count > PMU_CPUS_MAX)
		return NULL;
	for (unsigned int i = 0; i < cpu_count; i++)
		if (!pmu_cpu_config_valid(configs[i]))
			return NULL;
	model = calloc(1, sizeof(*model) + cpu_count * sizeof(model->cpus[0]));
	if (!model)
		return NULL;
	model->cpu_count = cpu_count;
	for (unsigned int i = 0; i < cpu_count; i++) {
		struct pmu_cpu *cpu = &model->cpus[i];

		cpu->model = model;
		cpu->index = (uint16_t)i;
		cpu->config = configs[i];
	}
	pmu_model_reset(model, seed);
	return model;
}

void pmu_model_destroy(struct pmu_model *model)
{
	free(model);
}

unsigned int pmu_model_cpu_count(const struct pmu_model *model)
{
	return model->cpu_count;
}

struct pmu_cpu *pmu_model_cpu(struct pmu_model *model, unsigned int cpu)
{
	assert(cpu < model->cpu_count);
	return &model->cpus[cpu];
}

const struct pmu_cpu_config *pmu_cpu_config(const struct pmu_cpu *cpu)
{
	return cpu->config;
}

uint64_t pmu_cpu_generation(const struct pmu_cpu *cpu)
{
	return cpu->generation;
}

// PMCR_EL0.DP exists where counting can be prohibited at all: by EL3, or from PMUv3p1 on by EL2.
// PMCR_EL0.D and a writable LC are left over from AArch32 (Arm ARM, PMCR_EL0).
uint32_t pmu_cpu_pmcr_writable(const struct pmu_cpu_config *config)
{
	uint32_t mask = PMU_PMCR_E | PMU_PMCR_X;

	if (config->has_aarch32)
		mask |= PMU_PMCR_D | PMU_PMCR_LC;
	if (config->has_el3 || (config->has_el2 && config->version >= PMU_V3P1) ||
		config->res0_is_stored)
		mask |= PMU_PMCR_DP;
	if (config->version >= PMU_V3P5 || config->res0_is_stored)
		mask |= PMU_PMCR_LP;
	if (config->version >= PMU_V3P7)
		mask |= PMU_PMCR_FZO;
	return mask;
}

// A RES0 bit may be hardwired or store what is written (Arm ARM, glossary, "RES0"); with
// `res0_is_stored` the filter bits of absent levels, MT (bit 25) and the upper event bits do.
uint32_t pmu_cpu_filter_writable(const struct pmu_cpu_config *config, unsigned int counter)
{
	uint32_t mask = PMU_FILTER_P | PMU_FILTER_U;

	if (config->has_el3 || config->res0_is_stored)
		mask |= PMU_FILTER_NSK | PMU_FILTER_NSU | PMU_FILTER_M;
	if (config->has_el2 || config->res0_is_stored)
		mask |= PMU_FILTER_NSH;
	if (counter == PMU_CYCLE_COUNTER)
		return mask;
	if (config->res0_is_stored)
		mask |= 1u << 25;
	return mask | (config->version >= PMU_V3P1 || config->res0_is_stored ? 0xffffu : 0x3ffu);
}

uint64_t pmu_cpu_value_mask(const struct pmu_cpu_config *config, unsigned int counter)
{
	if (counter == PMU_CYCLE_COUNTER || config->counter_bits == 64)
		return UINT64_MAX;
	return UINT32_MAX;
}

void pmu_cpu_reset(struct pmu_cpu *cpu, uint64_t seed)
{
	const struct pmu_cpu_config *config = cpu->config;
	uint32_t counters = (uint32_t)((UINT64_C(1) << config->counter_count) - 1);
	uint64_t random = seed;

	cpu->implemented = counters | PMU_CYCLE_BIT;
	memset(cpu->value, 0, sizeof(cpu->value));
	memset(cpu->filter, 0, sizeof(cpu->filter));
	for (unsigned int i = 0; i < PMU_COUNTERS_MAX; i++) {
		if (!(cpu->implemented & (1u << i)))
			continue;
		cpu->value[i] = next_random(&random) & pmu_cpu_value_mask(config, i);
		cpu->filter[i] = (uint32_t)next_random(&random) &
				 pmu_cpu_filter_writable(config, i);
	}
	cpu->enabled = (uint32_t)next_random(&random) & cpu->implemented;
	cpu->interrupting = (uint32_t)next_random(&random) & cpu->implemented;
	cpu->overflowed = (uint32_t)next_random(&random) & cpu->implemented;
	cpu->pmcr = (uint32_t)next_random(&random) & pmu_cpu_pmcr_writable(config) & ~PMU_PMCR_E;
	if (!config->has_aarch32)
		cpu->pmcr |= PMU_PMCR_LC; // RES1
	cpu->userenr = (uint32_t)next_random(&random) & 0xfu;
	cpu->select = (uint32_t)next_random(&random) & 0x1fu;
	cpu->cycle_remainder = (uint8_t)(next_random(&random) & 63u);
	cpu->mdcr = config->has_el2 ? config->hpmn : 0;
	cpu->unsynchronized_writes = 0;
	pmu_cpu_derive(cpu);
	for (unsigned int i = 0; i < PMU_COUNTERS_MAX; i++)
		if (cpu->implemented & (1u << i))
			pmu_cpu_tell_value(cpu, i, PMU_CHANGE_RESET);
}

void pmu_model_reset(struct pmu_model *model, uint64_t seed)
{
	for (unsigned int i = 0; i < model->cpu_count; i++)
		pmu_cpu_reset(&model->cpus[i], seed + UINT64_C(0xd1342543de82ef95) * (i + 1));
}

bool pmu_cpu_has_event(const struct pmu_cpu_config *config, uint16_t event)
{
	size_t low = 0, high = config->imp_event_count;

	if (event < 0x20)
		return config->pmceid0 >> event & 1;
	if (event < 0x40)
		return config->pmceid1 >> (event - 0x20) & 1;
	if (event >= 0x4000 && event < 0x4040) {
		uint64_t ids = event < 0x4020 ? config->pmceid0 : config->pmceid1;

		return config->version >= PMU_V3P1 && (ids >> (32 + (event & 0x1f)) & 1);
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (config->imp_events[middle] < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low < config->imp_event_count && config->imp_events[low] == event;
}

// Which event a counter counts. An event that the CPU lacks counts nothing (Arm ARM,
// PMEVTYPER<n>_EL0.evtCount); CHAIN on an even counter neither.
static uint16_t effective_event(const struct pmu_cpu *cpu, unsigned int counter)
{
	uint32_t number = cpu->filter[counter] & 0xffffu;

	if (counter == PMU_CYCLE_COUNTER)
		return PMU_EVENT_CPU_CYCLES;
	if (cpu->config->version < PMU_V3P1)
		number &= 0x3ffu;
	if (!pmu_cpu_has_event(cpu->config, (uint16_t)number))
		return PMU_EVENT_NONE;
	if (number == PMU_EVENT_CHAIN && counter % 2 == 0)
		return PMU_EVENT_NONE;
	return (uint16_t)number;
}

// Exception level filtering for Non-secure state (Arm ARM, AArch64.CountPMUEvents): the levels
// at which a counter's filter lets it count, one bit per level.
static uint8_t unfiltered_els(const struct pmu_cpu_config *config, uint32_t filter)
{
	bool p = filter & PMU_FILTER_P, u = filter & PMU_FILTER_U;
	bool nsk = config->has_el3 && (filter & PMU_FILTER_NSK);
	bool nsu = config->has_el3 && (filter & PMU_FILTER_NSU);
	bool nsh = config->has_el2 && (filter & PMU_FILTER_NSH);

	return (uint8_t)((u == nsu) << 0 | (p == nsk) << 1 | nsh << 2);
}

static uint8_t overflow_bits(const struct pmu_cpu *cpu, unsigned int counter)
{
	bool lengthened;

	if (counter == PMU_CYCLE_COUNTER)
		return cpu->pmcr & PMU_PMCR_LC ? 64 : 32;
	if (cpu->config->counter_bits == 32)
		return 32;
	lengthened = cpu->first_range & (1u << counter) ? cpu->pmcr & PMU_PMCR_LP
							: cpu->mdcr & PMU_MDCR_HLP;
	return lengthened ? 64 : 32;
}

static struct pmu_counter_view view_of(const struct pmu_cpu *cpu, unsigned int counter)
{
	struct pmu_counter_view view = {
		.filter = cpu->filter[counter],
		.event = cpu->event[counter],
		.overflow_bits = cpu->overflow_bits[counter],
		.divided_by_64 = counter == PMU_CYCLE_COUNTER && cpu->cycles_divided,
	};

	for (unsigned int el = 0; el < PMU_EL_COUNT; el++)
		if (cpu->counting[el] & (1u << counter))
			view.counts_at_els |= (uint8_t)(1u << el);
	return view;
}

static void tell(struct pmu_cpu *cpu, unsigned int counter, enum pmu_change_cause cause)
{
	const struct pmu_observer *observer = &cpu->model->observer;
	struct pmu_counter_view view = view_of(cpu, counter);
	struct pmu_change change = {
		.value = cpu->value[counter],
		.filter = view.filter,
		.cpu = cpu->index,
		.event = view.event,
		.counter = (uint8_t)counter,
		.cause = (uint8_t)cause,
		.counts_at_els = view.counts_at_els,
		.overflow_bits = view.overflow_bits,
		.divided_by_64 = view.divided_by_64,
	};

	if (observer->now_ns)
		change.now_ns = observer->now_ns(observer->context, cpu->index);
	cpu->told[counter] = view;
	observer->changed(observer->context, &change);
}

void pmu_cpu_tell_value(struct pmu_cpu *cpu, unsigned int counter, enum pmu_change_cause cause)
{
	if (cpu->model->observer.changed)
		tell(cpu, counter, cause);
}

static bool same_view(const struct pmu_counter_view *a, const struct pmu_counter_view *b)
{
	return a->filter == b->filter && a->event == b->event &&
	       a->counts_at_els == b->counts_at_els && a->overflow_bits == b->overflow_bits &&
	       a->divided_by_64 == b->divided_by_64;
}

static void tell_config_changes(struct pmu_cpu *cpu)
{
	for (uint32_t rest = cpu->implemented; rest; rest &= rest - 1) {
		unsigned int counter = pmu_lowest(rest);
		struct pmu_counter_view view = view_of(cpu, counter);

		if (!same_view(&view, &cpu->told[counter]))
			tell(cpu, counter, PMU_CHANGE_CONFIG);
	}
}

// The counters of one range that are stopped because one of them overflowed (PMCR_EL0.FZO and
// MDCR_EL2.HPMFZO; the cycle counter's flag stops nothing).
static uint32_t frozen_counters(const struct pmu_cpu *cpu)
{
	uint32_t first = cpu->first_range & ~PMU_CYCLE_BIT;
	uint32_t second = cpu->implemented & ~cpu->first_range;
	uint32_t frozen = 0;

	if ((cpu->pmcr & PMU_PMCR_FZO) && (cpu->overflowed & first))
		frozen |= first | (cpu->pmcr & PMU_PMCR_DP ? PMU_CYCLE_BIT : 0);
	if ((cpu->mdcr & PMU_MDCR_HPMFZO) && (cpu->overflowed & second))
		frozen |= second;
	return frozen;
}

// The counters that may not count at EL2. Prohibition touches the cycle counter under
// PMCR_EL0.DP only; HCCD is a prohibition of its own.
static uint32_t prohibited_at_el2(const struct pmu_cpu *cpu)
{
	uint32_t prohibited = 0;

	if (cpu->mdcr & PMU_MDCR_HPMD)
		prohibited |= cpu->first_range & ~(cpu->pmcr & PMU_PMCR_DP ? 0 : PMU_CYCLE_BIT);
	if (cpu->mdcr & PMU_MDCR_HCCD)
		prohibited |= PMU_CYCLE_BIT;
	return prohibited;
}

// The counters whose global enable is set: PMCR_EL0.E, or MDCR_EL2.HPME in the second range.
static uint32_t globally_enabled(const struct pmu_cpu *cpu)
{
	uint32_t enabled = 0;

	if (cpu->pmcr & PMU_PMCR_E)
		enabled |= cpu->first_range;
	if (cpu->mdcr & PMU_MDCR_HPME)
		enabled |= cpu->implemented & ~cpu->first_range;
	return enabled;
}

// Counting (Arm ARM, AArch64.CountPMUEvents): enabled, not frozen, not prohibited, not filtered.
void pmu_cpu_derive_counting(struct pmu_cpu *cpu)
{
	uint32_t running = cpu->enabled & globally_enabled(cpu) & ~frozen_counters(cpu);

	for (unsigned int el = 0; el < PMU_EL_COUNT; el++)
		cpu->counting[el] = running & cpu->unfiltered[el];
	cpu->counting[2] &= ~prohibited_at_el2(cpu);
	cpu->generation++;
	if (cpu->model->observer.changed)
		tell_config_changes(cpu);
}

static void derive_counter(struct pmu_cpu *cpu, unsigned int counter)
{
	uint32_t bit = 1u << counter;
	uint8_t els = unfiltered_els(cpu->config, cpu->filter[counter]);

	cpu->event[counter] = effective_event(cpu, counter);
	cpu->chained &= ~bit;
	if (cpu->event[counter] == PMU_EVENT_CHAIN)
		cpu->chained |= bit;
	if (cpu->event[counter] == PMU_EVENT_NONE)
		els = 0;
	for (unsigned int el = 0; el < PMU_EL_COUNT; el++) {
		cpu->unfiltered[el] &= ~bit;
		if (els & (1u << el))
			cpu->unfiltered[el] |= bit;
	}
}

void pmu_cpu_derive_counter(struct pmu_cpu *cpu, unsigned int counter)
{
	derive_counter(cpu, counter);
	pmu_cpu_derive_counting(cpu);
}

void pmu_cpu_derive(struct pmu_cpu *cpu)
{
	uint32_t below_hpmn = (1u << (cpu->mdcr & PMU_MDCR_HPMN)) - 1;

	cpu->first_range = cpu->implemented;
	if (cpu->config->has_el2)
		cpu->first_range &= below_hpmn | PMU_CYCLE_BIT;
	// With LC set the cycle counter ignores the divider (Arm ARM, PMCR_EL0.D).
	cpu->cycles_divided = (cpu->pmcr & (PMU_PMCR_D | PMU_PMCR_LC)) == PMU_PMCR_D;
	for (uint32_t rest = cpu->implemented; rest; rest &= rest - 1) {
		unsigned int counter = pmu_lowest(rest);

		cpu->overflow_bits[counter] = overflow_bits(cpu, counter);
		derive_counter(cpu, counter);
	}
	pmu_cpu_derive_counting(cpu);
}

void pmu_model_observe(struct pmu_model *model, const struct pmu_observer *observer)
{
	if (!observer) {
		model->observer = (struct pmu_observer){0};
		return;
	}
	assert(observer->changed);
	model->observer = *observer;
	for (unsigned int i = 0; i < model->cpu_count; i++)
		for (uint32_t rest = model->cpus[i].implemented; rest; rest &= rest - 1)
			tell(&model->cpus[i], pmu_lowest(rest), PMU_CHANGE_CONFIG);
}

// Arm ARM, AArch64.CheckForPMUOverflow.
bool pmu_cpu_line(const struct pmu_cpu *cpu)
{
	return cpu->overflowed & cpu->interrupting & globally_enabled(cpu);
}
