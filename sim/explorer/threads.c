/* SPDX-License-Identifier: MIT
 *
 * threads.c: the small vehicle (explorer/threads.h).
 *
 * Each CPU is a fiber; the host's stack starts the first and is come back to when all have ended or
 * a law is broken. Whoever leaves a CPU has chosen the next: C where it could have gone on, N where
 * it could not. A CPU that waits can run again when another has stored something since it last
 * looked. Nothing is allocated in a run but what the pool of stacks lends.
 */
#include <explorer/threads.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <machine/fiber.h>
#include <machine/order.h>

#include "memory.h"

#define POINTS_MAX 20000u /* in a run: more is a livelock */
#define TEXT_MAX   512u

enum cpu_state { CPU_READY, CPU_WAITS, CPU_ENDED };

struct cpu {
	struct explorer_threads *threads;
	struct fiber *fiber;
	enum cpu_state state;
	uint32_t looked; /* stores of the others when it last looked */
	bool masked;     /* in its handler, or it has none */
	bool interrupted;
};

struct explorer_threads {
	const struct explorer_plan *plan;
	struct fiber_pool *pool;
	struct fiber host;
	void *world;
	struct cpu cpu[EXPLORER_CPUS_MAX];
	uint32_t running;
	uint32_t points;
	struct explorer_search *search;
	struct explorer_vehicle vehicle;
	void (*step)(void *context, const struct explorer_access *access);
	void *step_context;
	const char *wrong; /* NULL, or `text` */
	char text[TEXT_MAX];
};

static struct explorer_threads *in_run; /* explorer_threads_relax() takes no handle */

/* ---- life ---- */

struct explorer_threads *explorer_threads_create(const struct explorer_plan *plan)
{
	struct explorer_threads *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->plan = plan;
	t->pool = fiber_pool_create();
	t->world = aligned_alloc(64, (plan->world_size + 63) / 64 * 64);
	if (t->pool != NULL && t->world != NULL)
		return t;
	explorer_threads_destroy(t);
	return NULL;
}

void explorer_threads_destroy(struct explorer_threads *t)
{
	if (t == NULL)
		return;
	fiber_pool_destroy(t->pool);
	free(t->world);
	free(t);
}

const void *explorer_threads_world(const struct explorer_threads *t)
{
	return t->world;
}

/* ---- who runs ---- */

static uint32_t stores_of_others(const struct explorer_threads *t, uint32_t cpu)
{
	uint32_t stores = 0;

	for (uint32_t c = 0; c < t->plan->cpus; c++)
		stores += c != cpu ? explorer_memory.stores[c] : 0;
	return stores;
}

static bool can_run(const struct explorer_threads *t, uint32_t cpu)
{
	const struct cpu *c = &t->cpu[cpu];

	return c->state == CPU_READY ||
	       (c->state == CPU_WAITS && stores_of_others(t, cpu) != c->looked);
}

/* The CPUs behind `cpu` that can run, in cyclic order. */
static uint32_t others(
	const struct explorer_threads *t, uint32_t cpu, uint32_t other[EXPLORER_CPUS_MAX])
{
	uint32_t count = 0;

	for (uint32_t k = 1; k < t->plan->cpus; k++) {
		uint32_t c = (cpu + k) % t->plan->cpus;

		if (can_run(t, c))
			other[count++] = c;
	}
	return count;
}

static void set_running(struct explorer_threads *t, uint32_t cpu)
{
	t->running = cpu;
	t->cpu[cpu].state = CPU_READY;
	machine_order.cpu = cpu;
	machine_order.masked = &t->cpu[cpu].masked;
}

static void switch_to(struct explorer_threads *t, uint32_t next)
{
	struct fiber *from = t->cpu[t->running].fiber;

	set_running(t, next);
	fiber_switch(from, t->cpu[next].fiber);
}

/* ---- the end of a run ---- */

_Noreturn static void stop(struct explorer_threads *t)
{
	fiber_leave(t->cpu[t->running].fiber, &t->host);
}

_Noreturn static void fail(void *context, const char *text)
{
	struct explorer_threads *t = context;

	snprintf(t->text, sizeof(t->text), "%s", text);
	t->wrong = t->text;
	stop(t);
}

/* `what` and the state of each CPU. */
_Noreturn static void fail_stuck(struct explorer_threads *t, const char *what)
{
	static const char *const states[] = {
		[CPU_READY] = "runs", [CPU_WAITS] = "waits", [CPU_ENDED] = "has ended"};
	char text[TEXT_MAX];
	size_t length = (size_t)snprintf(text, sizeof(text), "%s:", what);

	for (uint32_t c = 0; c < t->plan->cpus; c++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s CPU %u %s",
			c == 0 ? "" : ",", (unsigned int)c, states[t->cpu[c].state]);
	fail(t, text);
}

/* Leave a CPU that cannot go on. false: nobody else can run. */
static bool choose_next(struct explorer_threads *t, const void *site, uint32_t *next)
{
	uint32_t other[EXPLORER_CPUS_MAX], count = others(t, t->running, other);

	if (count == 0)
		return false;
	*next = other[explorer_choose(t->search, MACHINE_CHOICE_NEXT, count, t->running, site)];
	return true;
}

/* ---- points ---- */

static void count_point(struct explorer_threads *t)
{
	if (++t->points > POINTS_MAX)
		fail_stuck(t, "livelock");
}

/* false: no interrupt was taken. */
static bool offer_interrupt(struct explorer_threads *t, const void *site)
{
	struct cpu *c = &t->cpu[t->running];

	if (c->masked || c->interrupted ||
		explorer_choose(t->search, MACHINE_CHOICE_INTERRUPT, 2, t->running, site) == 0)
		return false;
	c->interrupted = true;
	c->masked = true;
	machine_judged_begin();
	t->plan->interrupt[t->running](t->world);
	machine_judged_end();
	c->masked = false;
	return true;
}

static void offer_switch(struct explorer_threads *t, const void *site)
{
	uint32_t other[EXPLORER_CPUS_MAX], count = others(t, t->running, other), answer;

	if (count == 0)
		return;
	answer = explorer_choose(t->search, MACHINE_CHOICE_CPU, count + 1, t->running, site);
	if (answer != 0)
		switch_to(t, other[answer - 1]);
}

/* The interrupt first: others may step between its handler and the access, and inside the handler,
 * but it is pending all the while and so need not be asked for again. */
static void point(void *context, const struct explorer_access *access, bool shared)
{
	struct explorer_threads *t = context;

	machine_judged_end();
	count_point(t);
	(void)offer_interrupt(t, access->site);
	if (shared)
		offer_switch(t, access->site);
	machine_judged_begin();
}

/* Wait, unless there is something new to look at: a store since the last time, or a load saw an old
 * one. */
static void relax(struct explorer_threads *t, const void *site)
{
	uint32_t cpu = t->running, next;
	struct cpu *c = &t->cpu[cpu];

	count_point(t);
	if (offer_interrupt(t, site))
		return;
	if (explorer_memory.saw_stale[cpu] || stores_of_others(t, cpu) != c->looked) {
		offer_switch(t, site);
	} else {
		c->state = CPU_WAITS;
		if (!choose_next(t, site, &next))
			fail_stuck(t, "deadlock");
		switch_to(t, next);
	}
	explorer_memory.saw_stale[cpu] = false;
	c->looked = stores_of_others(t, cpu);
}

void explorer_threads_relax(void)
{
	if (in_run == NULL)
		return;
	machine_judged_end();
	relax(in_run, __builtin_return_address(0));
	machine_judged_begin();
}

static uint32_t choose(void *context, enum machine_choice_kind kind, uint32_t n, const void *site)
{
	struct explorer_threads *t = context;

	return explorer_choose(t->search, kind, n, t->running, site);
}

static void tell(void *context, const struct explorer_access *access)
{
	struct explorer_threads *t = context;

	machine_judged_end();
	t->step(t->step_context, access);
	machine_judged_begin();
}

/* ---- a run ---- */

static void run_cpu(void *argument)
{
	struct cpu *c = argument;
	struct explorer_threads *t = c->threads;
	uint32_t next;

	machine_judged_begin();
	t->plan->run[c - t->cpu](t->world);
	machine_judged_end();
	(void)offer_interrupt(t, NULL);
	c->state = CPU_ENDED;
	if (choose_next(t, NULL, &next)) {
		set_running(t, next);
		fiber_leave(c->fiber, t->cpu[next].fiber);
	}
	for (uint32_t k = 0; k < t->plan->cpus; k++) {
		if (t->cpu[k].state != CPU_ENDED)
			fail_stuck(t, "deadlock");
	}
	stop(t);
}

static bool prepare(struct explorer_threads *t)
{
	memset(t->world, 0, t->plan->world_size);
	if (t->plan->setup != NULL)
		t->plan->setup(t->world);
	t->wrong = NULL;
	t->points = 0;
	for (uint32_t k = 0; k < t->plan->cpus; k++) {
		t->cpu[k] = (struct cpu){.threads = t, .masked = t->plan->interrupt[k] == NULL};
		t->cpu[k].fiber = fiber_take(t->pool, run_cpu, &t->cpu[k]);
		if (t->cpu[k].fiber == NULL)
			return false;
	}
	return true;
}

static void run(struct explorer_threads *t)
{
	uint32_t first;

	fiber_host(&t->host);
	first = explorer_choose(t->search, MACHINE_CHOICE_NEXT, t->plan->cpus, 0, NULL);
	set_running(t, first);
	in_run = t;
	explorer_watch(&t->vehicle, t->plan->cpus);
	fiber_switch(&t->host, t->cpu[first].fiber);
	explorer_watch(NULL, 0);
	in_run = NULL;
}

const char *explorer_threads_tell(struct explorer_threads *t, struct explorer_search *search,
	void (*step)(void *context, const struct explorer_access *access), void *context)
{
	t->search = search;
	t->step = step;
	t->step_context = context;
	t->vehicle = (struct explorer_vehicle){.context = t,
		.point = point,
		.choose = choose,
		.step = step != NULL ? tell : NULL,
		.fail = fail};
	machine_judged_end(); /* of the caller */
	if (prepare(t))
		run(t);
	else
		t->wrong = "out of memory";
	for (uint32_t k = 0; k < t->plan->cpus; k++) {
		fiber_give(t->pool, t->cpu[k].fiber);
		t->cpu[k].fiber = NULL;
	}
	if (t->wrong == NULL && t->plan->check != NULL)
		t->wrong = t->plan->check(t->world);
	machine_judged_begin();
	return t->wrong;
}

const char *explorer_threads_run(struct explorer_threads *t, struct explorer_search *search)
{
	return explorer_threads_tell(t, search, NULL, NULL);
}
