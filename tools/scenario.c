/* SPDX-License-Identifier: MIT
 *
 * scenario.c: reads a scenario file, part by part, into a machine's description.
 *
 * All memory of a scenario hangs off its list of blocks and goes at once in scenario_free(): the
 * description points in every direction, and nothing of it is freed on its own. Running out of
 * memory while reading a file of a few kilobytes is not a case to go on from: the program ends with
 * a message.
 *
 * See scenario_decode.h for the order of the parts.
 */
#include "scenario.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_decode.h"

#define PARANOID_DEFAULT 2 /* as Linux has it */

struct scenario_block {
	struct scenario_block *next;
	_Alignas(max_align_t) uint8_t bytes[];
};

void *scenario_alloc(struct scenario *scenario, size_t count, size_t size)
{
	struct scenario_block *block;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) ||
		__builtin_add_overflow(bytes, sizeof(*block), &bytes))
		block = NULL;
	else
		block = calloc(1, bytes);
	if (block == NULL) {
		fprintf(stderr, "tally: out of memory reading %s\n", scenario->path);
		exit(2);
	}
	block->next = scenario->blocks;
	scenario->blocks = block;
	return block->bytes;
}

const char *scenario_format(struct scenario *scenario, const char *format, ...)
{
	va_list arguments;
	char text[256];
	char *copy;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	copy = scenario_alloc(scenario, strlen(text) + 1, 1);
	memcpy(copy, text, strlen(text));
	return copy;
}

void names_add(struct decoder *decoder, struct scenario_names *names, const yaml_node_t *node,
	const char *what, const char *name, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < names->count; i++) {
		if (strcmp(names->entries[i].name, name) == 0)
			yaml_error(&decoder->yaml, node, "%s `%s` is there already", what, name);
	}
	if (name[0] == '\0' && !yaml_reader_failed(&decoder->yaml))
		yaml_error(&decoder->yaml, node, "%s: the name is empty", what);
	if (names->count == names->room) {
		uint32_t room = names->room * 2 + 16;
		struct scenario_name *grown = scenario_alloc(
			decoder->scenario, room, sizeof(*grown));

		if (names->count > 0)
			memcpy(grown, names->entries, names->count * sizeof(*grown));
		names->entries = grown;
		names->room = room;
	}
	names->entries[names->count++] = (struct scenario_name){name, first, count};
}

const struct scenario_name *names_find(struct decoder *decoder, const struct scenario_names *names,
	const yaml_node_t *node, const char *what)
{
	const char *name = yaml_string(&decoder->yaml, node, what);

	if (node == NULL || yaml_reader_failed(&decoder->yaml))
		return NULL;
	for (uint32_t i = 0; i < names->count; i++) {
		if (strcmp(names->entries[i].name, name) == 0)
			return &names->entries[i];
	}
	yaml_error(&decoder->yaml, node, "there is no %s `%s`", what, name);
	return NULL;
}

static void decode_root(struct decoder *decoder, yaml_node_t *root)
{
	static const char *const keys[] = {"description", "machine", "seed", "end", "paranoid",
		"programs", "works", "tasks", "events", "operations", "expect", "explore", NULL};
	static const struct yaml_name lower[] = {{"-1", UINT32_MAX}, {NULL, 0}};
	struct yaml_reader *yaml = &decoder->yaml;
	struct scenario *scenario = decoder->scenario;
	yaml_node_t *operations = yaml_get(yaml, root, "operations");
	yaml_node_t *seed = yaml_get(yaml, root, "seed");

	if (!yaml_check_keys(yaml, root, "a scenario", keys))
		return;
	yaml_string(yaml, yaml_get(yaml, root, "description"), "description");
	if (yaml_get(yaml, root, "paranoid") != NULL)
		scenario->paranoid = (int32_t)yaml_name_or_number(
			yaml, yaml_get(yaml, root, "paranoid"), "paranoid", lower, INT32_MAX);
	if (seed != NULL)
		scenario->machine.seed = yaml_integer(
			yaml, seed, "seed", YAML_COUNT, 0, UINT64_MAX);
	scenario->end_ns = yaml_integer(
		yaml, yaml_need(yaml, root, "end"), "end", YAML_TIME_NS, 1, MACHINE_END_MAX_NS - 1);
	decode_machine(decoder, yaml_need(yaml, root, "machine"));
	decode_programs(decoder, yaml_get(yaml, root, "programs"));
	decode_works(decoder, yaml_get(yaml, root, "works"));
	decode_tasks(decoder, yaml_get(yaml, root, "tasks"));
	decode_fork_names(decoder, operations);
	decode_events(decoder, yaml_get(yaml, root, "events"), operations);
	if (yaml_reader_failed(yaml))
		return;
	emit_opens(decoder);
	decode_operations(decoder, operations);
	emit_final(decoder, yaml_get(yaml, root, "expect"));
	decode_explore(decoder, yaml_get(yaml, root, "explore"));
}

/* Hand the grown arrays over to the description, and let the machine judge it. */
static void finish(struct decoder *decoder, struct failure *failure)
{
	struct scenario *scenario = decoder->scenario;
	struct machine_description *machine = &scenario->machine;
	const char *objection;

	machine->programs = decoder->programs_list;
	machine->works = decoder->works_list;
	machine->tasks = decoder->tasks_list;
	machine->operations = decoder->operations;
	scenario->operation_lines = decoder->lines;
	objection = machine_description_check(machine);
	if (objection != NULL)
		failure_set(failure, "%s: the machine refuses it: %s", scenario->path, objection);
}

bool scenario_load(struct scenario *scenario, const char *path, struct failure *failure)
{
	struct decoder decoder = {.scenario = scenario};

	*scenario = (struct scenario){.path = path, .paranoid = PARANOID_DEFAULT};
	yaml_reader_open(&decoder.yaml, path, failure);
	if (!failure->failed)
		decode_root(&decoder, yaml_root(&decoder.yaml));
	if (!failure->failed)
		finish(&decoder, failure);
	yaml_reader_close(&decoder.yaml);
	if (failure->failed)
		scenario_free(scenario);
	return !failure->failed;
}

void scenario_free(struct scenario *scenario)
{
	while (scenario->blocks != NULL) {
		struct scenario_block *next = scenario->blocks->next;

		free(scenario->blocks);
		scenario->blocks = next;
	}
}

const char *scenario_task_name(const struct scenario *scenario, uint32_t task)
{
	if (task == OPERATION_NOBODY)
		return "root";
	assert(task < scenario->task_count);
	return scenario->task_names[task];
}
