/* SPDX-License-Identifier: MIT
 *
 * oracle.h: the right answers of a run, computed from the machine's event stream alone.
 *
 * The oracle listens to one machine: what was retired, who ran where, which calls were made and
 * with what result, what the PMU registers say, and which event the engine says it has in which
 * counter. From that it computes, with no code of the engine, what every event must have counted,
 * how long it was enabled and ran, and which samples were due; and it judges: every byte that a
 * read returns, every record that is taken out of a ring, every stretch of time in which a counter
 * is set up otherwise than its event asks. Tolerance is 0. Which group gets a turn when not all
 * fit is the engine's choice and taken as given, but judged by the laws.
 *
 * What is wrong becomes a violation: one line that names the law.
 *
 *   C1 an event counts exactly what it should: counter set up for it, value as it must be
 *   C3 values do not go back but by RESET        C6 a reading in a sample is of one instant
 *   T1 times as they must be, running <= enabled, never back
 *   T4 when all groups fit, all are placed        T5 nobody waits longer than a round of turns
 *   T6 nobody waits beside free counters that fit
 *   S1 one event per slot, one slot per event     S2 no other counter counts
 *   S4 what is off, gated or ended has no slot    S5 on CPUs where it may be
 *   S6 pinned: placed, or in error for want of counters
 *   S7 groups: all enabled events or none         S8 nothing counts after the last event
 *   S9 exclusive groups are alone
 *   L2 a closed event has no slot                 L3 nor has an event that no open returned
 *   L4 ids are not used twice
 *   P1 sample fields: ip, task, time, CPU, period, ids   X1 no kernel address without kernel
 *   B1 no record that was not due                 B2 records parse
 *   B3 lost is what found no room, and is told    B7 times in a ring do not go back
 *   R1 shape and ids of answers                   R2 results of calls
 *
 * Where calls overlap in time (a policy with `concurrent`), the moment at which one took effect may
 * be open; expected values are then ranges, and a *_slack field says how wide.
 *
 * Use: oracle_create() between making a machine and running it, oracle_* accessors during or after
 * the run (also after the machine was destroyed), oracle_destroy(). One thread; nothing is global.
 */
#ifndef ORACLE_ORACLE_H
#define ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/machine.h>

struct oracle;

#define ORACLE_NOBODY   UINT32_MAX /* no event, no CPU */
#define ORACLE_TEXT_MAX 240u

struct oracle_violation {
	const char *law;   /* "C1", "T4", "S7", "B3", ... */
	uint64_t t_ns;     /* when it was seen */
	uint32_t cpu;      /* ORACLE_NOBODY: none in particular */
	uint32_t event;    /* event number; ORACLE_NOBODY: none in particular */
	uint64_t expected; /* as far as it is one number */
	uint64_t found;
	char text[ORACLE_TEXT_MAX]; /* all of it in one line, without a newline */
};

struct oracle_options {
	void *context;
	/* The kernel's id of event number `event`, as PERF_EVENT_IOC_ID gives it; 0: not known.
	 * Asked when an OPEN has succeeded. */
	uint64_t (*event_id)(void *context, uint32_t event);
	/* Told of each violation when it is seen, on the machine's stack; may longjmp or abort. May
	 * be NULL. */
	void (*violated)(void *context, const struct oracle_violation *violation);
	bool without_pmu_irq; /* no overflow interrupt: sampling cannot be */
};

/* Attaches to `machine`, which has not run yet. NULL: no memory. */
struct oracle *oracle_create(struct machine *machine, const struct oracle_options *options);
void oracle_destroy(struct oracle *oracle);

/* What event number k must say now. At the end of the run: its last word. */
struct oracle_count {
	bool opened;      /* some OPEN of it succeeded; else nothing else here is set */
	bool closed;      /* the last fd and mapping are gone: frozen at that moment */
	bool on;          /* enabled, and not ended */
	bool gated;       /* on, but its leader is not */
	bool error;       /* pinned, and found no counter */
	bool ended;       /* its task exited or its CPU went off */
	bool multiplexed; /* at some time it was on and loaded where it may run, and had no counter
			   */
	uint64_t id;
	uint64_t value; /* the least it may be; value + value_slack the most */
	uint64_t value_slack;
	uint64_t enabled_ns;
	uint64_t enabled_slack_ns;
	uint64_t running_ns;
	/* Sample periods: due = written + lost + without_ring + skipped. */
	uint64_t periods_due;
	uint64_t samples_written; /* SAMPLE records put in the ring, read or not */
	uint64_t samples_lost;    /* found no room */
	uint64_t samples_without_ring;
	uint64_t periods_skipped; /* whole periods by which interrupts came late */
	uint64_t samples_seen;    /* SAMPLE records that were drained, and checked */
};

/* false: there is no event k in the list of operations. */
bool oracle_count(const struct oracle *oracle, uint32_t event, struct oracle_count *count);

/* Violations seen: all are counted, the first ORACLE_VIOLATIONS_KEPT kept. */
#define ORACLE_VIOLATIONS_KEPT 64u
uint64_t oracle_violation_count(const struct oracle *oracle);
const struct oracle_violation *oracle_violation(const struct oracle *oracle, uint32_t k);

/* What was judged, so that a verdict can say how much it rests on. */
struct oracle_tally {
	uint64_t stretches; /* of retirement */
	uint64_t reads;     /* answers compared byte by byte */
	uint64_t records;   /* drained and compared */
	uint64_t placements;
};
struct oracle_tally oracle_tally(const struct oracle *oracle);

/* The PMU event number that an attr of this type and config means on a kind of CPU, or a negative
 * errno: the oracle's own table. The upper half of `event_config`, which may name a PMU, is not
 * looked at. */
int oracle_event_number(const struct pmu_cpu_config *config, uint32_t type, uint64_t event_config);

#endif
