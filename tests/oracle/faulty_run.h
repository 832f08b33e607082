/* SPDX-License-Identifier: MIT
 *
 * faulty_run.h: small scenarios, run with one seam of the engine broken on purpose.
 *
 * The test program is linked so that calls through these seams (the HAL, and a few functions inside
 * the engine) pass through faulty_run.c first, where the fault of the hour changes one thing. The
 * engine's source and the port are what they are everywhere.
 */
#ifndef TESTS_ORACLE_FAULTY_RUN_H
#define TESTS_ORACLE_FAULTY_RUN_H

#include <stdbool.h>
#include <stdint.h>

/* What to break. The comment says what an engine would have to get wrong to look like it. */
enum fault {
	FAULT_NONE,
	FAULT_ENABLE_DROPPED,   /* PMCNTENSET is not written */
	FAULT_DISABLE_DROPPED,  /* PMCNTENCLR is not written: the counter runs on */
	FAULT_WRONG_EVENT,      /* another event number in PMEVTYPER */
	FAULT_NO_FILTER,        /* exclude_kernel forgotten in PMEVTYPER */
	FAULT_PMU_OFF,          /* PMCR.E never set */
	FAULT_COUNT_OFF_BY_ONE, /* a counter is read one too high, once */
	FAULT_VALUE_OFF_BY_ONE, /* read(2) says one more */
	FAULT_VALUE_GOES_BACK,  /* read(2) says 0 the second time */
	FAULT_TIMES_SWAPPED,    /* read(2) has running before enabled */
	FAULT_TIME_OFF_BY_ONE,  /* the clock is 1 ns late, once */
	FAULT_WRONG_ID,         /* read(2) has another id */
	FAULT_READ_FAILS,       /* read(2) fails */
	FAULT_PLACED_TWICE,     /* one event in two slots */
	FAULT_NOT_LEFT,         /* an event keeps its slot after close */
	FAULT_WRONG_CPU,        /* an event of another CPU is placed here */
	FAULT_MEMBER_UNPLACED,  /* one event of a group has no counter */
	FAULT_STARTS_ON,        /* attr.disabled is ignored */
	FAULT_NOT_EXCLUSIVE,    /* attr.exclusive is ignored */
	FAULT_NOTHING_FITS,     /* no slot is ever found */
	FAULT_FEWER_SLOTS,      /* one slot less is used than there is */
	FAULT_NO_TURNS,         /* the tick does not rotate */
	FAULT_SAMPLE_DROPPED,   /* a sample that is due is not written */
	FAULT_SAMPLE_LOST,      /* a sample is lost though there is room */
	FAULT_SAMPLE_DOUBLED,   /* a sample is written twice */
	FAULT_WRONG_PERIOD,     /* another sample_period */
	FAULT_RECORD_IP,        /* records: another ip, */
	FAULT_RECORD_KERNEL_IP, /* a kernel address for an event without kernel, */
	FAULT_RECORD_TID,       /* another task, */
	FAULT_RECORD_TIME,      /* another time, */
	FAULT_RECORD_TIME_BACK, /* a time before the last one's, */
	FAULT_RECORD_CPU,       /* another CPU, */
	FAULT_RECORD_READING,   /* another value in its reading, */
	FAULT_RECORD_SIZE,      /* a size that is not its own, */
	FAULT_LOST_NUMBER,      /* another number of lost records */
	FAULT_RECORDS_DOUBLED,  /* every record twice */
	FAULT_STAYS_ON,         /* counters and the PMU are never stopped */
	FAULT_UNKNOWN_ID,       /* an event that nobody opened is placed */
	FAULT_SAME_ID,          /* all events have one id */
};

enum scenario {
	SCENARIO_COUNTING, /* a group and an event of a task, a disabled event, reads, close */
	SCENARIO_CROWD,    /* more events than counters; some pinned */
	SCENARIO_SAMPLING, /* a sampling group with readings; a small ring that overflows */
	SCENARIO_TWO_CPUS, /* events bound to CPUs, one exclusive */
};

/* Run it; true if a violation of `law` was reported. With `law` NULL: true if none at all was. What
 * was reported is printed when the answer is false. */
bool faulty_run(enum scenario scenario, enum fault fault, const char *law);

#endif
