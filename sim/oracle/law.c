/* SPDX-License-Identifier: MIT
 *
 * law.c: what must hold on a CPU in every stretch of time.
 *
 *   C1  the counter of a placed event is set up for just that event
 *   S2  no other counter counts
 *   S4  an event that is off, gated, in error or ended holds no counter
 *   S5  an event is only where its CPU and its PMU let it be
 *   S6  a pinned group is placed or in error, and in error only for want of counters
 *   S7  a group holds counters for all its enabled events or for none
 *   S9  an exclusive group is alone
 *   T4  when all groups fit at once, all are placed
 *   T5  no group that fits waits for more ticks than there are groups in its list
 *   T6  no group waits while counters that fit it are free
 *
 * Who gets a turn when not all fit is the engine's choice. Groups whose state is open (overlapping
 * calls) are left out, and then the laws that sum over groups are not judged.
 */
#include "state.h"

struct view {
	struct oracle_event *leader;
	uint32_t events; /* leader and members that are on */
	uint32_t cycles; /* of these, CPU cycles */
	uint32_t placed;
	bool own; /* of the CPU, not of the task */
	bool pinned;
	bool exclusive;
};

/* Everything that is on, loaded and may count here. */
struct scene {
	struct cpu *cpu;
	uint32_t index;
	uint32_t count;
	bool unsure;
	bool exclusive;
};

enum on event_timed(const struct oracle_event *event)
{
	const struct oracle_event *leader = event->leader;

	if (event->closed || event->ended)
		return OFF;
	if (event->unchecked || leader->unchecked || event->pending || leader->pending ||
		leader->group_pending)
		return MAYBE;
	if (leader->error || event->on == OFF || leader->on == OFF)
		return OFF;
	return event->on == MAYBE || leader->on == MAYBE ? MAYBE : ON;
}

bool event_is_loaded(const struct oracle *o, const struct oracle_event *event, uint32_t cpu)
{
	if (event->closed || event->ended)
		return false;
	if (event->tid == ORACLE_TASK_NONE)
		return (uint32_t)event->cpu == cpu && o->cpu[cpu].online;
	return o->cpu[cpu].tid == event->tid;
}

#define EVENT_CHAIN 0x1e

bool event_is_here(const struct oracle *o, const struct oracle_event *event, uint32_t cpu)
{
	int number = number_of(o, event, o->cpu[cpu].cluster);

	/* CHAIN is nobody's to have: it would count the wraps of its neighbour */
	return (event->cpu < 0 || (uint32_t)event->cpu == cpu) && number >= 0 &&
	       number != EVENT_CHAIN;
}

static bool is_resident(const struct oracle_event *event, uint32_t cpu)
{
	return event->residence && event->residence->cpu == cpu;
}

static bool fits(const struct cpu *cpu, uint32_t events, uint32_t cycles)
{
	return events - (cycles > 0 ? 1 : 0) <= cpu->present_events;
}

/* ---- counters ---- */

static void judge_free_counter(struct oracle *o, uint32_t index, uint32_t slot)
{
	const struct counter *counter = &o->cpu[index].counter[slot];

	if (counter->levels != 0)
		oracle_violate(o, "S2", index, NULL, 0, counter->levels,
			"counter %u counts event 0x%x at levels 0x%x for nobody", slot,
			counter->event, counter->levels);
}

static void judge_setup(
	struct oracle *o, uint32_t index, uint32_t slot, const struct oracle_event *event)
{
	const struct counter *counter = &o->cpu[index].counter[slot];
	const struct pmu_cpu_config *pmu = o->description->clusters[o->cpu[index].cluster].pmu;
	int number = number_of(o, event, o->cpu[index].cluster);
	bool counts = slot == PMU_CYCLE_COUNTER || pmu_cpu_has_event(pmu, (uint16_t)number);
	uint8_t levels = counts ? levels_of(event) : 0;

	if (!pmu->has_el2)
		levels &= 3;
	if (slot == PMU_CYCLE_COUNTER && number != (int)PMU_EVENT_CPU_CYCLES)
		oracle_violate(o, "C1", index, event, (uint64_t)number, PMU_EVENT_CPU_CYCLES,
			"event 0x%x is in the cycle counter", (unsigned int)number);
	else if (counts && counter->event != number)
		oracle_violate(o, "C1", index, event, (uint64_t)number, counter->event,
			"counter %u is set to event 0x%x, not 0x%x", slot, counter->event,
			(unsigned int)number);
	else if (counter->levels != levels)
		oracle_violate(o, "C1", index, event, levels, counter->levels,
			"counter %u counts at levels 0x%x, not 0x%x", slot, counter->levels,
			levels);
	else if (counter->divided)
		oracle_violate(o, "C1", index, event, 0, 1, "counter %u counts every 64th", slot);
}

static void judge_counter(struct oracle *o, uint32_t index, uint32_t slot, struct scene *scene)
{
	const struct residence *holder = o->cpu[index].counter[slot].holder;
	const struct oracle_event *event;

	if (!holder) {
		judge_free_counter(o, index, slot);
		return;
	}
	event = holder->event;
	if (!event) {
		scene->unsure = true;
		if (o->calls_active == 0)
			oracle_violate(o, "L3", index, NULL, 0, holder->id,
				"counter %u is held by id %" PRIu64 ", which no open returned",
				slot, holder->id);
		return;
	}
	if (event->unchecked || event_timed(event) == MAYBE)
		return;
	if (event_timed(event) == OFF || !event_is_loaded(o, event, index))
		oracle_violate(o, "S4", index, event, 0, slot, "it holds counter %u while %s", slot,
			event->closed          ? "closed"
			: event->ended         ? "ended"
			: event->leader->error ? "in error"
			: event->on == OFF     ? "off"
			: event_timed(event)   ? "its task is not here"
					       : "its leader is off");
	else if (!event_is_here(o, event, index))
		oracle_violate(
			o, "S5", index, event, 0, slot, "it may not count here, in %u", slot);
	else
		judge_setup(o, index, slot, event);
}

/* ---- groups ---- */

/* false: it is not on, may not count here, or its state is open. */
static bool view_group(
	struct oracle *o, struct scene *scene, struct oracle_event *leader, struct view *view)
{
	enum on timed = event_timed(leader);
	bool here = event_is_here(o, leader, scene->index);
	uint32_t cluster = scene->cpu->cluster;

	*view = (struct view){
		.leader = leader, .events = 1, .own = leader->tid == ORACLE_TASK_NONE};
	view->cycles = number_of(o, leader, cluster) == (int)PMU_EVENT_CPU_CYCLES;
	view->placed = is_resident(leader, scene->index);
	view->pinned = (leader->attr.flags & TALLY_ATTR_PINNED) != 0;
	view->exclusive = (leader->attr.flags & TALLY_ATTR_EXCLUSIVE) != 0;
	FOR_EACH_MEMBER(member, leader)
	{
		enum on member_timed = event_timed(member);

		if (timed != OFF && member_timed == MAYBE)
			timed = MAYBE;
		if (member_timed != ON)
			continue;
		here = here && event_is_here(o, member, scene->index);
		view->events++;
		view->cycles += number_of(o, member, cluster) == (int)PMU_EVENT_CPU_CYCLES;
		view->placed += is_resident(member, scene->index);
	}
	if (timed == MAYBE)
		scene->unsure = true;
	/* a group too wide for this kind of CPU waits for another kind, pinned or not */
	return timed == ON && here && fits(scene->cpu, view->events, view->cycles);
}

static void look(struct oracle *o, struct scene *scene)
{
	for (struct oracle_event *event = o->events; event; event = event->next) {
		if (event->leader != event || !event_is_loaded(o, event, scene->index))
			continue;
		if (scene->count == o->view_room) {
			o->view_room = o->view_room ? 2 * o->view_room : 64;
			o->view = oracle_grow(o->view, o->view_room * sizeof(*o->view));
		}
		if (view_group(o, scene, event, &o->view[scene->count])) {
			scene->exclusive |= o->view[scene->count].exclusive;
			scene->count++;
		}
	}
}

/* Pinned groups that are placed and come before `view` or beside it, and `view`: do they fit? */
static bool pinned_fits(const struct oracle *o, const struct scene *scene, const struct view *view)
{
	uint32_t events = view->events;
	uint32_t cycles = view->cycles;

	for (uint32_t i = 0; i < scene->count; i++) {
		const struct view *other = &o->view[i];

		if (other == view || !other->pinned || other->placed == 0 ||
			(view->own && !other->own))
			continue;
		if (other->exclusive || view->exclusive)
			return false;
		events += other->events;
		cycles += other->cycles;
	}
	return fits(scene->cpu, events, cycles);
}

static void judge_pinned(
	struct oracle *o, const struct scene *scene, struct view *view, bool time_passes)
{
	struct oracle_event *leader = view->leader;

	if (view->placed != 0) {
		leader->may_error = false;
		return;
	}
	if (o->concurrent && !time_passes) {
		leader->may_error = true;
		return;
	}
	if (!o->concurrent && !scene->unsure && pinned_fits(o, scene, view))
		oracle_violate(o, "S6", scene->index, leader, view->events, 0,
			"pinned, fits beside the pinned groups that are placed, and is not placed");
	leader->error = true;
	leader->may_error = false;
}

static void judge_waiting(struct oracle *o, const struct scene *scene, const struct view *view)
{
	const struct cpu *cpu = scene->cpu;
	uint32_t free = cpu->present_events;
	bool cycle_free = cpu->counter[PMU_CYCLE_COUNTER].holder == NULL;

	if (view->exclusive)
		return;
	for (uint32_t slot = 0; slot < PMU_CYCLE_COUNTER; slot++)
		free -= cpu->counter[slot].holder != NULL;
	for (uint32_t i = 0; i < scene->count; i++) {
		if (o->view[i].exclusive && o->view[i].placed != 0)
			return;
	}
	if (view->events - (view->cycles > 0 && cycle_free ? 1 : 0) <= free)
		oracle_violate(o, "T6", scene->index, view->leader, view->events, free,
			"it needs %u counters (%u cycles) and waits while %u%s are free",
			view->events, view->cycles, free,
			cycle_free ? " and the cycle counter" : "");
}

static void judge_views(struct oracle *o, const struct scene *scene)
{
	uint32_t events = 0;
	uint32_t cycles = 0;
	uint32_t placed_groups = 0;
	bool all;

	for (uint32_t i = 0; i < scene->count; i++) {
		events += o->view[i].leader->error ? 0 : o->view[i].events;
		cycles += o->view[i].leader->error ? 0 : o->view[i].cycles;
		placed_groups += o->view[i].placed != 0;
	}
	all = events == 0 || fits(scene->cpu, events, cycles);
	for (uint32_t i = 0; i < scene->count; i++) {
		struct view *view = &o->view[i];

		if (view->placed != 0 && view->placed != view->events)
			oracle_violate(o, "S7", scene->index, view->leader, view->events,
				view->placed, "%u of %u events of the group hold counters",
				view->placed, view->events);
		if (view->placed != 0 && view->exclusive && placed_groups > 1)
			oracle_violate(o, "S9", scene->index, view->leader, 1, placed_groups,
				"exclusive, but %u groups hold counters", placed_groups);
		if (view->placed != 0)
			view->leader->waited_ticks = 0;
		if (view->placed != 0 || view->leader->error)
			continue;
		view->leader->multiplexed = true;
		FOR_EACH_MEMBER(member, view->leader)
		member->multiplexed = true;
		if (scene->unsure)
			continue;
		if (all && !(scene->exclusive && scene->count > 1))
			oracle_violate(o, "T4", scene->index, view->leader, 1, 0,
				"all %u events that are on fit, but it has no counter", events);
		else
			judge_waiting(o, scene, view);
	}
}

void law_judge(struct oracle *o, uint32_t index, bool time_passes)
{
	struct scene scene = {.cpu = &o->cpu[index], .index = index};

	if (!scene.cpu->online)
		return;
	look(o, &scene);
	if (time_passes) {
		for (uint32_t slot = 0; slot < PMU_COUNTERS_MAX; slot++)
			judge_counter(o, index, slot, &scene);
	}
	for (uint32_t i = 0; i < scene.count; i++) {
		if (o->view[i].pinned)
			judge_pinned(o, &scene, &o->view[i], time_passes);
	}
	if (time_passes)
		judge_views(o, &scene);
}

/* ---- turns ---- */

/* Does it fit beside the pinned groups that are placed? A group of the task also stands behind the
 * flexible groups of the CPU: with any of these on, nothing is promised to it. */
static bool may_expect_turn(
	const struct oracle *o, const struct scene *scene, const struct view *view)
{
	uint32_t events = view->events;
	uint32_t cycles = view->cycles;

	for (uint32_t i = 0; i < scene->count; i++) {
		const struct view *other = &o->view[i];

		if (other == view)
			continue;
		if (!view->own && other->own && !other->pinned)
			return false;
		if (!other->pinned || other->leader->error)
			continue;
		if (view->exclusive || other->exclusive)
			return false;
		events += other->events;
		cycles += other->cycles;
	}
	return fits(scene->cpu, events, cycles);
}

/* Flexible groups that are on in the list of `leader`. */
static uint32_t list_length(const struct oracle *o, const struct oracle_event *leader)
{
	uint32_t length = 0;

	for (const struct oracle_event *other = o->events; other; other = other->next) {
		bool same = other->tid == leader->tid &&
			    (leader->tid != ORACLE_TASK_NONE || other->cpu == leader->cpu);

		if (same && other->leader == other && event_timed(other) != OFF &&
			(other->attr.flags & TALLY_ATTR_PINNED) == 0)
			length++;
	}
	return length;
}

void law_tick(struct oracle *o, uint32_t index)
{
	struct scene scene = {.cpu = &o->cpu[index], .index = index};

	if (!scene.cpu->online)
		return;
	look(o, &scene);
	for (uint32_t i = 0; i < scene.count && !scene.unsure; i++) {
		struct view *view = &o->view[i];
		struct oracle_event *leader = view->leader;
		uint32_t length;

		if (view->pinned || view->placed != 0)
			continue;
		if (!may_expect_turn(o, &scene, view))
			continue;
		length = list_length(o, leader);
		if (leader->waited_ticks == 0 || leader->wait_bound < length)
			leader->wait_bound = length;
		if (++leader->waited_ticks > leader->wait_bound) {
			oracle_violate(o, "T5", index, leader, leader->wait_bound,
				leader->waited_ticks,
				"it waits for the %uth tick; there are %u groups in its list",
				leader->waited_ticks, leader->wait_bound);
			leader->waited_ticks = 0;
		}
	}
}
