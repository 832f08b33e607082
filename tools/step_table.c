/* SPDX-License-Identifier: MIT
 *
 * step_table.c: the table of steps (step_table.h).
 *
 * The run is recorded row by row: accesses of the engine, and what the machine tells (switches,
 * interrupts, operations). A row belongs to the choices made since the row before it; rows next to
 * a deviation, and the last ones, are printed.
 */
#include "step_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <machine/machine.h>
#include <machine/order.h>

#include "symbols.h"

#define COLUMN     58
#define NEAR       6u  /* rows shown in front of a deviation and after it */
#define LAST       12u /* rows shown at the end */
#define ROWS_MAX   (1u << 20)
#define TEXT_MAX   200
#define EVENT_MAX  80
#define SHOWN_CPUS 4u

struct row {
	uint32_t cpu;
	uint32_t step; /* choices made before it */
	bool is_access;
	struct explorer_access access;
	char event[EVENT_MAX];
};

struct table {
	struct row *row;
	size_t count;
	uint32_t cpus;
	bool over; /* the experiment: what follows tears it down */
	const struct explorer_search *search;
};

/* ---- recording: on the stacks of the run, which are small ---- */

/* NULL: the table is full. */
static struct row *add_row(struct table *table, uint32_t cpu)
{
	struct row *row;
	size_t choices;

	if (table->count == ROWS_MAX || table->over)
		return NULL;
	explorer_choices(table->search, &choices);
	row = &table->row[table->count++];
	row->cpu = cpu;
	row->step = (uint32_t)choices;
	if (cpu >= table->cpus)
		table->cpus = cpu + 1;
	return row;
}

__attribute__((format(printf, 3, 4))) static void add(
	struct table *table, uint32_t cpu, const char *format, ...)
{
	struct row *row = add_row(table, cpu);
	va_list args;

	if (row == NULL)
		return;
	va_start(args, format);
	vsnprintf(row->event, sizeof(row->event), format, args);
	va_end(args);
}

static void on_access(void *context, const struct explorer_access *access)
{
	struct row *row = add_row(context, machine_order.cpu);

	if (row == NULL)
		return;
	row->is_access = true;
	row->access = *access;
}

static void on_switch(void *context, uint32_t cpu, const struct machine_task *prev,
	const struct machine_task *next, uint64_t t_ns)
{
	add(context, cpu, "--- switch from task %" PRIu32 " to %" PRIu32 " at %" PRIu64 " ns",
		prev != NULL ? machine_task_tid(prev) : 0,
		next != NULL ? machine_task_tid(next) : 0, t_ns);
}

static void on_interrupt(void *context, uint32_t cpu, uint64_t pc, uint8_t el, uint64_t t_ns)
{
	(void)pc;
	add(context, cpu, "--- PMU interrupt, from EL%u, at %" PRIu64 " ns", el, t_ns);
}

static void on_tick(void *context, uint32_t cpu, uint64_t t_ns)
{
	add(context, cpu, "--- tick at %" PRIu64 " ns", t_ns);
}

static void on_begin(void *context, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, uint64_t t_ns)
{
	const char *name = operation_kind_name(operation->kind);

	add(context, actor != NULL ? machine_task_cpu(actor) : 0,
		"--- operation %" PRIu32 ", %s, begins at %" PRIu64 " ns", index,
		name != NULL ? name : "left out", t_ns);
}

static void on_end(void *context, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, const struct operation_result *result)
{
	(void)operation;
	add(context, actor != NULL ? machine_task_cpu(actor) : 0,
		"--- operation %" PRIu32 " ends: %" PRId64, index, result->result);
}

static void on_over(void *context, uint64_t t_ns)
{
	(void)t_ns;
	((struct table *)context)->over = true;
}

/* ---- printing ---- */

static const char *order_name(uint8_t order)
{
	switch (order) {
	case __ATOMIC_RELAXED:
		return "relaxed";
	case __ATOMIC_ACQUIRE:
	case __ATOMIC_CONSUME:
		return "acquire";
	case __ATOMIC_RELEASE:
		return "release";
	case __ATOMIC_ACQ_REL:
		return "acq_rel";
	default:
		return "seq_cst";
	}
}

static void describe(const struct row *row, char text[TEXT_MAX])
{
	static const char *const verbs[] = {"reads", "writes", "updates to", "fence"};
	const struct explorer_access *access = &row->access;

	if (!row->is_access)
		snprintf(text, TEXT_MAX, "%s", row->event);
	else if (access->kind == EXPLORER_FENCE)
		snprintf(text, TEXT_MAX, "%s: fence %s", symbol_place(access->site),
			order_name(access->order));
	else if (access->atomic)
		snprintf(text, TEXT_MAX, "%s: %s %#" PRIx64 " %s%s", symbol_place(access->site),
			verbs[access->kind], access->value, order_name(access->order),
			access->stale ? ", STALE" : "");
	else
		snprintf(text, TEXT_MAX, "%s: %s %" PRIu32 " bytes", symbol_place(access->site),
			verbs[access->kind], access->size);
}

static void print_row(const struct table *table, const struct row *row)
{
	uint32_t columns = table->cpus < SHOWN_CPUS ? table->cpus : SHOWN_CPUS;
	char text[TEXT_MAX];

	describe(row, text);
	printf("%6" PRIu32 " ", row->step);
	for (uint32_t cpu = 0; cpu < columns; cpu++) {
		if (cpu == row->cpu % SHOWN_CPUS)
			printf("| %-*.*s", COLUMN, (int)(cpu + 1 < columns ? COLUMN : TEXT_MAX),
				text);
		else
			printf("| %-*s", COLUMN, "");
	}
	printf("\n");
}

static void print_head(const struct table *table)
{
	printf("%6s ", "step");
	for (uint32_t cpu = 0; cpu < table->cpus && cpu < SHOWN_CPUS; cpu++)
		printf("| CPU %-*" PRIu32, COLUMN - 4, cpu);
	printf("\n");
}

/* Is a deviation within NEAR rows of row i? `at`: which. */
static const struct explorer_deviation *deviation_at(
	const struct table *table, const struct explorer_trace *trace, size_t i)
{
	uint32_t from = i == 0 ? 0 : table->row[i - 1].step;

	for (size_t k = 0; k < trace->count; k++) {
		if (trace->deviation[k].step > from &&
			trace->deviation[k].step <= table->row[i].step)
			return &trace->deviation[k];
	}
	return NULL;
}

static bool is_near(const struct table *table, const struct explorer_trace *trace, size_t i)
{
	size_t from = i > NEAR ? i - NEAR : 0, to = i + NEAR;

	if (i + LAST >= table->count)
		return true;
	for (size_t k = from; k <= to && k < table->count; k++) {
		if (deviation_at(table, trace, k) != NULL)
			return true;
	}
	return false;
}

static void print_table(const struct table *table, const struct explorer_trace *trace, bool all)
{
	bool gap = false;

	print_head(table);
	for (size_t i = 0; i < table->count; i++) {
		const struct explorer_deviation *d = deviation_at(table, trace, i);

		if (!all && !is_near(table, trace, i)) {
			gap = true;
			continue;
		}
		if (gap)
			printf("   ...\n");
		gap = false;
		if (d != NULL)
			printf(" ====> step %" PRIu32 ": %c answers %" PRIu32 "\n", d->step,
				machine_choice_letter(d->kind), d->answer);
		print_row(table, &table->row[i]);
	}
}

const char *step_table_print(
	struct explore_target *target, const struct explorer_trace *trace, bool all)
{
	struct explorer_search *search = explorer_search_replay(trace->deviation, trace->count);
	struct table table = {.row = calloc(ROWS_MAX, sizeof(*table.row)), .search = search};
	const struct machine_observer observer = {.context = &table,
		.sched_switch = on_switch,
		.pmu_interrupt = on_interrupt,
		.tick = on_tick,
		.operation_begin = on_begin,
		.operation_end = on_end,
		.end = on_over};
	const struct explore_eyes eyes = {
		.context = &table, .access = on_access, .observer = &observer};
	const char *wrong = "out of memory";

	if (search != NULL && table.row != NULL && explorer_search_next(search)) {
		wrong = explore_target_run(target, search, &eyes);
		print_table(&table, trace, all);
	}
	explorer_search_free(search);
	free(table.row);
	return wrong;
}
