/* SPDX-License-Identifier: MIT
 *
 * pmu.h: the PMUs that events can name.
 *
 * pmu[0] spans all CPUs and takes the generic and raw types; with more than one cluster, pmu[1 + c]
 * is cluster c's. All are made at init and constant after, except what cpu_online() of the first
 * CPU of a cluster fills in once.
 */
#ifndef TALLY_CORE_PMU_H
#define TALLY_CORE_PMU_H

#include <tally/tally.h>

#include "pmuv3.h"

struct tally_pmu {
	const char *name;
	uint32_t type;
	int32_t cluster; /* TALLY_PMU_ALL: every CPU */
	/* of its cluster; pmu[0] has them only on a machine with one cluster */
	struct pmuv3_probe probe;
	uint32_t probed; /* probe is filled in; atomic, release */
};

#define TALLY_PMU_ALL (-1)

/* Make the PMUs of e->config. 0 or -ENOMEM. task. */
int tally_pmus_init(struct tally_engine *e);
void tally_pmus_fini(struct tally_engine *e);

/* CPU `cpu` came up and found `probe`; the first of a cluster speaks for it. hook. */
void tally_pmu_probed(struct tally_engine *e, uint32_t cluster, const struct pmuv3_probe *probe);

/* What cluster `cluster` can do, or NULL while none of its CPUs has come up. any. */
const struct pmuv3_probe *tally_pmu_probe(const struct tally_engine *e, uint32_t cluster);

/* The PMU that answers for attr.type and attr.config, or NULL: no PMU does. any. */
const struct tally_pmu *tally_pmu_find(
	const struct tally_engine *e, uint32_t type, uint64_t config);

/* Does `pmu` have the CPUs of `cluster`? any. */
static inline bool pmu_spans(const struct tally_pmu *pmu, uint32_t cluster)
{
	return pmu->cluster == TALLY_PMU_ALL || (uint32_t)pmu->cluster == cluster;
}

#endif
