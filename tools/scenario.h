/* SPDX-License-Identifier: MIT
 *
 * scenario.h: an experiment, read from a file.
 *
 * A scenario is a machine, what its tasks execute, the events that are opened on them, and what is
 * done and expected when. scenarios/README.md describes the file. Reading decodes it to a struct
 * machine_description and to names for people, and to nothing else: whatever a scenario can do, a
 * list of operations can.
 *
 * Every event that a scenario declares is one OPEN operation, and has, unless it is closed on the
 * way, one EXPECT operation at the end, in which the runner finds what the kernel says of it.
 */
#ifndef TALLY_TOOLS_SCENARIO_H
#define TALLY_TOOLS_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/machine.h>
#include <tally/abi.h>

#include "failure.h"
#include "scenario_explore.h"

/* One event. Its place in the array is its number in operations. */
struct scenario_event {
	const char *name;
	const char *declared; /* the name in the file, the same for all events of one declaration */
	uint32_t declaration; /* the number of the declaration's first event */
	struct tally_attr attr; /* what the OPEN operation points to */
	uint32_t opener;        /* task number, or OPERATION_NOBODY */
	uint32_t task;   /* task number, or OPERATION_NOBODY: a CPU's event, or the opener itself */
	int32_t cpu;     /* -1: any */
	uint32_t leader; /* event number; its own when it leads or is alone */
	uint32_t ring_pages;    /* data pages; 0: no ring */
	uint64_t read_every_ns; /* the reader's interval; 0: the ring is read at the end only */
	uint32_t final; /* its EXPECT operation at the end; OPERATION_NOBODY: closed before */
	bool closed;    /* some operation closes it */
	bool must_fail; /* its OPEN is expected to fail */
	bool may_fail;  /* its OPEN may fail or not, as a race has it */
	const struct yaml_node_s *node; /* its declaration, while the file is being read */
};

struct scenario_block;

struct scenario {
	const char *path;
	struct machine_description machine;
	const char *machine_name; /* the preset, or "custom" */
	uint64_t end_ns;
	int32_t paranoid;        /* perf_event_paranoid */
	const char **task_names; /* [task_count]: description's tasks, then those that FORKs make */
	uint32_t task_count;
	struct scenario_event *events;
	uint32_t event_count;
	const uint32_t
		*operation_lines;      /* [machine.operation_count]: line in the file, 0: implied */
	struct scenario_block *blocks; /* all memory of the scenario */
	struct scenario_explore explore; /* what it says to the explorer; a run ignores it */
};

/* Read `path`. On failure nothing is left behind and *failure says where and why. */
bool scenario_load(struct scenario *scenario, const char *path, struct failure *failure);
void scenario_free(struct scenario *scenario);

/* The name of a task for people; "root" for OPERATION_NOBODY. */
const char *scenario_task_name(const struct scenario *scenario, uint32_t task);

#endif
