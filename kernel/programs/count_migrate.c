/* SPDX-License-Identifier: MIT
 *
 * count_migrate: a child that moves from CPU to CPU is counted as if it stood still.
 *
 *	count_migrate [TYPE CPU ...]
 *
 * The child changes its own affinity every STEP_NS, round and round over all CPUs, then its parent
 * does it while the child spins. The parent holds on the child a generic cycles event, one of type
 * RAW, and one per CPU that counts on that CPU only. Checks:
 *   - the generic event never waits: running equals enabled, and its cycles are the running time
 *     within 5 % (a cycle is a nanosecond, see event.h), on every cluster of the machine;
 *   - RAW agrees with its own running time within 5 %;
 *   - the per-CPU events are enabled all the time, run in turns, and add up to the generic event
 *     within 5 %, in value and in running time; each one's value is its running time within 5 %.
 * Each pair TYPE CPU names a PMU type that counts on the cluster of that CPU and not on all CPUs:
 * an event of that type has 0 < running < enabled and value = running within 5 %, and opened for
 * that CPU it works, while for a CPU of another named cluster it is ENOENT; events of two types, or
 * of one type and generic, do not make a group (EINVAL).
 *
 * System calls: perf_event_open ioctl read close clone wait4 pipe2 sched_setaffinity write
 * exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define STEP_NS      3000000u
#define STEPS        24u
#define CLUSTERS_MAX 4u

struct cluster {
	uint32_t type;
	int cpu;
	int fd;
};

static struct cluster clusters[CLUSTERS_MAX];
static unsigned cluster_count;

static unsigned next_cpu(uint64_t online, unsigned cpu)
{
	do {
		cpu = (cpu + 1) % CPUS_MAX;
	} while (!(online >> cpu & 1));
	return cpu;
}

/* The child: waits, then moves itself or is moved, STEPS times. */
static int start_child(uint64_t online, bool moves_itself, int *go_fd)
{
	int ends[2], pid;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	pid = task_fork();
	*go_fd = ends[1];
	if (!pid) {
		unsigned cpu = 0;

		task_await(ends[0]);
		for (unsigned i = 0; i < STEPS; i++) {
			if (moves_itself) {
				cpu = next_cpu(online, cpu);
				task_pin(0, cpu);
			}
			clock_spin_ns(STEP_NS);
		}
		sys_exit(0);
	}
	sys_close(ends[0]);
	return pid;
}

/* Moves the child from here for as long as it certainly lives: half of its steps. */
static void move_child(int pid, uint64_t online)
{
	unsigned cpu = 0;

	for (unsigned i = 0; i < STEPS / 2; i++) {
		cpu = next_cpu(online, cpu);
		task_pin(pid, cpu);
		task_sleep_ns(STEP_NS);
	}
	task_allow(pid, online);
}

static void check_whole(const char *what, int fd, struct reading *r, bool whole)
{
	*r = event_read(fd);
	measure("%s value=%lu enabled_ns=%lu running_ns=%lu", what, r->value, r->enabled_ns,
		r->running_ns);
	event_check_times(what, r, whole);
	CHECK(within_percent(r->value, r->running_ns, 5), "%s: %lu cycles in %lu ns", what,
		r->value, r->running_ns);
}

static void check_per_cpu(
	const int *fds, uint64_t online, const struct reading *generic, bool everywhere)
{
	struct reading sum = {0};

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct reading r;

		if (!(online >> cpu & 1))
			continue;
		r = event_read(fds[cpu]);
		measure("cpu=%u value=%lu enabled_ns=%lu running_ns=%lu", cpu, r.value,
			r.enabled_ns, r.running_ns);
		CHECK(within_percent(r.enabled_ns, generic->enabled_ns, 1),
			"cpu %u: enabled %lu of %lu", cpu, r.enabled_ns, generic->enabled_ns);
		CHECK(r.running_ns < r.enabled_ns, "cpu %u: running %lu of %lu", cpu, r.running_ns,
			r.enabled_ns);
		if (everywhere)
			CHECK(r.running_ns > 0, "cpu %u: never ran", cpu);
		CHECK(r.value <= r.running_ns + r.running_ns / 20 &&
				r.value >= r.running_ns - r.running_ns / 20,
			"cpu %u: %lu cycles in %lu ns", cpu, r.value, r.running_ns);
		sum.value += r.value;
		sum.running_ns += r.running_ns;
	}
	CHECK(within_percent(sum.value, generic->value, 5), "per CPU %lu, together %lu", sum.value,
		generic->value);
	CHECK(within_percent(sum.running_ns, generic->running_ns, 5),
		"running per CPU %lu, together %lu", sum.running_ns, generic->running_ns);
}

static void check_clusters(void)
{
	for (unsigned i = 0; i < cluster_count; i++) {
		struct perf_event_attr attr = event_attr(clusters[i].type, PMU_CYCLES);
		struct reading r;
		int fd;

		check_whole("cluster", clusters[i].fd, &r, false);
		CHECK(r.running_ns < r.enabled_ns, "type %u ran everywhere", clusters[i].type);
		for (unsigned j = 0; j < cluster_count; j++) {
			fd = event_open(&attr, -1, clusters[j].cpu, -1);
			CHECK(i == j ? fd >= 0 : fd == -ENOENT, "type %u on cpu %d: %d",
				clusters[i].type, clusters[j].cpu, fd);
			if (fd >= 0)
				event_close(fd);
		}
	}
}

/* A group is on one PMU: neither another cluster's event nor a generic one joins a cluster's. */
static void check_cluster_groups(void)
{
	struct perf_event_attr generic = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	for (unsigned i = 0; i < cluster_count; i++) {
		struct perf_event_attr attr = event_attr(clusters[i].type, PMU_CYCLES);
		int leader = event_require(&attr, 0, -1, -1);

		for (unsigned j = 0; j < cluster_count; j++) {
			int fd;

			attr.type = clusters[j].type;
			fd = event_open(&attr, 0, -1, leader);
			CHECK(i == j ? fd >= 0 : fd == -EINVAL, "type %u under type %u: %d",
				clusters[j].type, clusters[i].type, fd);
			if (fd >= 0)
				event_close(fd);
		}
		CHECK(event_open(&generic, 0, -1, leader) == -EINVAL, "generic under type %u",
			clusters[i].type);
		event_close(leader);
	}
}

static void migrate(uint64_t online, bool moves_itself)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct reading generic, raw;
	int go_fd, pid = start_child(online, moves_itself, &go_fd);
	int generic_fd, raw_fd, per_cpu[CPUS_MAX];

	attr.disabled = 0;
	generic_fd = event_require(&attr, pid, -1, -1);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (online >> cpu & 1)
			per_cpu[cpu] = event_require(&attr, pid, (int)cpu, -1);
	}
	attr.type = PERF_TYPE_RAW;
	attr.config = PMU_CYCLES;
	raw_fd = event_require(&attr, pid, -1, -1);
	for (unsigned i = 0; i < cluster_count; i++) {
		attr.type = clusters[i].type;
		clusters[i].fd = event_require(&attr, pid, -1, -1);
	}
	task_signal(go_fd);
	if (!moves_itself)
		move_child(pid, online);
	CHECK(task_wait_exit(pid) == 0, "child");
	check_whole(moves_itself ? "generic" : "moved", generic_fd, &generic, true);
	check_whole("raw", raw_fd, &raw, false);
	check_per_cpu(per_cpu, online, &generic, moves_itself);
	check_clusters();

	event_close(generic_fd);
	event_close(raw_fd);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (online >> cpu & 1)
			event_close(per_cpu[cpu]);
	}
	for (unsigned i = 0; i < cluster_count; i++)
		event_close(clusters[i].fd);
	sys_close(go_fd);
}

int main(int argc, char **argv)
{
	uint64_t online;

	verdict_begin("count_migrate");
	online = task_cpus_online();
	REQUIRE(online & (online - 1), "one CPU");
	for (int i = 1; i + 1 < argc && cluster_count < CLUSTERS_MAX; i += 2) {
		clusters[cluster_count].type = (uint32_t)text_number(argv[i]);
		clusters[cluster_count++].cpu = (int)text_number(argv[i + 1]);
	}
	check_cluster_groups();
	migrate(online, true);
	migrate(online, false);
	return verdict_end();
}
