// The register sequence that the guest on QEMU and the model on the host both perform.
//
// Compiled twice from one source: freestanding into the guest, and into the host program. A
// sequence is a function of (seed, shape) alone, never of what was read, so that the two sides
// stay in step even where they disagree.
//
// What runs by time in QEMU stays still: the cycle counter is never enabled, unfiltered and
// under PMCR_EL0.E at once, and no event counter is given CPU_CYCLES. All else may happen.
#ifndef PMU_DIFF_STEPS_H
#define PMU_DIFF_STEPS_H

#include "pmu_model/pmu_model.h"

struct pmu_diff_shape {
	unsigned int counter_count; // event counters
	bool wide;                  // 64-bit event counters
};

struct pmu_diff_step {
	uint64_t value; // to write
	uint16_t reg;   // enum pmu_reg
	uint8_t el;     // 0 or 1
	bool write;
};

struct pmu_diff_steps {
	struct pmu_diff_shape shape;
	uint64_t random;
	unsigned int next; // number of the next step
	// What may be so after the steps so far (accesses from EL0 may have been trapped).
	bool may_be_enabled;   // PMCR_EL0.E
	bool may_count_cycles; // PMCNTENSET_EL0[31]
	bool may_pass_filter;  // PMCCFILTR_EL0 lets EL0 or EL1 count
};

void pmu_diff_begin(struct pmu_diff_steps *steps, struct pmu_diff_shape shape, uint64_t seed);
// The first pmu_diff_clear_steps() bring every register to a known value from any reset state;
// only after them do the two sides have to agree.
struct pmu_diff_step pmu_diff_next(struct pmu_diff_steps *steps);
unsigned int pmu_diff_clear_steps(struct pmu_diff_shape shape);

// Registers read back at EL1 after every step: `count` of them, numbered from 0.
unsigned int pmu_diff_watched_count(struct pmu_diff_shape shape);
enum pmu_reg pmu_diff_watched(struct pmu_diff_shape shape, unsigned int index);
// The interrupt line is watched too; in the guest's output it has this number.
#define PMU_DIFF_LINE PMU_REG_COUNT

#endif
