/* SPDX-License-Identifier: MIT
 *
 * oracle.c: the oracle's life, its ears, and what it says.
 *
 * Everything told of a CPU first brings that CPU's clock forward (clock.c), then changes what is
 * known. All callbacks run on the machine's stack, so nothing here recurses deeply or needs much of
 * it. Without memory the process ends: a judge that silently stops judging would be worse.
 */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *oracle_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		abort();
	return memory;
}

void *oracle_grow(void *memory, size_t size)
{
	void *grown = realloc(memory, size);

	if (!grown)
		abort();
	return grown;
}

/* ---- violations ---- */

void oracle_violate(struct oracle *o, const char *law, uint32_t cpu,
	const struct oracle_event *event, uint64_t expected, uint64_t found, const char *format,
	...)
{
	struct oracle_violation violation = {.law = law,
		.t_ns = o->now_ns,
		.cpu = cpu,
		.event = event ? event->number : ORACLE_NOBODY,
		.expected = expected,
		.found = found};
	char *text = violation.text;
	size_t room = sizeof(violation.text);
	va_list arguments;
	int n;

	n = snprintf(text, room, "%s at %" PRIu64 " ns", law, o->now_ns);
	if (cpu != ORACLE_NOBODY)
		n += snprintf(text + n, room - (size_t)n, ", CPU %u", cpu);
	if (event)
		n += snprintf(text + n, room - (size_t)n, ", event %u", event->number);
	n += snprintf(text + n, room - (size_t)n, ": ");
	va_start(arguments, format);
	vsnprintf(text + n, room - (size_t)n, format, arguments);
	va_end(arguments);
	if (!o->violation)
		o->violation = oracle_grow(NULL, ORACLE_VIOLATIONS_KEPT * sizeof(*o->violation));
	if (o->violations < ORACLE_VIOLATIONS_KEPT)
		o->violation[o->violations] = violation;
	o->violations++;
	if (o->options.violated)
		o->options.violated(o->options.context, &violation);
}

uint64_t oracle_violation_count(const struct oracle *o)
{
	return o->violations;
}

const struct oracle_violation *oracle_violation(const struct oracle *o, uint32_t k)
{
	return k < o->violations && k < ORACLE_VIOLATIONS_KEPT ? &o->violation[k] : NULL;
}

struct oracle_tally oracle_tally(const struct oracle *o)
{
	return o->tally;
}

/* ---- what must be ---- */

bool oracle_count(const struct oracle *o, uint32_t number, struct oracle_count *count)
{
	const struct oracle_event *event = o->events;
	struct range value;

	*count = (struct oracle_count){0};
	while (event && event->number != number) /* the newest of that number */
		event = event->next;
	if (!event)
		return number < o->event_count;
	value = value_of(event);
	*count = (struct oracle_count){
		.opened = true,
		.closed = event->closed,
		.on = event->on == ON && !event->ended && !event->closed,
		.gated = event->on == ON && event_timed(event) == OFF,
		.error = event->error,
		.ended = event->ended,
		.multiplexed = event->multiplexed,
		.id = event->residence->id,
		.value = value.least,
		.value_slack = value.most - value.least,
		.enabled_ns = event->enabled_least_ns,
		.enabled_slack_ns = event->enabled_most_ns - event->enabled_least_ns,
		.running_ns = event->residence->running_ns,
		.periods_due = event->due,
		.samples_written = event->written,
		.samples_lost = event->lost,
		.samples_without_ring = event->without_ring,
		.periods_skipped = event->skipped,
		.samples_seen = event->seen,
	};
	return true;
}

/* ---- ears ---- */

/* Pinned groups that found no room are in error from this instant on, though no time passes. When
 * calls may overlap, only the caller's own CPU is known to be through with everything. */
static void judge_instant(struct oracle *o, const struct machine_task *actor)
{
	if (o->concurrent) {
		if (actor)
			law_judge(o, machine_task_cpu(actor), false);
		return;
	}
	for (uint32_t i = 0; i < o->description->cpu_count; i++)
		law_judge(o, i, false);
}

static void on_retire(void *context, const struct machine_retire *retire)
{
	residency_retire(context, retire);
}

static void on_switch(void *context, uint32_t index, const struct machine_task *prev,
	const struct machine_task *next, uint64_t t_ns)
{
	struct oracle *o = context;
	struct cpu *cpu = &o->cpu[index];

	clock_cpu(o, index, t_ns);
	law_judge(o, index, false);
	if (next)
		(void)task_meet(o, next);
	cpu->left_tid = prev ? machine_task_tid(prev) : ORACLE_TASK_NONE;
	cpu->tid = next ? machine_task_tid(next) : ORACLE_TASK_NONE;
	cpu->switched_ns = t_ns;
	cpu->judge = true;
}

static void on_interrupt(void *context, uint32_t index, uint64_t pc, uint8_t el, uint64_t t_ns)
{
	struct oracle *o = context;
	struct cpu *cpu = &o->cpu[index];

	clock_cpu(o, index, t_ns);
	cpu->interrupted = true;
	cpu->handler_ns = t_ns + o->irq_ns;
	cpu->pc = pc;
	cpu->el = el;
	clock_cpu(o, index, t_ns);
}

static void on_tick(void *context, uint32_t index, uint64_t t_ns)
{
	struct oracle *o = context;

	clock_cpu(o, index, t_ns);
	law_tick(o, index);
}

static void on_begin(void *context, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, uint64_t t_ns)
{
	struct oracle *o = context;

	clock_all(o, t_ns);
	judge_instant(o, actor);
	call_begin(o, index, operation, actor);
}

static void on_end_of_call(void *context, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, const struct operation_result *result)
{
	struct oracle *o = context;

	clock_all(o, result->end_ns);
	call_end(o, index, operation, actor, result);
	judge_instant(o, actor);
}

static void on_record(void *context, uint32_t event, const void *bytes, size_t size, uint64_t t_ns)
{
	(void)t_ns;
	sample_record(context, event, bytes, size);
}

static void on_trace(void *context, const struct machine_trace *trace)
{
	residency_trace(context, trace);
}

static void on_fork(void *context, const struct machine_task *parent,
	const struct machine_task *child, uint64_t t_ns)
{
	clock_all(context, t_ns);
	life_fork(context, parent, child);
}

static void on_exit_of_task(void *context, const struct machine_task *task, uint64_t t_ns)
{
	clock_all(context, t_ns);
	life_exit(context, task);
}

static void on_cpu(void *context, uint32_t cpu, bool online, uint64_t t_ns)
{
	struct oracle *o = context;

	clock_all(o, t_ns);
	life_cpu(o, cpu, online);
}

static void on_pmu_change(void *context, const struct pmu_change *change)
{
	residency_pmu_change(context, change);
}

/* S8: with the last event gone, nothing counts. */
static void on_end(void *context, uint64_t t_ns)
{
	struct oracle *o = context;
	bool live = false;

	clock_all(o, t_ns);
	for (uint32_t i = 0; i < o->description->cpu_count; i++)
		law_judge(o, i, true);
	for (const struct oracle_event *event = o->events; event; event = event->next)
		live = live || !event->closed;
	for (uint32_t i = 0; i < o->description->cpu_count && !live; i++) {
		for (uint32_t slot = 0; slot < PMU_COUNTERS_MAX; slot++) {
			if (o->cpu[i].counter[slot].levels != 0)
				oracle_violate(o, "S8", i, NULL, 0, o->cpu[i].counter[slot].levels,
					"counter %u counts after the last event is gone", slot);
		}
	}
	o->ended = true;
}

/* ---- life ---- */

static void look_at_machine(struct oracle *o)
{
	const struct machine_description *d = o->description;

	for (uint32_t i = 0; i < d->cpu_count; i++) {
		const struct pmu_cpu_config *pmu = d->clusters[d->cluster_of[i]].pmu;

		o->cpu[i].cluster = d->cluster_of[i];
		o->cpu[i].present_events = pmu->has_el2 ? pmu->hpmn : pmu->counter_count;
		o->cpu[i].switched_ns = UINT64_MAX;
	}
	for (uint32_t i = 0; i < d->operation_count; i++)
		o->may_lack_memory |= d->operations[i].kind == OPERATION_FAIL_ALLOC;
	o->may_lack_memory |= d->policy != NULL;
	o->concurrent = d->policy && (d->policy->concurrent || d->policy->points);
	o->irq_ns = d->irq_ns;
}

struct oracle *oracle_create(struct machine *machine, const struct oracle_options *options)
{
	struct oracle *o = calloc(1, sizeof(*o));
	struct machine_observer observer = {.context = o,
		.retire = on_retire,
		.sched_switch = on_switch,
		.pmu_interrupt = on_interrupt,
		.tick = on_tick,
		.operation_begin = on_begin,
		.operation_end = on_end_of_call,
		.record = on_record,
		.trace = on_trace,
		.task_fork = on_fork,
		.task_exit = on_exit_of_task,
		.cpu_state = on_cpu,
		.pmu_change = on_pmu_change,
		.end = on_end};

	if (!o)
		return NULL;
	o->machine = machine;
	o->description = machine_described(machine);
	if (options)
		o->options = *options;
	for (uint32_t i = 0; i < o->description->operation_count; i++)
		o->event_count += o->description->operations[i].kind == OPERATION_OPEN;
	o->numbered = calloc((size_t)o->event_count + 1, sizeof(struct oracle_event *));
	o->call = calloc((size_t)o->description->operation_count + 1, sizeof(*o->call));
	o->call_count = o->description->operation_count;
	o->cpu = calloc(o->description->cpu_count, sizeof(*o->cpu));
	if (o->cpu)
		look_at_machine(o);
	if (!o->cpu || !o->numbered || !o->call || !machine_observe(machine, &observer)) {
		oracle_destroy(o);
		return NULL;
	}
	return o;
}

void oracle_destroy(struct oracle *o)
{
	if (!o)
		return;
	while (o->events) {
		struct oracle_event *event = o->events;

		o->events = event->next;
		if (event->residence && event->residence->id == 0)
			free(event->residence);
		event_free(event);
	}
	for (uint32_t i = 0; i < o->residence_room; i++)
		free(o->residences[i]);
	for (uint32_t i = 0; o->call && i < o->call_count; i++)
		free(o->call[i].answer);
	free(o->residences);
	free(o->tasks);
	free(o->view);
	free(o->call);
	free(o->numbered);
	free(o->cpu);
	free(o->violation);
	free(o);
}
