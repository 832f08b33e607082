// Event arithmetic: counters advance, wrap and chain; and the questions a machine asks to know
// how far it may jump before a counter overflows.
//
// Numbers of occurrences are exact 64-bit integers throughout. A 32-bit counter that advances by
// more than 2^32 at once wraps as often as it would one by one, which matters to the counter
// chained to it. A counter with 64 bits that overflows at bit 31 (PMCR_EL0.LC or LP clear) keeps
// counting into bit 32 (Arm ARM, PMCR_EL0.LP): only the flag differs.
#include "pmu_cpu.h"

// How often adding `count` to `value` carries out of bit `bits` - 1.
static uint64_t carries(uint64_t value, uint64_t count, unsigned int bits)
{
	if (bits == 64)
		return value + count < value;
	return (count >> 32) + (((value & UINT32_MAX) + (count & UINT32_MAX)) >> 32);
}

// Advances one counter by `count` of what it counts, and the one chained to it by the overflows.
// Returns the mask of those that overflowed.
static uint32_t advance(struct pmu_cpu *cpu, unsigned int el, unsigned int counter, uint64_t count)
{
	uint32_t next = counter == PMU_CYCLE_COUNTER ? 0 : 1u << (counter + 1);
	uint32_t wrapped = 0;
	uint64_t overflows;

	overflows = carries(cpu->value[counter], count, cpu->overflow_bits[counter]);
	cpu->value[counter] = (cpu->value[counter] + count) &
			      pmu_cpu_value_mask(cpu->config, counter);
	if (overflows == 0)
		return 0;
	wrapped |= 1u << counter;
	if (cpu->chained & cpu->counting[el] & next)
		wrapped |= advance(cpu, el, counter + 1, overflows);
	return wrapped;
}

// Cycles reach the cycle counter through its divider.
static uint64_t divided_cycles(struct pmu_cpu *cpu, uint64_t count)
{
	unsigned int rest = cpu->cycle_remainder + (unsigned int)(count % 64);

	if (!cpu->cycles_divided)
		return count;
	cpu->cycle_remainder = (uint8_t)(rest % 64);
	return count / 64 + rest / 64;
}

// Does an overflow stop counters (PMCR_EL0.FZO, MDCR_EL2.HPMFZO)?
static bool freezes_on_overflow(const struct pmu_cpu *cpu)
{
	return (cpu->pmcr & PMU_PMCR_FZO) || (cpu->mdcr & PMU_MDCR_HPMFZO);
}

// The counters that `event` advances at `el`, chained ones not among them.
static uint32_t counters_of(const struct pmu_cpu *cpu, unsigned int el, uint16_t event)
{
	uint32_t found = 0;

	for (uint32_t rest = cpu->counting[el] & ~cpu->chained; rest; rest &= rest - 1) {
		unsigned int counter = pmu_lowest(rest);

		if (cpu->event[counter] == event)
			found |= 1u << counter;
	}
	return found;
}

static uint32_t advance_all(struct pmu_cpu *cpu, unsigned int el, uint32_t mask, uint64_t count)
{
	uint32_t wrapped = 0;

	for (; mask; mask &= mask - 1) {
		unsigned int counter = pmu_lowest(mask);
		uint64_t steps = count;

		if (counter == PMU_CYCLE_COUNTER)
			steps = divided_cycles(cpu, count);
		wrapped |= advance(cpu, el, counter, steps);
	}
	cpu->overflowed |= wrapped;
	return wrapped;
}

uint32_t pmu_cpu_retire(struct pmu_cpu *cpu, unsigned int el, uint16_t event, uint64_t count)
{
	uint32_t wrapped = 0;

	assert(el < PMU_EL_COUNT);
	assert(event != PMU_EVENT_CHAIN); // happens inside the PMU only
	while (count) {
		uint32_t mask = counters_of(cpu, el, event);
		uint64_t step = count;

		if (!mask)
			break;
		if (!freezes_on_overflow(cpu))
			return wrapped | advance_all(cpu, el, mask, count);
		// Counters may freeze at the first overflow: go there, look again.
		for (uint32_t rest = mask; rest; rest &= rest - 1) {
			uint64_t until = pmu_cpu_until_overflow(cpu, pmu_lowest(rest));

			if (until < step)
				step = until;
		}
		wrapped |= advance_all(cpu, el, mask, step);
		pmu_cpu_derive_counting(cpu);
		count -= step;
	}
	return wrapped;
}

void pmu_cpu_software_increment(struct pmu_cpu *cpu, unsigned int el, uint32_t mask)
{
	uint32_t advanced = mask & counters_of(cpu, el, PMU_EVENT_SW_INCR);
	uint32_t wrapped = advance_all(cpu, el, advanced, 1);

	for (uint32_t rest = advanced | wrapped; rest; rest &= rest - 1)
		pmu_cpu_tell_value(cpu, pmu_lowest(rest), PMU_CHANGE_SWINC);
	if (wrapped && freezes_on_overflow(cpu))
		pmu_cpu_derive_counting(cpu);
}

uint32_t pmu_cpu_counting(const struct pmu_cpu *cpu, unsigned int el)
{
	assert(el < PMU_EL_COUNT);
	return cpu->counting[el];
}

unsigned int pmu_cpu_demand(
	const struct pmu_cpu *cpu, unsigned int el, uint16_t events[PMU_COUNTERS_MAX])
{
	unsigned int count = 0;

	assert(el < PMU_EL_COUNT);
	for (uint32_t rest = cpu->counting[el] & ~cpu->chained; rest; rest &= rest - 1) {
		uint16_t event = cpu->event[pmu_lowest(rest)];
		unsigned int i = 0;

		while (i < count && events[i] != event)
			i++;
		if (i == count)
			events[count++] = event;
	}
	return count;
}

uint16_t pmu_cpu_driving_event(const struct pmu_cpu *cpu, unsigned int counter)
{
	assert(counter < PMU_COUNTERS_MAX);
	if (!(cpu->implemented & (1u << counter)))
		return PMU_EVENT_NONE;
	if (cpu->chained & (1u << counter))
		return cpu->event[counter - 1];
	return cpu->event[counter];
}

// 2^bits - value, saturated.
static uint64_t steps_to_carry(uint64_t value, unsigned int bits)
{
	if (bits == 64)
		return value ? -value : UINT64_MAX;
	return (UINT64_C(1) << 32) - (value & UINT32_MAX);
}

static uint64_t saturating_scale(uint64_t a, uint64_t factor, uint64_t add)
{
	uint64_t product, sum;

	if (__builtin_mul_overflow(a, factor, &product) ||
		__builtin_add_overflow(product, add, &sum))
		return UINT64_MAX;
	return sum;
}

uint64_t pmu_cpu_until_overflow(const struct pmu_cpu *cpu, unsigned int counter)
{
	uint64_t steps;

	if (pmu_cpu_driving_event(cpu, counter) == PMU_EVENT_NONE)
		return UINT64_MAX;
	steps = steps_to_carry(cpu->value[counter], cpu->overflow_bits[counter]);
	if (cpu->chained & (1u << counter)) {
		// `steps` overflows of the neighbour: the first soon, the others a full turn each.
		uint64_t first = pmu_cpu_until_overflow(cpu, counter - 1);

		if (steps == 1)
			return first;
		if (cpu->overflow_bits[counter - 1] == 64)
			return UINT64_MAX;
		return saturating_scale(steps - 1, UINT64_C(1) << 32, first);
	}
	if (counter == PMU_CYCLE_COUNTER && cpu->cycles_divided)
		return saturating_scale(steps - 1, 64, 64u - cpu->cycle_remainder);
	return steps;
}

uint64_t pmu_cpu_until_interrupt(const struct pmu_cpu *cpu, unsigned int el, uint16_t event)
{
	uint32_t drivers = counters_of(cpu, el, event);
	uint32_t driven = drivers | (drivers << 1 & cpu->chained & cpu->counting[el]);
	uint64_t least = UINT64_MAX;

	assert(el < PMU_EL_COUNT);
	for (uint32_t rest = driven & cpu->interrupting & ~cpu->overflowed; rest;
		rest &= rest - 1) {
		uint64_t until = pmu_cpu_until_overflow(cpu, pmu_lowest(rest));

		if (until < least)
			least = until;
	}
	return least;
}
