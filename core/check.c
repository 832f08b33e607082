/* SPDX-License-Identifier: MIT
 *
 * check.c: the invariants of one CPU, for simulators and debug builds: what the pool says, what the
 * registers say and what the contexts loaded here say is the same. A broken one is a hal_panic().
 * IRQs off, on the CPU that is checked, outside of any other call of the engine.
 */
#include <tally/tally.h>

#include "assert.h"
#include "event.h"
#include "pmuv3.h"

static void check_pool(const struct tally_slot_pool *pool)
{
	TALLY_ASSERT((pool->used & ~pool->present) == 0);
	TALLY_ASSERT(pool->counting == pool->used && pool->interrupt == pool->used);
	TALLY_ASSERT(pool->on == (pool->used != 0));
	if (pool->present == 0)
		return;
	TALLY_ASSERT(hal_pmu_read(HAL_PMCNTENSET) == pool->used);
	TALLY_ASSERT(hal_pmu_read(HAL_PMINTENSET) == pool->used);
	TALLY_ASSERT((hal_pmu_read(HAL_PMOVSSET) & ~(uint64_t)pool->used) == 0);
	TALLY_ASSERT((hal_pmu_read(HAL_PMCR) & PMCR_E) == (pool->on ? PMCR_E : 0));
	TALLY_BITS_FOR_EACH (slot, pool->present & ~pool->used)
		TALLY_ASSERT(pmuv3_counter(slot) == pool->slot[slot].value);
}

/* All enabled events of the group have a slot, or none has. */
static void check_group(const struct tally_event *leader)
{
	bool placed = leader->slot != TALLY_SLOT_NONE;

	TALLY_ASSERT(leader->state == TALLY_ON && leader->leader == leader);
	TALLY_MEMBERS_FOR_EACH(member, leader)
	{
		bool on = member->state == TALLY_ON;

		TALLY_ASSERT((member->slot != TALLY_SLOT_NONE) == (placed && on));
		TALLY_ASSERT(member->timed == on);
	}
}

static void check_event(const struct tally_cpu *cpu, const struct tally_event *event, uint32_t slot)
{
	struct tally_reading reading = tally_event_reading(event, NULL);
	uint32_t reg = slot == TALLY_SLOT_CYCLE ? (uint32_t)HAL_PMCCFILTR : HAL_PMEVTYPER + slot;

	TALLY_ASSERT(event != NULL && event->slot == (int)slot);
	TALLY_ASSERT(event->state == TALLY_ON && event->timed);
	TALLY_ASSERT(event->cpu < 0 || (uint32_t)event->cpu == cpu->index);
	TALLY_ASSERT(hal_pmu_read(reg) == event->type && cpu->pool.slot[slot].type == event->type);
	TALLY_ASSERT(reading.running_ns <= reading.enabled_ns);
}

static void check_list(const struct tally_list *head)
{
	TALLY_LIST_FOR_EACH (node, head)
		check_group(TALLY_CONTAINER(node, struct tally_event, link));
}

static void check_context(const struct tally_cpu *cpu, struct tally_context *ctx)
{
	TALLY_ASSERT(atomic_load_relaxed(&ctx->owner) == TALLY_OWNER_CPU(cpu->index));
	TALLY_ASSERT(ctx->live > 0 && !ctx->dirty && (ctx->used & ~cpu->pool.used) == 0);
	for (uint32_t slot = 0; slot < TALLY_SLOTS; slot++) {
		if ((ctx->used & TALLY_SLOT_BIT(slot)) != 0)
			check_event(cpu, ctx->by_slot[slot], slot);
		else
			TALLY_ASSERT(ctx->by_slot[slot] == NULL);
	}
	check_list(&ctx->pinned);
	check_list(&ctx->flexible);
}

void tally_check(struct tally_engine *e)
{
	struct tally_cpu *cpu = cpu_here(e);
	uint32_t own = cpu->own_loaded ? cpu->own->used : 0;
	uint32_t task = cpu->loaded != NULL ? cpu->loaded->used : 0;

	TALLY_ASSERT((own & task) == 0 && (own | task) == cpu->pool.used);
	check_pool(&cpu->pool);
	if (cpu->own_loaded)
		check_context(cpu, cpu->own);
	if (cpu->loaded != NULL)
		check_context(cpu, cpu->loaded);
}
