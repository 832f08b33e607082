/* SPDX-License-Identifier: MIT
 *
 * exit.c: the end of threads and processes, and wait4(2).
 *
 * A thread leaves its memory and files first, in task context; then, under tasks_lock, its process.
 * The last thread to leave makes the process a zombie, gives its children to init and tells the
 * parent. A group that ends as a whole (exit_group, a fatal signal) marks itself once; every thread
 * sees the mark on its way to user mode or in its sleep. The end of init is the end of the machine.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/irq.h>
#include <kernel/machine.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#define WNOHANG    1u
#define WUNTRACED  2u
#define WCONTINUED 8u
#define W_NOTHREAD 0x20000000u
#define W_ALL      0x40000000u
#define W_CLONE    0x80000000u

/* (T) */
static void wake_threads(struct process *process)
{
	LIST_FOR_EACH (pos, &process->threads) {
		struct task *task = LIST_ENTRY(pos, struct task, thread_link);

		if (task == current)
			continue;
		task_wake(task, true);
		if (task->head.cpu != cpu_index() && cpus[task->head.cpu].running == task) {
			__atomic_store_n(
				&cpus[task->head.cpu].need_resched, true, __ATOMIC_RELEASE);
			ipi_send(task->head.cpu, IPI_RESCHED);
		}
	}
}

/* Begin the end of the caller's process, if nobody has. (T) */
static void mark_exiting(struct process *process, int status)
{
	if (process->exiting)
		return;
	process->status = status;
	__atomic_store_n(&process->exiting, true, __ATOMIC_RELEASE);
	wake_threads(process);
}

static void leave_memory(struct task *task)
{
	struct mm *mm = task->mm;
	u32 zero = 0;

	if (task->clear_child_tid != 0)
		copy_to_user(task->clear_child_tid, &zero, sizeof(zero));
	mm_use(NULL);
	mm_put(mm);
	task_vfork_release(task);
}

static _Noreturn void machine_exit(int status)
{
	int code = (status & 0x7f) != 0 ? 128 + (status & 0x7f) : (status >> 8) & 0xff;

	/* All but the pages, of which stacks and small objects keep some for reuse, is the same
	 * after every run of the same programs, however long: else something leaks. */
	printk("tally: left: %lu pages, %lu objects, %lu events, %lu contexts, %lu rings\n",
		pages_total() - pages_free(), kmalloc_live(),
		tally_statistic(&tally_engine, TALLY_STAT_EVENTS),
		tally_statistic(&tally_engine, TALLY_STAT_CONTEXTS),
		tally_statistic(&tally_engine, TALLY_STAT_RINGS));
	printk("tally-exit: %d\n", code);
	psci_system_off();
}

/* (T) The process's last thread is gone. Returns the process to be told, held. */
static struct process *become_zombie(struct process *process)
{
	struct process *parent = process->parent;

	LIST_FOR_EACH_SAFE (pos, &process->children) {
		struct process *child = LIST_ENTRY(pos, struct process, sibling);

		list_remove(pos);
		child->parent = init_process;
		list_insert_tail(&init_process->children, pos);
	}
	process->zombie = true;
	process_get(parent);
	return parent;
}

_Noreturn void task_exit(int status)
{
	struct task *task = current;
	struct process *process = task->process;
	struct process *parent = NULL;
	struct files *files = task->files;
	u64 flags;
	bool last;

	irq_enable();
	tally_task_exit(&tally_engine, task->head.tally);
	task->files = NULL;
	files_put(files);
	leave_memory(task);
	flags = spin_lock_irq(&tasks_lock);
	list_remove(&task->thread_link);
	process->runtime_ns += task_runtime_ns(task);
	last = --process->thread_count == 0;
	if (last && !process->exiting)
		process->status = status;
	if (last && process == init_process)
		machine_exit(process->status);
	if (task != process->leader)
		task_id_release(task);
	if (last)
		parent = become_zombie(process);
	spin_unlock_irq(&tasks_lock, flags);
	waitqueue_wake(&process->changed); /* an exec that waits to be alone */
	if (parent != NULL) {
		if (process->exit_signal != 0)
			signal_send_process(parent, process->exit_signal);
		waitqueue_wake(&parent->changed);
		if (init_process != parent)
			waitqueue_wake(&init_process->changed); /* it may have inherited zombies */
		process_put(parent);
	}
	sched_exit_current();
}

_Noreturn void task_exit_group(int status)
{
	u64 flags = spin_lock_irq(&tasks_lock);

	mark_exiting(current->process, status);
	spin_unlock_irq(&tasks_lock, flags);
	task_exit(status);
}

int process_end_others(struct process *process)
{
	u64 flags = spin_lock_irq(&tasks_lock);
	bool ending = process->exiting || current->signals != 0;

	LIST_FOR_EACH (pos, &process->threads) {
		struct task *task = LIST_ENTRY(pos, struct task, thread_link);

		if (task != current && !ending)
			task->signals |= BIT(SIGKILL - 1);
	}
	wake_threads(process);
	spin_unlock_irq(&tasks_lock, flags);
	if (ending)
		return -EINTR; /* another thread was first, with an exec or an exit */
	WAIT_EVENT(
		&process->changed, __atomic_load_n(&process->thread_count, __ATOMIC_ACQUIRE) == 1);
	return 0;
}

struct waited {
	struct process *process; /* a zombie, unlinked, the tree's reference now ours; or NULL */
	bool any_child;
};

static struct waited take_zombie(s32 pid)
{
	struct process *self = current->process;
	struct waited waited = {0};
	u64 flags = spin_lock_irq(&tasks_lock);

	LIST_FOR_EACH_SAFE (pos, &self->children) {
		struct process *child = LIST_ENTRY(pos, struct process, sibling);

		if (pid > 0 && child->pid != (u32)pid)
			continue;
		waited.any_child = true;
		if (!child->zombie)
			continue;
		list_remove(pos);
		task_id_release(child->leader);
		self->children_ns += child->runtime_ns + child->children_ns;
		waited.process = child;
		break;
	}
	spin_unlock_irq(&tasks_lock, flags);
	return waited;
}

static int report(struct process *child, u64 status_at, u64 rusage_at)
{
	int error = 0;

	if (status_at != 0)
		error = copy_to_user(status_at, &child->status, sizeof(child->status));
	if (error == 0 && rusage_at != 0) {
		/* struct rusage: user time, system time (all is put down as user time), and counts
		 * that are 0 */
		u64 usage[18] = {
			child->runtime_ns / NSEC_PER_SEC, child->runtime_ns % NSEC_PER_SEC / 1000};

		error = copy_to_user(rusage_at, usage, sizeof(usage));
	}
	return error;
}

s64 task_wait(s32 pid, u64 status, u32 options, u64 rusage)
{
	struct process *self = current->process;
	struct waited waited = {0};
	s64 result;
	int error;

	if ((options & ~(WNOHANG | WUNTRACED | WCONTINUED | W_NOTHREAD | W_ALL | W_CLONE)) != 0)
		return -EINVAL;
	error = WAIT_EVENT_INTERRUPTIBLE(&self->changed,
		(waited = take_zombie(pid),
			waited.process != NULL || !waited.any_child || (options & WNOHANG)));
	if (error != 0)
		return error;
	if (waited.process == NULL)
		return waited.any_child ? 0 : -ECHILD;
	result = waited.process->pid;
	error = report(waited.process, status, rusage);
	/* The leader's task and the process hold each other: the task's reference to the process
	 * goes with it. */
	task_put(waited.process->leader);
	process_put(waited.process);
	return error != 0 ? error : result;
}
