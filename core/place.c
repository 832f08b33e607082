/* SPDX-License-Identifier: MIT
 *
 * place.c: who holds which slot of a CPU.
 *
 * Order: pinned groups of the CPU, pinned groups of the task, flexible groups of the CPU, flexible
 * groups of the task; in each list by turn. A group gets slots for all its enabled members or for
 * none, and a group that does not fit is passed over, so that no slot stays free while somebody who
 * fits it waits. A pinned group that finds no room goes to error.
 *
 * Planning changes no hardware. What comes out is compared slot by slot with what counts now, and
 * only the difference is stopped and started: an event that keeps its place notices nothing.
 */
#include "place.h"

#include "assert.h"
#include "count.h"
#include "event.h"
#include "pmuv3.h"

struct plan {
	struct tally_cpu *cpu;
	uint32_t free;  /* slots nobody got yet */
	uint32_t taken; /* slots that have got somebody */
	struct tally_event *event[TALLY_SLOTS];
};

/* ---- planning ---- */

/* Count one more event of a group; false: it can't count on this CPU. */
static bool add_here(
	const struct tally_cpu *cpu, struct tally_event *event, uint32_t *needed, uint32_t *cycles)
{
	int number = tally_event_number(event, cpu->cluster);

	event->number = number;
	*needed += 1;
	*cycles += number == (int)PMUV3_EVENT_CPU_CYCLES;
	/* CHAIN would count the wraps of its neighbour, whoever's that is */
	return (event->cpu < 0 || (uint32_t)event->cpu == cpu->index) && number >= 0 &&
	       number != PMUV3_EVENT_CHAIN;
}

/* Can all enabled events of the group count on this CPU at all, were nobody else there? A group
 * that is too wide for this kind of CPU waits for another, pinned or not. */
static bool group_is_here(const struct tally_cpu *cpu, struct tally_event *leader)
{
	uint32_t needed = 0;
	uint32_t cycles = 0;
	bool here = add_here(cpu, leader, &needed, &cycles);

	TALLY_MEMBERS_FOR_EACH(member, leader)
	{
		if (here && member->state == TALLY_ON)
			here = add_here(cpu, member, &needed, &cycles);
	}
	return here && tally_slots_fit(cpu->pool.present, needed, cycles);
}

/* Add one event to the plan: in the cycle counter if it counts cycles and that is free, else where
 * it counts now, else where nobody does. Which event counter it gets decides nothing but who has to
 * move, so a group fits or not whatever is chosen. false: no room. */
static bool plan_event(struct plan *plan, struct tally_event *event)
{
	uint32_t number = (uint32_t)event->number;
	uint32_t fit = tally_slots_for(plan->free, number == PMUV3_EVENT_CPU_CYCLES);
	uint32_t slot;

	if (fit == 0)
		return false;
	if (event->slot != TALLY_SLOT_NONE && (fit & TALLY_SLOT_BIT(event->slot)) != 0)
		slot = (uint32_t)event->slot;
	else if ((fit & ~plan->cpu->pool.used) != 0)
		slot = (uint32_t)__builtin_ctz(fit & ~plan->cpu->pool.used);
	else
		slot = (uint32_t)__builtin_ctz(fit);
	event->type_next = event->filter | (slot == TALLY_SLOT_CYCLE ? 0 : number);
	plan->event[slot] = event;
	plan->free &= ~TALLY_SLOT_BIT(slot);
	plan->taken |= TALLY_SLOT_BIT(slot);
	return true;
}

/* Add the group to the plan, all of its enabled events or none. */
static bool plan_whole(struct plan *plan, struct tally_event *leader)
{
	uint32_t free = plan->free;
	bool fits = plan_event(plan, leader);

	TALLY_MEMBERS_FOR_EACH(member, leader)
	{
		if (fits && member->state == TALLY_ON)
			fits = plan_event(plan, member);
	}
	if (!fits) {
		plan->taken &= ~(free & ~plan->free);
		plan->free = free;
	}
	return fits;
}

/* true: the group waits for room. One that can't count here does not. */
static bool plan_group(struct plan *plan, struct tally_event *leader)
{
	bool exclusive = (leader->attr.flags & TALLY_ATTR_EXCLUSIVE) != 0;

	if (!group_is_here(plan->cpu, leader))
		return false;
	if (plan->free == 0 || (exclusive && plan->taken != 0) || !plan_whole(plan, leader))
		return true;
	if (exclusive)
		plan->free = 0;
	return false;
}

static void plan_pinned(struct plan *plan, struct tally_context *ctx)
{
	for (struct tally_list *node = ctx->pinned.next, *next; node != &ctx->pinned; node = next) {
		struct tally_event *leader = TALLY_CONTAINER(node, struct tally_event, link);

		next = node->next;
		if (plan_group(plan, leader)) {
			tally_event_set_state(leader, TALLY_ERROR);
			tally_group_follow(leader);
		}
	}
}

static void plan_flexible(struct plan *plan, struct tally_context *ctx)
{
	ctx->waiting = false;
	TALLY_LIST_FOR_EACH (node, &ctx->flexible) {
		struct tally_event *leader = TALLY_CONTAINER(node, struct tally_event, link);

		if (plan_group(plan, leader))
			ctx->waiting = true;
		if (plan->free == 0 && ctx->waiting)
			break; /* nobody behind can get anything */
	}
}

/* ---- carrying it out ---- */

static void place_event(struct tally_cpu *cpu, struct tally_event *event, uint32_t slot)
{
	struct tally_context *ctx = event->ctx;

	TALLY_ASSERT(event->slot == TALLY_SLOT_NONE && ctx->by_slot[slot] == NULL);
	ctx->by_slot[slot] = event;
	ctx->used |= TALLY_SLOT_BIT(slot);
	event->slot = (int8_t)slot;
	event->type = event->type_next;
	event->running_from_ns = ctx->clock_ns;
	tally_slices_begin(cpu, ctx, TALLY_SLOT_BIT(slot));
}

static void forget_event(struct tally_event *event)
{
	struct tally_context *ctx = event->ctx;
	uint32_t slot = (uint32_t)event->slot;

	TALLY_ASSERT(ctx->by_slot[slot] == event);
	ctx->by_slot[slot] = NULL;
	ctx->used &= ~TALLY_SLOT_BIT(slot);
	event->slot = TALLY_SLOT_NONE;
	event->running_ns += ctx->clock_ns - event->running_from_ns;
}

static void note_placement(struct tally_cpu *cpu, struct tally_context *ctx)
{
	ctx->placement.available = cpu->for_task;
	ctx->placement.cluster = cpu->cluster;
	ctx->placement.cpu = ctx->cpu_bound ? (int32_t)cpu->index : -1;
	ctx->dirty = false;
}

static bool placement_stands(const struct tally_cpu *cpu, const struct tally_context *ctx)
{
	return !ctx->dirty && ctx->placement.available == cpu->for_task &&
	       ctx->placement.cluster == cpu->cluster &&
	       ctx->placement.cpu == (ctx->cpu_bound ? (int32_t)cpu->index : -1);
}

/* What the placed groups of the CPU leave to a task: nothing beside an exclusive one. */
static uint32_t left_by(const struct tally_cpu *cpu, const struct tally_context *own)
{
	TALLY_BITS_FOR_EACH (slot, own->used) {
		if ((own->by_slot[slot]->leader->attr.flags & TALLY_ATTR_EXCLUSIVE) != 0)
			return 0;
	}
	return cpu->pool.present & ~own->used;
}

/* Slots of `ctx` that the plan gives to another event, or to none. */
static uint32_t leaving(const struct tally_context *ctx, const struct plan *plan)
{
	uint32_t leave = 0;

	TALLY_BITS_FOR_EACH (slot, ctx->used) {
		if ((plan->taken & TALLY_SLOT_BIT(slot)) == 0 ||
			plan->event[slot] != ctx->by_slot[slot])
			leave |= TALLY_SLOT_BIT(slot);
	}
	return leave;
}

static void leave(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t slots)
{
	tally_slices_end(cpu, ctx, slots);
	TALLY_BITS_FOR_EACH (slot, slots)
		forget_event(ctx->by_slot[slot]);
}

static void carry_out(struct tally_cpu *cpu, const struct plan *plan)
{
	if (cpu->own_loaded)
		leave(cpu, cpu->own, leaving(cpu->own, plan));
	if (cpu->loaded != NULL)
		leave(cpu, cpu->loaded, leaving(cpu->loaded, plan));
	TALLY_BITS_FOR_EACH (slot, plan->taken & ~cpu->pool.used)
		place_event(cpu, plan->event[slot], slot);
}

void tally_place(struct tally_cpu *cpu)
{
	struct plan plan = {.cpu = cpu, .free = cpu->pool.present};
	struct tally_context *own = cpu->own_loaded ? cpu->own : NULL;
	struct tally_context *task = cpu->loaded;

	if (own != NULL)
		plan_pinned(&plan, own);
	if (task != NULL)
		plan_pinned(&plan, task);
	if (own != NULL)
		plan_flexible(&plan, own);
	if (task != NULL)
		plan_flexible(&plan, task);
	carry_out(cpu, &plan);
	cpu->for_task = own != NULL ? left_by(cpu, own) : cpu->pool.present;
	if (own != NULL)
		note_placement(cpu, own);
	if (task != NULL)
		note_placement(cpu, task);
	pmuv3_run(&cpu->pool);
}

void tally_place_loaded(struct tally_cpu *cpu, struct tally_context *ctx)
{
	bool own_waiting = cpu->own_loaded && cpu->own->waiting;

	if (ctx != NULL && ctx->waiting && ctx->clock_ns - ctx->turned_at_ns >= TALLY_TURN_NS) {
		tally_turn(ctx);
		ctx->dirty = true;
	}
	if (own_waiting || (ctx != NULL && !placement_stands(cpu, ctx))) {
		if (ctx != NULL)
			tally_place_forget(ctx);
		tally_place(cpu);
		return;
	}
	if (ctx != NULL)
		tally_slices_begin(cpu, ctx, ctx->used);
	pmuv3_run(&cpu->pool);
}

void tally_place_forget(struct tally_context *ctx)
{
	uint32_t used = ctx->used;

	TALLY_BITS_FOR_EACH (slot, used)
		forget_event(ctx->by_slot[slot]);
	ctx->dirty = true;
}
