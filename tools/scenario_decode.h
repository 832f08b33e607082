/* SPDX-License-Identifier: MIT
 *
 * scenario_decode.h: what the parts of the scenario reader share. Nobody else includes it.
 *
 * The parts run in this order, each needing the names of those before it: machine, programs and
 * works, tasks, events, operations, explore. All of them record a failure and go on harmlessly, or
 * stop their loop (see yaml_reader.h).
 */
#ifndef TALLY_TOOLS_SCENARIO_DECODE_H
#define TALLY_TOOLS_SCENARIO_DECODE_H

#include "scenario.h"
#include "yaml_reader.h"

/* Something that the file names: `count` things from number `first` on (count > 1: copies). */
struct scenario_name {
	const char *name;
	uint32_t first;
	uint32_t count;
};

struct scenario_names {
	struct scenario_name *entries;
	uint32_t count;
	uint32_t room;
};

struct decoder {
	struct yaml_reader yaml;
	struct scenario *scenario;
	struct scenario_names programs;
	struct scenario_names works;
	struct scenario_names tasks;
	struct scenario_names events;
	struct scenario_names labels; /* of operations; first: operation number */

	/* Arrays of the description while they grow; works and operations have no count beforehand.
	 */
	struct machine_program *programs_list;
	struct machine_work *works_list;
	uint32_t works_room;
	struct machine_task_description *tasks_list;
	struct operation *operations;
	uint32_t *lines;
	uint32_t operations_room;
	uint32_t forks; /* FORK operations so far */
};

/* Zeroed memory that lives as long as the scenario. Never NULL: without memory the program ends. */
void *scenario_alloc(struct scenario *scenario, size_t count, size_t size);
const char *scenario_format(struct scenario *scenario, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a name that must be new; `node` is where it stands. */
void names_add(struct decoder *decoder, struct scenario_names *names, const yaml_node_t *node,
	const char *what, const char *name, uint32_t first, uint32_t count);
/* Find the thing that `node` names; its absence is recorded and gives NULL. */
const struct scenario_name *names_find(struct decoder *decoder, const struct scenario_names *names,
	const yaml_node_t *node, const char *what);

/* scenario_machine.c */
void decode_machine(struct decoder *decoder, yaml_node_t *node);
/* Rates, one per cluster; NULL when `node` is. */
const struct machine_rates *decode_rates(struct decoder *decoder, yaml_node_t *node);
/* "0-3", 2, or a list of both, as a mask. */
uint64_t decode_cpus(struct decoder *decoder, const yaml_node_t *node, const char *what);
uint32_t decode_cpu(struct decoder *decoder, const yaml_node_t *node, const char *what);
/* The PMU event that a rate, a raw event or a count names. */
uint16_t decode_pmu_event(struct decoder *decoder, const yaml_node_t *node, const char *what);

/* scenario_tasks.c */
void decode_programs(struct decoder *decoder, yaml_node_t *node);
void decode_works(struct decoder *decoder, yaml_node_t *node);
void decode_tasks(struct decoder *decoder, yaml_node_t *node);
/* The number of one task, "root" included. */
uint32_t decode_task(struct decoder *decoder, const yaml_node_t *node, const char *what);

/* scenario_attr.c */
void decode_attr(struct decoder *decoder, yaml_node_t *node, struct tally_attr *attr);
/* The keys that decode_attr() reads: added to `keys` at *count. */
void attr_keys(const char **keys, size_t *count, size_t room);

/* scenario_events.c: what the file declares; the OPENs come with the operations. `operations` says
 * which events are opened later. */
void decode_events(struct decoder *decoder, yaml_node_t *node, yaml_node_t *operations);
void emit_open(struct decoder *decoder, uint32_t event, struct operation when, uint32_t line);
void emit_opens(struct decoder *decoder);

/* scenario_operations.c */
void decode_fork_names(struct decoder *decoder, yaml_node_t *operations);
void decode_operations(struct decoder *decoder, yaml_node_t *node);
/* The fields that an EXPECT compares, from the keys of `entry`. */
void decode_expected(struct decoder *decoder, yaml_node_t *entry, struct operation_expect *expect);
/* Append an EXPECT of what operation number `operation` gives: `node` is an errno's name or a
 * number. */
void emit_expected_result(struct decoder *decoder, const yaml_node_t *node, uint32_t operation);
/* Append an operation; returns its number. */
uint32_t emit(struct decoder *decoder, const struct operation *operation, uint32_t line);

/* scenario_end.c */
void emit_final(struct decoder *decoder, yaml_node_t *expect);

/* scenario_explore.c: last, for it looks at the operations. */
void decode_explore(struct decoder *decoder, yaml_node_t *node);

/* scenario_names.c */
extern const struct yaml_name scenario_event_types[];
extern const struct yaml_name scenario_hardware_events[];
extern const struct yaml_name scenario_software_events[];
extern const struct yaml_name scenario_caches[];
extern const struct yaml_name scenario_cache_operations[];
extern const struct yaml_name scenario_cache_results[];
extern const struct yaml_name scenario_pmu_events[];
extern const struct yaml_name scenario_sample_types[];
extern const struct yaml_name scenario_read_formats[];
extern const struct yaml_name scenario_attr_flags[];
extern const struct yaml_name scenario_open_flags[];
extern const struct yaml_name scenario_errors[];

#endif
