/* SPDX-License-Identifier: MIT
 *
 * context.h: contexts, and the one word that says who may touch one.
 *
 * A context holds the groups of one task, or of one CPU. Its owner word says who may touch its
 * lists, its events and what they reach: TALLY_OWNER_CPU(n)  loaded on CPU n: code on CPU n with
 * IRQs off TALLY_OWNER_FREE    nobody: a switch takes it by compare-and-swap, an editor too
 *   TALLY_OWNER_EDITOR  an editor in process context, IRQs off, briefly
 *   TALLY_OWNER_PARKED  no hook loads it: holders of its mutex
 * Process context serialises with itself by the mutex and changes what a hook can see through
 * context_edit() alone, so that when an edit returns the old state is out of reach of every
 * interrupt.
 */
#ifndef TALLY_CORE_CONTEXT_H
#define TALLY_CORE_CONTEXT_H

#include <tally/tally.h>

#include "assert.h"
#include "atomic.h"
#include "list.h"
#include "slot.h"

#define TALLY_OWNER_PARKED 0u
#define TALLY_OWNER_FREE   1u
#define TALLY_OWNER_EDITOR 2u
#define TALLY_OWNER_CPU(n) (3u + (n))

/* What a placement was made for: it stands while the same is found again. */
struct tally_placement {
	uint32_t available; /* slots that this context could have */
	uint32_t cluster;
	int32_t cpu; /* with events that are bound to a CPU: that CPU, else -1 */
};

struct tally_edit;
typedef void (*tally_edit_fn)(
	struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit);

/* One change of a context, on its editor's stack; embed it first in a struct with the arguments.
 * `fn` runs exactly once, with the context's clock up to date; `cpu` is the CPU the context is
 * loaded on, which then also runs fn, or NULL. It is bounded by one group (at exec and exit: by the
 * context), never blocks, allocates,
 * frees or calls a CPU, and sets ctx->dirty if groups came, went or changed state. */
struct tally_edit {
	tally_edit_fn fn;
	struct tally_context *ctx;
	uint32_t done; /* atomic, release; partner: the editor's acquire */
	bool posted;   /* once; its editor's alone */
};

struct tally_context {
	uint32_t owner; /* atomic; TALLY_OWNER_ */
	uint32_t refs;  /* under engine->tasks: the task's, each event's, each pin's */
	struct tally_engine *engine;
	struct tally_task
		*task; /* whose context it is; NULL for a CPU's. Compared, never followed */
	int32_t cpu;   /* whose context it is; -1 for a task's */
	bool exited;   /* under mutex: no event may join */
	struct hal_mutex mutex;
	struct tally_edit *posted; /* atomic: an edit for whoever takes the owner word next */

	/* under the owner word */
	struct tally_list pinned;   /* leaders that are on and pinned, by age */
	struct tally_list flexible; /* leaders that are on, next turn first */
	struct tally_list idle;     /* leaders that are off, in error or ended */
	uint32_t live;              /* events that have not ended */
	bool dirty;                 /* the placement no longer follows from the lists */
	bool waiting;               /* some group found no slot */
	bool cpu_bound;             /* some event has a CPU filter: stays set */
	uint32_t used; /* slots of its placement; claimed in a pool only while loaded */
	struct tally_event *by_slot[TALLY_SLOTS];
	struct tally_placement placement;
	uint64_t clock_ns;     /* time loaded, up to loaded_at_ns */
	uint64_t turned_at_ns; /* clock_ns at the last turn */
	uint64_t loaded_at_ns; /* while loaded: hal_clock_ns() to which clock_ns is up to date */
};

struct tally_cpu {
	struct tally_engine *engine;
	uint32_t index;
	uint32_t cluster;
	uint32_t online;              /* atomic; written by this CPU */
	bool own_loaded;              /* `own` is ours: its owner is this CPU */
	struct tally_context *own;    /* the CPU context; made at init */
	struct tally_context *loaded; /* the task context loaded here, or NULL */
	uint32_t for_task;            /* slots that the groups of the CPU leave to a task */
	struct tally_slot_pool pool;
};

/* task->ctx of a task that has exited. */
#define TALLY_TOMBSTONE ((struct tally_context *)UINTPTR_MAX)

static inline struct tally_cpu *cpu_here(struct tally_engine *e)
{
	return &e->cpu[hal_cpu()];
}

/* No hook loads it. The mutex is held. */
static inline bool context_is_parked(const struct tally_context *ctx)
{
	return atomic_load_acquire(&ctx->owner) == TALLY_OWNER_PARKED;
}

/* A new parked context with one reference, of `task` or of `cpu`; NULL: no memory. task. */
struct tally_context *tally_context_new(
	struct tally_engine *e, struct tally_task *task, int32_t cpu);

/* Give a reference back; the last frees. task. */
void tally_context_put(struct tally_context *ctx);

/* The context of `task` with a reference, making it if need be. -ESRCH: the task has exited;
 * -ENOMEM. task. */
int tally_context_of_task(
	struct tally_engine *e, struct tally_task *task, struct tally_context **ctx);

/* Run `edit` once; the mutex is held. On return it has run, and the context follows from its lists.
 * task, IRQs on. */
void tally_context_edit(struct tally_context *ctx, struct tally_edit *edit, tally_edit_fn fn);

/* A parked context has got a live event: let hooks load it, and load it where its task runs now.
 * The mutex is held. 0, or -ENODEV: its CPU is offline, and it is parked still. task, IRQs on. */
int tally_context_unpark(struct tally_context *ctx);

static inline void context_advance(struct tally_context *ctx, uint64_t now_ns)
{
	TALLY_ASSERT(now_ns >= ctx->loaded_at_ns);
	ctx->clock_ns += now_ns - ctx->loaded_at_ns;
	ctx->loaded_at_ns = now_ns;
}

/* Bring the clocks of what is loaded on `cpu` up to `now_ns`. IRQs off, on that CPU. */
static inline void contexts_advance(struct tally_cpu *cpu, uint64_t now_ns)
{
	if (cpu->loaded != NULL)
		context_advance(cpu->loaded, now_ns);
	if (cpu->own_loaded)
		context_advance(cpu->own, now_ns);
}

/* Take `next` (a task's context, or NULL) instead of what is loaded. IRQs off, on that CPU. */
void tally_context_switch(struct tally_cpu *cpu, struct tally_context *next);

/* This CPU's context ceases for good, with every event in it. IRQs off, on that CPU. */
void tally_context_cpu_down(struct tally_cpu *cpu);

/* End every event of `ctx`: the body of the exit edit, and of a CPU going down. */
void tally_context_end_all(struct tally_context *ctx);

#endif
