/* SPDX-License-Identifier: MIT
 *
 * scenario_explore.h: what a scenario says to the explorer: when its race is, how far it is to be
 * exhausted, and which cells of the race matrix it covers.
 *
 * The race matrix has a row for each hook of the kernel, a column for each call of a user, and in
 * each cell two places: the hook runs on the CPU of the caller or on another one. A cell also says
 * what kind of event the call is on. docs/verification.md shows the matrix; tests/explorer makes
 * it.
 */
#ifndef TALLY_TOOLS_SCENARIO_EXPLORE_H
#define TALLY_TOOLS_SCENARIO_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>

enum race_hook {
	RACE_SCHED_IN,  /* of the task that is counted */
	RACE_SCHED_OUT, /* of the task that is counted */
	RACE_TICK,
	RACE_OVERFLOW,
	RACE_MIGRATE, /* the CPU of this hook is the one that the task leaves */
	RACE_EXEC,
	RACE_EXIT,
	RACE_OFFLINE, /* the CPU of these two is the one that goes or comes */
	RACE_ONLINE,
	RACE_FORK,
	RACE_HOOKS,
};

enum race_call {
	RACE_OPEN,
	RACE_ENABLE,
	RACE_DISABLE,
	RACE_RESET,
	RACE_READ,
	RACE_GROUP_LINK, /* an open with a leader */
	RACE_MMAP,
	RACE_MUNMAP,
	RACE_CLOSE_EVENT,
	RACE_CLOSE_LEADER, /* of a group */
	RACE_CLOSE_ROOT,   /* of the last event of its context */
	RACE_CALLS,
};

#define RACE_COUNTING (1u << 0)
#define RACE_SAMPLING (1u << 1)
#define RACE_LEADER   (1u << 2) /* of a group with members */
#define RACE_MEMBER   (1u << 3) /* neither: an event alone */
#define RACE_ROLES    4u

struct scenario_cell {
	uint8_t hook; /* enum race_hook */
	uint8_t call; /* enum race_call */
	bool same_cpu;
	uint8_t roles; /* RACE_COUNTING or RACE_SAMPLING, and whether leader or member */
};

struct scenario_budget {
	uint32_t preemptions;
	uint32_t interrupts;
	uint32_t stale;
	uint32_t faults;
};

struct scenario_explore {
	bool present;                 /* the file has a section `explore` */
	uint64_t at_ns;               /* the instant of the race: before it nothing is chosen */
	struct scenario_budget bound; /* what is proven once */
	struct scenario_budget test;  /* what every test run proves: at most `bound` */
	bool kernel_events;           /* kernel code executes irq_rates */
	bool late_registers;          /* PMU register writes may take effect late */
	bool ticks;                   /* a tick may come at any point */
	const struct scenario_cell *covers;
	uint32_t cover_count;
};

/* As the files write them; NULL past the last. */
const char *race_hook_name(unsigned int hook);
const char *race_call_name(unsigned int call);
const char *race_role_name(unsigned int role); /* of bit number `role` */

#endif
