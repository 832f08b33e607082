/* SPDX-License-Identifier: MIT
 *
 * sys_process.c: system calls on processes, threads, signals and scheduling.
 */
#include <kernel/cpu.h>
#include <kernel/errno.h>
#include <kernel/mm.h>
#include <kernel/string.h>
#include <kernel/syscall.h>
#include <kernel/task.h>

#define PR_SET_NAME 15u
#define PR_GET_NAME 16u

s64 sys_exit(const struct syscall_args *args)
{
	task_exit((int)(args->a[0] & 0xff) << 8);
}

s64 sys_exit_group(const struct syscall_args *args)
{
	task_exit_group((int)(args->a[0] & 0xff) << 8);
}

s64 sys_clone(const struct syscall_args *args)
{
	struct clone_request request = {
		.flags = args->a[0],
		.stack = args->a[1],
		.parent_tid = args->a[2],
		.tls = args->a[3],
		.child_tid = args->a[4],
	};

	return task_clone(args->frame, &request);
}

/* After success x0 is 0, as the new program expects. */
s64 sys_execve(const struct syscall_args *args)
{
	return task_exec_user(args->a[0], args->a[1], args->a[2]);
}

s64 sys_wait4(const struct syscall_args *args)
{
	return task_wait((s32)args->a[0], args->a[1], (u32)args->a[2], args->a[3]);
}

s64 sys_kill(const struct syscall_args *args)
{
	return signal_kill((s32)args->a[0], (u32)args->a[1]);
}

s64 sys_tkill(const struct syscall_args *args)
{
	return (s32)args->a[0] > 0 ? signal_kill((s32)args->a[0], (u32)args->a[1]) : -EINVAL;
}

s64 sys_tgkill(const struct syscall_args *args)
{
	struct task *task;
	s64 result = -ESRCH;

	if ((s32)args->a[0] <= 0 || (s32)args->a[1] <= 0)
		return -EINVAL;
	task = task_find((u32)args->a[1]);
	if (task == NULL)
		return -ESRCH;
	if (task->process != NULL && task->process->pid == (u32)args->a[0])
		result = signal_kill((s32)args->a[1], (u32)args->a[2]);
	task_put(task);
	return result;
}

s64 sys_set_tid_address(const struct syscall_args *args)
{
	current->clear_child_tid = args->a[0];
	return current->tid;
}

s64 sys_getpid(const struct syscall_args *args)
{
	(void)args;
	return current->process->pid;
}

s64 sys_getppid(const struct syscall_args *args)
{
	struct process *process = current->process;
	u64 flags = spin_lock_irq(&tasks_lock);
	s64 pid = process == init_process ? 0 : process->parent->pid;

	(void)args;
	spin_unlock_irq(&tasks_lock, flags);
	return pid;
}

s64 sys_gettid(const struct syscall_args *args)
{
	(void)args;
	return current->tid;
}

s64 sys_get_id_zero(const struct syscall_args *args)
{
	(void)args;
	return 0;
}

s64 sys_prctl(const struct syscall_args *args)
{
	char name[COMM_SIZE] = {0};

	switch (args->a[0]) {
	case PR_SET_NAME:
		if (copy_string_from_user(name, args->a[1], sizeof(name)) == -EFAULT)
			return -EFAULT;
		string_copy(current->comm, name, sizeof(current->comm));
		return 0;
	case PR_GET_NAME:
		return copy_to_user(args->a[1], current->comm, sizeof(current->comm));
	default:
		return -EINVAL;
	}
}

s64 sys_uname(const struct syscall_args *args)
{
	/* struct new_utsname: six fields of 65 bytes. The release is the Linux whose ABI this is.
	 */
	static const char names[6][65] = {
		"Linux", "tally", "6.1.0-tally", "#1 SMP PREEMPT tally", "aarch64", "(none)"};

	return copy_to_user(args->a[0], names, sizeof(names));
}

s64 sys_sched_yield(const struct syscall_args *args)
{
	(void)args;
	sched_yield_current();
	return 0;
}

/* The task of a pid argument, 0 being the caller; with a reference. */
static struct task *find_target(u64 pid)
{
	if (pid != 0)
		return task_find((u32)pid);
	task_get(current);
	return current;
}

s64 sys_sched_setaffinity(const struct syscall_args *args)
{
	struct task *task;
	u64 mask = 0;
	s64 result;

	if (copy_from_user(&mask, args->a[2], MIN(args->a[1], sizeof(mask))) != 0)
		return -EFAULT;
	task = find_target(args->a[0]);
	if (task == NULL)
		return -ESRCH;
	result = sched_set_affinity(task, mask);
	task_put(task);
	return result;
}

s64 sys_sched_getaffinity(const struct syscall_args *args)
{
	struct task *task;
	u64 mask;

	if (args->a[1] < sizeof(mask) || args->a[1] % sizeof(u64) != 0)
		return -EINVAL;
	task = find_target(args->a[0]);
	if (task == NULL)
		return -ESRCH;
	mask = __atomic_load_n(&task->affinity, __ATOMIC_RELAXED) & cpus_online_mask();
	task_put(task);
	return copy_to_user(args->a[2], &mask, sizeof(mask)) != 0 ? -EFAULT : (s64)sizeof(mask);
}

s64 sys_getcpu(const struct syscall_args *args)
{
	u32 cpu = cpu_index(), node = 0;

	if (args->a[0] != 0 && copy_to_user(args->a[0], &cpu, sizeof(cpu)) != 0)
		return -EFAULT;
	if (args->a[1] != 0 && copy_to_user(args->a[1], &node, sizeof(node)) != 0)
		return -EFAULT;
	return 0;
}
