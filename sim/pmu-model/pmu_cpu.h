// The state of one modelled CPU's PMU, shared by the files of the model and by nobody else.
//
// Two kinds of fields: what software wrote (registers), and what follows from it (derived). The
// derived ones are written by the three `derive` functions alone; every write of a register that
// may alter what counts calls one before it returns, so that between calls they agree with the
// registers.
//
// Registers keep only bits that the CPU implements: masks are within `implemented`, filters and
// PMCR_EL0 within their writable bits, counters within their width.
#ifndef PMU_MODEL_PMU_CPU_H
#define PMU_MODEL_PMU_CPU_H

#include "pmu_model/pmu_model.h"

#include <assert.h>

#define PMU_CYCLE_BIT (1u << PMU_CYCLE_COUNTER)

// What an observer was last told of one counter.
struct pmu_counter_view {
	uint32_t filter;
	uint16_t event;
	uint8_t counts_at_els;
	uint8_t overflow_bits;
	bool divided_by_64;
};

struct pmu_cpu {
	struct pmu_model *model;
	const struct pmu_cpu_config *config;
	uint16_t index;

	// Registers; entry 31 of an array belongs to the cycle counter.
	uint64_t value[PMU_COUNTERS_MAX];
	uint32_t filter[PMU_COUNTERS_MAX]; // PMEVTYPER<n>_EL0, PMCCFILTR_EL0
	uint32_t enabled;                  // PMCNTENSET_EL0
	uint32_t interrupting;             // PMINTENSET_EL1
	uint32_t overflowed;               // PMOVSSET_EL0
	uint32_t pmcr;                     // the writable fields
	uint32_t mdcr;                     // MDCR_EL2, the fields that touch the PMU
	uint32_t userenr;
	uint32_t select;         // PMSELR_EL0.SEL
	uint8_t cycle_remainder; // cycles since the divided cycle counter last advanced, 0..63

	// Derived.
	uint32_t implemented; // counters that exist
	uint32_t first_range; // event counters below MDCR_EL2.HPMN, and the cycle counter
	uint32_t unfiltered[PMU_EL_COUNT]; // filter and event would let it count there
	uint32_t counting[PMU_EL_COUNT];
	uint32_t chained; // odd counters that count their even neighbour's overflows
	uint16_t event[PMU_COUNTERS_MAX];
	uint8_t overflow_bits[PMU_COUNTERS_MAX];
	bool cycles_divided;

	uint64_t generation;
	unsigned int unsynchronized_writes;
	struct pmu_counter_view told[PMU_COUNTERS_MAX]; // kept only while observed
};

struct pmu_model {
	unsigned int cpu_count;
	struct pmu_observer observer; // .changed is NULL when there is none
	struct pmu_cpu cpus[];
};

// The number of the lowest set bit; `mask` is not 0.
static inline unsigned int pmu_lowest(uint32_t mask)
{
	assert(mask != 0);
	return (unsigned int)__builtin_ctz(mask);
}

// Bits of a register that hold what was written.
uint32_t pmu_cpu_pmcr_writable(const struct pmu_cpu_config *config);
uint32_t pmu_cpu_filter_writable(const struct pmu_cpu_config *config, unsigned int counter);
uint64_t pmu_cpu_value_mask(const struct pmu_cpu_config *config, unsigned int counter);

// Bring the derived fields up to date and tell the observer of counters that now count something
// else, or elsewhere: all of them; those that follow from one counter's filter; those that follow
// from enables and overflow flags.
void pmu_cpu_derive(struct pmu_cpu *cpu);
void pmu_cpu_derive_counter(struct pmu_cpu *cpu, unsigned int counter);
void pmu_cpu_derive_counting(struct pmu_cpu *cpu);
// Tells the observer that a counter's value changed other than by counting.
void pmu_cpu_tell_value(struct pmu_cpu *cpu, unsigned int counter, enum pmu_change_cause cause);
// Adds one to every counter in `mask` that counts software increments at `el` (PMSWINC_EL0).
void pmu_cpu_software_increment(struct pmu_cpu *cpu, unsigned int el, uint32_t mask);

#endif
