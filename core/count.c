/* SPDX-License-Identifier: MIT
 *
 * count.c: from counter values to counts.
 *
 * A counting event never writes its counter: it notes where the counter stood. Counters of 32 bits
 * are extended by their overflow flag, which interrupts at each wrap; two wraps without an
 * interrupt served between them would lose 2^32. A sampling event sets its counter to minus what is
 * left of its period, at most half the counter's range, so that an interrupt may be late by the
 * other half; a longer period is served in such chunks. `count` is always what was measured, never
 * periods times overflows.
 *
 * When several counters stop or overflow at once, all are accounted before the first sample is
 * written: a sample shows the values of its group, and each must be of this instant.
 */
#include "count.h"

#include "assert.h"
#include "pmuv3.h"
#include "sample.h"

/* Where the counter of a sampling event shall stand. */
static uint64_t start_value(const struct tally_event *event, uint64_t lap)
{
	uint64_t half = lap != 0 ? lap / 2 : UINT64_C(1) << 63;
	uint64_t chunk = event->period_left < half ? event->period_left : half;

	return lap - chunk;
}

static void arm(struct tally_slot_pool *pool, struct tally_event *event, uint32_t slot)
{
	uint64_t start = start_value(event, slot_lap(pool, slot));

	if (pool->slot[slot].value != start)
		pmuv3_counter_set(pool, slot, start);
}

/* The counter stands: count. true: the event's period is over, and event->late says since how many
 * events. */
static inline bool account(
	struct tally_slot_pool *pool, struct tally_event *event, uint32_t slot, bool wrapped)
{
	uint64_t now = pmuv3_counter(slot);
	uint64_t delta = slot_delta(slot_lap(pool, slot), event->stood, now, wrapped);

	pool->slot[slot].value = now;
	event->stood = now;
	event->count += delta;
	if (!event->sampling)
		return false;
	if (delta < event->period_left) {
		event->period_left -= delta;
		return false;
	}
	event->late = delta - event->period_left;
	return true;
}

/* Account the counters in `mask`, which stand and are all of `ctx`; `flags`: those that wrapped;
 * `leaving`: their slices end. Returns those whose period is over. */
static uint32_t account_all(struct tally_slot_pool *pool, struct tally_context *ctx, uint32_t mask,
	uint32_t flags, bool leaving)
{
	uint32_t due = 0;

	TALLY_BITS_FOR_EACH (slot, mask) {
		bool wrapped = (flags & TALLY_SLOT_BIT(slot)) != 0;

		if (account(pool, ctx->by_slot[slot], slot, wrapped))
			due |= TALLY_SLOT_BIT(slot);
		if (leaving)
			hal_trace(HAL_TRACE_LEFT, ctx->by_slot[slot]->id, slot);
	}
	return due;
}

static void sample_all(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t due,
	const struct tally_regs *regs)
{
	if (due == 0)
		return;
	if (cpu->pool.unsettled) { /* a reading must not find a flag again that was accounted */
		hal_pmu_barrier();
		cpu->pool.unsettled = false;
	}
	TALLY_BITS_FOR_EACH (slot, due)
		tally_sample_due(cpu, ctx->by_slot[slot], regs);
}

void tally_slices_begin(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t mask)
{
	struct tally_slot_pool *pool = &cpu->pool;

	TALLY_ASSERT((mask & ~ctx->used) == 0 && (mask & pool->used) == 0);
	pool->used |= mask;
	TALLY_BITS_FOR_EACH (slot, mask) {
		struct tally_event *event = ctx->by_slot[slot];

		pmuv3_type_set(pool, slot, event->type);
		if (event->sampling)
			arm(pool, event, slot);
		event->stood = pool->slot[slot].value;
		hal_trace(HAL_TRACE_PLACED, event->id, slot);
	}
}

/* Clear overflow flags of counters that are stopped or paused. */
static void acknowledge(struct tally_slot_pool *pool, uint32_t flags)
{
	hal_pmu_write(HAL_PMOVSCLR, flags);
	pool->unsettled = true;
}

/* Periods ended in slices that end: others may still count, but not while a group is read. */
static void sample_stopped(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t due)
{
	struct tally_slot_pool *pool = &cpu->pool;

	if (pool->counting != 0)
		pmuv3_pause(pool);
	sample_all(cpu, ctx, due, NULL);
	if (pool->counting != 0)
		pmuv3_resume(pool);
}

void tally_slices_end(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t mask)
{
	struct tally_slot_pool *pool = &cpu->pool;
	uint32_t flags;
	uint32_t due;

	if (mask == 0)
		return;
	TALLY_ASSERT((mask & ~ctx->used) == 0 && (mask & ~pool->used) == 0);
	pmuv3_stop(pool, mask);
	flags = (uint32_t)hal_pmu_read(HAL_PMOVSSET) & mask;
	if (flags != 0)
		acknowledge(pool, flags);
	due = account_all(pool, ctx, mask, flags, true);
	pool->used &= ~mask;
	if (due != 0)
		sample_stopped(cpu, ctx, due);
}

/* The part of an overflow interrupt that is one context's. */
static void overflow(struct tally_cpu *cpu, struct tally_context *ctx, uint32_t raised,
	const struct tally_regs *regs)
{
	uint32_t flags = raised & ctx->used;
	uint32_t due = account_all(&cpu->pool, ctx, flags, flags, false);

	if (due != 0)
		contexts_advance(cpu, hal_clock_ns()); /* samples show times */
	sample_all(cpu, ctx, due, regs);
	TALLY_BITS_FOR_EACH (slot, flags) {
		struct tally_event *event = ctx->by_slot[slot];

		if (event->sampling)
			arm(&cpu->pool, event, slot);
		event->stood = cpu->pool.slot[slot].value;
	}
}

bool tally_slices_overflow(struct tally_cpu *cpu, const struct tally_regs *regs)
{
	struct tally_slot_pool *pool = &cpu->pool;
	uint32_t raised;

	pmuv3_pause(pool);
	raised = (uint32_t)hal_pmu_read(HAL_PMOVSSET);
	if (raised != 0)
		acknowledge(pool, raised);
	raised &= pool->used; /* the rest is nobody's */
	if (cpu->loaded != NULL)
		overflow(cpu, cpu->loaded, raised, regs);
	if (cpu->own_loaded)
		overflow(cpu, cpu->own, raised, regs);
	pool->unsettled = false;
	pmuv3_resume(pool);
	return raised != 0;
}

uint64_t tally_slice_live(const struct tally_cpu *cpu, const struct tally_event *event)
{
	uint32_t slot = (uint32_t)event->slot;
	uint64_t now;
	bool wrapped;

	TALLY_ASSERT(event->slot != TALLY_SLOT_NONE);
	now = pmuv3_counter(slot);
	wrapped = (hal_pmu_read(HAL_PMOVSSET) & TALLY_SLOT_BIT(slot)) != 0;
	return slot_delta(slot_lap(&cpu->pool, slot), event->stood, now, wrapped);
}
