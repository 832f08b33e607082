/* SPDX-License-Identifier: MIT
 *
 * residency.c: which event is in which counter, what the counter is set up for, and what it must
 * have counted.
 *
 * Three sources meet here. The engine's trace says which event it means to have where. The PMU's
 * registers say what the counter really counts. Retirement says what happened. An event is credited
 * with what happened at its levels while it was in a counter; that the counter was set up for just
 * that is law C1, that no other counter ran is law S2 (C2: no increment without an owner).
 */
#include "state.h"

#include <stdlib.h>

#define CPU_CYCLES 0x11 /* Arm ARM DDI 0487, D13.12 */

/* ---- by id ---- */

static uint32_t place_of(const struct oracle *o, uint64_t id)
{
	uint32_t at = (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (o->residence_room - 1);

	while (o->residences[at] && o->residences[at]->id != id)
		at = (at + 1) & (o->residence_room - 1);
	return at;
}

static void make_room(struct oracle *o)
{
	struct residence **old = o->residences;
	uint32_t room = o->residence_room;

	if (2 * (o->residence_count + 1) <= room)
		return;
	o->residence_room = room ? 2 * room : 64;
	o->residences = oracle_allocate(o->residence_room * sizeof(*o->residences));
	for (uint32_t i = 0; i < room; i++) {
		if (old[i])
			o->residences[place_of(o, old[i]->id)] = old[i];
	}
	free(old);
}

struct residence *residence_of(struct oracle *o, uint64_t id)
{
	struct residence *residence;
	uint32_t at;

	make_room(o);
	at = place_of(o, id);
	if (o->residences[at])
		return o->residences[at];
	residence = oracle_allocate(sizeof(*residence));
	residence->id = id;
	residence->cpu = ORACLE_NOBODY;
	o->residences[at] = residence;
	o->residence_count++;
	return residence;
}

/* ---- counting ---- */

/* Kernel code in the middle of the call that opens the event. */
static void credit_by_counter(const struct machine_retire *retire, struct residence *residence,
	const struct counter *counter, uint32_t slot)
{
	uint16_t number = slot == PMU_CYCLE_COUNTER ? CPU_CYCLES : counter->event;

	if ((counter->levels >> retire->el & 1) == 0)
		return;
	residence->count += machine_retire_count(retire, number);
	residence->in_bursts += machine_retire_count(retire, number);
}

/* What happened in the stretch at the event's levels. */
static void credit(struct oracle *o, const struct machine_retire *retire,
	struct residence *residence, uint32_t slot)
{
	struct oracle_event *event = residence->event;
	int number;
	uint64_t n;

	if (!event) { /* opened in a call that is not over: what it counts only the counter knows */
		if (retire->t0_ns == retire->t1_ns) /* else it is not checked (settle_in) */
			credit_by_counter(
				retire, residence, &o->cpu[retire->cpu].counter[slot], slot);
		return;
	}
	number = number_of(o, event, o->cpu[retire->cpu].cluster);
	if (number < 0 || (levels_of(event) >> retire->el & 1) == 0)
		return;
	if (slot != PMU_CYCLE_COUNTER &&
		!pmu_cpu_has_event(o->description->clusters[o->cpu[retire->cpu].cluster].pmu,
			(uint16_t)number))
		return; /* a raw number that this PMU lacks counts nothing */
	n = machine_retire_count(retire, (uint16_t)number);
	residence->count += n;
	if (retire->t0_ns == retire->t1_ns)
		residence->in_bursts += n;
	event->since += n;
}

void residency_retire(struct oracle *o, const struct machine_retire *retire)
{
	struct cpu *cpu = &o->cpu[retire->cpu];
	bool burst = retire->t0_ns == retire->t1_ns;

	clock_cpu(o, retire->cpu, retire->t0_ns);
	o->tally.stretches++;
	o->bursts += burst;
	for (uint32_t slot = 0; slot < PMU_COUNTERS_MAX; slot++) {
		const struct counter *counter = &cpu->counter[slot];

		/* Kernel code between two accesses of the registers: whether the counter has been
		 * started or stopped yet only they know. */
		if (counter->holder && (!burst || (counter->levels >> retire->el & 1) != 0))
			credit(o, retire, counter->holder, slot);
	}
	clock_cpu(o, retire->cpu, retire->t1_ns);
}

/* ---- what the engine means ---- */

static void place(struct oracle *o, const struct machine_trace *trace)
{
	struct residence *residence = residence_of(o, trace->a);
	struct counter *counter = &o->cpu[trace->cpu].counter[trace->b];

	o->tally.placements++;
	if (residence->cpu != ORACLE_NOBODY)
		oracle_violate(o, "S1", trace->cpu, residence->event, 0, trace->b,
			"id %" PRIu64 " comes into slot %" PRIu64 " while in slot %u of CPU %u",
			trace->a, trace->b, residence->slot, residence->cpu);
	if (counter->holder && counter->holder != residence)
		oracle_violate(o, "S1", trace->cpu, residence->event, counter->holder->id, trace->a,
			"slot %" PRIu64 " is held by id %" PRIu64 " when id %" PRIu64 " comes",
			trace->b, counter->holder->id, trace->a);
	if (residence->cpu != ORACLE_NOBODY)
		o->cpu[residence->cpu].counter[residence->slot].holder = NULL;
	counter->holder = residence;
	residence->cpu = trace->cpu;
	residence->slot = (uint32_t)trace->b;
	if (residence->event) {
		struct oracle_event *event = residence->event;

		if (event->closed)
			oracle_violate(o, "L2", trace->cpu, event, 0, trace->a,
				"a closed event is placed");
		if (event->on == MAYBE)
			event->on = ON;
		event->waited_ticks = 0;
	}
}

static void leave(struct oracle *o, const struct machine_trace *trace)
{
	struct residence *residence = residence_of(o, trace->a);
	struct counter *counter = &o->cpu[trace->cpu].counter[trace->b];

	if (counter->holder != residence) {
		oracle_violate(o, "S1", trace->cpu, residence->event,
			counter->holder ? counter->holder->id : 0, trace->a,
			"id %" PRIu64 " leaves slot %" PRIu64 ", which it does not hold", trace->a,
			trace->b);
		return;
	}
	if (residence->event && event_samples(residence->event))
		sample_leave(o, trace->cpu, residence->event);
	counter->holder = NULL;
	residence->cpu = ORACLE_NOBODY;
}

void residency_trace(struct oracle *o, const struct machine_trace *trace)
{
	struct residence *residence;

	if (trace->cpu >= o->description->cpu_count)
		return;
	clock_cpu(o, trace->cpu, trace->t_ns);
	o->cpu[trace->cpu].judge = true;
	if (trace->kind == TRACE_SKIPPED) {
		residence = residence_of(o, trace->a);
		if (residence->event)
			residence->event->skipped_told += trace->b;
		return;
	}
	if (trace->b >= PMU_COUNTERS_MAX) {
		oracle_violate(o, "S1", trace->cpu, NULL, PMU_COUNTERS_MAX, trace->b,
			"there is no slot %" PRIu64, trace->b);
		return;
	}
	if (trace->kind == TRACE_PLACED)
		place(o, trace);
	else if (trace->kind == TRACE_LEFT)
		leave(o, trace);
}

/* ---- what the registers say ---- */

void residency_pmu_change(struct oracle *o, const struct pmu_change *change)
{
	struct counter *counter = &o->cpu[change->cpu].counter[change->counter];

	clock_cpu(o, change->cpu, change->now_ns);
	*counter = (struct counter){.known = true,
		.levels = change->counts_at_els,
		.divided = change->divided_by_64,
		.event = change->event,
		.filter = change->filter,
		.holder = counter->holder};
	o->cpu[change->cpu].judge = true;
}
