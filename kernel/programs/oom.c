/* SPDX-License-Identifier: MIT
 *
 * oom: memory runs out, and everything but the one who took it goes on.
 *
 *	oom [MIB]
 *
 * A first child holds MIB mebibytes (460 if not said: for a machine of 512) all the while, so that
 * the rest is soon used up.
 *
 * Checks:
 *   - a child that touches more memory than there is, by pages, is killed by SIGKILL, HOGS times;
 *   - forks until the kernel says no (ENOMEM), with page tables that are large to copy: what the
 *     last fork had begun is given back, and the children that were made end well;
 *   - pipes, and events with rings, until the kernel says no (ENOMEM, EMFILE, ENFILE), more than a
 *     few of each; all are closed again;
 *   - after each of them half of what was free can be had, and an event counts.
 * For kernels that kill the one who asks last.
 *
 * System calls: mmap munmap clone wait4 exit_group pipe2 read write close perf_event_open ioctl.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define HOG_BYTES    (1ul << 30)
#define AFTER_BYTES  (16ul << 20)
#define TABLE_SPAN   (2ul << 20)
#define SPREAD_BYTES (16ul << 20)
#define HOGS         2u
#define FEW          50u
#define FDS_MAX      2048u
#define RING_BYTES   ((1ul + 8) * PAGE_BYTES)

/* Touches every page; false if the address space cannot be had. */
static bool touch(size_t bytes, bool keep)
{
	long at = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at <= 0)
		return false;
	for (size_t i = 0; i < bytes; i += PAGE_BYTES)
		((volatile unsigned char *)at)[i] = 1;
	return keep || sys_munmap((void *)at, bytes) == 0;
}

static int open_running(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);

	attr.disabled = 0;
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP;
	return event_open(&attr, 0, -1, -1);
}

/* Memory is there again, and events work. */
static void check_recovery(const char *after)
{
	int pid = task_fork(), fd = open_running(), status;
	struct reading r;

	if (!pid)
		sys_exit(!touch(AFTER_BYTES, false));
	status = task_wait_exit(pid);
	CHECK(status == 0, "after %s: a child that takes %lu bytes ended with %d", after,
		AFTER_BYTES, status);
	REQUIRE(fd >= 0, "after %s: open: %d", after, fd);
	plain_loop(10000);
	r = event_read(fd);
	CHECK(r.running_ns > 0, "after %s: the event did not run", after);
	event_close(fd);
}

static void hogs(void)
{
	for (unsigned i = 0; i < HOGS; i++) {
		int pid = task_fork(), status;

		if (!pid)
			sys_exit(touch(HOG_BYTES, false) ? 0 : 1);
		status = task_wait_exit(pid);
		CHECK(status == -SIGKILL || status == 1, "hog %u ended with %d", i, status);
	}
	check_recovery("the hogs");
}

/* A page in each of many last-level page tables (2 MiB each with pages of 4 KiB): a fork must copy
 * the tables, while the pages stay shared. */
static unsigned char *spread(void)
{
	long at = sys_mmap(
		NULL, SPREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at > 0, "mmap of %lu bytes: %ld", SPREAD_BYTES, at);
	for (size_t i = 0; i < SPREAD_BYTES; i += TABLE_SPAN)
		((volatile unsigned char *)at)[i] = 1;
	return (unsigned char *)at;
}

static void forks(void)
{
	unsigned char *tables = spread();
	unsigned made = 0, ended_well = 0;
	int ends[2], status;
	char byte;
	long pid;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	while ((pid = sys_clone(SIGCHLD, NULL)) > 0)
		made++;
	if (pid == 0) {
		sys_close(ends[1]);
		sys_exit(sys_read(ends[0], &byte, 1) != 0);
	}
	CHECK(pid == -ENOMEM, "fork %u: %ld", made, pid);
	CHECK(made > FEW, "only %u forks", made);
	sys_close(ends[1]); /* the end of file lets them go */
	sys_close(ends[0]);
	for (unsigned i = 0; i < made; i++) {
		pid = sys_wait4(-1, &status, 0);
		REQUIRE(pid > 0, "wait %u of %u: %ld", i, made, pid);
		ended_well += status == 0;
	}
	measure("forks=%u", made);
	REQUIRE(sys_munmap(tables, SPREAD_BYTES) == 0, "munmap");
	/* One whose page of stack or data could not be copied was killed, and rightly. */
	CHECK(ended_well > made / 2, "%u of %u children ended well", ended_well, made);
	check_recovery("the forks");
}

static void pipes(void)
{
	static int ends[FDS_MAX][2];
	unsigned made = 0;
	long answer = 0;

	while (made < FDS_MAX && (answer = sys_pipe(ends[made], 0)) == 0)
		made++;
	measure("pipes=%u answer=%ld", made, answer);
	CHECK(answer == -ENOMEM || answer == -EMFILE || answer == -ENFILE, "pipe %u: %ld", made,
		answer);
	CHECK(made > FEW, "only %u pipes", made);
	for (unsigned i = 0; i < made; i++) {
		sys_close(ends[i][0]);
		sys_close(ends[i][1]);
	}
	check_recovery("the pipes");
}

static void events(void)
{
	static struct {
		int fd;
		void *ring;
	} events[FDS_MAX];
	unsigned made = 0, rings = 0;
	long answer = 0, at;

	while (made < FDS_MAX && (answer = open_running()) >= 0) {
		events[made].fd = (int)answer;
		at = sys_mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)answer, 0);
		CHECK(at > 0 || at == -ENOMEM || at == -EPERM, "ring %u: %ld", made, at);
		events[made].ring = at > 0 ? (void *)at : NULL;
		rings += at > 0;
		made++;
	}
	measure("events=%u rings=%u answer=%ld", made, rings, answer);
	CHECK(answer == -ENOMEM || answer == -EMFILE || answer == -ENFILE, "event %u: %ld", made,
		answer);
	CHECK(made > FEW && rings > 0, "only %u events, %u rings", made, rings);
	for (unsigned i = 0; i < made; i++) {
		event_close(events[i].fd);
		if (events[i].ring != NULL)
			CHECK(sys_munmap(events[i].ring, RING_BYTES) == 0, "munmap of %u", i);
	}
	check_recovery("the events");
}

/* The child that holds memory; it has it all when this returns. */
static int start_ballast(size_t bytes)
{
	int ends[2], pid;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	pid = task_fork();
	if (!pid) {
		sys_close(ends[0]);
		if (!touch(bytes, true))
			sys_exit(1);
		task_signal(ends[1]);
		for (;;)
			task_sleep_ns(3600000000000ull);
	}
	sys_close(ends[1]);
	task_await(ends[0]);
	sys_close(ends[0]);
	return pid;
}

int main(int argc, char **argv)
{
	int ballast;

	verdict_begin("oom");
	ballast = start_ballast((argc > 1 ? (size_t)text_number(argv[1]) : 460) << 20);
	hogs();
	forks();
	pipes();
	events();
	CHECK(sys_kill(ballast, SIGKILL) == 0, "the ballast is gone");
	CHECK(task_wait_exit(ballast) == -SIGKILL, "the ballast ended before");
	check_recovery("the ballast");
	return verdict_end();
}
