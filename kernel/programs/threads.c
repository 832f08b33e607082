/* SPDX-License-Identifier: MIT
 *
 * threads: events on threads of one process, and storms of forks and exits with events open.
 *
 *	threads [loose]
 *
 * Checks:
 *   - an event on another thread (its id as pid) counts that thread alone: cycles agree with its
 *     running time within 5 %, while the opener's own event counts the opener;
 *   - a thread's event on itself survives the thread: another thread of the process reads the last
 *     values, twice the same; the thread's id cannot be opened any more (ESRCH);
 *   - exit_group while threads with events run on;
 *   - STORMS processes at a time that fork and exit at once, while events exist on their parents,
 *     on themselves and on the CPUs; afterwards a fresh event still counts.
 * Threads meet through shared words and sched_yield: no futex. `loose` leaves out the 5 % between
 * cycles and running time: on host threads a host may take the CPU away between a kernel's two
 * readings.
 *
 * System calls: perf_event_open ioctl read close clone exit exit_group wait4 gettid sched_yield
 * nanosleep write.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define THREADS 4u
#define STORMS  4u
#define FORKS   20u

struct worker {
	unsigned char stack[STACK_BYTES] __attribute__((aligned(16)));
	int tid;
	int own_fd;    /* event that the thread opened on itself, or its errno */
	unsigned go;   /* set by the main thread */
	unsigned done; /* set by the worker, last but its exit */
};

static struct worker workers[THREADS];
static bool loose;

static void wait_for(const unsigned *word)
{
	/* Acquire pairs with the release in `set`: what came before it is visible. */
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE)) {
		/* Slices of some length: at each end a kernel reads clock and counter apart. */
		plain_loop(3000);
		cpu_yield();
		sys_sched_yield();
	}
}

static void set(unsigned *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

static int open_running(int pid, int cpu)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	attr.disabled = 0;
	return event_open(&attr, pid, cpu, -1);
}

static void work(void *argument)
{
	struct worker *worker = argument;

	wait_for(&worker->go);
	worker->own_fd = open_running(0, -1);
	for (unsigned i = 0; i < 20; i++) {
		plain_loop(50000);
		sys_sched_yield();
	}
	set(&worker->done);
}

/* A thread is gone when its id cannot be opened any more. */
static void wait_until_gone(int tid)
{
	for (unsigned i = 0; i < 1000; i++) {
		int fd = open_running(tid, -1);

		if (fd == -ESRCH)
			return;
		REQUIRE(fd >= 0, "open on thread %d: %d", tid, fd);
		event_close(fd);
		task_sleep_ns(1000000);
	}
	REQUIRE(false, "thread %d does not go away", tid);
}

static void check_cycles(const char *what, const struct reading *r)
{
	event_check_times(what, r, true);
	CHECK(loose || within_percent(r->value, r->running_ns, 5), "%s: %lu cycles in %lu ns", what,
		r->value, r->running_ns);
}

static void count_threads(void)
{
	int fds[THREADS], main_fd = open_running(0, -1);
	struct reading mine, again;

	REQUIRE(main_fd >= 0, "open on self: %d", main_fd);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].tid = task_thread(work, &workers[i], workers[i].stack);
		fds[i] = open_running(workers[i].tid, -1);
		REQUIRE(fds[i] >= 0, "open on thread %d: %d", workers[i].tid, fds[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		set(&workers[i].go);
	for (unsigned i = 0; i < THREADS; i++)
		wait_for(&workers[i].done);
	event_disable(main_fd);
	for (unsigned i = 0; i < THREADS; i++) {
		struct reading r, own;

		wait_until_gone(workers[i].tid);
		REQUIRE(workers[i].own_fd >= 0, "a thread's open on itself: %d", workers[i].own_fd);
		r = event_read(fds[i]);
		own = event_read(workers[i].own_fd);
		measure("thread=%u cycles=%lu running_ns=%lu own_cycles=%lu own_running_ns=%lu", i,
			r.value, r.running_ns, own.value, own.running_ns);
		check_cycles("thread", &r);
		check_cycles("own", &own);
		CHECK(own.value <= r.value, "thread %u: own %lu, from outside %lu", i, own.value,
			r.value);
		/* At least the loops: 20 of 50,000 rounds, three instructions of a cycle each. */
		CHECK(own.value >= 20 * 50000, "thread %u: %lu cycles", i, own.value);
		again = event_read(workers[i].own_fd);
		CHECK(again.value == own.value && again.running_ns == own.running_ns,
			"thread %u moved after its exit", i);
		event_close(fds[i]);
		event_close(workers[i].own_fd);
	}
	mine = event_read(main_fd);
	measure("main cycles=%lu running_ns=%lu", mine.value, mine.running_ns);
	check_cycles("main", &mine);
	event_close(main_fd);
}

static void spin_with_event(void *argument)
{
	struct worker *worker = argument;

	worker->own_fd = open_running(0, -1);
	set(&worker->done);
	loop_forever();
}

static void exit_group_while_they_run(void)
{
	for (unsigned round = 0; round < 5; round++) {
		int pid = task_fork();

		if (!pid) {
			for (unsigned i = 0; i < THREADS; i++) {
				workers[i].done = 0;
				task_thread(spin_with_event, &workers[i], workers[i].stack);
			}
			for (unsigned i = 0; i < THREADS; i++)
				wait_for(&workers[i].done);
			sys_exit(7);
		}
		CHECK(task_wait_exit(pid) == 7, "the process with threads, round %u", round);
	}
}

static _Noreturn void storm(void)
{
	if (open_running(0, -1) < 0 || open_running(0, 0) < 0)
		sys_exit(1);
	for (unsigned i = 0; i < FORKS; i++) {
		int pid = task_fork(), fd;

		if (!pid)
			sys_exit(open_running(0, -1) < 0);
		fd = open_running(pid, -1);
		if (fd < 0 && fd != -ESRCH)
			sys_exit(2);
		if (task_wait_exit(pid))
			sys_exit(3);
		if (fd >= 0 && i % 3 == 0)
			sys_close(fd);
	}
	sys_exit(0);
}

static void storms(void)
{
	int pids[STORMS], cpu_fd = open_running(-1, 0), fd;
	struct reading r;

	REQUIRE(cpu_fd >= 0, "open on CPU 0: %d", cpu_fd);
	for (unsigned i = 0; i < STORMS; i++) {
		pids[i] = task_fork();
		if (!pids[i])
			storm();
	}
	for (unsigned i = 0; i < STORMS; i++) {
		int status = task_wait_exit(pids[i]);

		CHECK(status == 0, "storm %u: %d", i, status);
	}
	r = event_read(cpu_fd);
	measure("storms=%u forks=%u cpu_cycles=%lu", STORMS, STORMS * FORKS, r.value);
	CHECK(r.value > 0, "CPU event: %lu", r.value);
	event_close(cpu_fd);
	fd = open_running(0, -1);
	REQUIRE(fd >= 0, "open after the storms: %d", fd);
	plain_loop(10000);
	r = event_read(fd);
	event_check_times("after the storms", &r, true);
	CHECK(r.value > 0, "after the storms: %lu", r.value);
	event_close(fd);
}

int main(int argc, char **argv)
{
	verdict_begin("threads");
	loose = argc > 1 && text_equal(argv[1], "loose");
	count_threads();
	exit_group_while_they_run();
	storms();
	return verdict_end();
}
