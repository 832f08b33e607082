/* SPDX-License-Identifier: MIT
 *
 * open.c: perf_event_open(2): judge everything in Linux's order, then make the event.
 *
 * tally_open_begin() and the first part of tally_open_finish() change nothing. Then the event is
 * built where nobody sees it, and the last look (task still there, leader still a leader, group not
 * too large) and the link are one stretch under the context's mutex. Task context.
 */
#include <tally/tally.h>

#include "assert.h"
#include "atomic.h"
#include "attr.h"
#include "errno.h"
#include "event.h"
#include "group.h"
#include "pmuv3_events.h"
#include "sample.h"
#include "spin.h"

#define PARANOID_NOTHING 3 /* and above: Debian's extra level */

/* ---- rights ---- */

static bool may_all(void)
{
	return hal_capable(HAL_CAP_PERFMON) || hal_capable(HAL_CAP_SYS_ADMIN);
}

static int check_rights(const struct tally_engine *e, const struct tally_attr *attr)
{
	int32_t paranoid = atomic_load_relaxed(&e->paranoid);
	bool kernel = (attr->flags & TALLY_ATTR_EXCLUDE_KERNEL) == 0 ||
		      (attr->flags & TALLY_ATTR_TEXT_POKE) != 0;

	if (paranoid >= PARANOID_NOTHING && !hal_capable(HAL_CAP_SYS_ADMIN))
		return -TALLY_EACCES;
	if (kernel && paranoid > 1 && !may_all())
		return -TALLY_EACCES;
	if ((attr->flags & TALLY_ATTR_NAMESPACES) != 0 && !may_all())
		return -TALLY_EACCES;
	if ((attr->flags & TALLY_ATTR_FREQ) != 0) {
		if (attr->sample_period > atomic_load_relaxed(&e->max_sample_rate))
			return -TALLY_EINVAL;
	} else if (attr->sample_period >> 63 != 0) {
		return -TALLY_EINVAL;
	}
	if ((attr->sample_type & TALLY_SAMPLE_PHYS_ADDR) != 0 && paranoid > 1 && !may_all())
		return -TALLY_EACCES;
	return 0;
}

int tally_open_begin(struct tally_engine *e, struct tally_open *open, uint64_t attr, int32_t pid,
	int32_t cpu, uint64_t flags)
{
	int error;

	if ((flags & ~TALLY_FLAG_ALL) != 0)
		return -TALLY_EINVAL;
	error = tally_attr_copy(
		&open->attr, attr, atomic_load_relaxed(&e->paranoid) <= 1 || may_all());
	if (error != 0)
		return error;
	open->pid = pid;
	open->cpu = cpu;
	open->flags = flags;
	error = check_rights(e, &open->attr);
	if (error != 0)
		return error;
	if ((flags & TALLY_FLAG_PID_CGROUP) != 0 && (pid == -1 || cpu == -1))
		return -TALLY_EINVAL;
	return 0;
}

/* ---- judging the event ---- */

/* Can the event count anywhere it may run? Picks its PMU. */
static int judge_event(
	const struct tally_engine *e, const struct tally_open *open, const struct tally_pmu **pmu)
{
	const struct tally_config *config = e->config;
	int error = -TALLY_ENOENT;

	*pmu = tally_pmu_find(e, open->attr.type, open->attr.config);
	if (*pmu == NULL)
		return -TALLY_ENOENT;
	if (open->cpu >= 0 && !pmu_spans(*pmu, config->cluster_of[open->cpu]))
		return -TALLY_ENOENT;
	if ((open->attr.sample_type & TALLY_SAMPLE_BRANCH_STACK) != 0)
		return -TALLY_EOPNOTSUPP;
	for (uint32_t cluster = 0; cluster < config->clusters; cluster++) {
		const struct pmuv3_probe *probe = tally_pmu_probe(e, cluster);
		int number;

		if (!pmu_spans(*pmu, cluster) || probe == NULL)
			continue;
		if (open->cpu >= 0 && config->cluster_of[open->cpu] != cluster)
			continue;
		number = pmuv3_event_number(probe->pmceid, open->attr.type, open->attr.config);
		if (number >= 0)
			return 0;
		error = number;
	}
	return error;
}

/* What only this kind of PMU refuses, in the order that its users know. */
static int judge_pmu_features(const struct tally_engine *e, const struct tally_attr *attr)
{
	if ((attr->flags & TALLY_ATTR_EXCLUDE_IDLE) != 0)
		return -TALLY_EOPNOTSUPP;
	if ((attr->config1 & 2) != 0) /* direct reads by the user */
		return -TALLY_EOPNOTSUPP;
	if (attr_is_sampling(attr) && !e->config->pmu_irq)
		return -TALLY_EOPNOTSUPP;
	return 0;
}

static int judge(
	const struct tally_engine *e, const struct tally_open *open, const struct tally_pmu **pmu)
{
	int error;

	if (open->cpu < -1 || (open->cpu >= 0 && (uint32_t)open->cpu >= e->config->cpus))
		return -TALLY_EINVAL;
	if (open->pid == -1 && open->cpu == -1)
		return -TALLY_EINVAL;
	if ((open->attr.flags & TALLY_ATTR_SIGTRAP) != 0 && open->pid == -1)
		return -TALLY_EINVAL;
	if ((open->attr.flags & TALLY_ATTR_INHERIT) != 0 &&
		(open->attr.sample_type & TALLY_SAMPLE_READ) != 0)
		return -TALLY_EINVAL;
	error = judge_event(e, open, pmu);
	if (error != 0)
		return error;
	error = judge_pmu_features(e, &open->attr);
	if (error != 0)
		return error;
	if ((open->flags & TALLY_FLAG_PID_CGROUP) != 0)
		return -TALLY_EINVAL; /* a kernel without cgroups */
	return tally_attr_supported(&open->attr);
}

/* ---- making it ---- */

static struct tally_event *build(
	struct tally_engine *e, const struct tally_open *open, const struct tally_pmu *pmu)
{
	struct tally_event *event = hal_alloc(sizeof(*event));

	if (event == NULL)
		return NULL;
	event->engine = e;
	event->pmu = pmu;
	event->attr = open->attr;
	event->cpu = open->cpu;
	event->filter = pmuv3_filter(open->attr.flags);
	event->sampling = attr_is_sampling(&open->attr);
	event->sample_size = tally_sample_size(open->attr.sample_type);
	event->leader = event;
	list_init(&event->link);
	list_init(&event->members);
	event->state = TALLY_OFF;
	event->on_exec = (open->attr.flags & TALLY_ATTR_ENABLE_ON_EXEC) != 0;
	event->slot = TALLY_SLOT_NONE;
	event->period = open->attr.sample_period;
	event->period_left = open->attr.sample_period;
	return event;
}

/* The context that the event will live in, with a reference; *task is the target or NULL. */
static int find_context(struct tally_engine *e, const struct tally_open *open,
	struct tally_task *task, struct tally_context **ctx)
{
	struct tally_context *own;
	struct hal_irq_key key;

	if (task != NULL)
		return tally_context_of_task(e, task, ctx);
	own = e->cpu[open->cpu].own;
	key = spin_lock(&e->tasks);
	own->refs++;
	spin_unlock(&e->tasks, key);
	*ctx = own;
	return 0;
}

/* The last look, and the link. */
static int commit(struct tally_event *event, struct tally_event *leader, struct tally_task *task)
{
	struct tally_context *ctx = event->ctx;
	int error = 0;

	hal_mutex_lock(&ctx->mutex);
	if (leader == NULL || leader->ctx == ctx)
		error = tally_group_fits(event, leader);
	if (error == 0 && task == NULL && atomic_load_relaxed(&ctx->engine->paranoid) > 0 &&
		!may_all())
		error = -TALLY_EACCES;
	if (error == 0 && ctx->exited)
		error = -TALLY_ESRCH;
	if (error == 0 && leader != NULL)
		error = tally_group_judge(event, leader);
	if (error == 0 && task != NULL && !hal_task_observable(task))
		error = -TALLY_EACCES;
	if (error == 0 && leader != NULL)
		error = tally_group_read_fits(event, leader);
	if (error == 0 && ctx->cpu >= 0 &&
		atomic_load_acquire(&ctx->engine->cpu[ctx->cpu].online) == 0)
		error = -TALLY_ENODEV;
	if (error == 0 && event->attr.aux_sample_size != 0)
		error = -TALLY_EINVAL; /* no PMU here has an AUX area to sample */
	if (error == 0)
		error = tally_group_link(event, leader);
	hal_mutex_unlock(&ctx->mutex);
	return error;
}

static int make(struct tally_engine *e, const struct tally_open *open, const struct tally_pmu *pmu,
	struct tally_event *leader, struct tally_task *task, struct tally_event **result)
{
	struct tally_event *event = build(e, open, pmu);
	int error;

	if (event == NULL)
		return -TALLY_ENOMEM;
	error = find_context(e, open, task, &event->ctx);
	if (error != 0)
		goto free_event;
	event->id = atomic_add_relaxed(&e->last_id, 1u);
	error = commit(event, leader, task);
	if (error != 0)
		goto put_context;
	atomic_add_relaxed(&e->statistic[TALLY_STAT_EVENTS], 1u);
	*result = event;
	return 0;

put_context:
	tally_context_put(event->ctx);
free_event:
	hal_free(event, sizeof(*event));
	return error;
}

int tally_open_finish(struct tally_engine *e, const struct tally_open *open,
	struct tally_event *group, struct tally_event **event)
{
	struct tally_event *leader = (open->flags & TALLY_FLAG_FD_NO_GROUP) != 0 ? NULL : group;
	bool redirect = group != NULL && (open->flags & TALLY_FLAG_FD_OUTPUT) != 0;
	struct tally_task *task = NULL;
	const struct tally_pmu *pmu;
	int error;

	if (open->pid != -1) {
		task = open->pid >= 0 ? hal_task_find(open->pid) : NULL;
		if (task == NULL)
			return -TALLY_ESRCH;
	}
	if (task != NULL && leader != NULL &&
		((leader->attr.flags ^ open->attr.flags) & TALLY_ATTR_INHERIT) != 0)
		error = -TALLY_EINVAL;
	else
		error = judge(e, open, &pmu);
	if (error == 0 && redirect)
		error = -TALLY_EOPNOTSUPP;
	if (error == 0)
		error = make(e, open, pmu, leader, task, event);
	if (task != NULL)
		hal_task_put(task);
	return error;
}
