/* SPDX-License-Identifier: MIT
 *
 * clock.c: time passes on a CPU.
 *
 * In the stretch since the CPU was last brought forward nothing changed there: the same task was
 * current, the same events were on, the same counters were held. So the laws are judged once per
 * stretch, and every event that was loaded gets the length of it: enabled if it was on and its
 * leader was, running if it held a counter.
 */
#include "state.h"

static void pass(struct oracle *o, uint32_t index, uint64_t dt_ns)
{
	struct cpu *cpu = &o->cpu[index];

	for (struct oracle_event *event = o->events; event; event = event->next) {
		enum on timed;

		if (!event_is_loaded(o, event, index))
			continue;
		timed = event_timed(event);
		if (timed == ON)
			event->enabled_least_ns += dt_ns;
		if (timed != OFF)
			event->enabled_most_ns += dt_ns;
	}
	for (uint32_t slot = 0; slot < PMU_COUNTERS_MAX; slot++) {
		if (cpu->counter[slot].holder)
			cpu->counter[slot].holder->running_ns += dt_ns;
	}
}

/* The handler of an interrupt runs `irq_ns` after it was taken: samples are of that moment. */
static void reach_handler(struct oracle *o, uint32_t index)
{
	struct cpu *cpu = &o->cpu[index];

	if (!cpu->interrupted || cpu->last_ns < cpu->handler_ns)
		return;
	cpu->interrupted = false;
	sample_settle(o, index, &cpu->pc, cpu->el);
}

static void forward(struct oracle *o, uint32_t index, uint64_t t_ns)
{
	struct cpu *cpu = &o->cpu[index];

	if (t_ns <= cpu->last_ns)
		return;
	if (cpu->judge)
		law_judge(o, index, true);
	cpu->judge = false;
	pass(o, index, t_ns - cpu->last_ns);
	cpu->last_ns = t_ns;
}

void clock_cpu(struct oracle *o, uint32_t index, uint64_t t_ns)
{
	struct cpu *cpu = &o->cpu[index];

	if (t_ns > o->now_ns)
		o->now_ns = t_ns;
	if (cpu->interrupted && cpu->handler_ns < t_ns)
		forward(o, index, cpu->handler_ns);
	reach_handler(o, index);
	forward(o, index, t_ns);
	reach_handler(o, index);
}

void clock_all(struct oracle *o, uint64_t t_ns)
{
	for (uint32_t i = 0; i < o->description->cpu_count; i++)
		clock_cpu(o, i, t_ns);
}
