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

int tally_slot_choose(uint32_t free, uint32_t idle, bool cycles)
{
	uint32_t events = free & TALLY_SLOT_EVENT_MASK;

	if (cycles && (free & idle & TALLY_SLOT_CYCLE_MASK) != 0)
		return TALLY_SLOT_CYCLE;
	if ((events & idle) != 0)
		return __builtin_ctz(events & idle);
	if (cycles && (free & TALLY_SLOT_CYCLE_MASK) != 0)
		return TALLY_SLOT_CYCLE;
	return events != 0 ? __builtin_ctz(events) : TALLY_SLOT_NONE;
}
