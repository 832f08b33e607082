/* SPDX-License-Identifier: MIT
 *
 * sched.c: who runs where: per-CPU run queues, round robin, affinity, wake-ups, switching.
 *
 * A run queue has the list of tasks that wait for its CPU; the running task is not in the list. Its
 * lock (IRQs off) is held across the switch: whoever gets it afterwards finds the previous task
 * fully saved. A task's scheduling fields belong to the lock of the queue of task->head.cpu; take
 * it with lock_task_rq(), which looks again after locking.
 *
 * rq_state: OFF -> MOVING (a waker or starter, which alone may then queue it) -> QUEUED -> OFF (its
 * own sleep) or MOVING (it must leave a CPU that its affinity no longer allows). So a task is in at
 * most one place, and a wake-up is neither lost nor doubled.
 *
 * The switch hook point is in switch_away(): IRQs stay off from there until the next task is
 * current; a task's first run passes it too, because some task always switches to it.
 */
#include <kernel/cpu.h>
#include <kernel/errno.h>
#include <kernel/irq.h>
#include <kernel/lock.h>
#include <kernel/mm.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/task.h>

#define SLICE_TICKS 2u

struct runqueue {
	struct spinlock lock;
	struct list tasks; /* waiting, in turn */
	u32 waiting;       /* length of the list; read without the lock by others as a hint */
	struct task *running;
	struct task *idle;
	struct task *prev; /* between switch_to() and sched_finish_switch() */
};

static struct runqueue runqueues[CPUS_MAX];

_Static_assert(offsetof(struct switch_context, fp) == 80, "arch/switch.S");
_Static_assert(offsetof(struct switch_context, sp) == 96, "arch/switch.S");
_Static_assert(offsetof(struct fp_state, fpsr) == 512, "arch/switch.S");
_Static_assert(offsetof(struct task, head) == 0, "kernel/cpu.h");

void sched_init_this_cpu(struct task *idle)
{
	struct runqueue *rq = &runqueues[idle->head.cpu];

	list_init(&rq->tasks);
	rq->running = idle;
	rq->idle = idle;
	idle->rq_state = RQ_QUEUED;
}

static struct runqueue *lock_task_rq(struct task *task)
{
	for (;;) {
		u32 cpu = __atomic_load_n(&task->head.cpu, __ATOMIC_RELAXED);

		spin_lock_raw(&runqueues[cpu].lock);
		if (cpu == __atomic_load_n(&task->head.cpu, __ATOMIC_RELAXED))
			return &runqueues[cpu];
		spin_unlock_raw(&runqueues[cpu].lock);
	}
}

static void set_cpu(struct task *task, u32 cpu)
{
	__atomic_store_n(&task->head.cpu, cpu, __ATOMIC_RELAXED);
}

static bool allowed(const struct task *task, u32 cpu)
{
	return (task->affinity & BIT(cpu)) != 0 && cpus[cpu].online;
}

/* Tasks that run or wait on `cpu`: a hint. */
static u32 load_of(u32 cpu)
{
	const struct runqueue *rq = &runqueues[cpu];

	return __atomic_load_n(&rq->waiting, __ATOMIC_RELAXED) +
	       (__atomic_load_n(&rq->running, __ATOMIC_RELAXED) != rq->idle);
}

/* The least loaded CPU that the task may use, the one it last ran on when equal. Affinity without
 * an online CPU is widened to all, as Linux does when the last one goes. */
static u32 select_cpu(struct task *task)
{
	u32 best = task->head.cpu;
	u32 best_load = allowed(task, best) ? load_of(best) : UINT32_MAX;

	for (u32 cpu = 0; cpu < cpus_possible; cpu++) {
		if (!allowed(task, cpu))
			continue;
		if (load_of(cpu) < best_load) {
			best = cpu;
			best_load = load_of(cpu);
		}
	}
	if (best_load == UINT32_MAX) {
		task->affinity = cpus_online_mask();
		best = 0;
	}
	return best;
}

static void kick(u32 cpu)
{
	__atomic_store_n(&cpus[cpu].need_resched, true, __ATOMIC_RELEASE);
	if (cpu != cpu_index())
		ipi_send(cpu, IPI_RESCHED);
}

/* Queue a MOVING task on head.cpu, or elsewhere if that is no longer allowed. IRQs off, no queue
 * lock held. */
static void queue_moving(struct task *task)
{
	for (;;) {
		u32 cpu = task->head.cpu; /* ours to change while MOVING */
		struct runqueue *rq = &runqueues[cpu];

		spin_lock_raw(&rq->lock);
		KASSERT(task->rq_state == RQ_MOVING);
		if (!allowed(task, cpu)) {
			set_cpu(task, select_cpu(task));
			spin_unlock_raw(&rq->lock);
			continue;
		}
		task->rq_state = RQ_QUEUED;
		task->slice_ticks = 0;
		list_insert_tail(&rq->tasks, &task->rq_link);
		rq->waiting++;
		if (rq->running == rq->idle)
			kick(cpu);
		spin_unlock_raw(&rq->lock);
		return;
	}
}

void sched_start(struct task *task)
{
	u64 flags = irq_save();

	KASSERT(task->rq_state == RQ_OFF);
	task->state = TASK_RUNNING;
	task->rq_state = RQ_MOVING;
	set_cpu(task, select_cpu(task));
	queue_moving(task);
	irq_restore(flags);
}

bool task_wake(struct task *task, bool interrupt)
{
	u64 flags = irq_save();
	struct runqueue *rq = lock_task_rq(task);
	bool woken = false, move = false;

	if (task->state == TASK_SLEEPING || (task->state == TASK_BLOCKED && !interrupt)) {
		woken = true;
		__atomic_store_n(&task->state, TASK_RUNNING, __ATOMIC_RELAXED);
		if (task->rq_state == RQ_OFF) {
			move = true;
			task->rq_state = RQ_MOVING;
			set_cpu(task, select_cpu(task));
		}
	}
	spin_unlock_raw(&rq->lock);
	if (move)
		queue_moving(task);
	irq_restore(flags);
	return woken;
}

/* An idle CPU takes a waiting task from a longer queue. Other queues' locks are only tried: two
 * CPUs may do this to each other at once. */
static struct task *steal(u32 here)
{
	for (u32 cpu = 0; cpu < cpus_possible; cpu++) {
		struct runqueue *rq = &runqueues[cpu];
		struct task *found = NULL;

		if (cpu == here || __atomic_load_n(&rq->waiting, __ATOMIC_RELAXED) == 0)
			continue;
		if (!spin_try_raw(&rq->lock))
			continue;
		LIST_FOR_EACH (pos, &rq->tasks) {
			struct task *task = LIST_ENTRY(pos, struct task, rq_link);

			if (allowed(task, here)) {
				found = task;
				break;
			}
		}
		if (found != NULL) {
			list_remove(&found->rq_link);
			rq->waiting--;
			set_cpu(found, here);
		}
		spin_unlock_raw(&rq->lock);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static struct task *pick_next(struct runqueue *rq, u32 here)
{
	struct task *task;

	if (list_empty(&rq->tasks)) {
		task = steal(here);
		return task != NULL ? task : rq->idle;
	}
	task = LIST_FIRST(&rq->tasks, struct task, rq_link);
	list_remove(&task->rq_link);
	rq->waiting--;
	return task;
}

/* Runs as the next task: let go of the queue, and place a previous task that may not stay here.
 * IRQs off. */
void sched_finish_switch(void)
{
	struct runqueue *rq = &runqueues[cpu_index()];
	struct task *prev = rq->prev;
	bool move = prev->rq_state == RQ_MOVING;
	bool dead = prev->state == TASK_DEAD;

	rq->prev = NULL;
	spin_unlock_raw(&rq->lock);
	if (move)
		queue_moving(prev);
	if (dead)
		task_put(prev);
}

static void switch_away(struct runqueue *rq, struct task *prev, struct task *next)
{
	u64 now = clock_ns();

	prev->runtime_ns += now - prev->switched_in_ns;
	next->switched_in_ns = now;
	if (prev->process != NULL) {
		fp_save(&prev->fp);
		prev->tls = SYSREG_READ(tpidr_el0);
	}
	if (next->process != NULL) {
		fp_load(&next->fp);
		SYSREG_WRITE(tpidr_el0, next->tls);
	}
	if (next->mm != prev->mm)
		mmu_switch_user(next->mm != NULL ? next->mm->table : NULL,
			next->mm != NULL ? next->mm->asid : 0);
	tally_sched_switch(&tally_engine, prev->head.tally, next->head.tally);
	rq->prev = prev;
	rq->running = next;
	this_cpu()->running = next;
	switch_to(&prev->context, &next->context, next);
	sched_finish_switch();
}

/* `preempted`: not the task's own wish, so one that is about to sleep stays runnable and goes on to
 * look again. */
static void switch_task(bool preempted)
{
	u64 flags = irq_save();
	u32 here = cpu_index();
	struct runqueue *rq = &runqueues[here];
	struct task *prev = current;
	struct task *next;

	KASSERT(prev->head.preempt_count == 0);
	spin_lock_raw(&rq->lock);
	__atomic_store_n(&cpus[here].need_resched, false, __ATOMIC_RELAXED);
	if (prev != rq->idle) {
		if (prev->state != TASK_RUNNING && !preempted) {
			prev->rq_state = RQ_OFF;
		} else if (!allowed(prev, here)) {
			prev->rq_state = RQ_MOVING;
		} else {
			prev->slice_ticks = 0;
			list_insert_tail(&rq->tasks, &prev->rq_link);
			rq->waiting++;
		}
	}
	next = pick_next(rq, here);
	if (next == prev)
		spin_unlock_raw(&rq->lock);
	else
		switch_away(rq, prev, next);
	irq_restore(flags);
}

void schedule(void)
{
	switch_task(false);
}

void preempt_check(void)
{
	u64 flags = irq_save();
	bool now = this_cpu()->need_resched && current->head.preempt_count == 0 &&
		   !(flags & DAIF_I);

	irq_restore(flags);
	if (now)
		switch_task(true);
}

void sched_yield_current(void)
{
	switch_task(true);
}

_Noreturn void sched_exit_current(void)
{
	irq_disable();
	current->state = TASK_DEAD;
	switch_task(false);
	panic("a dead task ran");
}

/* The task has left a CPU that it may not use when this returns. The wait may be preempted, so two
 * tasks that move each other do not hang. */
static void wait_until_moved(struct task *task, u32 cpu)
{
	while (__atomic_load_n(&runqueues[cpu].running, __ATOMIC_ACQUIRE) == task &&
		!allowed(task, cpu) && cpus[cpu].online)
		cpu_relax();
}

int sched_set_affinity(struct task *task, u64 mask)
{
	struct runqueue *rq;
	bool move = false;
	u64 flags;
	u32 cpu;

	mask &= BIT(cpus_possible) - 1;
	if ((mask & cpus_online_mask()) == 0)
		return -EINVAL;
	flags = irq_save();
	rq = lock_task_rq(task);
	cpu = task->head.cpu;
	task->affinity = mask;
	if (!allowed(task, cpu) && task->rq_state == RQ_QUEUED) {
		if (rq->running == task) {
			kick(cpu); /* it moves itself */
		} else {
			list_remove(&task->rq_link);
			rq->waiting--;
			task->rq_state = RQ_MOVING;
			set_cpu(task, select_cpu(task));
			move = true;
		}
	}
	spin_unlock_raw(&rq->lock);
	if (move)
		queue_moving(task);
	irq_restore(flags);
	if (task == current)
		preempt_check();
	else
		wait_until_moved(task, cpu);
	return 0;
}

/* Each tick, in the timer interrupt: the slice, and an idle CPU's look for work elsewhere. */
void sched_tick(void)
{
	u32 here = cpu_index();
	struct runqueue *rq = &runqueues[here];

	if (rq->running == rq->idle) {
		for (u32 cpu = 0; cpu < cpus_possible; cpu++)
			if (cpu != here &&
				__atomic_load_n(&runqueues[cpu].waiting, __ATOMIC_RELAXED) > 0)
				this_cpu()->need_resched = true;
		return;
	}
	if (++rq->running->slice_ticks >= SLICE_TICKS &&
		__atomic_load_n(&rq->waiting, __ATOMIC_RELAXED) > 0)
		this_cpu()->need_resched = true;
}

u64 task_runtime_ns(struct task *task)
{
	u64 flags = irq_save();
	struct runqueue *rq = lock_task_rq(task);
	u64 ns = task->runtime_ns;

	if (rq->running == task)
		ns += clock_ns() - task->switched_in_ns;
	spin_unlock_raw(&rq->lock);
	irq_restore(flags);
	return ns;
}

_Noreturn void sched_idle_loop(void)
{
	for (;;) {
		irq_disable();
		while (!__atomic_load_n(&this_cpu()->need_resched, __ATOMIC_ACQUIRE)) {
			/* WFI ends on a pending interrupt though it is masked: none is slept
			 * through. */
			__asm__ volatile("dsb sy; wfi" ::: "memory");
			irq_enable();
			/* Without a context synchronization event here, a pending interrupt need
			 * not be taken between the two writes of DAIF (Arm ARM DDI 0487, D1.3). */
			isb();
			irq_disable();
		}
		irq_enable();
		schedule();
	}
}
