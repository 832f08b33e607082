/* SPDX-License-Identifier: MIT
 *
 * judge.c: see judge.h. The first rule that applies decides.
 *
 * A rule is a question about a call whose attr has been read; what comes before (flags, the size of
 * attr, reading it) is not a table, because there is no attr yet.
 */
#include "judge.h"

#include <errno.h>
#include <string.h>

#include <oracle/oracle.h>

#define SIZE_MAX_ATTR  4096u
#define BITS(from, to) ((UINT64_C(2) << (to)) - (UINT64_C(1) << (from)))
#define CYCLES         0x11
#define READ_BYTES_MAX 16384u
#define PMU_ALL        (-1)
#define PMU_NONE       (-2)

/* One call being judged. */
struct matter {
	const struct judge_call *call;
	struct tally_attr attr;
	const struct judge_leader *leader; /* NULL with FD_NO_GROUP */
	int32_t pmu;
};

typedef bool (*question)(const struct matter *m);

static bool has_flag(const struct matter *m, uint64_t flag)
{
	return (m->attr.flags & flag) != 0;
}

static bool has_sample(const struct matter *m, uint64_t bit)
{
	return (m->attr.sample_type & bit) != 0;
}

static bool may_perf(const struct matter *m)
{
	return m->call->perfmon || m->call->sys_admin;
}

static bool may_kernel(const struct matter *m)
{
	return m->call->paranoid <= 1 || may_perf(m);
}

static bool of_cpu(const struct matter *m)
{
	return m->call->target == JUDGE_ALL;
}

/* ---- content of attr ---- */

static bool reserved_is_set(const struct matter *m)
{
	return has_flag(m, BITS(38, 63)) || m->attr.reserved_2 != 0 || m->attr.reserved_3 != 0;
}

static bool unknown_sample(const struct matter *m)
{
	return has_sample(m, BITS(25, 63));
}

static bool unknown_format(const struct matter *m)
{
	return (m->attr.read_format & BITS(5, 63)) != 0;
}

static bool branch_is_bad(const struct matter *m)
{
	uint64_t branch = m->attr.branch_sample_type;

	return has_sample(m, TALLY_SAMPLE_BRANCH_STACK) &&
	       ((branch & BITS(19, 63)) != 0 || (branch & BITS(3, 18)) == 0);
}

/* The kernel's or the hypervisor's branches, asked for or by default. */
static bool branch_is_not_allowed(const struct matter *m)
{
	uint64_t levels = m->attr.branch_sample_type & 7;

	if (!has_sample(m, TALLY_SAMPLE_BRANCH_STACK) || may_kernel(m))
		return false;
	if (levels == 0)
		return !has_flag(m, TALLY_ATTR_EXCLUDE_KERNEL) ||
		       !has_flag(m, TALLY_ATTR_EXCLUDE_HV);
	return (levels & 6) != 0;
}

static bool regs_are_bad(uint64_t mask)
{
	return mask == 0 || (mask & BITS(33, 63)) != 0; /* 46 needs SVE, which no CPU here has */
}

static bool regs_user_are_bad(const struct matter *m)
{
	return has_sample(m, TALLY_SAMPLE_REGS_USER) && regs_are_bad(m->attr.sample_regs_user);
}

static bool stack_is_bad(const struct matter *m)
{
	return has_sample(m, TALLY_SAMPLE_STACK_USER) &&
	       (m->attr.sample_stack_user >= 65535 || (m->attr.sample_stack_user & 7) != 0);
}

static bool regs_intr_are_bad(const struct matter *m)
{
	return has_sample(m, TALLY_SAMPLE_REGS_INTR) && regs_are_bad(m->attr.sample_regs_intr);
}

static bool samples_cgroup(const struct matter *m)
{
	return has_sample(m, TALLY_SAMPLE_CGROUP);
}

static bool has_two_weights(const struct matter *m)
{
	return has_sample(m, TALLY_SAMPLE_WEIGHT) && has_sample(m, TALLY_SAMPLE_WEIGHT_STRUCT);
}

static bool thread_without_inherit(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_INHERIT_THREAD) && !has_flag(m, TALLY_ATTR_INHERIT);
}

static bool removes_and_enables(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_REMOVE_ON_EXEC) && has_flag(m, TALLY_ATTR_ENABLE_ON_EXEC);
}

static bool sigtrap_stays(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_SIGTRAP) && !has_flag(m, TALLY_ATTR_REMOVE_ON_EXEC);
}

/* ---- rights and numbers ---- */

static bool nothing_is_allowed(const struct matter *m)
{
	return m->call->paranoid > 2 && !m->call->sys_admin;
}

static bool kernel_is_not_allowed(const struct matter *m)
{
	bool kernel = !has_flag(m, TALLY_ATTR_EXCLUDE_KERNEL) || has_flag(m, TALLY_ATTR_TEXT_POKE);

	return kernel && !may_kernel(m);
}

static bool namespaces_are_not_allowed(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_NAMESPACES) && !may_perf(m);
}

static bool frequency_is_high(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_FREQ) && m->attr.sample_period > m->call->max_sample_rate;
}

static bool period_is_negative(const struct matter *m)
{
	return !has_flag(m, TALLY_ATTR_FREQ) && (m->attr.sample_period & BITS(63, 63)) != 0;
}

static bool addresses_are_not_allowed(const struct matter *m)
{
	return has_sample(m, TALLY_SAMPLE_PHYS_ADDR) && !may_kernel(m);
}

static bool cgroup_of_nothing(const struct matter *m)
{
	return (m->call->flags & TALLY_FLAG_PID_CGROUP) != 0 && (of_cpu(m) || m->call->cpu == -1);
}

static bool group_is_no_event(const struct matter *m)
{
	return m->call->group_bad;
}

static bool task_is_missing(const struct matter *m)
{
	return m->call->target == JUDGE_NO_TASK;
}

static bool inherits_unlike_leader(const struct matter *m)
{
	return !of_cpu(m) && m->leader &&
	       ((m->leader->flags ^ m->attr.flags) & TALLY_ATTR_INHERIT) != 0;
}

static bool cpu_is_impossible(const struct matter *m)
{
	int32_t cpu = m->call->cpu;

	return cpu < -1 || cpu >= (int32_t)m->call->cpus || (cpu == -1 && of_cpu(m));
}

static bool sigtrap_of_cpu(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_SIGTRAP) && of_cpu(m);
}

static bool inherits_readings(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_INHERIT) && has_sample(m, TALLY_SAMPLE_READ);
}

/* ---- the event ---- */

int32_t judge_pmu(const struct judge_call *call, uint32_t type, uint64_t config)
{
	uint32_t types = call->clusters > 1 ? 1 + call->clusters : 1;
	uint64_t named = type;

	if (type == TALLY_TYPE_RAW)
		return PMU_ALL;
	if (type == TALLY_TYPE_HARDWARE || type == TALLY_TYPE_HW_CACHE) {
		named = config >> 32;
		if (named < TALLY_TYPE_DYNAMIC || named >= TALLY_TYPE_DYNAMIC + types)
			return PMU_ALL;
	}
	if (named < TALLY_TYPE_DYNAMIC || named >= TALLY_TYPE_DYNAMIC + types)
		return PMU_NONE;
	return (int32_t)(named - TALLY_TYPE_DYNAMIC) - 1;
}

/* Clusters on which the event might count, by PMU and CPU. */
static bool may_count_on(const struct matter *m, uint32_t cluster)
{
	if (m->pmu >= 0 && (uint32_t)m->pmu != cluster)
		return false;
	return m->call->cpu < 0 || m->call->cluster_of[m->call->cpu] == cluster;
}

static int number_on(const struct matter *m, uint32_t cluster)
{
	return oracle_event_number(m->call->pmu[cluster], m->attr.type, m->attr.config);
}

/* -ENOENT, -EINVAL, or 0: some CPU counts it. */
static int map_event(const struct matter *m)
{
	int error = -ENOENT;

	for (uint32_t cluster = 0; cluster < m->call->clusters; cluster++) {
		if (!may_count_on(m, cluster))
			continue;
		error = number_on(m, cluster);
		if (error >= 0)
			return 0;
	}
	return error;
}

static bool pmu_is_missing(const struct matter *m)
{
	return m->pmu == PMU_NONE;
}

static bool cpu_is_not_of_pmu(const struct matter *m)
{
	return m->pmu >= 0 && m->call->cpu >= 0 &&
	       m->call->cluster_of[m->call->cpu] != (uint32_t)m->pmu;
}

static bool samples_branches(const struct matter *m)
{
	return (m->attr.sample_type & TALLY_SAMPLE_BRANCH_STACK) != 0;
}

static bool event_is_missing(const struct matter *m)
{
	return map_event(m) == -ENOENT;
}

static bool event_is_bad(const struct matter *m)
{
	return map_event(m) == -EINVAL;
}

static bool excludes_idle(const struct matter *m)
{
	return has_flag(m, TALLY_ATTR_EXCLUDE_IDLE);
}

static bool cgroup_is_asked(const struct matter *m)
{
	return (m->call->flags & TALLY_FLAG_PID_CGROUP) != 0;
}

/* ---- limits of this version (docs/abi.md) ---- */

static bool reads_directly(const struct matter *m)
{
	return (m->attr.config1 & 2) != 0;
}

static bool wants_what_is_missing(const struct matter *m)
{
	const uint64_t flags = TALLY_ATTR_INHERIT | TALLY_ATTR_MMAP | TALLY_ATTR_COMM |
			       TALLY_ATTR_TASK | TALLY_ATTR_MMAP_DATA | TALLY_ATTR_MMAP2 |
			       TALLY_ATTR_USE_CLOCKID | TALLY_ATTR_CONTEXT_SWITCH |
			       TALLY_ATTR_WRITE_BACKWARD | TALLY_ATTR_NAMESPACES |
			       TALLY_ATTR_KSYMBOL | TALLY_ATTR_BPF_EVENT | TALLY_ATTR_AUX_OUTPUT |
			       TALLY_ATTR_CGROUP | TALLY_ATTR_TEXT_POKE |
			       TALLY_ATTR_REMOVE_ON_EXEC | TALLY_ATTR_SIGTRAP;
	const uint64_t samples = TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME |
				 TALLY_SAMPLE_READ | TALLY_SAMPLE_ID | TALLY_SAMPLE_CPU |
				 TALLY_SAMPLE_PERIOD | TALLY_SAMPLE_STREAM_ID |
				 TALLY_SAMPLE_IDENTIFIER;

	return has_flag(m, flags) || has_sample(m, ~samples) ||
	       (has_flag(m, TALLY_ATTR_FREQ) && m->attr.sample_period != 0);
}

static bool redirects(const struct matter *m)
{
	return m->call->leader && (m->call->flags & TALLY_FLAG_FD_OUTPUT) != 0;
}

/* ---- groups and the target ---- */

static bool cpu_is_not_allowed(const struct matter *m)
{
	return of_cpu(m) && m->call->paranoid > 0 && !may_perf(m);
}

static bool group_is_wrong(const struct matter *m)
{
	const struct judge_leader *leader = m->leader;
	uint32_t task = of_cpu(m) ? 0 : m->call->task;

	if (!leader)
		return false;
	return leader->is_member || leader->cpu != m->call->cpu || leader->task != task ||
	       leader->pmu != m->pmu || has_flag(m, TALLY_ATTR_PINNED | TALLY_ATTR_EXCLUSIVE);
}

/* The leader's group is one that the event could join as far as task and CPU go. */
static bool leader_is_of_context(const struct matter *m)
{
	uint32_t task = of_cpu(m) ? 0 : m->call->task;

	return m->leader->task == task && (!of_cpu(m) || m->leader->cpu == m->call->cpu) &&
	       !m->leader->is_member;
}

/* On no cluster where all of the group may count are there counters for all of it. */
static bool group_is_wide(const struct matter *m)
{
	if (m->leader && !leader_is_of_context(m))
		return false; /* it is wrong, for a reason that comes later */
	for (uint32_t cluster = 0; cluster < m->call->clusters; cluster++) {
		const struct pmu_cpu_config *pmu = m->call->pmu[cluster];
		uint32_t counters = pmu->has_el2 ? pmu->hpmn : pmu->counter_count;
		int number = number_on(m, cluster);
		uint32_t events = 1;
		bool cycles = number == CYCLES;

		if (!may_count_on(m, cluster) || number < 0)
			continue;
		if (m->leader) {
			int other = oracle_event_number(pmu, m->leader->type, m->leader->config);

			if (other < 0)
				continue;
			events += m->leader->events;
			cycles = cycles || other == CYCLES;
		}
		if (events - (cycles ? 1 : 0) <= counters)
			return false;
	}
	return true;
}

static bool stranger_is_not_allowed(const struct matter *m)
{
	return m->call->target == JUDGE_STRANGER && !may_perf(m);
}

static uint32_t read_bytes(uint64_t format, uint32_t events)
{
	uint32_t words = 1;
	uint32_t each = 1;

	if ((format & TALLY_FORMAT_GROUP) == 0)
		return 0; /* a few words: never too large */
	words += (format & TALLY_FORMAT_TOTAL_TIME_ENABLED) != 0;
	words += (format & TALLY_FORMAT_TOTAL_TIME_RUNNING) != 0;
	each += (format & TALLY_FORMAT_ID) != 0;
	each += (format & TALLY_FORMAT_LOST) != 0;
	return 8 * (words + events * each);
}

static bool read_is_large(const struct matter *m)
{
	uint32_t events = m->leader ? m->leader->events + 1 : 1;

	return read_bytes(m->attr.read_format, events) > READ_BYTES_MAX ||
	       (m->leader && read_bytes(m->leader->read_format, events) > READ_BYTES_MAX);
}

static bool cpu_is_off(const struct matter *m)
{
	return of_cpu(m) && (m->call->online_mask >> m->call->cpu & 1) == 0;
}

static bool samples_aux(const struct matter *m)
{
	return m->attr.aux_sample_size != 0;
}

/* ---- the table ---- */

static const struct {
	question applies;
	int error;
	const char *why;
} rules[] = {
	{reserved_is_set, EINVAL, "a reserved bit"},
	{unknown_sample, EINVAL, "an unknown sample bit"},
	{unknown_format, EINVAL, "an unknown read format"},
	{branch_is_bad, EINVAL, "a bad branch filter"},
	{branch_is_not_allowed, EACCES, "branches of the kernel under paranoid 2"},
	{regs_user_are_bad, EINVAL, "bad user registers"},
	{stack_is_bad, EINVAL, "a bad size of stack"},
	{regs_intr_are_bad, EINVAL, "bad interrupt registers"},
	{samples_cgroup, EINVAL, "samples of cgroups"},
	{has_two_weights, EINVAL, "both kinds of weight"},
	{thread_without_inherit, EINVAL, "inherit_thread without inherit"},
	{removes_and_enables, EINVAL, "remove_on_exec with enable_on_exec"},
	{sigtrap_stays, EINVAL, "sigtrap without remove_on_exec"},
	{nothing_is_allowed, EACCES, "paranoid above 2"},
	{kernel_is_not_allowed, EACCES, "the kernel under paranoid 2"},
	{namespaces_are_not_allowed, EACCES, "namespaces"},
	{frequency_is_high, EINVAL, "a frequency above the limit"},
	{period_is_negative, EINVAL, "a period of 2^63 or more"},
	{addresses_are_not_allowed, EACCES, "physical addresses under paranoid 2"},
	{cgroup_of_nothing, EINVAL, "PID_CGROUP without cgroup or CPU"},
	{group_is_no_event, EBADF, "group_fd is no event"},
	{task_is_missing, ESRCH, "no such task"},
	{inherits_unlike_leader, EINVAL, "inherit differs from the leader's"},
	{cpu_is_impossible, EINVAL, "no such CPU"},
	{sigtrap_of_cpu, EINVAL, "sigtrap on a CPU"},
	{inherits_readings, EINVAL, "inherit with READ samples"},
	{pmu_is_missing, ENOENT, "no such PMU"},
	{cpu_is_not_of_pmu, ENOENT, "a CPU that is not the PMU's"},
	{samples_branches, EOPNOTSUPP, "branch stacks"},
	{event_is_missing, ENOENT, "no such event"},
	{event_is_bad, EINVAL, "an event number out of range"},
	{excludes_idle, EOPNOTSUPP, "exclude_idle"},
	{reads_directly, EOPNOTSUPP, "direct reads (a limit)"},
	{cgroup_is_asked, EINVAL, "a kernel without cgroups"},
	{wants_what_is_missing, EOPNOTSUPP, "a feature to come (a limit)"},
	{redirects, EOPNOTSUPP, "FD_OUTPUT (a limit)"},
	{group_is_wide, EINVAL, "a group that never fits"},
	{cpu_is_not_allowed, EACCES, "a CPU under paranoid 1"},
	{group_is_wrong, EINVAL, "not of this group"},
	{stranger_is_not_allowed, EACCES, "another user's task"},
	{read_is_large, E2BIG, "a read above 16 KiB"},
	{cpu_is_off, ENODEV, "a CPU that is off"},
	{samples_aux, EINVAL, "samples of an AUX area that no PMU has"},
};

/* ---- reading attr ---- */

/* 0, or EFAULT, E2BIG. */
static int read_attr(const struct judge_call *call, struct tally_attr *attr, const char **why)
{
	uint32_t size;
	size_t known;

	*why = "attr cannot be read";
	if (call->readable < offsetof(struct tally_attr, size) + sizeof(size))
		return EFAULT;
	memcpy(&size, call->attr + offsetof(struct tally_attr, size), sizeof(size));
	size = size == 0 ? TALLY_ATTR_SIZE_VER0 : size;
	if (size < TALLY_ATTR_SIZE_VER0 || size > SIZE_MAX_ATTR) {
		*why = "a size out of range";
		return E2BIG;
	}
	for (uint32_t i = TALLY_ATTR_SIZE_VER7; i < size; i++) {
		if (i >= call->readable)
			return EFAULT;
		if (call->attr[i] != 0) {
			*why = "a byte that this version does not know";
			return E2BIG;
		}
	}
	known = size < TALLY_ATTR_SIZE_VER7 ? size : TALLY_ATTR_SIZE_VER7;
	if (call->readable < known)
		return EFAULT;
	memset(attr, 0, sizeof(*attr));
	memcpy(attr, call->attr, known);
	attr->size = size;
	return 0;
}

int judge_open(const struct judge_call *call, const char **why)
{
	struct matter m = {.call = call};
	int error;

	*why = "an unknown flag";
	if ((call->flags & ~TALLY_FLAG_ALL) != 0)
		return -EINVAL;
	error = read_attr(call, &m.attr, why);
	if (error != 0)
		return -error;
	m.leader = (call->flags & TALLY_FLAG_FD_NO_GROUP) != 0 ? NULL : call->leader;
	m.pmu = judge_pmu(call, m.attr.type, m.attr.config);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		*why = rules[i].why;
		if (rules[i].applies(&m))
			return -rules[i].error;
	}
	*why = "nothing is wrong";
	return 0;
}
