// See pmu_diff_steps.h. Freestanding.
#include "pmu_diff_steps.h"

// Registers written to begin with, each with 0 or, for the clearing halves, all ones.
static const enum pmu_reg cleared[] = {PMU_PMCR_EL0, PMU_PMCNTENCLR_EL0, PMU_PMINTENCLR_EL1,
	PMU_PMOVSCLR_EL0, PMU_PMSELR_EL0, PMU_PMUSERENR_EL0, PMU_PMCCNTR_EL0, PMU_PMCCFILTR_EL0};
static const enum pmu_reg watched[] = {PMU_PMCR_EL0, PMU_PMCNTENSET_EL0, PMU_PMCNTENCLR_EL0,
	PMU_PMINTENSET_EL1, PMU_PMINTENCLR_EL1, PMU_PMOVSSET_EL0, PMU_PMOVSCLR_EL0, PMU_PMSELR_EL0,
	PMU_PMXEVTYPER_EL0, PMU_PMXEVCNTR_EL0, PMU_PMCCNTR_EL0, PMU_PMCCFILTR_EL0,
	PMU_PMUSERENR_EL0, PMU_PMCEID0_EL0, PMU_PMCEID1_EL0};

#define COUNT_OF(array) ((unsigned int)(sizeof(array) / sizeof((array)[0])))

static uint64_t draw(struct pmu_diff_steps *steps)
{
	uint64_t z = steps->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static unsigned int draw_below(struct pmu_diff_steps *steps, unsigned int bound)
{
	return (unsigned int)(draw(steps) >> 33) % bound;
}

void pmu_diff_begin(struct pmu_diff_steps *steps, struct pmu_diff_shape shape, uint64_t seed)
{
	*steps = (struct pmu_diff_steps){.shape = shape, .random = seed, .may_pass_filter = true};
}

unsigned int pmu_diff_clear_steps(struct pmu_diff_shape shape)
{
	return COUNT_OF(cleared) + 2 * shape.counter_count;
}

static struct pmu_diff_step clear_step(const struct pmu_diff_steps *steps)
{
	struct pmu_diff_step step = {.el = 1, .write = true};
	unsigned int index = steps->next;

	if (index < COUNT_OF(cleared)) {
		step.reg = (uint16_t)cleared[index];
		if (step.reg == PMU_PMCNTENCLR_EL0 || step.reg == PMU_PMINTENCLR_EL1 ||
			step.reg == PMU_PMOVSCLR_EL0)
			step.value = UINT32_MAX;
		return step;
	}
	index -= COUNT_OF(cleared);
	step.reg = (uint16_t)((index % 2 ? PMU_PMEVTYPER0_EL0 : PMU_PMEVCNTR0_EL0) + index / 2);
	return step;
}

unsigned int pmu_diff_watched_count(struct pmu_diff_shape shape)
{
	return COUNT_OF(watched) + 2 * shape.counter_count;
}

enum pmu_reg pmu_diff_watched(struct pmu_diff_shape shape, unsigned int index)
{
	if (index < COUNT_OF(watched))
		return watched[index];
	index -= COUNT_OF(watched);
	if (index < shape.counter_count)
		return (enum pmu_reg)(PMU_PMEVCNTR0_EL0 + index);
	return (enum pmu_reg)(PMU_PMEVTYPER0_EL0 + index - shape.counter_count);
}

// Half of the masks are sparse, so that single bits matter.
static uint64_t draw_mask(struct pmu_diff_steps *steps)
{
	uint64_t mask = draw(steps);

	if (draw_below(steps, 2))
		mask &= draw(steps) & 0x8000007f;
	return draw_below(steps, 8) ? (uint32_t)mask : mask;
}

// Values that are about to wrap, mostly.
static uint64_t draw_count(struct pmu_diff_steps *steps)
{
	uint64_t near = draw_below(steps, 4);

	switch (draw_below(steps, 6)) {
	case 0:
		return draw(steps);
	case 1:
		return near;
	case 2:
		return UINT64_MAX - near;
	case 3:
		return UINT64_C(0x7fffffff) - near;
	case 4:
		return draw(steps) << 32 | (UINT32_MAX - near);
	default:
		return UINT32_MAX - near;
	}
}

static uint64_t draw_filter(struct pmu_diff_steps *steps)
{
	if (draw_below(steps, 3))
		return draw(steps) & PMU_FILTER_M; // lets EL0 and EL1 count
	return draw(steps) & 0xff000000;
}

static uint64_t draw_evtyper(struct pmu_diff_steps *steps)
{
	static const uint16_t others[] = {0x0003, 0x0008, 0x0010, 0x0012, 0x001e, 0x0021, 0x0023,
		0x003c, 0x00ff, 0x0400, 0x0c00, 0x4000, 0x4004, 0xc000, 0xffff};
	uint64_t upper = draw_below(steps, 16) ? 0 : draw(steps) & UINT64_C(0xffffffff00ff0000);
	uint64_t event = 0;

	if (!draw_below(steps, 4))
		event = others[draw_below(steps, COUNT_OF(others))];
	else if (!draw_below(steps, 16))
		event = draw(steps) & 0xffff;
	if ((event & 0x3ff) == PMU_EVENT_CPU_CYCLES)
		event = 0; // runs by time in QEMU
	return draw_filter(steps) | event | upper;
}

static uint64_t draw_value(struct pmu_diff_steps *steps, enum pmu_reg reg)
{
	if (reg >= PMU_PMEVTYPER0_EL0)
		return draw_evtyper(steps);
	if (reg >= PMU_PMEVCNTR0_EL0)
		return draw_count(steps);
	switch (reg) {
	case PMU_PMCR_EL0:
		// Mostly enabled, seldom a reset of the counters.
		return (draw(steps) & ~(uint64_t)(PMU_PMCR_P | PMU_PMCR_C)) |
		       (draw_below(steps, 4) ? PMU_PMCR_E : 0) |
		       (draw_below(steps, 4) ? 0 : PMU_PMCR_P) |
		       (draw_below(steps, 4) ? 0 : PMU_PMCR_C);
	case PMU_PMSELR_EL0:
		if (!draw_below(steps, 6))
			return draw(steps);
		return draw_below(steps, 6) ? draw_below(steps, steps->shape.counter_count) : 31;
	case PMU_PMXEVTYPER_EL0:
		return draw_evtyper(steps);
	case PMU_PMXEVCNTR_EL0:
	case PMU_PMCCNTR_EL0:
		return draw_count(steps);
	case PMU_PMCCFILTR_EL0:
		return draw_filter(steps) | (draw_below(steps, 4) ? 0 : draw(steps));
	case PMU_PMUSERENR_EL0:
		return draw_below(steps, 4) ? draw(steps) & 0xf : draw(steps);
	default:
		return draw_mask(steps);
	}
}

// Takes out of a write what would let the cycle counter run, and notes what may be so now.
static void keep_cycles_still(struct pmu_diff_steps *steps, struct pmu_diff_step *step)
{
	uint64_t both = PMU_FILTER_P | PMU_FILTER_U;

	if (step->reg == PMU_PMCR_EL0) {
		if (steps->may_count_cycles && steps->may_pass_filter)
			step->value &= ~(uint64_t)PMU_PMCR_E;
		if (step->value & PMU_PMCR_E)
			steps->may_be_enabled = true;
		else if (step->el == 1)
			steps->may_be_enabled = false;
	} else if (step->reg == PMU_PMCNTENSET_EL0) {
		if (steps->may_be_enabled && steps->may_pass_filter)
			step->value &= ~(UINT64_C(1) << PMU_CYCLE_COUNTER);
		if (step->value >> PMU_CYCLE_COUNTER & 1)
			steps->may_count_cycles = true;
	} else if (step->reg == PMU_PMCNTENCLR_EL0) {
		if ((step->value >> PMU_CYCLE_COUNTER & 1) && step->el == 1)
			steps->may_count_cycles = false;
	} else if (step->reg == PMU_PMCCFILTR_EL0 || step->reg == PMU_PMXEVTYPER_EL0) {
		// P and U set, NSK and NSU clear: no level counts. PMXEVTYPER_EL0 may mean the
		// cycle counter's filter, or not.
		if (steps->may_be_enabled && steps->may_count_cycles)
			step->value = (step->value & ~UINT64_C(0xf0000000)) | both;
		if ((step->value & 0xf0000000) != both)
			steps->may_pass_filter = true;
		else if (step->el == 1 && step->reg == PMU_PMCCFILTR_EL0)
			steps->may_pass_filter = false;
	}
}

static enum pmu_reg draw_register(struct pmu_diff_steps *steps)
{
	static const enum pmu_reg others[] = {PMU_PMCR_EL0, PMU_PMCNTENSET_EL0, PMU_PMCNTENSET_EL0,
		PMU_PMCNTENCLR_EL0, PMU_PMINTENSET_EL1, PMU_PMINTENCLR_EL1, PMU_PMOVSSET_EL0,
		PMU_PMOVSCLR_EL0, PMU_PMOVSCLR_EL0, PMU_PMSELR_EL0, PMU_PMSELR_EL0,
		PMU_PMXEVTYPER_EL0, PMU_PMXEVCNTR_EL0, PMU_PMXEVCNTR_EL0, PMU_PMCCNTR_EL0,
		PMU_PMCCFILTR_EL0, PMU_PMUSERENR_EL0, PMU_PMUSERENR_EL0, PMU_PMCEID0_EL0,
		PMU_PMCEID1_EL0, PMU_PMMIR_EL1, PMU_MDCR_EL2};
	unsigned int counter = draw_below(steps, steps->shape.counter_count);

	switch (draw_below(steps, 10)) {
	case 0:
	case 1:
	case 2:
		return PMU_PMSWINC_EL0;
	case 3:
	case 4:
		return (enum pmu_reg)(PMU_PMEVCNTR0_EL0 + counter);
	case 5:
		return (enum pmu_reg)(PMU_PMEVTYPER0_EL0 + counter);
	default:
		return others[draw_below(steps, COUNT_OF(others))];
	}
}

struct pmu_diff_step pmu_diff_next(struct pmu_diff_steps *steps)
{
	struct pmu_diff_step step;

	if (steps->next < pmu_diff_clear_steps(steps->shape)) {
		step = clear_step(steps);
		steps->next++;
		return step;
	}
	steps->next++;
	step.reg = (uint16_t)draw_register(steps);
	step.el = draw_below(steps, 4) ? 1 : 0;
	step.write = draw_below(steps, 8) != 0;
	step.value = draw_value(steps, (enum pmu_reg)step.reg);
	if (step.write)
		keep_cycles_still(steps, &step);
	return step;
}
