/* SPDX-License-Identifier: MIT
 *
 * test_slot.c: counter deltas and the choice of slots.
 */
#include <criterion/criterion.h>

#include "slot.h"

Test(slot, delta_32)
{
	static const struct {
		uint64_t stood, now;
		bool wrapped;
		uint64_t delta;
	} row[] = {
		{0, 0, false, 0},
		{5, 7, false, 2},
		{0xffffffff, 0, true, 1},
		{0xffffffff, 0, false, 1}, /* the flag was not seen, the value says it */
		{0xfffffff0, 3, true, 0x13},
		{5, 5, true, UINT64_C(1) << 32}, /* a full lap */
		{5, 7, true, (UINT64_C(1) << 32) + 2},
		{0x80000000, 0x7fffffff, true, UINT32_MAX},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		cr_assert_eq(
			slot_delta(UINT64_C(1) << 32, row[i].stood, row[i].now, row[i].wrapped),
			row[i].delta, "row %zu", i);
}

Test(slot, delta_64)
{
	cr_assert_eq(slot_delta(0, 0xffffffff, 0x100000000, false), 1);
	cr_assert_eq(slot_delta(0, UINT64_MAX, 4, true), 5);
	cr_assert_eq(slot_delta(0, 9, 9, false), 0);
}

Test(slot, choice)
{
	const uint32_t cycle = TALLY_SLOT_CYCLE_MASK;

	cr_assert_eq(tally_slots_for(0, true), 0);
	cr_assert_eq(tally_slots_for(cycle, false), 0);
	cr_assert_eq(tally_slots_for(cycle, true), cycle);
	cr_assert_eq(tally_slots_for(cycle | 0xf, true), cycle);
	cr_assert_eq(tally_slots_for(cycle | 0xf, false), 0xf);
	cr_assert_eq(tally_slots_for(0xc, true), 0xc);
}

Test(slot, fit)
{
	const uint32_t four = TALLY_SLOT_CYCLE_MASK | 0xf;

	cr_assert(tally_slots_fit(four, 4, 0));
	cr_assert_not(tally_slots_fit(four, 5, 0));
	cr_assert(tally_slots_fit(four, 5, 1));
	cr_assert(tally_slots_fit(four, 5, 5));
	cr_assert_not(tally_slots_fit(four, 6, 6));
	cr_assert_not(tally_slots_fit(0xf, 5, 1), "no cycle counter");
	cr_assert(tally_slots_fit(TALLY_SLOT_CYCLE_MASK, 1, 1));
	cr_assert_not(tally_slots_fit(0, 1, 1));
}

Test(slot, bits)
{
	uint32_t seen = 0;
	uint32_t last = 0;

	TALLY_BITS_FOR_EACH (slot, 0x80000105u) {
		cr_assert(seen == 0 || slot > last);
		seen |= TALLY_SLOT_BIT(slot);
		last = slot;
	}
	cr_assert_eq(seen, 0x80000105u);
	TALLY_BITS_FOR_EACH (none, 0u)
		cr_assert_fail("slot %u of an empty mask", none);
}
