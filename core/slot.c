/* SPDX-License-Identifier: MIT
 *
 * slot.c: arithmetic of slot masks. Pure functions, any context; the masks belong to who passes
 * them.
 */
#include "slot.h"

#include "assert.h"
#include "bits.h"

bool tally_slots_fit(uint32_t present, uint32_t needed, uint32_t cycles)
{
	TALLY_ASSERT(cycles <= needed);
	if (cycles > 0 && (present & TALLY_SLOT_CYCLE_MASK) != 0)
		needed--;
	return needed <= bits_count(present & TALLY_SLOT_EVENT_MASK);
}

uint32_t tally_slots_for(uint32_t free, bool cycles)
{
	if (cycles && (free & TALLY_SLOT_CYCLE_MASK) != 0)
		return TALLY_SLOT_CYCLE_MASK;
	return free & TALLY_SLOT_EVENT_MASK;
}
