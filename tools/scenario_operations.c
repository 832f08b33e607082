/* SPDX-License-Identifier: MIT
 *
 * scenario_operations.c: the `operations` of a scenario.
 *
 * An entry of `operations` is a mapping with one verb (enable, fork, migrate, expect, ...), whose
 * value says what it is done to, the verb's own keys, and keys that every verb has: when (`at`,
 * `after` with `delay`, `count`; else when the one before has finished), `by`, `every` with
 * `times`, `label`, `result`. The table at the end lists the verbs; each has one function that
 * fills the operation's arguments. An operation on an event that stands for several, one for each
 * copy of a task, is done to each.
 */
#include <inttypes.h>
#include <string.h>

#include "scenario_decode.h"

#define VERB_KEYS_MAX         6u
#define IOCTL_ARGUMENT_DETACH UINT64_MAX

enum verb_object {
	OBJECT_EVENT, /* the value names an event; the actor is its opener */
	OBJECT_ACTOR, /* the value names the task that acts */
	OBJECT_TASK,  /* the value names the task that it is done to; the actor is root */
	OBJECT_OTHER, /* the verb reads the value itself; the actor is root */
};

struct verb {
	const char *name;
	enum verb_object object;
	enum operation_kind kind;
	uint64_t argument; /* of an ioctl */
	void (*fill)(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
		uint32_t event, struct operation *operation);
	const char *keys[VERB_KEYS_MAX];
};

uint32_t emit(struct decoder *decoder, const struct operation *operation, uint32_t line)
{
	struct machine_description *machine = &decoder->scenario->machine;
	uint32_t count = machine->operation_count;

	if (count == decoder->operations_room) {
		uint32_t room = decoder->operations_room * 2 + 64;
		struct operation *operations = scenario_alloc(
			decoder->scenario, room, sizeof(*operations));
		uint32_t *lines = scenario_alloc(decoder->scenario, room, sizeof(*lines));

		if (count > 0) {
			memcpy(operations, decoder->operations, count * sizeof(*operations));
			memcpy(lines, decoder->lines, count * sizeof(*lines));
		}
		decoder->operations = operations;
		decoder->lines = lines;
		decoder->operations_room = room;
	}
	decoder->operations[count] = *operation;
	decoder->lines[count] = line;
	machine->operation_count++;
	return count;
}

void emit_expected_result(struct decoder *decoder, const yaml_node_t *node, uint32_t operation)
{
	const char *text = yaml_string(&decoder->yaml, node, "result");
	struct operation expect = {
		.kind = OPERATION_EXPECT,
		.when = OPERATION_NEXT,
		.actor = OPERATION_NOBODY,
		.expect = {.event = OPERATION_NOBODY,
			.fields = OPERATION_EXPECT_RESULT,
			.operation = operation},
	};

	if (text[0] == 'E')
		expect.expect.result = -(int64_t)yaml_name_or_number(
			&decoder->yaml, node, "result", scenario_errors, 0);
	else
		expect.expect.result = (int64_t)yaml_integer(
			&decoder->yaml, node, "result", YAML_COUNT, 0, INT64_MAX);
	emit(decoder, &expect, (uint32_t)node->start_mark.line + 1);
}

/* ---- what the verbs fill in ---- */

static uint64_t optional_integer(struct decoder *decoder, yaml_node_t *entry, const char *key,
	enum yaml_unit unit, uint64_t max, uint64_t otherwise)
{
	const yaml_node_t *node = yaml_get(&decoder->yaml, entry, key);

	return node != NULL ? yaml_integer(&decoder->yaml, node, key, unit, 0, max) : otherwise;
}

static bool optional_bool(struct decoder *decoder, yaml_node_t *entry, const char *key)
{
	return yaml_bool(&decoder->yaml, yaml_get(&decoder->yaml, entry, key), key);
}

static void fill_control(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	operation->ioctl = (struct operation_ioctl){
		.event = event,
		.command = (uint32_t)verb->argument,
		.argument = optional_bool(decoder, entry, "group") ? TALLY_IOC_FLAG_GROUP : 0,
	};
}

static void fill_refresh(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	operation->ioctl = (struct operation_ioctl){
		.event = event,
		.command = (uint32_t)verb->argument,
		.argument = yaml_integer(&decoder->yaml, yaml_need(&decoder->yaml, entry, "n"), "n",
			YAML_COUNT, 0, INT32_MAX),
	};
}

static void fill_memory(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	operation->ioctl = (struct operation_ioctl){
		.event = event,
		.command = (uint32_t)verb->argument,
		.argument = optional_integer(decoder, entry, "to", YAML_COUNT, UINT64_MAX, 0),
		.argument_memory = true,
		.argument_fault = optional_bool(decoder, entry, "fault"),
	};
}

static void fill_output(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	const yaml_node_t *to = yaml_need(&decoder->yaml, entry, "to");
	const struct scenario_name *target = NULL;

	if (!yaml_says(to, "none"))
		target = names_find(decoder, &decoder->events, to, "event");
	operation->ioctl = (struct operation_ioctl){
		.event = event,
		.command = (uint32_t)verb->argument,
		.argument = target != NULL ? target->first : IOCTL_ARGUMENT_DETACH,
		.argument_event = target != NULL,
	};
}

static void fill_raw_ioctl(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	struct yaml_reader *yaml = &decoder->yaml;

	(void)verb;
	operation->ioctl = (struct operation_ioctl){
		.event = event,
		.command = (uint32_t)yaml_integer(yaml, yaml_need(yaml, entry, "command"),
			"command", YAML_COUNT, 0, UINT32_MAX),
		.argument = optional_integer(decoder, entry, "argument", YAML_COUNT, UINT64_MAX, 0),
	};
}

static void fill_read(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)verb;
	operation->read.event = event;
	operation->read.fault = optional_bool(decoder, entry, "fault");
	if (yaml_get(&decoder->yaml, entry, "size") != NULL) {
		operation->read.size = (uint32_t)optional_integer(
			decoder, entry, "size", YAML_COUNT, UINT32_MAX, 0);
		operation->read.zero_size = operation->read.size == 0;
	}
}

static void fill_mmap(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)verb;
	operation->mmap = (struct operation_mmap){
		.event = event,
		.pages = yaml_integer(&decoder->yaml, yaml_need(&decoder->yaml, entry, "pages"),
				 "data pages of a ring", YAML_COUNT, 0, UINT32_MAX) +
			 1,
		.offset = optional_integer(decoder, entry, "offset", YAML_COUNT, UINT64_MAX, 0),
		.writable = !optional_bool(decoder, entry, "read_only"),
		.private_mapping = optional_bool(decoder, entry, "private"),
	};
}

static void fill_drain(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)verb;
	operation->drain.event = event;
	operation->drain.max_bytes = (uint32_t)optional_integer(
		decoder, entry, "bytes", YAML_COUNT, UINT32_MAX, 0);
}

static void fill_event(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)entry;
	operation->event.event = event;
	if (verb->kind == OPERATION_CLOSE)
		decoder->scenario->events[event].closed = true;
}

/* The fields that an EXPECT compares, from the keys of `entry`. */
void decode_expected(struct decoder *decoder, yaml_node_t *entry, struct operation_expect *expect)
{
	const struct {
		const char *key;
		enum yaml_unit unit;
		uint32_t field;
		uint64_t *value;
	} keys[] = {
		{"value", YAML_COUNT, OPERATION_EXPECT_VALUE, &expect->value},
		{"enabled", YAML_TIME_NS, OPERATION_EXPECT_ENABLED, &expect->enabled_ns},
		{"running", YAML_TIME_NS, OPERATION_EXPECT_RUNNING, &expect->running_ns},
		{"samples", YAML_COUNT, OPERATION_EXPECT_SAMPLES, &expect->samples},
		{"lost", YAML_COUNT, OPERATION_EXPECT_LOST, &expect->lost},
		{"size", YAML_COUNT, OPERATION_EXPECT_SIZE, &expect->size},
		{"tolerance", YAML_COUNT, 0, &expect->tolerance},
		{"tolerance_time", YAML_TIME_NS, 0, &expect->tolerance_ns},
		{"tolerance_samples", YAML_COUNT, 0, &expect->tolerance_samples},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const yaml_node_t *node = yaml_get(&decoder->yaml, entry, keys[i].key);

		if (node == NULL)
			continue;
		*keys[i].value = yaml_integer(
			&decoder->yaml, node, keys[i].key, keys[i].unit, 0, UINT64_MAX);
		expect->fields |= keys[i].field;
	}
}

static void fill_expect(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)verb;
	operation->expect.event = event;
	decode_expected(decoder, entry, &operation->expect);
	if (operation->expect.fields == 0)
		yaml_error(&decoder->yaml, entry, "expect: nothing is expected here");
}

static uint32_t optional_work(struct decoder *decoder, const yaml_node_t *node)
{
	const struct scenario_name *work = names_find(decoder, &decoder->works, node, "work");

	return work != NULL ? work->first : OPERATION_NOBODY;
}

static void fill_fork(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)verb;
	(void)event;
	operation->fork.work = optional_work(decoder, yaml_get(&decoder->yaml, entry, "work"));
	operation->fork.thread = optional_bool(decoder, entry, "thread");
	if (yaml_get(&decoder->yaml, entry, "by") == NULL)
		yaml_error(&decoder->yaml, entry, "fork: `by` says who forks");
}

static void fill_exec(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)verb;
	(void)event;
	operation->exec.work = optional_work(decoder, yaml_need(&decoder->yaml, entry, "work"));
}

static void fill_task(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)event;
	if (verb->kind == OPERATION_SLEEP)
		operation->task.duration_ns = optional_integer(
			decoder, entry, "for", YAML_TIME_NS, MACHINE_END_MAX_NS, 0);
	if (verb->kind == OPERATION_PIN)
		operation->task.cpu_mask = decode_cpus(
			decoder, yaml_need(&decoder->yaml, entry, "cpus"), "cpus");
	if (verb->kind == OPERATION_MIGRATE)
		operation->task.cpu = decode_cpu(
			decoder, yaml_need(&decoder->yaml, entry, "cpu"), "cpu");
}

static void fill_cpu(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)event;
	operation->task.cpu = decode_cpu(
		decoder, yaml_get(&decoder->yaml, entry, verb->name), verb->name);
}

static void fill_fail_alloc(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation *operation)
{
	(void)event;
	operation->fail_alloc.count = (uint32_t)yaml_integer(&decoder->yaml,
		yaml_get(&decoder->yaml, entry, verb->name), verb->name, YAML_COUNT, 1, UINT32_MAX);
	operation->fail_alloc.skip = (uint32_t)optional_integer(
		decoder, entry, "skip", YAML_COUNT, UINT32_MAX, 0);
}

/* ---- the verbs ---- */

#define EXPECT_KEYS "value", "enabled", "running", "samples", "lost"

static const struct verb verbs[] = {
	{"open", OBJECT_EVENT, OPERATION_OPEN, 0, NULL, {NULL}},
	{"enable", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_ENABLE, fill_control, {"group"}},
	{"disable", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_DISABLE, fill_control, {"group"}},
	{"reset", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_RESET, fill_control, {"group"}},
	{"refresh", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_REFRESH, fill_refresh, {"n"}},
	{"period", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_PERIOD, fill_memory, {"to", "fault"}},
	{"get_id", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_ID, fill_memory, {"fault"}},
	{"set_output", OBJECT_EVENT, OPERATION_IOCTL, TALLY_IOC_SET_OUTPUT, fill_output, {"to"}},
	{"ioctl", OBJECT_EVENT, OPERATION_IOCTL, 0, fill_raw_ioctl, {"command", "argument"}},
	{"read", OBJECT_EVENT, OPERATION_READ, 0, fill_read, {"size", "fault"}},
	{"mmap", OBJECT_EVENT, OPERATION_MMAP, 0, fill_mmap,
		{"pages", "offset", "read_only", "private"}},
	{"munmap", OBJECT_EVENT, OPERATION_MUNMAP, 0, fill_event, {NULL}},
	{"drain", OBJECT_EVENT, OPERATION_DRAIN, 0, fill_drain, {"bytes"}},
	{"close", OBJECT_EVENT, OPERATION_CLOSE, 0, fill_event, {NULL}},
	{"expect", OBJECT_EVENT, OPERATION_EXPECT, 0, fill_expect, {EXPECT_KEYS}},
	{"fork", OBJECT_OTHER, OPERATION_FORK, 0, fill_fork, {"work", "thread"}},
	{"exec", OBJECT_ACTOR, OPERATION_EXEC, 0, fill_exec, {"work"}},
	{"exit", OBJECT_ACTOR, OPERATION_EXIT, 0, fill_task, {NULL}},
	{"sleep", OBJECT_ACTOR, OPERATION_SLEEP, 0, fill_task, {"for"}},
	{"wake", OBJECT_TASK, OPERATION_WAKE, 0, fill_task, {NULL}},
	{"stop", OBJECT_TASK, OPERATION_STOP, 0, fill_task, {NULL}},
	{"continue", OBJECT_TASK, OPERATION_CONTINUE, 0, fill_task, {NULL}},
	{"pin", OBJECT_TASK, OPERATION_PIN, 0, fill_task, {"cpus"}},
	{"migrate", OBJECT_TASK, OPERATION_MIGRATE, 0, fill_task, {"cpu"}},
	{"offline", OBJECT_OTHER, OPERATION_CPU_OFFLINE, 0, fill_cpu, {NULL}},
	{"online", OBJECT_OTHER, OPERATION_CPU_ONLINE, 0, fill_cpu, {NULL}},
	{"fail_alloc", OBJECT_OTHER, OPERATION_FAIL_ALLOC, 0, fill_fail_alloc, {"skip"}},
};

/* Keys of an EXPECT beside those in its row; `result` and `at` and the like go with every verb. */
static const char *const expect_keys[] = {
	"size", "tolerance", "tolerance_time", "tolerance_samples"};
static const char *const general_keys[] = {
	"at", "after", "delay", "count", "by", "every", "times", "label", "result"};

/* The verb of an entry; its absence, and a second one, are recorded. */
static const struct verb *find_verb(struct decoder *decoder, yaml_node_t *entry)
{
	const struct verb *found = NULL;

	if (!yaml_expect_map(&decoder->yaml, entry, "an operation"))
		return NULL;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (yaml_get(&decoder->yaml, entry, verbs[i].name) == NULL)
			continue;
		if (found != NULL)
			yaml_error(&decoder->yaml, entry, "`%s` and `%s` in one operation",
				found->name, verbs[i].name);
		found = &verbs[i];
	}
	if (found == NULL)
		yaml_error(&decoder->yaml, entry,
			"an operation needs a verb: open, enable, disable, reset, read, fork, "
			"exec, "
			"exit, stop, continue, pin, migrate, expect, ...");
	return yaml_reader_failed(&decoder->yaml) ? NULL : found;
}

static void check_entry(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb)
{
	const char *keys[32] = {verb->name};
	size_t count = 1;

	for (size_t i = 0; i < VERB_KEYS_MAX && verb->keys[i] != NULL; i++)
		keys[count++] = verb->keys[i];
	for (size_t i = 0; i < sizeof(general_keys) / sizeof(general_keys[0]); i++)
		keys[count++] = general_keys[i];
	for (size_t i = 0; verb->kind == OPERATION_EXPECT && i < 4; i++)
		keys[count++] = expect_keys[i];
	keys[count] = NULL;
	yaml_check_keys(&decoder->yaml, entry, verb->name, keys);
}

/* {task: T, event: inst_retired, reaches: 1M} */
static void decode_count(struct decoder *decoder, yaml_node_t *node, struct operation *operation)
{
	static const char *const keys[] = {"task", "event", "reaches", NULL};
	struct yaml_reader *yaml = &decoder->yaml;

	if (!yaml_check_keys(yaml, node, "count", keys))
		return;
	operation->when = OPERATION_AT_COUNT;
	operation->count_task = decode_task(decoder, yaml_need(yaml, node, "task"), "task");
	operation->count_event = decode_pmu_event(decoder, yaml_need(yaml, node, "event"), "event");
	operation->count = yaml_integer(
		yaml, yaml_need(yaml, node, "reaches"), "reaches", YAML_COUNT, 0, UINT64_MAX);
}

static void decode_when(struct decoder *decoder, yaml_node_t *entry, struct operation *operation)
{
	struct yaml_reader *yaml = &decoder->yaml;
	const yaml_node_t *at = yaml_get(yaml, entry, "at");
	const yaml_node_t *after = yaml_get(yaml, entry, "after");
	yaml_node_t *count = yaml_get(yaml, entry, "count");
	const struct scenario_name *label;

	operation->when = OPERATION_NEXT;
	if ((at != NULL) + (after != NULL) + (count != NULL) > 1)
		yaml_error(yaml, entry, "give one of `at`, `after` and `count`");
	if (at != NULL) {
		operation->when = OPERATION_AT;
		operation->at_ns = yaml_integer(
			yaml, at, "at", YAML_TIME_NS, 0, decoder->scenario->end_ns);
	} else if (after != NULL) {
		label = names_find(decoder, &decoder->labels, after, "label above");
		operation->when = OPERATION_AFTER;
		operation->after = label != NULL ? label->first : 0;
		operation->at_ns = optional_integer(
			decoder, entry, "delay", YAML_TIME_NS, MACHINE_END_MAX_NS, 0);
	} else if (count != NULL) {
		decode_count(decoder, count, operation);
	}
	operation->every_ns = optional_integer(
		decoder, entry, "every", YAML_TIME_NS, MACHINE_END_MAX_NS, 0);
	operation->times = optional_integer(decoder, entry, "times", YAML_COUNT, UINT64_MAX, 0);
	if (operation->times != 0 && operation->every_ns == 0)
		yaml_error(yaml, entry, "`times` goes with `every`");
	if (operation->every_ns != 0 && yaml_get(yaml, entry, "result") != NULL)
		yaml_error(yaml, entry, "`result` is of one operation, `every` makes many");
}

/* The operation once, on event `event` if it is on one. */
static void emit_one(struct decoder *decoder, yaml_node_t *entry, const struct verb *verb,
	uint32_t event, struct operation operation)
{
	const yaml_node_t *result = yaml_get(&decoder->yaml, entry, "result");
	uint32_t line = (uint32_t)entry->start_mark.line + 1;
	uint32_t number;

	if (verb->kind == OPERATION_OPEN) {
		emit_open(decoder, event, operation, line);
		return;
	}
	verb->fill(decoder, entry, verb, event, &operation);
	number = emit(decoder, &operation, line);
	if (result != NULL)
		emit_expected_result(decoder, result, number);
}

static void decode_operation(struct decoder *decoder, yaml_node_t *entry)
{
	const struct verb *verb = find_verb(decoder, entry);
	struct operation operation = {.actor = OPERATION_NOBODY};
	struct yaml_reader *yaml = &decoder->yaml;
	const yaml_node_t *by = yaml_get(yaml, entry, "by");
	const yaml_node_t *label = yaml_get(yaml, entry, "label");
	const struct scenario_name *events;
	yaml_node_t *value;

	if (verb == NULL)
		return;
	check_entry(decoder, entry, verb);
	value = yaml_get(yaml, entry, verb->name);
	operation.kind = (uint8_t)verb->kind;
	decode_when(decoder, entry, &operation);
	if (verb->object == OBJECT_ACTOR)
		operation.actor = decode_task(decoder, value, "task");
	else
		operation.actor = decode_task(decoder, by, "task");
	if (verb->object == OBJECT_TASK)
		operation.task.task = decode_task(decoder, value, "task");
	if (verb->object == OBJECT_ACTOR && by != NULL)
		yaml_error(yaml, by, "%s: the task itself does it", verb->name);
	if (verb->kind == OPERATION_OPEN && yaml_get(yaml, entry, "result") != NULL)
		yaml_error(yaml, entry, "open: the declaration of the event says the `result`");
	if (verb->object == OBJECT_EVENT) {
		events = names_find(decoder, &decoder->events, value, "event");
		for (uint32_t i = 0; events != NULL && i < events->count; i++) {
			struct operation one = operation;

			if (by == NULL)
				one.actor = decoder->scenario->events[events->first + i].opener;
			emit_one(decoder, entry, verb, events->first + i, one);
		}
	} else {
		emit_one(decoder, entry, verb, OPERATION_NOBODY, operation);
	}
	if (label != NULL && !yaml_reader_failed(yaml))
		names_add(decoder, &decoder->labels, label, "label",
			scenario_format(decoder->scenario, "%s", yaml_string(yaml, label, "label")),
			decoder->scenario->machine.operation_count - 1, 1);
}

void decode_operations(struct decoder *decoder, yaml_node_t *node)
{
	if (node == NULL || !yaml_expect_sequence(&decoder->yaml, node, "operations"))
		return;
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(&decoder->yaml); i++)
		decode_operation(decoder, yaml_item(&decoder->yaml, node, i));
}
