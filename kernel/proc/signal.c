/* SPDX-License-Identifier: MIT
 *
 * signal.c: signals, as far as default actions go: end the process, or nothing.
 *
 * A signal that would be ignored is not recorded. A recorded one ends its process: the thread that
 * sees it on its way to user mode, or that it wakes from an interruptible sleep, begins the end of
 * the group (proc/exit.c). init is immune to what it has not asked for. Pending sets are under
 * tasks_lock; signal_pending() reads them without.
 */
#include <kernel/errno.h>
#include <kernel/irq.h>
#include <kernel/printk.h>
#include <kernel/task.h>

#define IGNORED_BY_DEFAULT                                                                         \
	(BIT(SIGCHLD - 1) | BIT(SIGCONT - 1) | BIT(SIGURG - 1) | BIT(SIGWINCH - 1))

bool signal_pending(void)
{
	const struct process *process = current->process;

	if (process == NULL)
		return false;
	return __atomic_load_n(&process->exiting, __ATOMIC_ACQUIRE) ||
	       (__atomic_load_n(&process->signals, __ATOMIC_RELAXED) |
		       __atomic_load_n(&current->signals, __ATOMIC_RELAXED)) != 0;
}

void signal_deliver(struct trap_frame *frame)
{
	struct process *process = current->process;
	u64 pending, own;

	(void)frame;
	if (__atomic_load_n(&process->exiting, __ATOMIC_ACQUIRE))
		task_exit(process->status);
	own = __atomic_load_n(&current->signals, __ATOMIC_RELAXED);
	pending = own | __atomic_load_n(&process->signals, __ATOMIC_RELAXED);
	if (pending == 0)
		return;
	if (own & BIT(SIGKILL - 1))
		task_exit(SIGKILL); /* another thread's exec ends this one alone */
	task_exit_group(__builtin_ctzll(pending) + 1);
}

static bool ignored(const struct process *process, u32 signal)
{
	if (signal == SIGKILL)
		return process == init_process;
	return process == init_process ||
	       ((process->ignored | IGNORED_BY_DEFAULT) & BIT(signal - 1)) != 0;
}

/* (T) */
static void poke(struct task *task)
{
	u32 cpu = __atomic_load_n(&task->head.cpu, __ATOMIC_RELAXED);

	task_wake(task, true);
	if (cpu != cpu_index())
		ipi_send(cpu,
			IPI_RESCHED); /* if it runs there, it passes the way to user mode now */
}

int signal_send_process(struct process *process, u32 signal)
{
	u64 flags = spin_lock_irq(&tasks_lock);

	if (signal != 0 && !process->zombie && !ignored(process, signal)) {
		__atomic_fetch_or(&process->signals, BIT(signal - 1), __ATOMIC_RELAXED);
		LIST_FOR_EACH (pos, &process->threads)
			poke(LIST_ENTRY(pos, struct task, thread_link));
	}
	spin_unlock_irq(&tasks_lock, flags);
	return 0;
}

int signal_send_task(struct task *task, u32 signal)
{
	/* Whole-process actions are all there are: which thread takes it makes no difference. */
	return task->process != NULL ? signal_send_process(task->process, signal) : -EPERM;
}

/* kill(-1): everybody but init and the caller. */
static s64 kill_all(u32 signal)
{
	s64 result = -ESRCH;

	for (u32 id = 1; id < TASK_IDS_MAX; id++) {
		struct task *task = task_find(id);
		struct process *process;

		if (task == NULL)
			continue;
		process = task->process;
		if (process != NULL && process != init_process && process != current->process &&
			!__atomic_load_n(&process->zombie, __ATOMIC_RELAXED)) {
			signal_send_process(process, signal);
			result = 0;
		}
		task_put(task);
	}
	return result;
}

s64 signal_kill(s32 pid, u32 signal)
{
	struct task *task;
	s64 result;

	if (signal > SIGNAL_MAX)
		return -EINVAL;
	if (pid == -1)
		return kill_all(signal);
	if (pid <= 0)
		return -ESRCH; /* process groups: none yet */
	task = task_find((u32)pid);
	if (task == NULL)
		return -ESRCH;
	result = signal_send_task(task, signal);
	task_put(task);
	return result;
}

_Noreturn void signal_fatal(u32 signal)
{
	task_exit_group((int)signal);
}
