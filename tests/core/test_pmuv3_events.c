/* SPDX-License-Identifier: MIT
 *
 * test_pmuv3_events.c: generic events to event numbers, PMCEID, filters.
 */
#include <criterion/criterion.h>

#include "errno.h"
#include "pmuv3.h"
#include "pmuv3_events.h"

/* all common events from 0 to 0x3f */
static const uint64_t full[2] = {0xffffffff, 0xffffffff};
/* a core without BR_RETIRED (0x21), one without PC_WRITE_RETIRED (0x0c) */
static const uint64_t no_br_retired[2] = {0xffffffff, 0xfffffffd};
static const uint64_t no_pc_write[2] = {0xffffefff, 0xffffffff};
static const uint64_t neither[2] = {0xffffefff, 0xfffffffd};

Test(pmuv3_events, hardware)
{
	static const int expected[] = {
		0x11, 0x08, 0x04, 0x03, 0x21, 0x10, 0x1d, 0x23, 0x24, -TALLY_ENOENT, -TALLY_EINVAL};

	for (uint64_t id = 0; id < sizeof(expected) / sizeof(expected[0]); id++) {
		cr_assert_eq(pmuv3_event_number(full, TALLY_TYPE_HARDWARE, id), expected[id]);
		cr_assert_eq(pmuv3_event_number(full, TALLY_TYPE_HARDWARE, id | UINT64_C(7) << 32),
			expected[id], "the upper half names a PMU");
	}
	cr_assert_eq(pmuv3_event_number(full, TALLY_TYPE_HARDWARE, UINT32_MAX), -TALLY_EINVAL);
}

Test(pmuv3_events, branches_by_pmceid)
{
	cr_assert_eq(pmuv3_event_number(full, TALLY_TYPE_HARDWARE, 4), 0x21);
	cr_assert_eq(pmuv3_event_number(no_pc_write, TALLY_TYPE_HARDWARE, 4), 0x21);
	cr_assert_eq(pmuv3_event_number(no_br_retired, TALLY_TYPE_HARDWARE, 4), 0x0c);
	cr_assert_eq(pmuv3_event_number(neither, TALLY_TYPE_HARDWARE, 4), -TALLY_ENOENT);
}

/* Every triple has a definite answer: the read rows as below, all else -ENOENT, out of range
 * -EINVAL. */
Test(pmuv3_events, cache)
{
	static const int read_row[7][2] = {{0x04, 0x03}, {0x14, 0x01}, {0x36, 0x37}, {0x25, 0x05},
		{0x26, 0x02}, {0x12, 0x10}, {-TALLY_ENOENT, -TALLY_ENOENT}};

	for (uint32_t cache = 0; cache < 9; cache++)
		for (uint32_t op = 0; op < 5; op++)
			for (uint32_t result = 0; result < 4; result++) {
				int expected = -TALLY_ENOENT;

				if (cache >= 7 || op >= 3 || result >= 2)
					expected = -TALLY_EINVAL;
				else if (op == 0)
					expected = read_row[cache][result];
				cr_assert_eq(pmuv3_event_number(full, TALLY_TYPE_HW_CACHE,
						     cache | op << 8 | result << 16),
					expected, "%u %u %u", cache, op, result);
			}
}

Test(pmuv3_events, raw_opens_anything)
{
	cr_assert_eq(pmuv3_event_number(neither, TALLY_TYPE_RAW, 0xc), 0xc);
	cr_assert_eq(pmuv3_event_number(neither, TALLY_TYPE_RAW, 0x12345), 0x2345);
	cr_assert_eq(pmuv3_event_number(neither, TALLY_TYPE_DYNAMIC, 0xffff), 0xffff);
}

Test(pmuv3_events, pmceid)
{
	const uint64_t upper[2] = {UINT64_C(1) << 32, UINT64_C(1) << 35};

	cr_assert(pmuv3_has_event(upper, 0x4000));
	cr_assert(pmuv3_has_event(upper, 0x4023));
	cr_assert_not(pmuv3_has_event(upper, 0x4003));
	cr_assert_not(pmuv3_has_event(upper, 0));
	cr_assert_not(pmuv3_has_event(full, 0x40), "implementation defined: not claimed");
	cr_assert_not(pmuv3_has_event(full, 0x4000));
	cr_assert_not(pmuv3_has_event(full, 0xc011));
}

Test(pmuv3_events, filters)
{
	const uint64_t u = UINT64_C(1) << 30, p = UINT64_C(1) << 31, nsh = UINT64_C(1) << 27;

	cr_assert_eq(pmuv3_filter(0), nsh);
	cr_assert_eq(pmuv3_filter(TALLY_ATTR_EXCLUDE_USER), u | nsh);
	cr_assert_eq(pmuv3_filter(TALLY_ATTR_EXCLUDE_KERNEL), p | nsh);
	cr_assert_eq(pmuv3_filter(TALLY_ATTR_EXCLUDE_HV), 0);
	cr_assert_eq(pmuv3_filter(TALLY_ATTR_EXCLUDE_HOST), u | p);
	cr_assert_eq(pmuv3_filter(TALLY_ATTR_EXCLUDE_GUEST), nsh);
}
