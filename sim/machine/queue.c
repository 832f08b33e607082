/* SPDX-License-Identifier: MIT
 *
 * queue.c: the scheduler's mechanism: which task a CPU runs, and the switch to it.
 *
 * A CPU has two queues. The round-robin queue holds the tasks that may compute; its head is the one
 * that does. The urgent queue holds tasks with operations to perform; it comes first, so that an
 * actor is current for as long as it acts, and then the CPU goes back to the head. A tick moves the
 * head to the tail. All changes are made from fibers (on any CPU) or from the conductor; a CPU that
 * should look again has `resched` set.
 *
 * A task that is current on its CPU and has to go elsewhere is put into the other queue only after
 * the kernel's switch hook has run here: it is runnable in one place at a time.
 */
#include "state.h"

#include <stddef.h>

/* One list, two instances: `offset` is that of the task's link. */
static struct task_link *link_of(struct machine_task *task, size_t offset)
{
	return (struct task_link *)(void *)((char *)task + offset);
}

static void append(struct machine_task **first, struct machine_task **last,
	struct machine_task *task, size_t offset)
{
	*link_of(task, offset) = (struct task_link){.prev = *last};
	if (*last)
		link_of(*last, offset)->next = task;
	else
		*first = task;
	*last = task;
}

static void take_out(struct machine_task **first, struct machine_task **last,
	struct machine_task *task, size_t offset)
{
	struct task_link *link = link_of(task, offset);

	if (link->prev)
		link_of(link->prev, offset)->next = link->next;
	else
		*first = link->next;
	if (link->next)
		link_of(link->next, offset)->prev = link->prev;
	else
		*last = link->prev;
}

#define QUEUE(c)  &(c)->queue_first, &(c)->queue_last
#define URGENT(c) &(c)->urgent_first, &(c)->urgent_last
#define IN_QUEUE  offsetof(struct machine_task, in_queue)
#define IN_URGENT offsetof(struct machine_task, in_urgent)

static struct machine_cpu *cpu_of(const struct machine_task *task)
{
	return &task->machine->cpu[task->cpu];
}

static bool is_current(const struct machine_task *task)
{
	const struct machine_cpu *c = cpu_of(task);

	return c->current == task || c->incoming == task;
}

bool task_eligible(const struct machine_task *task)
{
	return !task->sleeping && !task->stopped && !task->blocked && !task->zombie;
}

bool task_cpu_usable(const struct machine *m, uint32_t cpu)
{
	return cpu < m->cpu_count && m->cpu[cpu].online && !m->cpu[cpu].want_offline;
}

uint32_t task_place(const struct machine *m, uint64_t cpu_mask)
{
	const struct machine_cpu *best = NULL;

	for (int pass = 0; pass < 2 && !best; pass++) {
		for (uint32_t i = 0; i < m->cpu_count; i++) {
			const struct machine_cpu *c = &m->cpu[i];

			if (!task_cpu_usable(m, i) || (pass == 0 && !(cpu_mask & c->bit)))
				continue;
			if (!best || c->queue_count < best->queue_count)
				best = c;
		}
	}
	MACHINE_ASSERT(best);
	return best->number;
}

/* Before it is put into a queue: on a CPU where it can run. */
static void settle_on_cpu(struct machine_task *task)
{
	struct machine *m = task->machine;

	if (is_current(task) || task->queued || task->urgent)
		return;
	if (!task_cpu_usable(m, task->cpu) || !(task->cpu_mask & cpu_of(task)->bit))
		task->cpu = task_place(m, task->cpu_mask);
}

static void enqueue(struct machine_task *task)
{
	struct machine_cpu *c;

	settle_on_cpu(task);
	machine_order_release(
		task); /* as the lock of a run queue does; partner: the switch to it */
	c = cpu_of(task);
	append(QUEUE(c), task, IN_QUEUE);
	c->queue_count++;
	task->queued = true;
	if (c->queue_first == task)
		c->resched = true;
}

static void dequeue(struct machine_task *task)
{
	struct machine_cpu *c = cpu_of(task);

	if (c->queue_first == task || is_current(task))
		c->resched = true;
	take_out(QUEUE(c), task, IN_QUEUE);
	c->queue_count--;
	task->queued = false;
}

void task_requeue(struct machine_task *task)
{
	if (task->move_to != OPERATION_NOBODY)
		return; /* done when it has moved */
	if (task_eligible(task) && !task->queued)
		enqueue(task);
	else if (!task_eligible(task) && task->queued)
		dequeue(task);
}

void task_make_urgent(struct machine_task *task)
{
	if (!task->urgent && !task->blocked) {
		settle_on_cpu(task);
		append(URGENT(cpu_of(task)), task, IN_URGENT);
		task->urgent = true;
	}
	cpu_of(task)->resched = true;
}

void task_clear_urgent(struct machine_task *task)
{
	if (!task->urgent)
		return;
	take_out(URGENT(cpu_of(task)), task, IN_URGENT);
	task->urgent = false;
	cpu_of(task)->resched = true;
}

void queue_rotate(struct machine_cpu *c)
{
	struct machine_task *head = c->queue_first;

	if (c->queue_count > 1 && c->current == head) {
		take_out(QUEUE(c), head, IN_QUEUE);
		append(QUEUE(c), head, IN_QUEUE);
		c->resched = true;
	}
	if (c->urgent_first && c->current != c->urgent_first)
		c->resched = true;
}

/* ---- moving ---- */

static void attach(struct machine_task *task, uint32_t cpu, bool urgent)
{
	task->cpu = cpu;
	task_requeue(task);
	if (urgent)
		task_make_urgent(task);
}

void task_move(struct machine_task *task, uint32_t cpu)
{
	bool urgent = task->urgent;

	if (is_current(task)) {
		task->move_to = cpu == task->cpu ? OPERATION_NOBODY : cpu;
		cpu_of(task)->resched = true;
		return;
	}
	if (task->queued)
		dequeue(task);
	task_clear_urgent(task);
	attach(task, cpu, urgent);
}

/* ---- the switch ---- */

static struct machine_task *pick(struct machine *m, struct machine_cpu *c)
{
	struct machine_task *task, *head = c->urgent_first ? c->urgent_first : c->queue_first;
	uint32_t n = 0, answer;

	if (!m->description->policy)
		return head;
	for (task = c->urgent_first; task; task = task->in_urgent.next)
		n++;
	/* explored: who only computes would keep those who act waiting until the next tick */
	for (task = n != 0 && machine_explored(m) ? NULL : c->queue_first; task;
		task = task->in_queue.next)
		n += !task->urgent;
	answer = machine_choice(m, MACHINE_CHOICE_TASK, n);
	if (answer == 0)
		return head;
	for (task = c->urgent_first; task; task = task->in_urgent.next) {
		if (answer-- == 0)
			return task;
	}
	for (task = c->queue_first; task; task = task->in_queue.next) {
		if (!task->urgent && answer-- == 0)
			return task;
	}
	return head;
}

void cpu_arrived(struct machine *m)
{
	struct machine_cpu *c = cpu_running(m);

	machine_order_acquire(c);
	if (c->dead) {
		fiber_give(m->pool->fibers, c->dead);
		c->dead = NULL;
	}
}

static void call_switch_hook(struct machine *m, struct machine_cpu *c, struct machine_task *next)
{
	tell_switch(c, c->current, next);
	c->incoming = next;
	c->in_hook = true;
	if (next) /* as taking it from the queue does: it may have run elsewhere */
		machine_order_acquire(next);
	m->kernel->sched_switch(m->kernel->context, c->current, next);
	if (c->current)
		machine_order_release(c->current);
	c->in_hook = false;
	c->incoming = NULL;
	if (!c->masked)
		machine_fail(m, "CPU %u: the switch hook returned with interrupts on", c->number);
}

/* Takes a task that is to go elsewhere out of this CPU's queues. true: it was urgent. */
static bool detach(struct machine_task *task)
{
	bool urgent = task->urgent;

	if (task->queued)
		dequeue(task);
	task_clear_urgent(task);
	return urgent;
}

/* The task that has just been switched away from goes where it was told to, maybe only just now:
 * other CPUs may have run during the hook. */
static void send_away(struct machine *m, struct machine_task *prev, bool urgent)
{
	uint32_t cpu = prev->move_to;

	urgent |= detach(prev);
	prev->move_to = OPERATION_NOBODY;
	attach(prev, task_cpu_usable(m, cpu) ? cpu : task_place(m, prev->cpu_mask), urgent);
}

void queue_schedule(struct machine *m)
{
	struct machine_cpu *c = cpu_running(m);
	struct machine_task *prev = c->current, *next;
	bool moving = prev && prev->move_to != OPERATION_NOBODY, was_masked = c->masked;
	bool urgent = moving && detach(prev);
	struct fiber *from = c->fiber;

	MACHINE_ASSERT(c->irq_level == 0 && !c->in_hook);
	c->masked = true;
	c->resched = false;
	next = pick(m, c);
	if (next == prev) {
		c->masked = was_masked;
		return;
	}
	call_switch_hook(m, c, next);
	c->current = next;
	c->next_stale = true;
	c->fiber = next ? next->fiber : c->idle;
	if (next)
		account_open_segment(next, c->cluster);
	if (prev && (moving || prev->move_to != OPERATION_NOBODY))
		send_away(m, prev, urgent);
	machine_order_release(c);
	if (prev && prev->zombie) {
		c->dead = from;
		prev->fiber = NULL;
		fiber_leave(from, c->fiber);
	}
	fiber_switch(from, c->fiber);
	cpu_arrived(m);
	c = cpu_running(m);
	c->masked = was_masked;
}
