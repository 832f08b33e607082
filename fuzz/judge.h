/* SPDX-License-Identifier: MIT
 *
 * judge.h: what perf_event_open must answer, as a table of rules in their order.
 *
 * Independent of the engine: it shares only the layouts of abi.h with it. Source: Linux 6.1 on
 * arm64 as documented in docs/abi.md, with Tally's own decisions, and the limits that docs/abi.md
 * lists, which answer EOPNOTSUPP.
 */
#ifndef FUZZ_JUDGE_H
#define FUZZ_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pmu_model/pmu_model.h>
#include <tally/abi.h>

#define JUDGE_CLUSTERS_MAX 2u

enum judge_target {
	JUDGE_SELF,     /* the caller, or a thread of its process */
	JUDGE_STRANGER, /* a task of another user */
	JUDGE_NO_TASK,  /* a pid that nobody has */
	JUDGE_ALL,      /* pid -1 */
};

/* The event of group_fd. */
struct judge_leader {
	uint64_t flags; /* its attr.flags */
	uint64_t read_format;
	int32_t cpu;
	uint32_t task; /* whose event it is; 0: of a CPU */
	int32_t pmu;   /* as judge_pmu() says */
	bool is_member;
	uint32_t events; /* in its group */
	uint32_t type;   /* of each of them */
	uint64_t config;
};

struct judge_call {
	const uint8_t *attr;
	size_t readable; /* bytes at the attr pointer */
	enum judge_target target;
	uint32_t task; /* an id of the target, not 0; ignored with JUDGE_ALL */
	int32_t cpu;
	uint64_t flags;
	bool group_bad;                    /* group_fd is neither -1 nor an event */
	const struct judge_leader *leader; /* NULL: group_fd is -1, or bad */

	/* rights and limits */
	int32_t paranoid;
	bool perfmon;
	bool sys_admin;
	uint32_t max_sample_rate;

	/* machine */
	uint32_t cpus;
	uint64_t online_mask;
	const uint32_t *cluster_of;
	uint32_t clusters;
	const struct pmu_cpu_config *const *pmu; /* [clusters] */
};

/* 0: it opens; else a negative errno. `why`: the rule, for people. */
int judge_open(const struct judge_call *call, const char **why);

/* -1: all CPUs; else a cluster; -2: no such PMU. */
int32_t judge_pmu(const struct judge_call *call, uint32_t type, uint64_t config);

#endif
