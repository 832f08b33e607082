/* SPDX-License-Identifier: MIT
 *
 * pmuv3_events.c: which PMUv3 event stands for which generic event, and which exclusion levels
 * become which filter bits. Pure functions, any context. Event numbers: Arm ARM DDI 0487, D11.11;
 * the map is the one that Linux's arm64 users know, with one decision of ours: branches are
 * BR_RETIRED where the PMU has it, because PC_WRITE_RETIRED, which Linux 6.1 takes, is missing on
 * newer cores.
 */
#include "pmuv3_events.h"

#include "errno.h"
#include "pmuv3.h"

#define EVENT_NONE       0xffffu
#define EVENT_BR_RETIRED 0x21u

static const uint16_t hardware_event[TALLY_HW_MAX] = {
	[TALLY_HW_CPU_CYCLES] = PMUV3_EVENT_CPU_CYCLES,
	[TALLY_HW_INSTRUCTIONS] = 0x08,            /* INST_RETIRED */
	[TALLY_HW_CACHE_REFERENCES] = 0x04,        /* L1D_CACHE */
	[TALLY_HW_CACHE_MISSES] = 0x03,            /* L1D_CACHE_REFILL */
	[TALLY_HW_BRANCH_INSTRUCTIONS] = 0x0c,     /* PC_WRITE_RETIRED */
	[TALLY_HW_BRANCH_MISSES] = 0x10,           /* BR_MIS_PRED */
	[TALLY_HW_BUS_CYCLES] = 0x1d,              /* BUS_CYCLES */
	[TALLY_HW_STALLED_CYCLES_FRONTEND] = 0x23, /* STALL_FRONTEND */
	[TALLY_HW_STALLED_CYCLES_BACKEND] = 0x24,  /* STALL_BACKEND */
	[TALLY_HW_REF_CPU_CYCLES] = EVENT_NONE,
};

/* [cache][access, miss], for reads; writes and prefetches have no common event */
#define CACHES  7u
#define OPS     3u
#define RESULTS 2u
static const uint16_t cache_event[CACHES][RESULTS] = {
	{0x04, 0x03},             /* L1D */
	{0x14, 0x01},             /* L1I */
	{0x36, 0x37},             /* LL */
	{0x25, 0x05},             /* DTLB */
	{0x26, 0x02},             /* ITLB */
	{0x12, 0x10},             /* BPU */
	{EVENT_NONE, EVENT_NONE}, /* NODE */
};

static int checked(const uint64_t pmceid[2], uint32_t number)
{
	if (number == EVENT_NONE || !pmuv3_has_event(pmceid, number))
		return -TALLY_ENOENT;
	return (int)number;
}

static int hardware_number(const uint64_t pmceid[2], uint64_t config)
{
	uint64_t id = config & UINT32_MAX; /* the upper half may name a PMU */

	if (id >= TALLY_HW_MAX)
		return -TALLY_EINVAL;
	if (id == TALLY_HW_BRANCH_INSTRUCTIONS && pmuv3_has_event(pmceid, EVENT_BR_RETIRED))
		return (int)EVENT_BR_RETIRED;
	return checked(pmceid, hardware_event[id]);
}

static int cache_number(const uint64_t pmceid[2], uint64_t config)
{
	uint32_t cache = (uint32_t)config & 0xff;
	uint32_t op = (uint32_t)(config >> 8) & 0xff;
	uint32_t result = (uint32_t)(config >> 16) & 0xff;

	if (cache >= CACHES || op >= OPS || result >= RESULTS)
		return -TALLY_EINVAL;
	return checked(pmceid, op == 0 ? cache_event[cache][result] : EVENT_NONE);
}

int pmuv3_event_number(const uint64_t pmceid[2], uint32_t type, uint64_t config)
{
	if (type == TALLY_TYPE_HARDWARE)
		return hardware_number(pmceid, config);
	if (type == TALLY_TYPE_HW_CACHE)
		return cache_number(pmceid, config);
	return (int)(config & PMEVTYPER_EVENT_MASK);
}

uint64_t pmuv3_filter(uint64_t flags)
{
	uint64_t filter = 0;

	/* at EL1 nothing this kernel runs is a guest: exclude_host leaves nothing to count */
	if ((flags & TALLY_ATTR_EXCLUDE_HOST) != 0)
		return PMEVTYPER_U | PMEVTYPER_P;
	if ((flags & TALLY_ATTR_EXCLUDE_USER) != 0)
		filter |= PMEVTYPER_U;
	if ((flags & TALLY_ATTR_EXCLUDE_KERNEL) != 0)
		filter |= PMEVTYPER_P;
	if ((flags & TALLY_ATTR_EXCLUDE_HV) == 0)
		filter |= PMEVTYPER_NSH;
	return filter;
}
