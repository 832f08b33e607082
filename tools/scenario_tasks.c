/* SPDX-License-Identifier: MIT
 *
 * scenario_tasks.c: programs (functions and their sizes), works (what a task executes), tasks, and
 * the names of tasks that FORK operations will make.
 *
 * A task names a work, or states one of its own in place. A task with `copies: n` is n tasks,
 * NAME.0 to NAME.n-1; events and operations that name it mean each of them.
 */
#include <stdio.h>
#include <string.h>

#include "scenario_decode.h"

#define FUNCTION_BYTES_MAX (16u << 20)
#define COPIES_MAX         1024u
#define TASKS_MAX          4096u

/* What a phase lists, for works and for tasks with a work of their own. */
#define WORK_KEYS "program", "phases", "repeat", "then"

/* ---- programs ---- */

static void decode_program(struct decoder *decoder, yaml_node_t *name, yaml_node_t *functions,
	struct machine_program *program)
{
	struct machine_function *function;
	size_t count = yaml_length(functions);

	if (!yaml_expect_map(&decoder->yaml, functions, "functions of a program"))
		return;
	if (count == 0)
		yaml_error(&decoder->yaml, functions, "a program has at least one function");
	if (strpbrk(yaml_string(&decoder->yaml, name, "program"), "/\n") != NULL)
		yaml_error(&decoder->yaml, name, "the name of a program becomes that of a file");
	function = scenario_alloc(decoder->scenario, count, sizeof(*function));
	for (size_t i = 0; i < count; i++) {
		yaml_node_t *value;
		const yaml_node_t *key = yaml_pair(&decoder->yaml, functions, i, &value);
		uint64_t size = yaml_integer(&decoder->yaml, value, "size of a function in bytes",
			YAML_COUNT, 4, FUNCTION_BYTES_MAX);

		function[i].name = scenario_format(
			decoder->scenario, "%s", yaml_string(&decoder->yaml, key, "function"));
		function[i].size = (uint32_t)size;
		if (size % 4 != 0)
			yaml_error(&decoder->yaml, value,
				"size of a function: instructions have 4 bytes each");
	}
	*program = (struct machine_program){
		.name = scenario_format(
			decoder->scenario, "%s", yaml_string(&decoder->yaml, name, "program")),
		.functions = function,
		.function_count = (uint32_t)count,
	};
}

void decode_programs(struct decoder *decoder, yaml_node_t *node)
{
	struct machine_description *machine = &decoder->scenario->machine;

	if (node == NULL || !yaml_expect_map(&decoder->yaml, node, "programs"))
		return;
	decoder->programs_list = scenario_alloc(
		decoder->scenario, yaml_length(node), sizeof(*decoder->programs_list));
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(&decoder->yaml); i++) {
		yaml_node_t *value;
		yaml_node_t *key = yaml_pair(&decoder->yaml, node, i, &value);
		struct machine_program *program = &decoder->programs_list[machine->program_count];

		decode_program(decoder, key, value, program);
		if (yaml_reader_failed(&decoder->yaml))
			return;
		/* The kernel's functions, for phases at EL 1, are a program too. */
		if (yaml_says(key, "kernel")) {
			struct machine_program *kernel = scenario_alloc(
				decoder->scenario, 1, sizeof(*kernel));

			*kernel = *program;
			machine->kernel = kernel;
			continue;
		}
		names_add(decoder, &decoder->programs, key, "program", program->name,
			machine->program_count++, 1);
	}
}

/* ---- works ---- */

static uint32_t find_function(
	struct decoder *decoder, const struct machine_program *program, const yaml_node_t *node)
{
	const char *name = yaml_string(&decoder->yaml, node, "function");

	for (uint32_t i = 0; i < program->function_count; i++) {
		if (strcmp(program->functions[i].name, name) == 0)
			return i;
	}
	yaml_error(&decoder->yaml, node, "program `%s` has no function `%s`", program->name, name);
	return 0;
}

static void decode_phase(struct decoder *decoder, yaml_node_t *node,
	const struct machine_program *program, struct machine_phase *phase)
{
	static const char *const keys[] = {"stack", "el", "for", "rates", NULL};
	static const struct machine_function only = {"kernel", 4};
	static const struct machine_program default_kernel = {"kernel", &only, 1};
	struct yaml_reader *yaml = &decoder->yaml;
	yaml_node_t *stack;
	yaml_node_t *el;
	uint32_t *function;

	if (!yaml_check_keys(yaml, node, "a phase", keys))
		return;
	el = yaml_get(yaml, node, "el");
	if (el != NULL)
		phase->el = (uint8_t)yaml_integer(yaml, el, "exception level", YAML_COUNT, 0, 1);
	if (phase->el == 1)
		program = decoder->scenario->machine.kernel != NULL
				  ? decoder->scenario->machine.kernel
				  : &default_kernel;
	stack = yaml_need(yaml, node, "stack");
	if (stack == NULL || !yaml_expect_sequence(yaml, stack, "stack"))
		return;
	phase->depth = (uint32_t)yaml_length(stack);
	if (phase->depth == 0 || phase->depth > MACHINE_STACK_MAX) {
		yaml_error(yaml, stack, "a stack has 1 to %u functions", MACHINE_STACK_MAX);
		return;
	}
	function = scenario_alloc(decoder->scenario, phase->depth, sizeof(*function));
	for (uint32_t i = 0; i < phase->depth; i++)
		function[i] = find_function(decoder, program, yaml_item(yaml, stack, i));
	phase->stack = function;
	phase->duration_ns = yaml_integer(
		yaml, yaml_need(yaml, node, "for"), "for", YAML_TIME_NS, 1, MACHINE_END_MAX_NS);
	phase->rates = decode_rates(decoder, yaml_need(yaml, node, "rates"));
}

static void decode_phases(struct decoder *decoder, yaml_node_t *node, struct machine_work *work)
{
	struct machine_phase *phase;

	if (node == NULL || !yaml_expect_sequence(&decoder->yaml, node, "phases"))
		return;
	work->phase_count = (uint32_t)yaml_length(node);
	phase = scenario_alloc(decoder->scenario, work->phase_count, sizeof(*phase));
	for (uint32_t i = 0; i < work->phase_count && !yaml_reader_failed(&decoder->yaml); i++)
		decode_phase(decoder, yaml_item(&decoder->yaml, node, i),
			&decoder->programs_list[work->program], &phase[i]);
	work->phases = phase;
}

/* A work from the keys WORK_KEYS of `node`; its number. */
static uint32_t decode_work(struct decoder *decoder, yaml_node_t *node)
{
	struct machine_description *machine = &decoder->scenario->machine;
	struct yaml_reader *yaml = &decoder->yaml;
	struct machine_work work = {.repeat = 1, .end = MACHINE_WORK_EXIT};
	const struct scenario_name *program;
	yaml_node_t *repeat = yaml_get(yaml, node, "repeat");
	yaml_node_t *then = yaml_get(yaml, node, "then");

	program = names_find(
		decoder, &decoder->programs, yaml_need(yaml, node, "program"), "program");
	if (program == NULL)
		return 0;
	work.program = program->first;
	if (yaml_says(repeat, "forever"))
		work.repeat = 0;
	else if (repeat != NULL)
		work.repeat = yaml_integer(yaml, repeat, "repeat", YAML_COUNT, 1, UINT64_MAX);
	if (yaml_says(then, "sleep"))
		work.end = MACHINE_WORK_SLEEP;
	else if (then != NULL && !yaml_says(then, "exit"))
		yaml_error(yaml, then, "then: expected exit or sleep");
	decode_phases(decoder, yaml_get(yaml, node, "phases"), &work);
	if (machine->work_count == decoder->works_room) {
		uint32_t room = decoder->works_room * 2 + 16;
		struct machine_work *grown = scenario_alloc(
			decoder->scenario, room, sizeof(*grown));

		if (machine->work_count > 0)
			memcpy(grown, decoder->works_list, machine->work_count * sizeof(*grown));
		decoder->works_list = grown;
		decoder->works_room = room;
	}
	decoder->works_list[machine->work_count] = work;
	return machine->work_count++;
}

void decode_works(struct decoder *decoder, yaml_node_t *node)
{
	static const char *const keys[] = {WORK_KEYS, NULL};
	struct yaml_reader *yaml = &decoder->yaml;

	if (node == NULL || !yaml_expect_map(yaml, node, "works"))
		return;
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(yaml); i++) {
		yaml_node_t *value;
		yaml_node_t *key = yaml_pair(yaml, node, i, &value);
		const char *name = scenario_format(
			decoder->scenario, "%s", yaml_string(yaml, key, "work"));

		if (yaml_check_keys(yaml, value, "a work", keys))
			names_add(decoder, &decoder->works, key, "work", name,
				decode_work(decoder, value), 1);
	}
}

/* ---- tasks ---- */

uint32_t decode_task(struct decoder *decoder, const yaml_node_t *node, const char *what)
{
	const struct scenario_name *name;

	if (node == NULL || yaml_says(node, "root"))
		return OPERATION_NOBODY;
	name = names_find(decoder, &decoder->tasks, node, what);
	if (name != NULL && name->count != 1)
		yaml_error(&decoder->yaml, node, "%s: `%s` has %u copies; name one, as %s.0", what,
			name->name, name->count, name->name);
	return name != NULL ? name->first : OPERATION_NOBODY;
}

/* User 0, which tasks are of by default, has all capabilities unless the file lists some. */
static void decode_rights(
	struct decoder *decoder, yaml_node_t *node, struct machine_task_description *task)
{
	static const struct yaml_name names[] = {{"perfmon", 1}, {"sys_admin", 2}, {NULL, 0}};
	const yaml_node_t *uid = yaml_get(&decoder->yaml, node, "uid");
	const yaml_node_t *list = yaml_get(&decoder->yaml, node, "capabilities");
	uint64_t set = yaml_name_set(&decoder->yaml, list, "capabilities", names, 3);

	if (uid != NULL)
		task->uid = (uint32_t)yaml_integer(
			&decoder->yaml, uid, "uid", YAML_COUNT, 0, INT32_MAX);
	if (task->uid == 0 && list == NULL)
		set = 3;
	task->perfmon = set & 1;
	task->sys_admin = set & 2;
}

/* Everything of a task but its work and its name. */
static void decode_task_state(
	struct decoder *decoder, yaml_node_t *node, struct machine_task_description *task)
{
	struct yaml_reader *yaml = &decoder->yaml;
	const yaml_node_t *value;

	task->cpu_mask = decode_cpus(decoder, yaml_get(yaml, node, "cpus"), "cpus");
	value = yaml_get(yaml, node, "cpu");
	task->cpu = value != NULL ? decode_cpu(decoder, value, "cpu") : OPERATION_NOBODY;
	task->parent = decode_task(decoder, yaml_get(yaml, node, "parent"), "task");
	task->thread = yaml_bool(yaml, yaml_get(yaml, node, "thread"), "thread");
	task->stopped = yaml_bool(yaml, yaml_get(yaml, node, "stopped"), "stopped");
	value = yaml_get(yaml, node, "start");
	if (value != NULL)
		task->start_ns = yaml_integer(
			yaml, value, "start", YAML_TIME_NS, 0, MACHINE_END_MAX_NS);
	decode_rights(decoder, node, task);
	if (task->thread && task->parent == OPERATION_NOBODY)
		yaml_error(yaml, node, "a thread needs a `parent`");
}

static void decode_one_task(
	struct decoder *decoder, yaml_node_t *node, const char *name, uint32_t copies)
{
	static const char *const keys[] = {WORK_KEYS, "name", "work", "cpus", "cpu", "parent",
		"thread", "stopped", "start", "uid", "capabilities", "copies", NULL};
	struct machine_description *machine = &decoder->scenario->machine;
	struct scenario *scenario = decoder->scenario;
	struct machine_task_description task = {0};
	yaml_node_t *work;
	const struct scenario_name *named;

	if (!yaml_check_keys(&decoder->yaml, node, "a task", keys))
		return;
	work = yaml_get(&decoder->yaml, node, "work");
	if (work == NULL) {
		task.work = decode_work(decoder, node);
	} else {
		named = names_find(decoder, &decoder->works, work, "work");
		task.work = named != NULL ? named->first : 0;
	}
	decode_task_state(decoder, node, &task);
	if (copies > 1)
		names_add(
			decoder, &decoder->tasks, node, "task", name, machine->task_count, copies);
	for (uint32_t i = 0; i < copies; i++) {
		const char *own = copies > 1 ? scenario_format(scenario, "%s.%u", name, i) : name;

		names_add(decoder, &decoder->tasks, node, "task", own, machine->task_count, 1);
		scenario->task_names[machine->task_count] = own;
		decoder->tasks_list[machine->task_count++] = task;
	}
}

static uint32_t copies_of(struct decoder *decoder, yaml_node_t *task)
{
	const yaml_node_t *copies = yaml_get(&decoder->yaml, task, "copies");

	return copies == NULL ? 1
			      : (uint32_t)yaml_integer(&decoder->yaml, copies, "copies", YAML_COUNT,
					1, COPIES_MAX);
}

void decode_tasks(struct decoder *decoder, yaml_node_t *node)
{
	struct yaml_reader *yaml = &decoder->yaml;
	struct scenario *scenario = decoder->scenario;

	scenario->task_names = scenario_alloc(scenario, TASKS_MAX, sizeof(*scenario->task_names));
	if (node == NULL || !yaml_expect_sequence(yaml, node, "tasks"))
		return;
	decoder->tasks_list = scenario_alloc(scenario, TASKS_MAX, sizeof(*decoder->tasks_list));
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(yaml); i++) {
		yaml_node_t *item = yaml_item(yaml, node, i);
		uint32_t copies = copies_of(decoder, item);
		const char *name = scenario_format(scenario, "%s",
			yaml_string(yaml, yaml_need(yaml, item, "name"), "name of a task"));

		if (scenario->machine.task_count + copies > TASKS_MAX)
			yaml_error(yaml, item, "more than %u tasks", TASKS_MAX);
		else
			decode_one_task(decoder, item, name, copies);
	}
	scenario->task_count = scenario->machine.task_count;
}

void decode_fork_names(struct decoder *decoder, yaml_node_t *operations)
{
	struct scenario *scenario = decoder->scenario;
	struct yaml_reader *yaml = &decoder->yaml;

	scenario->task_count = scenario->machine.task_count;
	for (size_t i = 0; yaml_is_sequence(operations) && i < yaml_length(operations); i++) {
		yaml_node_t *item = yaml_item(yaml, operations, i);
		const yaml_node_t *name = yaml_get(yaml, item, "fork");
		const char *text;

		if (name == NULL)
			continue;
		text = scenario_format(
			scenario, "%s", yaml_string(yaml, name, "name of the child"));
		if (scenario->task_count == TASKS_MAX) {
			yaml_error(yaml, item, "more than %u tasks", TASKS_MAX);
			return;
		}
		names_add(decoder, &decoder->tasks, name, "task", text, scenario->task_count, 1);
		scenario->task_names[scenario->task_count++] = text;
	}
}
