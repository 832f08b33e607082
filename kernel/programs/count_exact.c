/* SPDX-License-Identifier: MIT
 *
 * count_exact: instructions at EL0 are counted to the instruction.
 *
 * For one CPU under `-icount shift=0`, where QEMU's INST_RETIRED is exact. An instructions event
 * with exclude_kernel is enabled and disabled by the two system calls inside measured_loop (loop.S
 * says which instruction is the first and which the last that counts); the number must come out
 * exactly:
 *   - for short and long loops, ticks and their interrupts in between or not;
 *   - ten times in a row for a loop of several ticks;
 *   - ten times while another task competes for the CPU, so that slices begin and end in the loop;
 *   - for each member of a group that is enabled and disabled as a whole;
 *   - with other events on the task, as many as the PMU has counters.
 * Where the PMU counts no instructions there is nothing exact to test: the verdict is FAIL, because
 * the program belongs to the class of machines that have it.
 *
 * System calls: perf_event_open ioctl read close clone wait4 kill sched_setaffinity write
 * exit_group.
 */
#include "event.h"
#include "loop.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define REPEATS     10u
#define LONG_ROUNDS 5000000u /* 15 ms: some ticks */

static struct perf_event_attr user_instructions(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

/* Counts the loop once on a fresh count and compares. */
static void count_once(const char *how, int fd, uint64_t rounds)
{
	uint64_t expected = loop_measured_insns(rounds);
	struct reading r;

	event_reset(fd);
	CHECK(measured_loop(fd, rounds, 0) == 0, "%s: ioctl failed", how);
	r = event_read(fd);
	CHECK(r.value == expected, "%s: %lu rounds counted %lu, expected %lu (%ld)", how, rounds,
		r.value, expected, (long)(r.value - expected));
	measure("%s rounds=%lu counted=%lu expected=%lu", how, rounds, r.value, expected);
}

static void lengths(int fd)
{
	static const uint64_t rounds[] = {1, 2, 3, 10, 1000, 12345, 1000000};

	for (unsigned i = 0; i < sizeof rounds / sizeof *rounds; i++)
		count_once("length", fd, rounds[i]);
}

static void with_competitor(int fd)
{
	int pid = task_fork();

	if (!pid) {
		event_close(fd);
		loop_forever();
	}
	for (unsigned i = 0; i < REPEATS; i++)
		count_once("competitor", fd, LONG_ROUNDS);
	CHECK(sys_kill(pid, SIGKILL) == 0, "kill");
	task_wait(pid);
}

static void as_group(void)
{
	struct perf_event_attr attr = user_instructions();
	uint64_t expected = loop_measured_insns(1000000);
	int fds[3];

	for (unsigned i = 0; i < 3; i++) {
		attr.disabled = i == 0;
		fds[i] = event_require(&attr, 0, -1, i ? fds[0] : -1);
	}
	CHECK(measured_loop(fds[0], 1000000, PERF_IOC_FLAG_GROUP) == 0, "group ioctl failed");
	for (unsigned i = 0; i < 3; i++) {
		struct reading r = event_read(fds[i]);

		measure("group member=%u counted=%lu expected=%lu", i, r.value, expected);
		CHECK(r.value == expected, "member %u counted %lu, expected %lu", i, r.value,
			expected);
	}
	for (unsigned i = 0; i < 3; i++)
		event_close(fds[i]);
}

static void among_others(int fd)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);
	int others[5];

	attr.disabled = 0;
	for (unsigned i = 0; i < 5; i++)
		others[i] = event_require(&attr, 0, -1, -1);
	for (unsigned i = 0; i < REPEATS; i++)
		count_once("among", fd, 100000 + i);
	for (unsigned i = 0; i < 5; i++)
		event_close(others[i]);
}

int main(void)
{
	struct perf_event_attr attr = user_instructions();
	int fd;

	verdict_begin("count_exact");
	REQUIRE(event_has_instructions(), "no instructions event");
	REQUIRE(task_cpu_count() == 1, "exact with one CPU only");
	fd = event_require(&attr, 0, -1, -1);
	lengths(fd);
	for (unsigned i = 0; i < REPEATS; i++)
		count_once("repeat", fd, LONG_ROUNDS);
	with_competitor(fd);
	as_group();
	among_others(fd);
	event_close(fd);
	return verdict_end();
}
