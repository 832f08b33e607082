/* SPDX-License-Identifier: MIT
 *
 * pmu.c: the registry of PMUs: names, type numbers, CPUs.
 *
 * A machine with one type of CPU has one PMU, named as devicetree Linux names it; a machine with
 * more has that one too, spanning all CPUs, which Linux lacks, and one PMU per cluster beside it.
 * Type numbers count up from the first dynamic one in that order; programs read them from sysfs and
 * assume nothing.
 */
#include "pmu.h"

#include "assert.h"
#include "atomic.h"
#include "errno.h"

/* MIDR_EL1: implementer [31:24], part [15:4] */
#define MIDR_IDENTITY(implementer, part) ((UINT64_C(implementer) << 24) | (UINT64_C(part) << 4))
#define MIDR_IDENTITY_MASK               UINT64_C(0xff00fff0)

static const struct {
	uint64_t identity;
	char name[20]; /* no pointers: nothing to relocate, nothing writable */
} known_part[] = {
	{MIDR_IDENTITY(0x41, 0xd03), "armv8_cortex_a53"},
	{MIDR_IDENTITY(0x41, 0xd04), "armv8_cortex_a35"},
	{MIDR_IDENTITY(0x41, 0xd05), "armv8_cortex_a55"},
	{MIDR_IDENTITY(0x41, 0xd07), "armv8_cortex_a57"},
	{MIDR_IDENTITY(0x41, 0xd08), "armv8_cortex_a72"},
	{MIDR_IDENTITY(0x41, 0xd09), "armv8_cortex_a73"},
	{MIDR_IDENTITY(0x41, 0xd0a), "armv8_cortex_a75"},
	{MIDR_IDENTITY(0x41, 0xd0b), "armv8_cortex_a76"},
	{MIDR_IDENTITY(0x41, 0xd0c), "armv8_neoverse_n1"},
	{MIDR_IDENTITY(0x41, 0xd0d), "armv8_cortex_a77"},
	{MIDR_IDENTITY(0x41, 0xd41), "armv8_cortex_a78"},
};

const char *tally_pmu_name(uint64_t midr)
{
	for (size_t i = 0; i < sizeof(known_part) / sizeof(known_part[0]); i++)
		if ((midr & MIDR_IDENTITY_MASK) == known_part[i].identity)
			return known_part[i].name;
	return NULL;
}

int tally_pmus_init(struct tally_engine *e)
{
	const struct tally_config *config = e->config;

	e->pmus = config->clusters > 1 ? 1 + config->clusters : 1;
	e->pmu = hal_alloc(e->pmus * sizeof(*e->pmu));
	if (e->pmu == NULL)
		return -TALLY_ENOMEM;
	for (uint32_t i = 0; i < e->pmus; i++) {
		e->pmu[i].name = i == 0 ? config->all_name : config->cluster[i - 1].name;
		e->pmu[i].type = TALLY_TYPE_DYNAMIC + i;
		e->pmu[i].cluster = i == 0 ? TALLY_PMU_ALL : (int32_t)(i - 1);
	}
	return 0;
}

void tally_pmus_fini(struct tally_engine *e)
{
	hal_free(e->pmu, e->pmus * sizeof(*e->pmu));
	e->pmu = NULL;
}

static struct tally_pmu *pmu_of_cluster(const struct tally_engine *e, uint32_t cluster)
{
	TALLY_ASSERT(cluster < e->config->clusters);
	return &e->pmu[e->pmus > 1 ? 1 + cluster : 0];
}

/* `probed` goes 0, 1 (being filled in), 2 (release, partner: the acquire in tally_pmu_probe()). */
void tally_pmu_probed(struct tally_engine *e, uint32_t cluster, const struct pmuv3_probe *probe)
{
	struct tally_pmu *pmu = pmu_of_cluster(e, cluster);

	if (!atomic_cas_acquire(&pmu->probed, 0u, 1u))
		return;
	pmu->probe = *probe;
	atomic_store_release(&pmu->probed, 2u);
}

const struct pmuv3_probe *tally_pmu_probe(const struct tally_engine *e, uint32_t cluster)
{
	const struct tally_pmu *pmu = pmu_of_cluster(e, cluster);

	return atomic_load_acquire(&pmu->probed) == 2 ? &pmu->probe : NULL;
}

static const struct tally_pmu *pmu_by_type(const struct tally_engine *e, uint64_t type)
{
	if (type < TALLY_TYPE_DYNAMIC || type - TALLY_TYPE_DYNAMIC >= e->pmus)
		return NULL;
	return &e->pmu[type - TALLY_TYPE_DYNAMIC];
}

const struct tally_pmu *tally_pmu_find(const struct tally_engine *e, uint32_t type, uint64_t config)
{
	const struct tally_pmu *named;

	switch (type) {
	case TALLY_TYPE_HARDWARE:
	case TALLY_TYPE_HW_CACHE:
		named = pmu_by_type(
			e, config >> 32); /* a number that is not registered is ignored */
		return named != NULL ? named : &e->pmu[0];
	case TALLY_TYPE_RAW:
		return &e->pmu[0];
	default:
		return pmu_by_type(e, type);
	}
}

bool tally_pmu_info(const struct tally_engine *e, uint32_t k, struct tally_pmu_info *info)
{
	if (k >= e->pmus)
		return false;
	info->name = e->pmu[k].name;
	info->type = e->pmu[k].type;
	info->cluster = e->pmu[k].cluster;
	return true;
}
