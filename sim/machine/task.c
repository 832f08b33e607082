/* SPDX-License-Identifier: MIT
 *
 * task.c: a task's life on its fiber, and what it can wait for.
 *
 * A task's fiber goes round: perform the operations given to it, then compute (the conductor lets
 * time pass), then take what came up. It ends when the work does, or by an operation. Its memory
 * stays until the machine's end, as a name.
 */
#include "state.h"

#include <stdlib.h>

struct machine_task *task_create(struct machine *m,
	const struct machine_task_description *description, uint32_t number,
	struct machine_task *parent, bool thread, uint32_t work, int *error)
{
	struct machine_task *task = calloc(1, sizeof(*task));
	size_t kernel_size = m->kernel->task_size;

	*error = -ENOMEM;
	if (!task)
		return NULL;
	task->machine = m;
	task->number = number;
	task->description = description;
	task->references = 1;
	task->tid = m->next_tid++;
	task->pid = parent && thread ? parent->pid : task->tid;
	task->ppid = parent ? (thread ? parent->ppid : parent->pid) : 0;
	task->cpu_mask = description->cpu_mask;
	if (parent && parent->description == description) /* forked, else from the description */
		task->cpu_mask = parent->cpu_mask;
	if (task->cpu_mask == 0)
		task->cpu_mask = ~UINT64_C(0);
	task->move_to = task->waiting_cpu = OPERATION_NOBODY;
	task->due_first = task->due_last = OPERATION_NOBODY;
	task->wake_ns = NEVER;
	task->sleeping = true;
	task->ledger = calloc((size_t)m->compiled.event_count + 1, sizeof(*task->ledger));
	task->kernel = calloc(1, kernel_size ? kernel_size : 1);
	task->fiber = fiber_take(m->pool->fibers, task_main, task);
	if (!task->ledger || !task->kernel || !task->fiber) {
		task_free(task);
		return NULL;
	}
	account_begin_work(task, work);
	*error = m->kernel->task_init(m->kernel->context, task, parent, thread);
	if (*error != 0) {
		task_free(task);
		return NULL;
	}
	task->all_next = m->all_tasks;
	m->all_tasks = task;
	machine_order_release(task);
	return task;
}

void task_free(struct machine_task *task)
{
	fiber_give(task->machine->pool->fibers, task->fiber);
	free(task->ledger);
	free(task->kernel);
	free(task);
}

/* ---- life ---- */

static bool end_of_work(struct machine_task *task)
{
	const struct machine_work *work = task_work(task);

	if (!task->work_done || task->sleeping || task->zombie)
		return false;
	if (work->end == MACHINE_WORK_EXIT && work->phase_count != 0) {
		task->exit_requested = true;
		return true;
	}
	task->sleeping = true;
	task->wake_ns = NEVER;
	task_requeue(task);
	return false;
}

void task_leave_world(struct machine_task *task)
{
	struct machine *m = task->machine;

	if (task->left_world)
		return;
	task->left_world = true;
	task->performing = true;
	m->kernel->task_exit(m->kernel->context, task);
	tell_exit(m, task);
}

static _Noreturn void finish(struct machine *m, struct machine_task *task)
{
	task_leave_world(task);
	task->zombie = true;
	task->move_to = OPERATION_NOBODY;
	operation_refuse_due(task);
	task_requeue(task);
	task_clear_urgent(task);
	for (;;) /* once: a zombie is in no queue */
		queue_schedule(m);
}

void task_main(void *argument)
{
	struct machine_task *task = argument;
	struct machine *m = task->machine;

	cpu_arrived(m);
	cpu_running(m)->masked = false;
	for (;;) {
		operation_perform_due(task);
		if (task->exit_requested || end_of_work(task))
			finish(m, task);
		if (machine_irqs_masked(m))
			machine_fail(m, "CPU %u: task %u returned to user mode with interrupts off",
				machine_cpu(m), task->tid);
		task_clear_urgent(task);
		cpu_take_interrupts(m);
		if (task->due_first != OPERATION_NOBODY || task->exit_requested)
			continue;
		MACHINE_ASSERT(task_eligible(task) && cpu_running(m)->current == task);
		cpu_yield(m, CPU_COMPUTE);
		cpu_take_interrupts(m);
	}
}

void task_wake(struct machine_task *task)
{
	const struct machine_work *work = task_work(task);

	if (!task->sleeping || task->zombie)
		return;
	task->wake_ns = NEVER;
	if (task->work_done) {
		if (work->phase_count == 0)
			return; /* it has nothing to do: it sleeps on */
		account_begin_work(task, task->work);
	}
	task->sleeping = false;
	task_requeue(task);
}

void task_block(struct machine *m)
{
	struct machine_task *task = machine_current(m);

	MACHINE_ASSERT(task && !task->blocked);
	task->blocked = true;
	task_requeue(task);
	task_clear_urgent(task);
	while (task->blocked)
		queue_schedule(m);
}

void task_unblock(struct machine_task *task)
{
	MACHINE_ASSERT(task->blocked);
	machine_order_release(task);
	task->blocked = false;
	task_requeue(task);
	task_make_urgent(task);
}

/* ---- mutex ---- */

/* Who holds what `task` would wait for, and so on: back to `task`? */
static void check_cycle(
	struct machine *m, struct machine_task *task, const struct machine_mutex *mutex)
{
	const struct machine_task *t = mutex->owner;

	while (t && t != task && t->waiting_for)
		t = t->waiting_for->owner;
	if (t == task)
		machine_fail(m,
			"deadlock: task %u waits for a mutex that, through others, waits for it",
			task->tid);
}

void machine_mutex_lock(struct machine *m, struct machine_mutex *mutex)
{
	struct machine_task *task;

	machine_require_task_context(m, "a mutex");
	machine_point(m);
	task = machine_current(m);
	if (!mutex->held) {
		mutex->held = true;
		mutex->owner = task;
		machine_order_acquire(mutex);
		return;
	}
	if (!task)
		machine_fail(m, "idle would wait for a mutex");
	check_cycle(m, task, mutex);
	task->mutex_next = NULL;
	if (mutex->last)
		mutex->last->mutex_next = task;
	else
		mutex->first = task;
	mutex->last = task;
	task->waiting_for = mutex;
	task_block(m);
	MACHINE_ASSERT(mutex->owner == task && !task->waiting_for);
	machine_order_acquire(mutex);
}

void machine_mutex_unlock(struct machine *m, struct machine_mutex *mutex)
{
	struct machine_task *first = mutex->first;

	machine_require_task_context(m, "a mutex");
	if (!mutex->held || mutex->owner != machine_current(m))
		machine_fail(m, "a mutex is unlocked by a task that does not hold it");
	machine_order_release(mutex);
	mutex->owner = first;
	mutex->held = first != NULL;
	if (first) { /* handed over, first come first served */
		mutex->first = first->mutex_next;
		if (!mutex->first)
			mutex->last = NULL;
		first->waiting_for = NULL;
		task_unblock(first);
	}
	machine_point(m);
	if (!machine_irqs_masked(m) && (!m->description->policy || !m->description->policy->points))
		cpu_take_interrupts(m);
}

/* ---- names and rights ---- */

struct machine_task *machine_task_find(struct machine *m, uint32_t tid)
{
	for (struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (t->tid == tid && !t->zombie)
			return t;
	}
	return NULL;
}

void machine_task_get(struct machine_task *task)
{
	MACHINE_ASSERT(task->references != 0);
	task->references++;
}

void machine_task_put(struct machine_task *task)
{
	MACHINE_ASSERT(task->references > 1); /* the machine has one to its end */
	task->references--;
}

void *machine_task_kernel(const struct machine_task *task)
{
	return task->kernel;
}

const struct machine_task_description *machine_task_described(const struct machine_task *task)
{
	return task->description;
}

bool machine_task_user_regs(const struct machine_task *task, struct machine_regs *regs)
{
	const struct machine_description *d = task->machine->description;

	if (task == task->machine->own)
		return false;
	account_regs(task, regs);
	if (regs->el != 0) /* it entered the kernel from its first function */
		*regs = (struct machine_regs){
			.pc = machine_function_address(
				&d->programs[task_work(task)->program], 0, false)};
	return true;
}
