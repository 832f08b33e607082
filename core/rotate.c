/* SPDX-License-Identifier: MIT
 *
 * rotate.c: turns, when more groups are on than there are slots for.
 *
 * At each tick on which something waits, the group at the front of each flexible list with waiters
 * goes to its end. Who is at the front is placed first, so with k groups each is placed at least
 * once in k ticks, however wide it is; narrower groups fill what it leaves. Switch hook: IRQs off,
 * on its CPU.
 */
#include <tally/tally.h>

#include "atomic.h"
#include "context.h"
#include "count.h"
#include "place.h"

static void turn(struct tally_context *ctx)
{
	struct tally_list *first = ctx->flexible.next;

	list_unlink(first);
	list_append(&ctx->flexible, first);
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
	tally_contexts_advance(cpu, hal_clock_ns());
	if (own)
		turn(cpu->own);
	if (task)
		turn(cpu->loaded);
	tally_place(cpu);
}
