/* SPDX-License-Identifier: MIT
 *
 * count_child_exec: events that begin at a child's exec, and their last values after its exit.
 *
 * The parent forks a child that waits on a pipe, opens events on it (disabled, enable_on_exec),
 * lets it go, and the child executes `work`, of which every user instruction is known (work.h).
 * Checks:
 *   - nothing is counted before the exec, though the child runs (it spins a while first);
 *   - user instructions are exactly WORK_INSNS on one CPU (at least that on several, see event.h);
 *   - user cycles and all cycles agree with the running time, running with enabled;
 *   - an event without enable_on_exec stays off and at zero;
 *   - after the exit the event reads its last values, twice the same, and ENABLE does nothing;
 *   - an event on a task that is gone cannot be opened: ESRCH.
 *
 * System calls: perf_event_open ioctl read close clone execve wait4 pipe2 write exit_group.
 */
#include "event.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"
#include "work.h"

#define EVENTS_MAX 4u

enum which { CYCLES, USER_CYCLES, NEVER, INSTRUCTIONS };

struct child {
	int pid;
	int go_fd; /* one byte: leave the spin's wait */
};

static struct child start_child(void)
{
	static const char *const arguments[] = {"work", NULL};
	static const char *const environment[] = {NULL};
	struct child child;
	int ends[2];

	REQUIRE(sys_pipe(ends, O_CLOEXEC) == 0, "pipe");
	child.pid = task_fork();
	child.go_fd = ends[1];
	if (!child.pid) {
		long answer;

		sys_close(ends[1]);
		task_await(ends[0]);
		clock_spin_ns(3000000); /* runs with its events still off */
		answer = sys_execve(WORK_PATH, arguments, environment);
		CHECK(answer >= 0, "execve %s: %ld", WORK_PATH, answer);
		sys_exit(1);
	}
	sys_close(ends[0]);
	return child;
}

static unsigned open_events(int pid, int fds[EVENTS_MAX])
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	attr.enable_on_exec = 1;
	fds[CYCLES] = event_require(&attr, pid, -1, -1);
	attr.exclude_kernel = 1;
	fds[USER_CYCLES] = event_require(&attr, pid, -1, -1);
	attr.enable_on_exec = 0;
	fds[NEVER] = event_require(&attr, pid, -1, -1);
	if (!event_has_instructions()) {
		measure("instructions=absent");
		return INSTRUCTIONS;
	}
	attr.enable_on_exec = 1;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	fds[INSTRUCTIONS] = event_require(&attr, pid, -1, -1);
	return INSTRUCTIONS + 1;
}

static void check_counts(const int *fds, unsigned count, unsigned cpus, uint64_t wall_ns)
{
	struct reading all = event_read(fds[CYCLES]), user = event_read(fds[USER_CYCLES]);
	struct reading never = event_read(fds[NEVER]), insns;

	measure("cycles=%lu user_cycles=%lu enabled_ns=%lu running_ns=%lu wall_ns=%lu", all.value,
		user.value, all.enabled_ns, all.running_ns, wall_ns);
	event_check_times("cycles", &all, true);
	event_check_times("user cycles", &user, true);
	CHECK(within_percent(all.value, all.running_ns, 5), "%lu cycles in %lu ns", all.value,
		all.running_ns);
	CHECK(user.value > 0 && user.value <= all.value, "user cycles %lu of %lu", user.value,
		all.value);
	CHECK(all.enabled_ns <= wall_ns, "enabled %lu of %lu ns", all.enabled_ns, wall_ns);
	CHECK(!never.value && !never.enabled_ns && !never.running_ns, "never enabled: %lu %lu %lu",
		never.value, never.enabled_ns, never.running_ns);
	if (count <= INSTRUCTIONS)
		return;
	insns = event_read(fds[INSTRUCTIONS]);
	measure("instructions=%lu expected=%u", insns.value, WORK_INSNS);
	event_check_times("instructions", &insns, true);
	if (cpus == 1)
		CHECK(insns.value == WORK_INSNS, "%lu user instructions, expected %u", insns.value,
			WORK_INSNS);
	else
		CHECK(insns.value >= WORK_INSNS, "%lu user instructions, expected at least %u",
			insns.value, WORK_INSNS);
}

static void check_final(const int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct reading before = event_read(fds[i]), after;

		CHECK(sys_ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0) == 0, "ENABLE after exit");
		clock_spin_ns(1000000);
		after = event_read(fds[i]);
		CHECK(before.value == after.value && before.enabled_ns == after.enabled_ns &&
				before.running_ns == after.running_ns,
			"event %u moved after the exit: %lu to %lu", i, before.value, after.value);
	}
}

int main(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct child child;
	int fds[EVENTS_MAX];
	unsigned count, cpus;
	uint64_t start_ns;
	int status;

	verdict_begin("count_child_exec");
	cpus = task_cpu_count();
	child = start_child();
	count = open_events(child.pid, fds);
	for (unsigned i = 0; i < count; i++) {
		struct reading r = event_read(fds[i]);

		CHECK(!r.value && !r.enabled_ns, "event %u before exec: %lu %lu", i, r.value,
			r.enabled_ns);
	}
	start_ns = clock_now_ns();
	task_signal(child.go_fd);
	status = task_wait_exit(child.pid);
	CHECK(status == WORK_STATUS, "work's status %d", status);
	check_counts(fds, count, cpus, clock_now_ns() - start_ns);
	check_final(fds, count);
	CHECK(event_open(&attr, child.pid, -1, -1) == -ESRCH, "open on a task that is gone");
	for (unsigned i = 0; i < count; i++)
		event_close(fds[i]);
	return verdict_end();
}
