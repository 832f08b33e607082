/* SPDX-License-Identifier: MIT
 *
 * explore_target.h: what can be explored, and one run of it.
 *
 * A target is a scenario file, run by the engine on the simulated machine under the eyes of the
 * oracle, or a plan of the small vehicle (explorer/plans.h). Its name is that of the file below
 * scenarios/, without .yaml, or that of the plan.
 */
#ifndef TALLY_TOOLS_EXPLORE_TARGET_H
#define TALLY_TOOLS_EXPLORE_TARGET_H

#include <explorer/search.h>
#include <explorer/trace.h>
#include <explorer/watch.h>
#include <machine/observer.h>

#include "failure.h"

struct explore_target;

struct explore_options {
	bool late_registers; /* register writes may take effect late (H) */
	bool kernel_events;  /* kernel code executes (E); the scenario must say what: irq_rates */
	bool ticks;          /* a tick may come at any point (T) */
	const char *mutant;  /* a seeded fault by name; NULL: none */
	/* numbers of operations that are left out, ascending */
	const uint32_t *dropped;
	uint32_t dropped_count;
};

/* What a run is to be watched for beyond its verdict; NULL members: nobody wants to know. */
struct explore_eyes {
	void *context;
	void (*access)(void *context, const struct explorer_access *access);
	const struct machine_observer *observer;
};

/* `name`: of a plan, a path to a file, or a name below `scenarios`. NULL: *failure says why. */
struct explore_target *explore_target_open(const char *name, const char *scenarios,
	const struct explore_options *options, struct failure *failure);
void explore_target_close(struct explore_target *target);

/* The fields of a trace that name the target. */
void explore_target_describe(const struct explore_target *target, struct explorer_trace *trace);
uint32_t explore_target_operations(const struct explore_target *target);
/* What the scenario file asks for in its section `explore`; false: it has none. */
bool explore_target_bound(const struct explore_target *target, struct explorer_budget *bound,
	struct explorer_budget *test);

/* One run under `search` (explorer_search_next() was called); `eyes` may be NULL. NULL: all is
 * right; else what is wrong, valid until the next run. */
const char *explore_target_run(struct explore_target *target, struct explorer_search *search,
	const struct explore_eyes *eyes);
/* Of all that happened in the last run. */
uint64_t explore_target_hash(const struct explore_target *target);

/* The law that a text of explore_target_run() names: "C1", "race", "deadlock", ... */
void explore_law(const char *wrong, char law[16]);

#endif
