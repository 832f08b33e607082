/* SPDX-License-Identifier: MIT
 *
 * rotate.c: turns, when more groups are on than there are slots for.
 *
 * At each tick on which something waits, and when a context is loaded that has run long enough
 * without meeting one, the groups that hold slots go to the end of their list, in their order, so
 * that those who wait come first. A group waits for those who waited before it and for nobody else,
 * however wide it is; narrower groups fill what it leaves. Equal groups get equal time over a
 * round. Switch hook: IRQs off, on its CPU.
 */
#include <tally/tally.h>

#include "atomic.h"
#include "context.h"
#include "count.h"
#include "event.h"
#include "place.h"

static uint32_t placed_flexible(const struct tally_context *ctx)
{
	uint32_t placed = 0;

	TALLY_BITS_FOR_EACH (slot, ctx->used) {
		const struct tally_event *event = ctx->by_slot[slot];

		if (event_is_leader(event) && (event->attr.flags & TALLY_ATTR_PINNED) == 0)
			placed++;
	}
	return placed;
}

void tally_turn(struct tally_context *ctx)
{
	struct tally_list *node = ctx->flexible.next;

	ctx->turned_at_ns = ctx->clock_ns;
	for (uint32_t placed = placed_flexible(ctx); placed > 0;) {
		struct tally_list *next = node->next;

		if (TALLY_CONTAINER(node, struct tally_event, link)->slot != TALLY_SLOT_NONE) {
			list_unlink(node);
			list_append(&ctx->flexible, node);
			placed--;
		}
		node = next;
	}
}

void tally_tick(struct tally_engine *e)
{
	struct tally_cpu *cpu;
	bool own;
	bool task;

	if (atomic_load_relaxed(&e->gate) == 0)
		return;
	cpu = cpu_here(e);
	if (!e->config->pmu_irq && cpu->pool.used != 0)
		(void)tally_slices_overflow(
			cpu, NULL); /* nobody else extends counters of 32 bits */
	own = cpu->own_loaded && cpu->own->waiting;
	task = cpu->loaded != NULL && cpu->loaded->waiting;
	if (!own && !task)
		return;
	contexts_advance(cpu, hal_clock_ns());
	if (own)
		tally_turn(cpu->own);
	if (task)
		tally_turn(cpu->loaded);
	tally_place(cpu);
}
