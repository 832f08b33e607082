/* SPDX-License-Identifier: MIT
 *
 * switch_bench: what perf events cost in a context switch.
 *
 *	switch_bench MODE [EVENTS [ROUNDS]]
 *
 * Two processes pinned to CPU 0 bounce a byte over two pipes; every bounce is one context switch.
 * Each has EVENTS raw cycles events attached as the mode says. Prints the generic timer's ticks and
 * the nanoseconds per switch in tenths: under `-icount shift=0` a nanosecond is an instruction. The
 * cost of the events is the difference from mode none; the same program on Linux gives the figure
 * beside it.
 *
 *	none      no events anywhere
 *	other     one event, on a third task
 *	indep     EVENTS events on each
 *	one       EVENTS events on one of the two
 *	disabled  EVENTS events on each, left off
 *	group     one group of EVENTS on each
 *	pinned    pinned events on each
 *	cpu       events on CPU 0, none on the tasks
 *	sample    sampling events that never overflow
 *
 * The verdict is about the run, not the cost: every event that ran has counted, no fewer ran than
 * there are counters, one that is off has not counted, and all bytes went round.
 *
 * System calls: sched_setaffinity pipe2 clone read write wait4 perf_event_open close nanosleep kill
 * exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define EVENTS_MAX   64u
#define COUNTERS_MIN 6u        /* so many events at least count at any time */
#define WARM_UP_NS   60000000u /* Linux' scheduler settles in about 15 ms of unequal run times */

enum mode { NONE, OTHER, INDEP, ONE, GROUP, PINNED, CPU, SAMPLE, DISABLED, MODES };

static const char *const mode_names[MODES] = {
	"none", "other", "indep", "one", "group", "pinned", "cpu", "sample", "disabled"};

static int fds[EVENTS_MAX];

static void open_events(enum mode mode, unsigned events)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);

	attr.disabled = mode == DISABLED;
	attr.pinned = mode == PINNED;
	if (mode == SAMPLE) {
		attr.sample_period = 1ull << 40;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				   PERF_SAMPLE_PERIOD;
	}
	for (unsigned i = 0; i < events; i++) {
		bool member = mode == GROUP && i;

		fds[i] = event_require(
			&attr, mode == CPU ? -1 : 0, mode == CPU ? 0 : -1, member ? fds[0] : -1);
	}
}

static void check_events(enum mode mode, unsigned events)
{
	unsigned counted = 0;

	for (unsigned i = 0; i < events; i++) {
		struct reading r = event_read(fds[i]);

		if (mode == DISABLED) {
			CHECK(!r.value && !r.enabled_ns, "event %u is off and has %lu", i, r.value);
			continue;
		}
		/* The last of many events may not have had its turn: then it has no count either.
		 */
		CHECK(r.enabled_ns && r.running_ns <= r.enabled_ns && !r.value == !r.running_ns,
			"event %u: %lu enabled %lu running %lu", i, r.value, r.enabled_ns,
			r.running_ns);
		counted += r.value > 0;
	}
	if (mode != DISABLED && events)
		CHECK(counted == events || counted >= COUNTERS_MIN, "%u of %u events counted",
			counted, events);
}

static int start_third(void)
{
	int pid = task_fork();

	if (!pid) {
		struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);

		attr.disabled = 0;
		event_require(&attr, 0, -1, -1);
		task_sleep_ns(1000000000000);
		sys_exit(0);
	}
	task_sleep_ns(50000000);
	return pid;
}

static void bounce(int out, int in, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		task_signal(out);
		task_await(in);
	}
}

static _Noreturn void partner(enum mode mode, unsigned events, int in, int out)
{
	char byte;

	open_events(mode, events);
	while (sys_read(in, &byte, 1) == 1)
		task_signal(out);
	check_events(mode, events);
	sys_exit(verdict_failures() != 0);
}

static void bench(enum mode mode, unsigned events, uint64_t rounds)
{
	bool on_both = mode != NONE && mode != OTHER && mode != ONE && mode != CPU;
	unsigned mine = mode == NONE || mode == OTHER ? 0 : events;
	int there[2], back[2], pid, third = mode == OTHER ? start_third() : 0;
	uint64_t start, ticks, tenths_ns;

	REQUIRE(sys_pipe(there, 0) == 0 && sys_pipe(back, 0) == 0, "pipe");
	pid = task_fork();
	if (!pid) {
		sys_close(there[1]);
		sys_close(back[0]);
		partner(mode, on_both ? events : 0, there[0], back[1]);
	}
	sys_close(there[0]);
	sys_close(back[1]);
	open_events(mode, mine);
	for (start = clock_now_ns(); clock_now_ns() - start < WARM_UP_NS;)
		bounce(there[1], back[0], 10);
	start = clock_ticks();
	bounce(there[1], back[0], rounds);
	ticks = clock_ticks() - start;
	check_events(mode, mine);
	sys_close(there[1]);
	CHECK(task_wait_exit(pid) == 0, "partner");
	if (third) {
		CHECK(sys_kill(third, SIGKILL) == 0, "kill");
		task_wait(third);
	}
	tenths_ns = clock_ticks_to_ns(ticks) * 10 / (2 * rounds);
	measure("mode=%s events=%u rounds=%lu ticks=%lu ns_per_switch=%lu.%lu", mode_names[mode],
		events, rounds, ticks, tenths_ns / 10, tenths_ns % 10);
}

int main(int argc, char **argv)
{
	unsigned events = argc > 2 ? (unsigned)text_number(argv[2]) : 0;
	uint64_t rounds = argc > 3 ? (uint64_t)text_number(argv[3]) : 2000;
	unsigned mode = 0;

	verdict_begin("switch_bench");
	while (mode < MODES && (argc < 2 || !text_equal(argv[1], mode_names[mode])))
		mode++;
	REQUIRE(mode < MODES, "no such mode");
	REQUIRE(events <= EVENTS_MAX && rounds, "%u events, %lu rounds", events, rounds);
	task_pin(0, 0);
	bench((enum mode)mode, events, rounds);
	return verdict_end();
}
