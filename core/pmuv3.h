/* SPDX-License-Identifier: MIT
 *
 * pmuv3.h: Arm PMUv3 at register level (Arm ARM DDI 0487, D11 and D19.5). All functions: IRQs off,
 * on the CPU whose pool is given.
 */
#ifndef TALLY_CORE_PMUV3_H
#define TALLY_CORE_PMUV3_H

#include <tally/hal.h>

#include "slot.h"

/* PMCR_EL0 */
#define PMCR_E       (UINT64_C(1) << 0)
#define PMCR_P       (UINT64_C(1) << 1)
#define PMCR_C       (UINT64_C(1) << 2)
#define PMCR_LC      (UINT64_C(1) << 6)
#define PMCR_LP      (UINT64_C(1) << 7)
#define PMCR_N_SHIFT 11
#define PMCR_N_MASK  UINT64_C(31)

/* PMEVTYPER<n>_EL0, PMCCFILTR_EL0 */
#define PMEVTYPER_P          (UINT64_C(1) << 31) /* do not count EL1 */
#define PMEVTYPER_U          (UINT64_C(1) << 30) /* do not count EL0 */
#define PMEVTYPER_NSH        (UINT64_C(1) << 27) /* count EL2 */
#define PMEVTYPER_EVENT_MASK UINT64_C(0xffff)

#define PMUV3_EVENT_CPU_CYCLES 0x11u
#define PMUV3_EVENT_CHAIN      0x1e

/* What the PMU of a CPU can do. */
struct pmuv3_probe {
	uint32_t present; /* slots: PMCR.N event counters and the cycle counter; 0: no PMU */
	uint64_t pmceid[2];
};

/* Bring the PMU from any state to: off, all counters stopped at 0, no interrupt enabled, no flag
 * set, no access for EL0; fill in *pool and *probe. A CPU without PMUv3 gets an empty pool. */
void pmuv3_online(struct tally_slot_pool *pool, struct pmuv3_probe *probe);

/* The event `number` is common (below 0x40, or 0x4000 to 0x403f) and in PMCEID. */
bool pmuv3_has_event(const uint64_t pmceid[2], uint32_t number);

static inline uint64_t pmuv3_counter(uint32_t slot)
{
	return hal_pmu_read(slot == TALLY_SLOT_CYCLE ? (uint32_t)HAL_PMCCNTR : HAL_PMEVCNTR + slot);
}

/* Set a stopped counter. */
static inline void pmuv3_counter_set(struct tally_slot_pool *pool, uint32_t slot, uint64_t value)
{
	hal_pmu_write(
		slot == TALLY_SLOT_CYCLE ? (uint32_t)HAL_PMCCNTR : HAL_PMEVCNTR + slot, value);
	pool->slot[slot].value = value;
	pool->unsettled = true;
}

/* Choose what a stopped counter counts, unless it does already. */
static inline void pmuv3_type_set(struct tally_slot_pool *pool, uint32_t slot, uint64_t type)
{
	if (pool->slot[slot].type == type)
		return;
	hal_pmu_write(
		slot == TALLY_SLOT_CYCLE ? (uint32_t)HAL_PMCCFILTR : HAL_PMEVTYPER + slot, type);
	pool->slot[slot].type = type;
	pool->unsettled = true;
}

/* Stop the counters in `mask` and wait until they stand: what follows reads final values and flags.
 */
static inline void pmuv3_stop(struct tally_slot_pool *pool, uint32_t mask)
{
	hal_pmu_write(HAL_PMCNTENCLR, mask);
	hal_pmu_barrier();
	pool->counting &= ~mask;
}

/* The interrupt mask and PMCR.E follow from pool->used. */
void pmuv3_masks_follow(struct tally_slot_pool *pool);

/* Make the counters of pool->used, and only those, count and interrupt; the PMU is on while there
 * are any. No barrier after the start: the return to the task synchronises (Arm ARM, context
 * synchronization events). */
static inline void pmuv3_run(struct tally_slot_pool *pool)
{
	uint32_t start = pool->used & ~pool->counting;

	if (pool->unsettled) {
		hal_pmu_barrier();
		pool->unsettled = false;
	}
	if (pool->interrupt != pool->used)
		pmuv3_masks_follow(pool);
	if (start != 0)
		hal_pmu_write(HAL_PMCNTENSET, start);
	pool->counting = pool->used;
}

/* Stop all counters at once, for a look at one instant, and let them go on. */
static inline void pmuv3_pause(struct tally_slot_pool *pool)
{
	hal_pmu_write(HAL_PMCR, pool->control);
	hal_pmu_barrier();
}

static inline void pmuv3_resume(struct tally_slot_pool *pool)
{
	hal_pmu_barrier();
	hal_pmu_write(HAL_PMCR, pool->control | (pool->on ? PMCR_E : 0));
}

#endif
