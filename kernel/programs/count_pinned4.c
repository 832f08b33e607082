/* SPDX-License-Identifier: MIT
 *
 * count_pinned4: four children on four CPUs, each counted by its parent.
 *
 * Each child is pinned to a CPU of its own, waits, spins for BUSY_NS, reports its CPU time and
 * exits. The parent holds a cycles event on each child and one on each CPU for the same stretch.
 * Checks:
 *   - a child's cycles are its CPU time within 5 % (a cycle is a nanosecond, see event.h). CPU time
 *     is CLOCK_THREAD_CPUTIME_ID where the kernel keeps it, else the event's running time together
 *     with the spin that the child measured by the generic timer;
 *   - running equals enabled, and is the child's CPU time within 5 %;
 *   - each CPU's event counts the wall time within 5 % (QEMU's cycles run while a CPU idles) and at
 *     least its child's cycles less 5 %;
 *   - a task event for another CPU than the child's never runs: enabled grows, value and running
 *     are 0.
 * On a machine with fewer than four CPUs the verdict is FAIL.
 *
 * System calls: perf_event_open ioctl read close clone wait4 pipe2 sched_setaffinity clock_gettime
 * write exit_group.
 */
#include "event.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define CHILDREN 4u
#define BUSY_NS  50000000u

struct child {
	int pid;
	int go_fd, report_fd;
	int task_fd, elsewhere_fd, cpu_fd;
};

struct report {
	uint64_t cpu_time_ns; /* from the go to the end; 0: the kernel keeps none */
	uint64_t busy_ns;     /* the same by the generic timer */
};

static _Noreturn void child_main(unsigned cpu, int go_fd, int report_fd)
{
	struct report report = {0};
	uint64_t cpu_time_ns, start_ns;

	task_pin(0, cpu);
	task_await(go_fd);
	start_ns = clock_now_ns();
	cpu_time_ns = task_cpu_time_ns();
	clock_spin_ns(BUSY_NS);
	report.busy_ns = clock_now_ns() - start_ns;
	if (cpu_time_ns)
		report.cpu_time_ns = task_cpu_time_ns() - cpu_time_ns;
	sys_exit(sys_write(report_fd, &report, sizeof report) != sizeof report);
}

static void start_child(struct child *child, unsigned cpu)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int go[2], report[2];

	REQUIRE(sys_pipe(go, 0) == 0 && sys_pipe(report, 0) == 0, "pipe");
	child->pid = task_fork();
	if (!child->pid) {
		sys_close(go[1]);
		sys_close(report[0]);
		child_main(cpu, go[0], report[1]);
	}
	sys_close(go[0]);
	sys_close(report[1]);
	child->go_fd = go[1];
	child->report_fd = report[0];
	child->cpu_fd = event_require(&attr, -1, (int)cpu, -1);
	task_sleep_ns(2000000); /* the child pins itself and waits */
	attr.disabled = 0;
	child->task_fd = event_require(&attr, child->pid, -1, -1);
	child->elsewhere_fd = event_require(&attr, child->pid, (int)((cpu + 1) % CHILDREN), -1);
}

static void check_child(const struct child *child, unsigned cpu, uint64_t wall_ns)
{
	struct reading task = event_read(child->task_fd);
	struct reading elsewhere = event_read(child->elsewhere_fd);
	struct reading whole = event_read(child->cpu_fd);
	struct report report = {0};
	uint64_t cpu_ns;

	REQUIRE(sys_read(child->report_fd, &report, sizeof report) == sizeof report, "report");
	cpu_ns = report.cpu_time_ns ? report.cpu_time_ns : task.running_ns;
	measure("cpu=%u cycles=%lu running_ns=%lu cputime_ns=%lu busy_ns=%lu cpu_cycles=%lu "
		"cpu_enabled_ns=%lu wall_ns=%lu",
		cpu, task.value, task.running_ns, report.cpu_time_ns, report.busy_ns, whole.value,
		whole.enabled_ns, wall_ns);
	event_check_times("task", &task, true);
	CHECK(within_percent(task.value, cpu_ns, 5), "cpu %u: %lu cycles, CPU time %lu ns", cpu,
		task.value, cpu_ns);
	CHECK(within_percent(task.running_ns, cpu_ns, 5), "cpu %u: running %lu, CPU time %lu ns",
		cpu, task.running_ns, cpu_ns);
	/* Without a CPU time the spin is the witness: pinned, and alone on its CPU but for init. */
	if (!report.cpu_time_ns)
		CHECK(within_percent(task.value, report.busy_ns, 5),
			"cpu %u: %lu cycles, busy %lu ns", cpu, task.value, report.busy_ns);
	event_check_times("cpu", &whole, true);
	CHECK(within_percent(whole.value, whole.enabled_ns, 5), "cpu %u: %lu cycles in %lu ns", cpu,
		whole.value, whole.enabled_ns);
	CHECK(within_percent(whole.enabled_ns, wall_ns, 5), "cpu %u: enabled %lu of %lu ns", cpu,
		whole.enabled_ns, wall_ns);
	CHECK(whole.value >= task.value - task.value / 20, "cpu %u: %lu cycles, its task %lu", cpu,
		whole.value, task.value);
	CHECK(!elsewhere.value && !elsewhere.running_ns && elsewhere.enabled_ns > 0,
		"cpu %u: filtered event %lu enabled %lu running %lu", cpu, elsewhere.value,
		elsewhere.enabled_ns, elsewhere.running_ns);
}

int main(void)
{
	struct child children[CHILDREN];
	uint64_t start_ns, wall_ns;

	verdict_begin("count_pinned4");
	REQUIRE(task_cpu_count() >= CHILDREN, "%u CPUs", task_cpu_count());
	for (unsigned cpu = 0; cpu < CHILDREN; cpu++)
		start_child(&children[cpu], cpu);
	start_ns = clock_now_ns();
	for (unsigned cpu = 0; cpu < CHILDREN; cpu++)
		event_enable(children[cpu].cpu_fd);
	for (unsigned cpu = 0; cpu < CHILDREN; cpu++)
		task_signal(children[cpu].go_fd);
	for (unsigned cpu = 0; cpu < CHILDREN; cpu++)
		CHECK(task_wait_exit(children[cpu].pid) == 0, "child %u", cpu);
	for (unsigned cpu = 0; cpu < CHILDREN; cpu++)
		event_disable(children[cpu].cpu_fd);
	wall_ns = clock_now_ns() - start_ns;
	for (unsigned cpu = 0; cpu < CHILDREN; cpu++)
		check_child(&children[cpu], cpu, wall_ns);
	return verdict_end();
}
