/* SPDX-License-Identifier: MIT
 *
 * test_oracle_faults.c: a check that cannot fail is a defect. Each fault is reported under the law
 * that it breaks, and without a fault nothing is. A plain program, so that it runs under every
 * sanitizer.
 */
#include <stddef.h>
#include <stdio.h>

#include "faulty_run.h"

static const struct {
	const char *what;
	enum scenario scenario;
	enum fault fault;
	const char *law;
} cases[] = {
	{"counting, as it should be", SCENARIO_COUNTING, FAULT_NONE, NULL},
	{"a crowd, as it should be", SCENARIO_CROWD, FAULT_NONE, NULL},
	{"sampling, as it should be", SCENARIO_SAMPLING, FAULT_NONE, NULL},
	{"two CPUs, as it should be", SCENARIO_TWO_CPUS, FAULT_NONE, NULL},
	{"a counter is not enabled", SCENARIO_COUNTING, FAULT_ENABLE_DROPPED, "C1"},
	{"a counter is left enabled", SCENARIO_COUNTING, FAULT_DISABLE_DROPPED, "S2"},
	{"a counter counts another event", SCENARIO_COUNTING, FAULT_WRONG_EVENT, "C1"},
	{"a counter counts the kernel too", SCENARIO_COUNTING, FAULT_NO_FILTER, "C1"},
	{"the PMU stays off", SCENARIO_COUNTING, FAULT_PMU_OFF, "C1"},
	{"a counter is read one too high", SCENARIO_COUNTING, FAULT_COUNT_OFF_BY_ONE, "C1"},
	{"a value is one too high", SCENARIO_COUNTING, FAULT_VALUE_OFF_BY_ONE, "C1"},
	{"a value goes back", SCENARIO_COUNTING, FAULT_VALUE_GOES_BACK, "C3"},
	{"times are swapped", SCENARIO_CROWD, FAULT_TIMES_SWAPPED, "T1"},
	{"the clock is 1 ns late once", SCENARIO_COUNTING, FAULT_TIME_OFF_BY_ONE, "T1"},
	{"an id is wrong", SCENARIO_COUNTING, FAULT_WRONG_ID, "R1"},
	{"a read fails", SCENARIO_COUNTING, FAULT_READ_FAILS, "R2"},
	{"an event is in two slots", SCENARIO_COUNTING, FAULT_PLACED_TWICE, "S1"},
	{"a closed event keeps its slot", SCENARIO_COUNTING, FAULT_NOT_LEFT, "L2"},
	{"an event counts on a CPU that is not its own", SCENARIO_TWO_CPUS, FAULT_WRONG_CPU, "S5"},
	{"one of a group has no counter", SCENARIO_COUNTING, FAULT_MEMBER_UNPLACED, "S7"},
	{"a disabled event counts", SCENARIO_COUNTING, FAULT_STARTS_ON, "S4"},
	{"an exclusive event is not alone", SCENARIO_TWO_CPUS, FAULT_NOT_EXCLUSIVE, "S9"},
	{"what fits is not placed", SCENARIO_COUNTING, FAULT_NOTHING_FITS, "T4"},
	{"a pinned event that fits is not placed", SCENARIO_CROWD, FAULT_NOTHING_FITS, "S6"},
	{"somebody waits beside a free counter", SCENARIO_CROWD, FAULT_FEWER_SLOTS, "T6"},
	{"nobody's turn comes", SCENARIO_CROWD, FAULT_NO_TURNS, "T5"},
	{"a sample is missing", SCENARIO_SAMPLING, FAULT_SAMPLE_DROPPED, "P1"},
	{"a sample is lost beside free space", SCENARIO_SAMPLING, FAULT_SAMPLE_LOST, "B3"},
	{"a sample comes twice", SCENARIO_SAMPLING, FAULT_SAMPLE_DOUBLED, "P1"},
	{"another period", SCENARIO_SAMPLING, FAULT_WRONG_PERIOD, "P1"},
	{"another ip", SCENARIO_SAMPLING, FAULT_RECORD_IP, "P1"},
	{"a kernel address leaks", SCENARIO_SAMPLING, FAULT_RECORD_KERNEL_IP, "X1"},
	{"another task", SCENARIO_SAMPLING, FAULT_RECORD_TID, "P1"},
	{"another time", SCENARIO_SAMPLING, FAULT_RECORD_TIME, "P1"},
	{"time goes back", SCENARIO_SAMPLING, FAULT_RECORD_TIME_BACK, "B7"},
	{"another CPU", SCENARIO_SAMPLING, FAULT_RECORD_CPU, "P1"},
	{"a reading that is not of its instant", SCENARIO_SAMPLING, FAULT_RECORD_READING, "C6"},
	{"a size that is not the record's", SCENARIO_SAMPLING, FAULT_RECORD_SIZE, "B2"},
	{"records that were not due", SCENARIO_SAMPLING, FAULT_RECORDS_DOUBLED, "B1"},
	{"counting goes on after the last event", SCENARIO_COUNTING, FAULT_STAYS_ON, "S8"},
	{"an event that nobody opened counts", SCENARIO_COUNTING, FAULT_UNKNOWN_ID, "L3"},
	{"two events have one id", SCENARIO_COUNTING, FAULT_SAME_ID, "L4"},
	{"another number of lost records", SCENARIO_SAMPLING, FAULT_LOST_NUMBER, "B3"},
};

int main(void)
{
	const size_t count = sizeof(cases) / sizeof(cases[0]);
	unsigned int failed = 0;

	for (size_t i = 0; i < count; i++) {
		bool found = faulty_run(cases[i].scenario, cases[i].fault, cases[i].law);

		printf("%s: %s (%s)\n", found ? "ok" : "NOT REPORTED", cases[i].what,
			cases[i].law ? cases[i].law : "nothing reported");
		failed += !found;
	}
	printf("%zu cases, %u failed\n", count, failed);
	return failed != 0;
}
