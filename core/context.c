/* SPDX-License-Identifier: MIT
 *
 * context.c: life of contexts, the owner word, loading and unloading, and the edit.
 *
 * The rules that keep the protocol sound:
 *   - A context is freed only when its task can never be switched in again and its last event is
 * gone. One without live events is PARKED, not freed.
 *   - Becoming loadable: raise the gate, PARKED to FREE, then one call to every CPU: "load it if
 * its task is current here". A hook that read the gate or the task's context too early is repaired
 * by the call, which runs with IRQs on there, so after that hook. Ceasing: unload and park in the
 * last edit, then lower the gate.
 *   - A switch gives back what this CPU has loaded, never "prev's context", then takes next's.
 *   - An edit that finds its context loaded elsewhere calls that CPU, which looks again. After a
 * miss the edit is posted in the context; whoever takes the owner word next runs it: a task that
 * migrates for ever can't outrun its editor.
 *   - The spin on EDITOR serves no calls: an editor has IRQs off and is bounded.
 */
#include "context.h"

#include "assert.h"
#include "atomic.h"
#include "count.h"
#include "errno.h"
#include "event.h"
#include "place.h"
#include "spin.h"

struct tally_context *tally_context_new(
	struct tally_engine *e, struct tally_task *task, int32_t cpu)
{
	struct tally_context *ctx = hal_alloc(sizeof(*ctx));

	TALLY_ASSERT((task != NULL) != (cpu >= 0));
	if (ctx == NULL)
		return NULL;
	ctx->owner = TALLY_OWNER_PARKED;
	ctx->refs = 1;
	ctx->engine = e;
	ctx->task = task;
	ctx->cpu = cpu;
	hal_mutex_init(&ctx->mutex);
	list_init(&ctx->pinned);
	list_init(&ctx->flexible);
	list_init(&ctx->idle);
	atomic_add_relaxed(&e->statistic[TALLY_STAT_CONTEXTS], 1u);
	return ctx;
}

void tally_context_put(struct tally_context *ctx)
{
	struct tally_engine *e = ctx->engine;
	struct hal_irq_key key = spin_lock(&e->tasks);
	bool last;

	TALLY_ASSERT(ctx->refs > 0);
	last = --ctx->refs == 0;
	spin_unlock(&e->tasks, key);
	if (!last)
		return;
	TALLY_ASSERT(atomic_load_relaxed(&ctx->owner) == TALLY_OWNER_PARKED && ctx->live == 0);
	atomic_sub_acq_rel(&e->statistic[TALLY_STAT_CONTEXTS], 1u);
	hal_free(ctx, sizeof(*ctx));
}

/* task->ctx with a reference, or NULL; `fresh` is put there if nothing is, with a second reference
 * for the caller. */
static struct tally_context *join(
	struct tally_engine *e, struct tally_task *task, struct tally_context *fresh)
{
	struct hal_irq_key key = spin_lock(&e->tasks);
	struct tally_context *ctx = task->ctx;

	if (ctx == NULL && fresh != NULL) {
		ctx = fresh;
		/* release, partner: the acquire in tally_sched_switch_loaded() */
		atomic_store_release(&task->ctx, fresh);
	}
	if (ctx != NULL && ctx != TALLY_TOMBSTONE)
		ctx->refs++;
	spin_unlock(&e->tasks, key);
	return ctx;
}

int tally_context_of_task(
	struct tally_engine *e, struct tally_task *task, struct tally_context **ctx)
{
	struct tally_context *fresh = NULL;

	*ctx = join(e, task, NULL);
	if (*ctx == NULL) {
		fresh = tally_context_new(e, task, -1);
		if (fresh == NULL)
			return -TALLY_ENOMEM;
		*ctx = join(e, task, fresh);
		if (*ctx != fresh)
			tally_context_put(fresh);
	}
	return *ctx == TALLY_TOMBSTONE ? -TALLY_ESRCH : 0;
}

/* Run the edit that somebody posted, if any. The owner word is ours, and nothing of `ctx` counts.
 * The placement goes before the answer: it may name an event that the editor frees then. The answer
 * goes before the owner word: or the editor would find the edit neither posted nor done. */
static void run_posted(struct tally_context *ctx)
{
	struct tally_edit *edit = atomic_exchange_acq_rel(&ctx->posted, NULL);

	if (edit == NULL)
		return;
	edit->fn(ctx, NULL, edit);
	if (ctx->dirty)
		tally_place_forget(ctx);
	atomic_store_release(&edit->done, 1u); /* the edit is its editor's again: touched no more */
}

/* ---- loading ---- */

/* Take the owner word of a context that may be PARKED or being edited. false: it is parked. */
static bool take(struct tally_context *ctx, uint32_t owner)
{
	while (!atomic_cas_acquire(&ctx->owner, TALLY_OWNER_FREE, owner)) {
		uint32_t seen = atomic_load_relaxed(&ctx->owner);

		if (seen == TALLY_OWNER_PARKED)
			return false;
		TALLY_ASSERT(seen == TALLY_OWNER_FREE || seen == TALLY_OWNER_EDITOR);
		hal_relax();
	}
	return true;
}

/* Stop what the task context loaded here counts, and give the context back. Clocks are up to date.
 */
static void unload(struct tally_cpu *cpu)
{
	struct tally_context *ctx = cpu->loaded;

	TALLY_ASSERT(atomic_load_relaxed(&ctx->owner) == TALLY_OWNER_CPU(cpu->index));
	tally_slices_end(cpu, ctx, ctx->used);
	cpu->loaded = NULL;
	/* release, partner: the acquire of whoever takes the context next */
	atomic_store_release(&ctx->owner, TALLY_OWNER_FREE);
}

/* The last live event of a context loaded on `cpu` (or, NULL, ours as editor) is gone: park it. */
static void park(struct tally_context *ctx, struct tally_cpu *cpu)
{
	TALLY_ASSERT(ctx->live == 0);
	if (cpu != NULL)
		tally_slices_end(cpu, ctx, ctx->used);
	tally_place_forget(ctx);
	if (cpu != NULL && ctx == cpu->loaded)
		cpu->loaded = NULL;
	else if (cpu != NULL)
		cpu->own_loaded = false;
	atomic_store_release(&ctx->owner, TALLY_OWNER_PARKED);
	atomic_sub_acq_rel(&ctx->engine->gate, 1u);
}

/* After the edits of a context whose owner word is ours: let what counts follow from its lists. */
static void settle(struct tally_context *ctx, struct tally_cpu *cpu)
{
	bool dirty = ctx->dirty;

	if (ctx->live == 0)
		park(ctx, cpu);
	else if (dirty && cpu == NULL)
		tally_place_forget(ctx);
	if (dirty && cpu != NULL)
		tally_place(cpu);
}

/* A context was taken with an edit posted in it: run it before any of its slots counts. */
static void take_posted(struct tally_cpu *cpu, struct tally_context *ctx)
{
	cpu->loaded = NULL;
	run_posted(ctx);
	if (ctx->live > 0)
		cpu->loaded = ctx;
	else
		park(ctx, NULL);
}

void tally_context_switch(struct tally_cpu *cpu, struct tally_context *next)
{
	uint64_t now_ns;

	if (cpu->loaded == NULL && next == NULL && !(cpu->own_loaded && cpu->own->waiting))
		return;
	now_ns = hal_clock_ns();
	contexts_advance(cpu, now_ns);
	if (cpu->loaded != NULL)
		unload(cpu);
	if (next != NULL && take(next, TALLY_OWNER_CPU(cpu->index))) {
		next->loaded_at_ns = now_ns;
		cpu->loaded = next;
		if (atomic_load_relaxed(&next->posted) != NULL)
			take_posted(cpu, next);
	}
	tally_place_loaded(cpu, cpu->loaded);
}

/* ---- becoming loadable ---- */

/* On a CPU, by call: the context became loadable; load it if it belongs here. */
static void load_here(void *arg)
{
	struct tally_context *ctx = arg;
	struct tally_cpu *cpu = cpu_here(ctx->engine);
	struct tally_task *task = hal_current();

	if (ctx->cpu < 0) {
		if (cpu->loaded == NULL && task != NULL && atomic_load_acquire(&task->ctx) == ctx)
			tally_context_switch(cpu, ctx);
		return;
	}
	TALLY_ASSERT((uint32_t)ctx->cpu == cpu->index);
	if (cpu->own_loaded || !take(ctx, TALLY_OWNER_CPU(cpu->index)))
		return;
	ctx->loaded_at_ns = hal_clock_ns();
	contexts_advance(cpu, ctx->loaded_at_ns);
	cpu->own_loaded = true;
	tally_place(cpu);
}

int tally_context_unpark(struct tally_context *ctx)
{
	struct tally_engine *e = ctx->engine;

	TALLY_ASSERT(ctx->live > 0 && atomic_load_relaxed(&ctx->owner) == TALLY_OWNER_PARKED);
	atomic_add_seq(&e->gate, 1u);
	/* release, partner: the acquire of the CPU that takes it */
	atomic_store_release(&ctx->owner, TALLY_OWNER_FREE);
	if (ctx->cpu >= 0) {
		if (hal_call((uint32_t)ctx->cpu, load_here, ctx) == 0)
			return 0;
		atomic_store_release(&ctx->owner, TALLY_OWNER_PARKED);
		atomic_sub_acq_rel(&e->gate, 1u);
		return -TALLY_ENODEV;
	}
	/* A CPU that is offline runs no task, and sees the context when it is back. Whether it is
	 * offline only the call knows: a look at cpu->online may be too old. */
	for (uint32_t i = 0; i < e->config->cpus; i++)
		(void)hal_call(i, load_here, ctx);
	return 0;
}

static void end(struct tally_event *event)
{
	if (event->state != TALLY_ENDED)
		tally_event_set_state(event, TALLY_ENDED);
}

void tally_context_end_all(struct tally_context *ctx)
{
	struct tally_list *lists[] = {&ctx->pinned, &ctx->flexible, &ctx->idle};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (struct tally_list *node = lists[i]->next, *next; node != lists[i];
			node = next) {
			struct tally_event *leader = TALLY_CONTAINER(
				node, struct tally_event, link);

			next = node->next;
			end(leader);
			TALLY_MEMBERS_FOR_EACH(member, leader)
			end(member);
			tally_group_follow(leader); /* to the idle list */
		}
	}
	TALLY_ASSERT(ctx->live == 0);
}

void tally_context_cpu_down(struct tally_cpu *cpu)
{
	contexts_advance(cpu, hal_clock_ns());
	if (cpu->loaded != NULL)
		unload(cpu);
	if (cpu->own_loaded) {
		tally_context_end_all(cpu->own);
		park(cpu->own, cpu);
	}
	pmuv3_run(&cpu->pool);
}

/* ---- the edit ---- */

/* Run `edit` unless it was posted and somebody has run it since. The owner word, or a parked
 * context, is ours. */
static void run(struct tally_edit *edit, struct tally_cpu *cpu)
{
	struct tally_context *ctx = edit->ctx;

	if (atomic_load_acquire(&edit->done) != 0)
		return;
	atomic_store_relaxed(&ctx->posted, NULL); /* ours or nothing: the mutex lets one edit in */
	edit->fn(ctx, cpu, edit);
	atomic_store_release(&edit->done, 1u);
}

/* On the CPU that had the context loaded, by call: look again, and edit. */
static void edit_there(void *arg)
{
	struct tally_edit *edit = arg;
	struct tally_context *ctx = edit->ctx;
	struct tally_cpu *cpu = cpu_here(ctx->engine);

	if (ctx != cpu->loaded && !(cpu->own_loaded && ctx == cpu->own))
		return;
	contexts_advance(cpu, hal_clock_ns());
	run(edit, cpu);
	settle(ctx, cpu);
}

/* The edit came too late to where the context was: leave it to whoever takes the context next. Once
 * only: it may have been taken out and run when this CPU still sees it undone. */
static void post(struct tally_context *ctx, struct tally_edit *edit)
{
	if (edit->posted)
		return;
	edit->posted = true;
	/* release, partner: the exchange in run_posted() */
	atomic_store_release(&ctx->posted, edit);
}

/* One try for each thing the owner word can say. */
static void try_edit(struct tally_context *ctx, struct tally_edit *edit)
{
	/* acquire, partner: the release of the last owner */
	uint32_t owner = atomic_load_acquire(&ctx->owner);
	struct hal_irq_key key;

	if (owner == TALLY_OWNER_PARKED) {
		run(edit, NULL);
	} else if (owner == TALLY_OWNER_FREE) {
		key = hal_irq_save();
		if (atomic_cas_acquire(&ctx->owner, TALLY_OWNER_FREE, TALLY_OWNER_EDITOR)) {
			run(edit, NULL);
			settle(ctx, NULL);
			if (ctx->live > 0)
				/* release, partner: the acquire of who takes it next */
				atomic_store_release(&ctx->owner, TALLY_OWNER_FREE);
		} else {
			post(ctx, edit); /* or it may lose this race for ever */
		}
		hal_irq_restore(key);
	} else {
		TALLY_ASSERT(owner != TALLY_OWNER_EDITOR); /* we hold the mutex */
		if (hal_call(owner - TALLY_OWNER_CPU(0), edit_there, edit) == 0 &&
			atomic_load_acquire(&edit->done) == 0)
			post(ctx, edit);
	}
}

void tally_context_edit(struct tally_context *ctx, struct tally_edit *edit, tally_edit_fn fn)
{
	edit->fn = fn;
	edit->ctx = ctx;
	edit->done = 0;
	edit->posted = false;
	while (atomic_load_acquire(&edit->done) == 0)
		try_edit(ctx, edit);
}
