/* SPDX-License-Identifier: MIT
 *
 * conductor.c: who steps next, and when time moves.
 *
 * The conductor runs on the caller's stack. At one instant it steps CPUs until none has anything to
 * do (settle), then starts what operations are due, and when there are none it moves the clock to
 * the next moment at which anything can happen (jump): a tick, a wake-up, a timed operation, the
 * end of a phase, an overflow, an interrupt whose latency is over. If CPUs wait and none can step,
 * that is a deadlock; if they step on and on at one instant, a livelock.
 */
#include "state.h"

#include <inttypes.h>

#define STEPS_MAX (UINT64_C(1) << 22) /* at one instant */
#define SPINS_MAX 10000u              /* steps in a row in which every CPU only spun */

bool conductor_can_step(const struct machine_cpu *c)
{
	bool interrupted = !c->masked && cpu_has_interrupt(c);

	switch (c->state) {
	case CPU_KERNEL:
		return true;
	case CPU_COMPUTE:
		return interrupted || (c->current && c->current->work_done);
	case CPU_SPIN:
		return interrupted || c->machine->steps > c->spin_steps;
	case CPU_CALL:
		return interrupted || c->waiting->done;
	case CPU_IRQ:
		return c->irq_left_ns == 0;
	default:
		return c->want_online;
	}
}

static struct machine_cpu *pick_cpu(struct machine *m)
{
	struct machine_cpu *able[MACHINE_CPUS_MAX], *forced = m->forced;
	bool preempts; /* the one that ran would go on, else it came to an end by itself */
	uint32_t n = 0;

	m->forced = NULL;
	if (forced && conductor_can_step(forced))
		return forced;
	for (uint32_t k = 0; k < m->cpu_count; k++) {
		struct machine_cpu *c = &m->cpu[(m->last->number + k) % m->cpu_count];

		if (!conductor_can_step(c))
			continue;
		if (!m->description->policy)
			return c;
		able[n++] = c;
	}
	if (n == 0)
		return NULL;
	preempts = able[0] == m->last && m->last->state == CPU_KERNEL;
	return able[machine_choice(m, preempts ? MACHINE_CHOICE_CPU : MACHINE_CHOICE_NEXT, n)];
}

/* Who runs now, for judges of memory order. */
static void tell_order(const struct machine_cpu *c)
{
	machine_order.cpu = c->number;
	machine_order.masked = &c->masked;
}

/* Judges of memory order sleep while nothing is explored. */
static void tell_judges(const struct machine *m)
{
	machine_order.asleep = machine_explored(m) && !machine_in_experiment(m);
}

static void step(struct machine *m, struct machine_cpu *c)
{
	bool spun = c->state == CPU_SPIN;

	account_cpu(c);
	m->steps++;
	m->steps_here++;
	m->last = m->running = c;
	tell_order(c);
	fiber_switch(&m->host, c->fiber);
	m->running = NULL;
	c->next_stale = true;
	m->idle_spins = spun && c->state == CPU_SPIN ? m->idle_spins + 1 : 0;
	account_look_at_line(c);
}

/* ---- what is wrong ---- */

static const char *state_name(const struct machine_cpu *c)
{
	static const char *const names[] = {"off", "in the kernel", "computes", "spins",
		"waits for a call", "is in an interrupt"};

	return c->state == CPU_COMPUTE && !c->current ? "is idle" : names[c->state];
}

static void note_wait_graph(struct machine *m)
{
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		const struct machine_cpu *c = &m->cpu[i];

		if (c->state == CPU_CALL)
			machine_note_failure(m, "  CPU %u, task %u, waits for a call to CPU %u%s",
				i, c->current ? c->current->tid : 0, c->waiting->target,
				c->masked ? ", masked" : "");
		else
			machine_note_failure(m, "  CPU %u, task %u, %s%s", i,
				c->current ? c->current->tid : 0, state_name(c),
				c->masked ? ", masked" : "");
	}
	for (const struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (t->waiting_for)
			machine_note_failure(m, "  task %u waits for a mutex of task %u", t->tid,
				t->waiting_for->owner ? t->waiting_for->owner->tid : 0);
		else if (t->blocked)
			machine_note_failure(
				m, "  task %u waits for CPU %u", t->tid, t->waiting_cpu);
	}
}

static void fail_with_graph(struct machine *m, const char *what)
{
	machine_note_failure(m, "%s at %" PRIu64 " ns", what, m->now_ns);
	note_wait_graph(m);
	m->failed = true;
}

/* No CPU can step: is somebody waiting for what will never come? */
static void check_stuck(struct machine *m)
{
	bool blocked = false, active = false;

	for (uint32_t i = 0; i < m->cpu_count; i++) {
		enum cpu_state state = m->cpu[i].state;

		if (state == CPU_IRQ)
			return; /* time will pass there, and then it goes on */
		blocked |= state == CPU_SPIN || state == CPU_CALL;
	}
	if (blocked) {
		fail_with_graph(m, "deadlock");
		return;
	}
	for (const struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		blocked |= t->blocked;
		active |= t->performing && !t->blocked && !t->zombie;
	}
	if (blocked && !active)
		fail_with_graph(m, "deadlock");
}

/* Step CPUs until nobody has anything to do at this instant. */
static void settle(struct machine *m)
{
	struct machine_cpu *c;

	while (!m->failed && (c = pick_cpu(m)) != NULL) {
		step(m, c);
		if (m->look_for_due && m->started && !m->ended && machine_explored(m))
			(void)operation_start_due(m); /* what follows an operation competes too */
		if (m->idle_spins > SPINS_MAX || m->steps_here > STEPS_MAX)
			fail_with_graph(m, "livelock");
	}
	if (!m->failed)
		check_stuck(m);
}

/* ---- time ---- */

static void wake_sleepers(struct machine *m)
{
	m->next_wake_ns = NEVER;
	for (struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (!t->sleeping || t->wake_ns == NEVER)
			continue;
		if (t->wake_ns <= m->now_ns)
			task_wake(t);
		else if (t->wake_ns < m->next_wake_ns)
			m->next_wake_ns = t->wake_ns;
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void jump(struct machine *m)
{
	uint64_t next_ns = least(least(m->next_tick_ns, m->next_wake_ns), m->end_ns);

	if (operation_next_ns(m) > m->now_ns) /* else it waits for its turn */
		next_ns = least(next_ns, operation_next_ns(m));
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		struct machine_cpu *c = &m->cpu[i];

		if (c->next_stale)
			account_cpu(c);
		next_ns = least(next_ns, account_next(c));
	}
	MACHINE_ASSERT(next_ns > m->now_ns);
	m->now_ns = next_ns;
	tell_judges(m);
	machine_order_quiet();
	m->steps_here = 0;
	m->idle_spins = 0;
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		struct machine_cpu *c = &m->cpu[i];

		if (c->next_ns <= next_ns)
			account_cpu(c);
	}
	if (next_ns == m->next_tick_ns) {
		m->next_tick_ns += m->tick_ns;
		for (uint32_t i = 0; i < m->cpu_count; i++)
			m->cpu[i].tick_pending = m->cpu[i].online;
	}
	if (next_ns >= m->next_wake_ns)
		wake_sleepers(m);
}

/* Will nothing but ticks ever happen? Without a set end, tasks that go on for ever do not keep a
 * run alive in which every operation has been performed. */
static bool keeps_alive(const struct machine *m, const struct machine_task *t)
{
	bool forever = m->description->end_ns == 0 && m->unfinished == 0 &&
		       task_work(t)->repeat == 0;

	return !forever &&
	       (task_eligible(t) || (t->sleeping && t->wake_ns != NEVER && !t->stopped));
}

static bool nothing_left(const struct machine *m)
{
	if (m->unfinished != 0 && operation_next_ns(m) != NEVER)
		return false;
	if (m->in_flight != 0)
		return false;
	for (const struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (keeps_alive(m, t))
			return false;
	}
	return true;
}

/* ---- a run ---- */

static void start_tasks(struct machine *m)
{
	for (uint32_t k = 0; k < m->description->task_count; k++) {
		const struct machine_task_description *d = &m->description->tasks[k];
		struct machine_task *task = m->numbered[k];

		task->cpu = d->cpu != OPERATION_NOBODY && task_cpu_usable(m, d->cpu)
				    ? d->cpu
				    : task_place(m, task->cpu_mask);
		task->stopped = d->stopped;
		tell_fork(m, NULL, task);
		if (d->start_ns == 0) {
			task_wake(task);
		} else if (!task->work_done) {
			task->wake_ns = d->start_ns;
			m->next_wake_ns = least(m->next_wake_ns, d->start_ns);
		}
	}
}

static void note_unmet(struct machine *m)
{
	for (uint32_t i = 0; i < m->description->operation_count; i++) {
		if (m->description->operations[i].kind == OPERATION_EXPECT &&
			m->run[i].result.runs == 0)
			machine_note_failure(
				m, "operation %u, an expectation, was never reached", i);
	}
}

static void tear_down(struct machine *m)
{
	m->ending = true;
	tell_judges(m);
	m->ended = true;
	for (uint32_t i = 0; i < m->cpu_count; i++)
		m->cpu[i].irq_left_ns = 0; /* no time passes any more */
	for (struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (t->zombie)
			continue;
		t->exit_requested = true;
		task_make_urgent(t);
	}
	settle(m);
	for (uint32_t i = m->cpu_count; i-- > 0 && !m->failed;) {
		if (!m->cpu[i].online)
			continue;
		m->cpu[i].want_offline = true;
		m->cpu[i].resched = true;
		settle(m);
	}
}

int machine_run(struct machine *m)
{
	MACHINE_ASSERT(!m->ran);
	m->ran = true;
	tell_judges(m);
	machine_judged_end(); /* of the caller: the conductor is the simulator's */
	machine_order_release(m);
	tell_pmu_changes(m);
	m->cpu[0].want_online = true;
	settle(m); /* CPU 0 boots the kernel and makes the tasks */
	for (uint32_t i = 1; i < m->cpu_count; i++)
		m->cpu[i].want_online = !(m->description->offline_mask & m->cpu[i].bit);
	if (!m->failed)
		settle(m);
	if (!m->failed)
		start_tasks(m);
	m->started = true;
	tell_judges(m);
	machine_order_quiet(); /* it booted long ago */
	while (!m->failed) {
		settle(m);
		if (m->failed || m->ended)
			break;
		if (operation_start_due(m))
			continue;
		if (m->now_ns >= m->end_ns || nothing_left(m))
			break;
		jump(m);
		if (machine_explored(
			    m)) /* what is due and what interrupts of this moment compete */
			(void)operation_start_due(m);
	}
	if (!m->failed) {
		note_unmet(m);
		tell_end(m);
		tear_down(m);
	}
	machine_order.asleep = false;
	machine_order_acquire(m);
	machine_judged_begin();
	return m->failure ? -1 : 0;
}
