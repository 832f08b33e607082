/* SPDX-License-Identifier: MIT
 *
 * pmuv3.c: bringing a PMUv3 up, and starting and stopping its counters.
 *
 * Registers have UNKNOWN values after reset, and firmware may have left anything behind:
 * pmuv3_online() assumes nothing. The engine writes PMCR with every bit of its own choosing: E as
 * needed, LC always (the cycle counter has 64 bits), LP where it exists (PMUv3p5: event counters
 * have 64 bits), and D, X, DP clear. Switch hooks and the overflow interrupt run the rest; all of
 * it IRQs off on its CPU.
 */
#include "pmuv3.h"

#include "assert.h"
#include "memory.h"

#define DFR0_PMUVER_SHIFT 8
#define DFR0_PMUVER_MASK  UINT64_C(15)
#define PMUVER_NONE       0u
#define PMUVER_V3P5       6u
#define PMUVER_IMPDEF     15u

void pmuv3_online(struct tally_slot_pool *pool, struct pmuv3_probe *probe)
{
	uint64_t version = (hal_pmu_read(HAL_ID_AA64DFR0) >> DFR0_PMUVER_SHIFT) & DFR0_PMUVER_MASK;
	uint32_t counters;

	memset(pool, 0, sizeof(*pool));
	memset(probe, 0, sizeof(*probe));
	if (version == PMUVER_NONE || version == PMUVER_IMPDEF)
		return;
	pool->control = PMCR_LC | (version >= PMUVER_V3P5 ? PMCR_LP : 0);
	hal_pmu_write(HAL_PMCR, pool->control);
	hal_pmu_write(HAL_PMCNTENCLR, UINT32_MAX);
	hal_pmu_write(HAL_PMINTENCLR, UINT32_MAX);
	hal_pmu_write(HAL_PMUSERENR, 0);
	hal_pmu_barrier();
	hal_pmu_write(HAL_PMCR, pool->control | PMCR_P | PMCR_C);
	hal_pmu_write(HAL_PMOVSCLR, UINT32_MAX);
	hal_pmu_barrier();

	counters = (uint32_t)((hal_pmu_read(HAL_PMCR) >> PMCR_N_SHIFT) & PMCR_N_MASK);
	probe->pmceid[0] = hal_pmu_read(HAL_PMCEID0);
	probe->pmceid[1] = hal_pmu_read(HAL_PMCEID1);
	pool->present = TALLY_SLOT_CYCLE_MASK | ((UINT32_C(1) << counters) - 1);
	probe->present = pool->present;
	pool->narrow = version < PMUVER_V3P5 ? pool->present & TALLY_SLOT_EVENT_MASK : 0;
	for (uint32_t slot = 0; slot < TALLY_SLOTS; slot++)
		pool->slot[slot].type = TALLY_SLOT_TYPE_UNKNOWN;
}

bool pmuv3_has_event(const uint64_t pmceid[2], uint32_t number)
{
	/* PMCEID0[31:0]: 0 to 0x1f; PMCEID1[31:0]: 0x20 to 0x3f; the upper halves: the same from
	 * 0x4000 on */
	uint32_t shift = (number & 0x1f) + (number >= 0x4000 ? 32 : 0);

	if ((number & ~UINT32_C(0x403f)) != 0)
		return false;
	return ((pmceid[(number >> 5) & 1] >> shift) & 1) != 0;
}

void pmuv3_masks_follow(struct tally_slot_pool *pool)
{
	uint32_t mute = pool->interrupt & ~pool->used;
	uint32_t unmute = pool->used & ~pool->interrupt;
	bool on = pool->used != 0;

	TALLY_ASSERT((pool->used & ~pool->present) == 0);
	if (mute != 0)
		hal_pmu_write(HAL_PMINTENCLR, mute);
	if (unmute != 0)
		hal_pmu_write(HAL_PMINTENSET, unmute);
	if (on != pool->on)
		hal_pmu_write(HAL_PMCR, pool->control | (on ? PMCR_E : 0));
	pool->interrupt = pool->used;
	pool->on = on;
}
