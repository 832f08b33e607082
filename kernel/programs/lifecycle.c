/* SPDX-License-Identifier: MIT
 *
 * lifecycle: events, file descriptors, tasks and mappings end in any order.
 *
 *	lifecycle
 *	lifecycle after-exec KEPT CLOSED	(run by itself, see survive_exec)
 *
 * Checks:
 *   - a running group closed in each of the six orders: what is left still reads and counts;
 *   - a leader closed first leaves its members counting as single events;
 *   - a child that exits with its own events open, and with events of its parent on it, many times;
 *   - a parent that closes its events while the child runs on;
 *   - exec: a descriptor opened with PERF_FLAG_FD_CLOEXEC is gone, another still counts;
 *   - fork: a child reads its parent's event through the inherited descriptor, and the event lives
 *     until the last descriptor is closed;
 *   - a mapping keeps its event alive and sampling after the descriptor is closed;
 *   - CYCLES_MAX open and close in a row give the same descriptor each time and exhaust nothing.
 *
 * System calls: perf_event_open ioctl read close mmap munmap clone execve wait4 pipe2 kill getpid
 * gettid write exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "ring.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define CYCLES_MAX 1000u
#define MEMBERS    3u
#define ROUNDS     20000u

static int open_running(int pid, int group_fd)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	attr.disabled = 0;
	return event_require(&attr, pid, -1, group_fd);
}

/* The event counts now: its value and times grow over a loop. */
static void check_counts(const char *what, int fd)
{
	struct reading before = event_read(fd), after;

	plain_loop(ROUNDS);
	after = event_read(fd);
	CHECK(after.value > before.value && after.running_ns > before.running_ns,
		"%s: %lu to %lu, running %lu to %lu", what, before.value, after.value,
		before.running_ns, after.running_ns);
}

static void close_orders(void)
{
	static const unsigned char orders[6][MEMBERS] = {
		{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

	for (unsigned order = 0; order < 6; order++) {
		int fds[MEMBERS];

		for (unsigned i = 0; i < MEMBERS; i++)
			fds[i] = open_running(0, i ? fds[0] : -1);
		for (unsigned i = 0; i < MEMBERS; i++) {
			for (unsigned j = i; j < MEMBERS; j++)
				check_counts("before a close", fds[orders[order][j]]);
			event_close(fds[orders[order][i]]);
		}
	}
}

static void orphans_lead(void)
{
	int leader = open_running(0, -1), member = open_running(0, leader), joined;

	event_close(leader);
	check_counts("orphan", member);
	joined = open_running(0, member); /* a single event may lead */
	check_counts("new member", joined);
	event_close(member);
	check_counts("orphan again", joined);
	event_close(joined);
}

static void exits_with_events(void)
{
	for (unsigned i = 0; i < 50; i++) {
		int fd, pid = task_fork();
		struct reading r;

		if (!pid) {
			int leader = open_running(0, -1);

			for (unsigned k = 0; k < 4; k++)
				open_running(0, k & 1 ? leader : -1);
			plain_loop(ROUNDS);
			sys_exit(verdict_failures() != 0);
		}
		/* The child may be gone already: then ESRCH is the right answer. */
		fd = event_open(&(struct perf_event_attr){.type = PERF_TYPE_HARDWARE,
					.size = sizeof(struct perf_event_attr),
					.read_format = READ_TIMES},
			pid, -1, -1);
		CHECK(fd >= 0 || fd == -ESRCH, "open on a child that may exit: %d", fd);
		CHECK(task_wait_exit(pid) == 0, "child %u", i);
		if (fd < 0)
			continue;
		r = event_read(fd);
		CHECK(r.running_ns <= r.enabled_ns, "running %lu > enabled %lu", r.running_ns,
			r.enabled_ns);
		event_close(fd);
	}
}

static void close_while_it_runs(void)
{
	int ends[2], fds[MEMBERS], pid;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	pid = task_fork();
	if (!pid) {
		sys_close(ends[0]);
		task_signal(ends[1]);
		loop_forever();
	}
	task_await(ends[0]);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < MEMBERS; i++)
			fds[i] = open_running(pid, i ? fds[0] : -1);
		task_sleep_ns(1000000);
		for (unsigned i = 0; i < MEMBERS; i++)
			event_close(fds[(i + round) % MEMBERS]);
	}
	CHECK(sys_kill(pid, SIGKILL) == 0, "kill");
	CHECK(task_wait_exit(pid) == -SIGKILL, "the child's end");
	sys_close(ends[0]);
	sys_close(ends[1]);
}

/* Decimal text of a descriptor (below 1000). */
static const char *fd_text(char text[4], int fd)
{
	text[0] = (char)('0' + fd / 100);
	text[1] = (char)('0' + fd / 10 % 10);
	text[2] = (char)('0' + fd % 10);
	text[3] = 0;
	return text;
}

static void survive_exec(void)
{
	int pid = task_fork();

	if (!pid) {
		struct perf_event_attr attr = event_attr(
			PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
		long closed = sys_perf_event_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		int kept = open_running(0, -1);
		char kept_text[4], closed_text[4];
		const char *arguments[] = {"lifecycle", "after-exec", fd_text(kept_text, kept),
			fd_text(closed_text, (int)closed), NULL};
		static const char *const environment[] = {NULL};

		REQUIRE(closed >= 0, "open with CLOEXEC %ld", closed);
		sys_execve("/bin/lifecycle", arguments, environment);
		sys_exit(2);
	}
	CHECK(task_wait_exit(pid) == 0, "the program after exec");
}

static int after_exec(const char *kept, const char *closed)
{
	int kept_fd = (int)text_number(kept), closed_fd = (int)text_number(closed);
	struct reading r = event_read(kept_fd);

	CHECK(r.value > 0, "the value did not survive exec");
	check_counts("after exec", kept_fd);
	CHECK(sys_read(closed_fd, &r, sizeof r) == -EBADF, "fd %d is open after exec", closed_fd);
	return verdict_failures() != 0;
}

static void shared_by_fork(void)
{
	int ends[2], fd = open_running(0, -1), pid;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	pid = task_fork();
	if (!pid) {
		struct reading first, second;

		sys_close(ends[1]);
		task_await(ends[0]); /* the parent has closed its descriptor */
		first = event_read(fd);
		task_sleep_ns(3000000);
		second = event_read(fd);
		CHECK(first.value > 0, "value %lu", first.value);
		CHECK(second.value >= first.value && second.enabled_ns >= first.enabled_ns,
			"%lu then %lu", first.value, second.value);
		event_close(fd);
		sys_exit(verdict_failures() != 0);
	}
	sys_close(ends[0]);
	event_close(fd);
	task_signal(ends[1]);
	plain_loop(ROUNDS);
	CHECK(task_wait_exit(pid) == 0, "child");
	sys_close(ends[1]);
}

static void mapping_outlives_fd(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct ring ring;
	uint64_t head;
	int fd;

	attr.sample_period = 50000;
	attr.sample_type = SAMPLE_FIELDS;
	fd = event_require(&attr, 0, -1, -1);
	ring = ring_map(fd, 2);
	event_enable(fd);
	event_close(fd);
	head = ring_head(&ring);
	/* A period is 50 us; an emulator on a busy host may be late with the interrupt. */
	for (unsigned i = 0; i < 100 && ring_head(&ring) == head; i++)
		plain_loop(200000);
	measure("mapped_bytes=%lu", ring_head(&ring) - head);
	CHECK(ring_head(&ring) > head, "no sample after the descriptor was closed");
	ring_unmap(&ring);
}

static void many_cycles(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int first = -1;

	attr.sample_period = 1000000;
	attr.disabled = 0;
	for (unsigned i = 0; i < CYCLES_MAX; i++) {
		int fd = event_require(&attr, i & 1 ? -1 : 0, i & 1 ? 0 : -1, -1);

		if (!i)
			first = fd;
		REQUIRE(fd == first, "cycle %u: fd %d, the first was %d", i, fd, first);
		if (i % 10 == 0) {
			struct ring ring = ring_map(fd, 1);

			ring_unmap(&ring);
		}
		event_close(fd);
	}
	measure("open_close=%u", CYCLES_MAX);
}

int main(int argc, char **argv)
{
	verdict_begin("lifecycle");
	if (argc == 4 && text_equal(argv[1], "after-exec"))
		return after_exec(argv[2], argv[3]);
	close_orders();
	orphans_lead();
	exits_with_events();
	close_while_it_runs();
	survive_exec();
	shared_by_fork();
	mapping_outlives_fd();
	many_cycles();
	return verdict_end();
}
