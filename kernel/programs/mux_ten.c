/* SPDX-License-Identifier: MIT
 *
 * mux_ten: ten events share fewer counters, and their scaled values tell the truth.
 *
 *	mux_ten [COUNTERS [CPU]]
 *
 * Ten RAW cycles events of one task run for BUSY_NS on CPU (0 unless said). COUNTERS is how many of
 * its counters can count cycles: 6 event counters and the cycle counter, 7, unless the class of
 * machine says otherwise. The truth is the enabled time (a cycle is a nanosecond, see event.h).
 * Checks:
 *   - every event has a value and 0 < running <= enabled; one at least had to wait;
 *   - value * enabled / running is the truth within 10 %;
 *   - the running times add up to no more than the counters could give, and to at least 80 % of it;
 *   - nobody starves: each ran at least half of a fair share.
 *
 * System calls: perf_event_open ioctl read close sched_setaffinity write exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "task.h"
#include "verdict.h"

#define EVENTS  10u
#define BUSY_NS 200000000u

int main(int argc, char **argv)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);
	uint64_t counters = argc > 1 ? (uint64_t)text_number(argv[1]) : 7;
	uint64_t running_sum_ns = 0, possible_ns, fair_ns, start_ns;
	struct reading r[EVENTS];
	unsigned waited = 0;
	int fds[EVENTS];

	verdict_begin("mux_ten");
	task_pin(0, argc > 2 ? (unsigned)text_number(argv[2]) : 0);
	for (unsigned i = 0; i < EVENTS; i++)
		fds[i] = event_require(&attr, 0, -1, -1);
	start_ns = clock_now_ns();
	for (unsigned i = 0; i < EVENTS; i++)
		event_enable(fds[i]);
	clock_spin_ns(BUSY_NS);
	for (unsigned i = 0; i < EVENTS; i++)
		event_disable(fds[i]);
	possible_ns = counters * (clock_now_ns() - start_ns);
	fair_ns = possible_ns / EVENTS;
	for (unsigned i = 0; i < EVENTS; i++) {
		r[i] = event_read(fds[i]);
		running_sum_ns += r[i].running_ns;
		waited += r[i].running_ns < r[i].enabled_ns;
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		/* In units of 1000 ns, so that the product fits: both times are below an hour. */
		uint64_t scaled = r[i].running_ns < 1000 ? 0
							 : r[i].value * (r[i].enabled_ns / 1000) /
								   (r[i].running_ns / 1000);

		measure("event=%u value=%lu enabled_ns=%lu running_ns=%lu scaled=%lu", i,
			r[i].value, r[i].enabled_ns, r[i].running_ns, scaled);
		CHECK(r[i].value > 0, "event %u: value 0", i);
		event_check_times("event", &r[i], false);
		CHECK(within_percent(scaled, r[i].enabled_ns, 10), "event %u: scaled %lu of %lu", i,
			scaled, r[i].enabled_ns);
		CHECK(r[i].running_ns >= fair_ns / 2, "event %u ran %lu ns, a fair share is %lu", i,
			r[i].running_ns, fair_ns);
		event_close(fds[i]);
	}
	measure("counters=%lu running_sum_ns=%lu possible_ns=%lu waited=%u", counters,
		running_sum_ns, possible_ns, waited);
	CHECK(waited > 0, "no event waited: there are no %u counters", EVENTS);
	CHECK(running_sum_ns <= possible_ns, "running %lu ns of %lu", running_sum_ns, possible_ns);
	CHECK(running_sum_ns * 10 >= possible_ns * 8, "running only %lu ns of %lu", running_sum_ns,
		possible_ns);
	return verdict_end();
}
