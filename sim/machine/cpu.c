/* SPDX-License-Identifier: MIT
 *
 * cpu.c: one CPU: its interrupt mask, what is pending, calls from other CPUs, and coming and going.
 *
 * Everything here runs on a fiber of the machine, on m->running. Interrupts are taken on top of
 * whatever fiber the CPU is in, at points: when the kernel unmasks, when user mode or idle is
 * stepped, and while a call is waited for. A handler runs with IRQs off from end to end (level 1),
 * so handlers do not nest. After a yield or a switch the fiber may be on another CPU: read
 * m->running again.
 */
#include "state.h"

#define FIRST_TID 100 /* of the description's tasks */

struct machine_cpu *cpu_running(const struct machine *m)
{
	MACHINE_ASSERT(m->running);
	return m->running;
}

uint32_t machine_cpu(const struct machine *m)
{
	return cpu_running(m)->number;
}

struct machine_task *machine_current(const struct machine *m)
{
	return cpu_running(m)->current;
}

struct pmu_cpu *machine_pmu(struct machine *m)
{
	return cpu_running(m)->pmu;
}

void cpu_yield(struct machine *m, enum cpu_state state)
{
	struct machine_cpu *c = cpu_running(m);

	c->state = state;
	fiber_switch(c->fiber, &m->host);
	cpu_running(m)->state = CPU_KERNEL;
}

/* ---- interrupts ---- */

static bool pmu_is_due(const struct machine_cpu *c)
{
	return c->line && account_pmu_due_ns(c) <= c->machine->now_ns;
}

bool cpu_has_interrupt(const struct machine_cpu *c)
{
	return c->calls || c->tick_pending || c->resched || pmu_is_due(c);
}

static void enter_irq(struct machine_cpu *c)
{
	MACHINE_ASSERT(!c->masked && c->irq_level == 0);
	c->masked = true;
	c->irq_level = 1;
}

static void leave_irq(struct machine_cpu *c, const char *what)
{
	if (!c->masked)
		machine_fail(c->machine, "CPU %u: %s returned with interrupts on", c->number, what);
	c->irq_level = 0;
	c->masked = false;
	account_look_at_line(c);
}

static void serve_call(struct machine_cpu *c)
{
	struct call *call = c->calls;

	c->calls = call->next;
	enter_irq(c);
	machine_order_acquire(call);
	call->fn(call->arg);
	call->result = 0;
	machine_order_release(call);
	call->done = true; /* the caller's stack: not touched any more */
	leave_irq(c, "a call");
}

static void take_pmu_interrupt(struct machine *m, struct machine_cpu *c)
{
	struct machine_regs regs = {.pc = MACHINE_KERNEL_TEXT, .el = 1};

	if (c->current && !c->current->performing && !c->current->work_done)
		account_regs(c->current, &regs);
	enter_irq(c);
	tell_pmu_interrupt(c, &regs);
	if (m->description->irq_ns != 0 && !m->ending) {
		c->irq_left_ns = m->description->irq_ns;
		c->next_stale = true;
		cpu_yield(m, CPU_IRQ);
	}
	m->kernel->pmu_interrupt(m->kernel->context, &regs);
	leave_irq(c, "the PMU interrupt handler");
}

static void take_tick(struct machine *m, struct machine_cpu *c)
{
	c->tick_pending = false;
	c->ticked_ns = m->now_ns;
	enter_irq(c);
	tell_tick(c);
	m->kernel->tick(m->kernel->context);
	queue_rotate(c);
	leave_irq(c, "the tick");
}

enum pending { PENDING_PMU, PENDING_CALL, PENDING_TICK, PENDING_RESCHED, PENDING_NONE };

/* Which of what is pending is taken first. In time order it has a fixed order; when exploring, a
 * reschedule comes first, so that a call of a user that is due here meets what interrupts it, and
 * the order of the rest is chosen. */
static enum pending next_pending(struct machine *m, const struct machine_cpu *c)
{
	enum pending pending[PENDING_NONE];
	uint32_t n = 0;

	if (c->resched && machine_explored(m))
		return PENDING_RESCHED;
	if (pmu_is_due(c))
		pending[n++] = PENDING_PMU;
	if (c->calls)
		pending[n++] = PENDING_CALL;
	if (c->tick_pending)
		pending[n++] = PENDING_TICK;
	if (n == 0)
		return c->resched ? PENDING_RESCHED : PENDING_NONE;
	if (n == 1 || !machine_explored(m))
		return pending[0];
	return pending[machine_choice(m, MACHINE_CHOICE_INTERRUPT, n)];
}

void cpu_take_interrupts(struct machine *m)
{
	for (;;) {
		struct machine_cpu *c = cpu_running(m);

		if (c->masked || c->irq_level != 0 || c->in_hook)
			return;
		switch (next_pending(m, c)) {
		case PENDING_PMU:
			take_pmu_interrupt(m, c);
			break;
		case PENDING_CALL:
			serve_call(c);
			break;
		case PENDING_TICK:
			take_tick(m, c);
			break;
		case PENDING_RESCHED:
			queue_schedule(m);
			break;
		default:
			return;
		}
	}
}

bool machine_irqs_masked(const struct machine *m)
{
	return cpu_running(m)->masked;
}

bool machine_irq_save(struct machine *m)
{
	struct machine_cpu *c = cpu_running(m);
	bool was_masked = c->masked;

	c->masked = true;
	return was_masked;
}

void machine_irq_restore(struct machine *m, bool was_masked)
{
	struct machine_cpu *c = cpu_running(m);

	if (!c->masked)
		machine_fail(m, "CPU %u: interrupts restored that were not saved", c->number);
	if (was_masked)
		return;
	if (c->irq_level != 0 || c->in_hook)
		machine_fail(m, "CPU %u: interrupts switched on in a handler or a hook", c->number);
	c->masked = false;
	account_look_at_line(c);
	machine_point_local(m);
	if (!m->description->policy || !m->description->policy->points)
		cpu_take_interrupts(m);
}

/* ---- points ---- */

static void choose_cpu(struct machine *m)
{
	struct machine_cpu *self = cpu_running(m), *other[MACHINE_CPUS_MAX];
	uint32_t n = 0, answer;

	for (uint32_t k = 1; k < m->cpu_count; k++) {
		struct machine_cpu *c = &m->cpu[(self->number + k) % m->cpu_count];

		if (conductor_can_step(c))
			other[n++] = c;
	}
	answer = machine_choice(m, MACHINE_CHOICE_CPU, n + 1);
	if (answer == 0)
		return;
	m->forced = other[answer - 1];
	cpu_yield(m, CPU_KERNEL);
}

static bool asks_at_points(const struct machine *m)
{
	return m->description->policy && m->description->policy->points && m->running;
}

/* A tick or a pending interrupt, now? true: one was taken. */
static bool choose_interrupt(struct machine *m)
{
	struct machine_cpu *c = cpu_running(m);
	bool taken = false;

	if (c->masked || c->irq_level != 0 || c->in_hook)
		return false;
	if (m->description->policy->ticks && !c->tick_pending && c->ticked_ns != m->now_ns &&
		machine_choice(m, MACHINE_CHOICE_TICK, 2) != 0) {
		take_tick(m, c);
		taken = true;
	}
	machine_execute(m); /* an overflow, here */
	c = cpu_running(m);
	if (cpu_has_interrupt(c) && machine_choice(m, MACHINE_CHOICE_INTERRUPT, 2) != 0) {
		cpu_take_interrupts(m);
		taken = true;
	}
	return taken;
}

void machine_point(struct machine *m)
{
	if (!asks_at_points(m))
		return;
	do
		choose_cpu(m);
	while (choose_interrupt(m) && machine_explored(m)); /* others may step after it too */
}

void machine_point_local(struct machine *m)
{
	if (!asks_at_points(m))
		return;
	if (!machine_explored(m))
		choose_cpu(m);
	(void)choose_interrupt(m);
}

void machine_relax(struct machine *m)
{
	cpu_yield(m, CPU_SPIN);
	cpu_running(m)->spin_steps = m->steps;
	cpu_take_interrupts(m);
}

/* ---- calls ---- */

void machine_require_task_context(struct machine *m, const char *what)
{
	const struct machine_cpu *c = cpu_running(m);

	if (c->irq_level != 0)
		machine_fail(m, "CPU %u: %s in an interrupt handler", c->number, what);
	if (c->in_hook)
		machine_fail(m, "CPU %u: %s in a hook", c->number, what);
	if (c->masked)
		machine_fail(m, "CPU %u: %s with interrupts off", c->number, what);
}

static void call_here(struct machine *m, void (*fn)(void *arg), void *arg)
{
	struct machine_cpu *c = cpu_running(m);

	enter_irq(c);
	fn(arg);
	leave_irq(c, "a call");
	cpu_take_interrupts(m);
}

int machine_call(struct machine *m, uint32_t cpu, void (*fn)(void *arg), void *arg)
{
	struct call call = {.fn = fn, .arg = arg, .target = cpu};
	struct call **end;

	machine_require_task_context(m, "a call to another CPU");
	machine_point(m);
	if (cpu >= m->cpu_count)
		return -ENXIO;
	if (!m->cpu[cpu].online) {
		machine_order_release(&m->cpu[cpu].online); /* partner: go_online() */
		return -ENXIO;
	}
	if (cpu == cpu_running(m)->number) {
		call_here(m, fn, arg);
		return 0;
	}
	for (end = &m->cpu[cpu].calls; *end; end = &(*end)->next)
		;
	machine_order_release(&call);
	*end = &call;
	while (!call.done) {
		cpu_running(m)->waiting = &call;
		cpu_yield(m, CPU_CALL);
		cpu_running(m)->waiting = NULL;
		cpu_take_interrupts(m);
	}
	machine_order_acquire(&call);
	machine_point(m);
	return call.result;
}

/* ---- coming and going ---- */

static void go_online(struct machine *m, struct machine_cpu *c)
{
	c->want_online = false;
	c->masked = true;
	c->in_hook = true;
	c->online = true;
	c->accounted_ns = m->now_ns;
	c->tick_pending = false;
	tell_cpu(c, true);
	machine_order_acquire(m);
	machine_order_acquire(&c->online); /* of calls that found it off */
	m->kernel->cpu_online(m->kernel->context);
	machine_order_release(m);
	c->in_hook = false;
	c->masked = false;
	c->transitions++;
	account_look_at_line(c);
}

static void wake_waiters(struct machine *m, struct machine_cpu *c)
{
	for (struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (t->blocked && t->waiting_cpu == c->number) {
			t->waiting_cpu = OPERATION_NOBODY;
			task_unblock(t);
		}
	}
}

static void go_offline(struct machine *m, struct machine_cpu *c)
{
	c->masked = true;
	c->in_hook = true;
	m->kernel->cpu_offline(m->kernel->context);
	machine_order_release(m);
	c->in_hook = false;
	c->online = false;
	c->transitions++;
	c->line = false;
	c->want_offline = false;
	c->resched = false;
	c->tick_pending = false;
	while (c->calls) {
		struct call *call = c->calls;

		c->calls = call->next;
		machine_order_acquire(call);
		call->result = -ENXIO;
		call->done = true;
	}
	tell_cpu(c, false);
}

static void boot(struct machine *m)
{
	const struct machine_description *d = m->description;
	int error;

	machine_order_acquire(m);
	error = m->kernel->boot(m->kernel->context, m);
	if (error != 0)
		machine_fail(m, "the kernel does not boot: %d", error);
	m->own = task_create(
		m, &m->own_description, OPERATION_NOBODY, NULL, false, OPERATION_NOBODY, &error);
	if (!m->own)
		machine_fail(m, "the machine's own task cannot be made: %d", error);
	m->next_tid = FIRST_TID;
	for (uint32_t k = 0; k < d->task_count; k++) {
		const struct machine_task_description *t = &d->tasks[k];
		struct machine_task *parent = t->parent == OPERATION_NOBODY
						      ? NULL
						      : m->numbered[t->parent];

		m->numbered[k] = task_create(m, t, k, parent, t->thread, t->work, &error);
		if (!m->numbered[k])
			machine_fail(m, "task %u cannot be made: %d", k, error);
	}
	m->booted = true;
	machine_order_release(m);
}

/* Idle: the first fiber of a CPU, and the one that it goes off in. CPU 0's also boots and halts the
 * kernel. */
void cpu_idle_main(void *cpu)
{
	struct machine_cpu *c = cpu;
	struct machine *m = c->machine;

	cpu_arrived(m);
	for (;;) {
		if (!c->online) {
			if (!m->booted)
				boot(m);
			pmu_cpu_reset(c->pmu,
				m->description->seed ^ m->now_ns ^ (uint64_t)c->number << 56);
			go_online(m, c);
			wake_waiters(m, c);
		}
		cpu_take_interrupts(m);
		if (c->want_offline && !c->queue_first && !c->urgent_first) {
			go_offline(m, c);
			wake_waiters(m, c);
			if (m->ending && c->number == 0) {
				c->masked = false;
				machine_order_acquire(m);
				m->kernel->halt(m->kernel->context);
				machine_order_release(m);
			}
			cpu_yield(m, CPU_OFFLINE);
			continue;
		}
		cpu_yield(m, CPU_COMPUTE);
	}
}

bool machine_cpu_online(const struct machine *m, uint32_t cpu)
{
	return cpu < m->cpu_count && m->cpu[cpu].online;
}
