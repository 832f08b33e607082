/* SPDX-License-Identifier: MIT
 *
 * scenario_events.c: the `events` of a scenario: their targets, groups, rings and readers, and the
 * OPENs they imply.
 *
 * Operations know an event by the place of its OPEN among all OPENs. Events are opened at once, in
 * the order of the file, before any other operation; those that say `open: later` are numbered
 * behind them, in the order of the `open` operations. A declaration whose task has copies, or which
 * lists several tasks or CPUs, is one event for each of them, under the name NAME@TASK or NAME@CPU;
 * NAME alone means them all.
 */
#include <inttypes.h>
#include <string.h>

#include "scenario_decode.h"

#define EVENTS_MAX     16384u
#define RING_PAGES_MAX 65536u
#define KEYS_MAX       80u

/* ---- numbering ---- */

static bool opened_later(struct decoder *decoder, yaml_node_t *event)
{
	return yaml_says(yaml_get(&decoder->yaml, event, "open"), "later");
}

/* Task number `k` among those that `node` names: a task, a task with copies, or a list of these.
 * Sets *count, if asked, to how many there are; then `k` does not matter. */
static uint32_t nth_task(
	struct decoder *decoder, const yaml_node_t *node, uint32_t k, uint32_t *count)
{
	yaml_node_t *list = (yaml_node_t *)(uintptr_t)node;
	size_t length = yaml_is_sequence(node) ? yaml_length(node) : 1;
	uint32_t task = OPERATION_NOBODY;
	uint32_t seen = 0;

	for (size_t i = 0; i < length && !yaml_reader_failed(&decoder->yaml); i++) {
		const struct scenario_name *name = names_find(decoder, &decoder->tasks,
			yaml_is_sequence(node) ? yaml_item(&decoder->yaml, list, i) : node, "task");

		if (name == NULL)
			break;
		if (k >= seen && k - seen < name->count)
			task = name->first + (k - seen);
		seen += name->count;
	}
	if (count != NULL)
		*count = seen;
	return task;
}

/* How many events a declaration makes. */
static uint32_t count_events(struct decoder *decoder, yaml_node_t *event)
{
	const yaml_node_t *cpus = yaml_get(&decoder->yaml, event, "cpus");
	const yaml_node_t *task = yaml_get(&decoder->yaml, event, "task");
	uint32_t count = 1;

	if (cpus != NULL)
		return (uint32_t)__builtin_popcountll(decode_cpus(decoder, cpus, "cpus"));
	if (task != NULL && !yaml_says(task, "self"))
		nth_task(decoder, task, 0, &count);
	return count;
}

static void number_event(struct decoder *decoder, yaml_node_t *event)
{
	struct scenario *scenario = decoder->scenario;
	yaml_node_t *name = yaml_need(&decoder->yaml, event, "name");
	uint32_t count = count_events(decoder, event);

	if (scenario->event_count + count > EVENTS_MAX) {
		yaml_error(&decoder->yaml, event, "more than %u events", EVENTS_MAX);
		return;
	}
	names_add(decoder, &decoder->events, name, "event",
		scenario_format(
			scenario, "%s", yaml_string(&decoder->yaml, name, "name of an event")),
		scenario->event_count, count);
	scenario->event_count += count;
}

/* The declaration that the value of an `open` operation names; NULL: none. */
static yaml_node_t *find_declaration(
	struct decoder *decoder, yaml_node_t *events, const yaml_node_t *name)
{
	const char *text = yaml_string(&decoder->yaml, name, "event");

	for (size_t i = 0; i < yaml_length(events); i++) {
		yaml_node_t *event = yaml_item(&decoder->yaml, events, i);

		if (yaml_says(yaml_get(&decoder->yaml, event, "name"), text))
			return event;
	}
	return NULL;
}

static void number_later_events(
	struct decoder *decoder, yaml_node_t *events, yaml_node_t *operations)
{
	struct yaml_reader *yaml = &decoder->yaml;

	for (size_t i = 0; yaml_is_sequence(operations) && i < yaml_length(operations); i++) {
		yaml_node_t *name = yaml_get(yaml, yaml_item(yaml, operations, i), "open");
		yaml_node_t *event;

		if (name == NULL)
			continue;
		event = find_declaration(decoder, events, name);
		if (event == NULL)
			yaml_error(yaml, name, "there is no event `%s`",
				yaml_string(yaml, name, "event"));
		else if (!opened_later(decoder, event))
			yaml_error(yaml, name,
				"event `%s` is opened at once; declare it `open: later`",
				yaml_string(yaml, name, "event"));
		else
			number_event(decoder, event); /* a second time: the name is there already */
	}
}

/* ---- one declaration ---- */

static uint32_t nth_bit(uint64_t mask, uint32_t n)
{
	while (n-- > 0)
		mask &= mask - 1;
	return (uint32_t)__builtin_ctzll(mask);
}

/* Whom event `k` of the declaration counts: task, cpu and a name that says so. */
static void decode_target(struct decoder *decoder, yaml_node_t *node,
	const struct scenario_name *declaration, uint32_t k, struct scenario_event *event)
{
	struct yaml_reader *yaml = &decoder->yaml;
	struct scenario *scenario = decoder->scenario;
	const yaml_node_t *task = yaml_get(yaml, node, "task");
	const yaml_node_t *cpu = yaml_get(yaml, node, "cpu");
	const yaml_node_t *cpus = yaml_get(yaml, node, "cpus");

	event->name = declaration->name;
	event->declared = declaration->name;
	event->declaration = declaration->first;
	event->task = OPERATION_NOBODY;
	event->cpu = cpu != NULL ? (int32_t)decode_cpu(decoder, cpu, "cpu") : -1;
	if (cpus != NULL) {
		event->cpu = (int32_t)nth_bit(decode_cpus(decoder, cpus, "cpus"), k);
		event->name = scenario_format(scenario, "%s@cpu%d", declaration->name, event->cpu);
		if (task != NULL || cpu != NULL)
			yaml_error(yaml, cpus,
				"`cpus` opens CPU-wide events: without `task` and `cpu`");
	} else if (task == NULL && cpu == NULL) {
		yaml_error(yaml, node, "whom does event `%s` count? give `task`, `cpu` or `cpus`",
			declaration->name);
	} else if (task != NULL && !yaml_says(task, "self")) {
		event->task = nth_task(decoder, task, k, NULL);
		if (declaration->count > 1 && event->task != OPERATION_NOBODY)
			event->name = scenario_format(scenario, "%s@%s", declaration->name,
				scenario->task_names[event->task]);
	}
}

static void decode_leader(struct decoder *decoder, yaml_node_t *node,
	const struct scenario_name *declaration, uint32_t k, struct scenario_event *event)
{
	const yaml_node_t *group = yaml_get(&decoder->yaml, node, "group");
	const struct scenario_name *leader;

	event->leader = declaration->first + k;
	leader = names_find(decoder, &decoder->events, group, "event");
	if (leader == NULL)
		return;
	if (leader->first >= declaration->first)
		yaml_error(&decoder->yaml, group, "the leader `%s` has to be opened before `%s`",
			leader->name, declaration->name);
	else if (leader->count != 1 && leader->count != declaration->count)
		yaml_error(&decoder->yaml, group, "there are %u events `%s`, but %u of `%s`",
			leader->count, leader->name, declaration->count, declaration->name);
	else
		event->leader = leader->first + (leader->count > 1 ? k : 0);
}

static void decode_ring(struct decoder *decoder, yaml_node_t *node, struct scenario_event *event)
{
	static const char *const keys[] = {"pages", "read_every", NULL};
	struct yaml_reader *yaml = &decoder->yaml;
	yaml_node_t *ring = yaml_get(yaml, node, "ring");
	yaml_node_t *read_every;

	if (ring == NULL || !yaml_check_keys(yaml, ring, "a ring", keys))
		return;
	event->ring_pages = (uint32_t)yaml_integer(yaml, yaml_need(yaml, ring, "pages"),
		"data pages of a ring", YAML_COUNT, 1, RING_PAGES_MAX);
	read_every = yaml_get(yaml, ring, "read_every");
	if (read_every != NULL && !yaml_says(read_every, "end"))
		event->read_every_ns = yaml_integer(
			yaml, read_every, "read_every", YAML_TIME_NS, 1, MACHINE_END_MAX_NS);
}

static void decode_declaration(
	struct decoder *decoder, yaml_node_t *node, struct scenario_name declaration)
{
	static const char *const own_keys[] = {
		"name", "task", "cpu", "cpus", "group", "by", "open", "ring", "flags", "result"};
	const char *keys[KEYS_MAX];
	size_t key_count = 0;
	yaml_node_t *open = yaml_get(&decoder->yaml, node, "open");

	for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
		keys[key_count++] = own_keys[i];
	attr_keys(keys, &key_count, KEYS_MAX);
	if (!yaml_check_keys(&decoder->yaml, node, "an event", keys))
		return;
	if (open != NULL && !yaml_says(open, "later") && !yaml_says(open, "first"))
		yaml_error(&decoder->yaml, open, "open: expected first or later");
	for (uint32_t k = 0; k < declaration.count; k++) {
		struct scenario_event *event = &decoder->scenario->events[declaration.first + k];

		decode_attr(decoder, node, &event->attr);
		decode_target(decoder, node, &declaration, k, event);
		decode_leader(decoder, node, &declaration, k, event);
		decode_ring(decoder, node, event);
		event->opener = decode_task(decoder, yaml_get(&decoder->yaml, node, "by"), "task");
		event->final = OPERATION_NOBODY;
		event->node = node;
		if (declaration.count > 1)
			names_add(decoder, &decoder->events, node, "event", event->name,
				declaration.first + k, 1);
		if (yaml_reader_failed(&decoder->yaml))
			return;
	}
}

void decode_events(struct decoder *decoder, yaml_node_t *node, yaml_node_t *operations)
{
	struct yaml_reader *yaml = &decoder->yaml;

	if (node == NULL || !yaml_expect_sequence(yaml, node, "events"))
		return;
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(yaml); i++) {
		yaml_node_t *event = yaml_item(yaml, node, i);

		if (yaml_expect_map(yaml, event, "an event") && !opened_later(decoder, event))
			number_event(decoder, event);
	}
	number_later_events(decoder, node, operations);
	decoder->scenario->events = scenario_alloc(decoder->scenario,
		decoder->scenario->event_count, sizeof(*decoder->scenario->events));
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(yaml); i++) {
		yaml_node_t *event = yaml_item(yaml, node, i);
		yaml_node_t *name = yaml_need(yaml, event, "name");
		const struct scenario_name *declaration = names_find(
			decoder, &decoder->events, name, "opened event");

		if (declaration != NULL)
			decode_declaration(decoder, event, *declaration);
	}
}

/* ---- the OPENs ---- */

static void emit_result(struct decoder *decoder, yaml_node_t *declaration, uint32_t operation,
	struct scenario_event *event)
{
	yaml_node_t *result = yaml_get(&decoder->yaml, declaration, "result");

	if (result == NULL)
		return;
	event->may_fail = yaml_says(result, "any");
	if (event->may_fail)
		return;
	emit_expected_result(decoder, result, operation);
	event->must_fail = !yaml_says(result, "0");
}

void emit_open(struct decoder *decoder, uint32_t number, struct operation when, uint32_t line)
{
	struct scenario_event *event = &decoder->scenario->events[number];
	yaml_node_t *node = (yaml_node_t *)(uintptr_t)event->node;
	struct operation open = when;
	uint32_t operation;

	open.kind = OPERATION_OPEN;
	open.open = (struct operation_open){
		.attr = &event->attr,
		.attr_size = sizeof(event->attr),
		.target = OPERATION_TARGET_TASK,
		.task = event->task,
		.cpu = event->cpu,
		.group = event->leader != number ? event->leader : OPERATION_NOBODY,
		.flags = yaml_name_set(&decoder->yaml, yaml_get(&decoder->yaml, node, "flags"),
			"flags", scenario_open_flags, UINT64_MAX),
	};
	if (event->task == OPERATION_NOBODY)
		open.open.target = yaml_says(yaml_get(&decoder->yaml, node, "task"), "self")
					   ? OPERATION_TARGET_SELF
					   : OPERATION_TARGET_ALL;
	operation = emit(decoder, &open, line);
	emit_result(decoder, node, operation, event);
	if (event->ring_pages > 0) {
		struct operation mmap = {
			.kind = OPERATION_MMAP,
			.when = OPERATION_NEXT,
			.actor = open.actor,
			.mmap = {.event = number, .pages = event->ring_pages + 1, .writable = true},
		};

		emit(decoder, &mmap, line);
	}
}

void emit_opens(struct decoder *decoder)
{
	const struct scenario *scenario = decoder->scenario;

	for (uint32_t i = 0; i < scenario->event_count; i++) {
		const struct scenario_event *event = &scenario->events[i];
		yaml_node_t *node = (yaml_node_t *)(uintptr_t)event->node;
		struct operation when = {.when = OPERATION_NEXT, .actor = event->opener};

		if (!opened_later(decoder, node))
			emit_open(decoder, i, when, (uint32_t)event->node->start_mark.line + 1);
	}
}
