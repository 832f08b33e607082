/* SPDX-License-Identifier: MIT
 *
 * number.c: which PMU event number an event means on a kind of CPU, and at which exception levels
 * it counts. The oracle's own table, from perf_event_open(2) and the Arm ARM (DDI 0487, D11.11
 * "PMU events"): generic events are those of the Arm architecture's common events that say what the
 * generic name says, and exist where PMCEID says so. Branches are BR_RETIRED where there is one.
 */
#include "state.h"

#define MISSING 0xffffu

struct meaning {
	uint16_t best;
	uint16_t second; /* where `best` is missing; MISSING: none */
};

static const struct meaning hardware[TALLY_HW_MAX] = {
	{0x11, MISSING},    /* cycles */
	{0x08, MISSING},    /* instructions */
	{0x04, MISSING},    /* cache references: L1D accesses */
	{0x03, MISSING},    /* cache misses: L1D refills */
	{0x21, 0x0c},       /* branches */
	{0x10, MISSING},    /* branch misses */
	{0x1d, MISSING},    /* bus cycles */
	{0x23, MISSING},    /* frontend stalls */
	{0x24, MISSING},    /* backend stalls */
	{MISSING, MISSING}, /* reference cycles: no such event */
};

/* config is cache | operation << 8 | result << 16 */
static const struct {
	uint32_t config;
	uint16_t event;
} cache[] = {
	{0x000000, 0x04}, {0x010000, 0x03}, /* L1D read: access, miss */
	{0x000001, 0x14}, {0x010001, 0x01}, /* L1I */
	{0x000002, 0x36}, {0x010002, 0x37}, /* last level */
	{0x000003, 0x25}, {0x010003, 0x05}, /* DTLB */
	{0x000004, 0x26}, {0x010004, 0x02}, /* ITLB */
	{0x000005, 0x12}, {0x010005, 0x10}, /* branch prediction */
};

static bool is_common(const struct pmu_cpu_config *config, uint16_t event)
{
	return event != MISSING && (event < 0x40 || (event >= 0x4000 && event < 0x4040)) &&
	       pmu_cpu_has_event(config, event);
}

static int generic(const struct pmu_cpu_config *config, struct meaning meaning)
{
	if (is_common(config, meaning.best))
		return meaning.best;
	return is_common(config, meaning.second) ? meaning.second : -ENOENT;
}

int oracle_event_number(const struct pmu_cpu_config *config, uint32_t type, uint64_t event_config)
{
	uint32_t low = (uint32_t)event_config;

	if (type == TALLY_TYPE_HARDWARE)
		return low < TALLY_HW_MAX ? generic(config, hardware[low]) : -EINVAL;
	if (type != TALLY_TYPE_HW_CACHE)
		return (int)(event_config & 0xffff);
	if ((low & 0xff) > 6 || (low >> 8 & 0xff) > 2 || (low >> 16 & 0xff) > 1)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(cache) / sizeof(cache[0]); i++) {
		if (cache[i].config == (low & 0xffffff))
			return generic(config, (struct meaning){cache[i].event, MISSING});
	}
	return -ENOENT;
}

int number_of(const struct oracle *o, const struct oracle_event *event, uint32_t cluster)
{
	const struct machine_description *d = o->description;
	uint32_t type = event->attr.type;
	uint32_t pmu = 0; /* 0: all CPUs, 1 + k: cluster k */

	if (!(o->clusters_seen >> cluster & 1))
		return -ENOENT; /* its PMU has not been looked at */
	if (type == TALLY_TYPE_HARDWARE || type == TALLY_TYPE_HW_CACHE)
		type = (uint32_t)(event->attr.config >> 32);
	if (type >= TALLY_TYPE_DYNAMIC)
		pmu = type - TALLY_TYPE_DYNAMIC;
	if (d->cluster_count > 1 && pmu <= d->cluster_count && pmu != 0 && pmu != 1 + cluster)
		return -ENOENT;
	return oracle_event_number(d->clusters[cluster].pmu, event->attr.type, event->attr.config);
}

/* A kernel at EL1: exclude_host leaves nothing, since nothing here is a guest. EL2 is counted
 * unless it is excluded, but executes nothing. */
uint8_t levels_of(const struct oracle_event *event)
{
	uint64_t flags = event->attr.flags;
	uint8_t levels = 1 << 0 | 1 << 1 | 1 << 2;

	if ((flags & TALLY_ATTR_EXCLUDE_HOST) != 0)
		return 0;
	if ((flags & TALLY_ATTR_EXCLUDE_USER) != 0)
		levels &= (uint8_t) ~(1u << 0);
	if ((flags & TALLY_ATTR_EXCLUDE_KERNEL) != 0)
		levels &= (uint8_t) ~(1u << 1);
	if ((flags & TALLY_ATTR_EXCLUDE_HV) != 0)
		levels &= (uint8_t) ~(1u << 2);
	return levels;
}
