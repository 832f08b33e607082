/* SPDX-License-Identifier: MIT
 *
 * fork.c: clone(2): new processes and new threads.
 *
 * Everything that can fail is done before anybody can see the new task; then, under tasks_lock, it
 * becomes part of its process and of the tree, and last it is made runnable. Supported: a process
 * (any exit signal, optionally CLONE_VM and CLONE_VFORK, CLONE_FILES) and a thread (CLONE_THREAD
 * with VM and SIGHAND); SETTLS and the three TID flags on both.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#define CSIGNAL              0xffull
#define CLONE_VM             0x100ull
#define CLONE_FS             0x200ull
#define CLONE_FILES          0x400ull
#define CLONE_SIGHAND        0x800ull
#define CLONE_VFORK          0x4000ull
#define CLONE_THREAD         0x10000ull
#define CLONE_SYSVSEM        0x40000ull
#define CLONE_SETTLS         0x80000ull
#define CLONE_PARENT_SETTID  0x100000ull
#define CLONE_CHILD_CLEARTID 0x200000ull
#define CLONE_DETACHED       0x400000ull
#define CLONE_CHILD_SETTID   0x1000000ull
#define CLONE_KNOWN                                                                                \
	(CSIGNAL | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK |               \
		CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |                \
		CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_CHILD_SETTID)

static bool flags_make_sense(u64 flags)
{
	if ((flags & ~CLONE_KNOWN) != 0 || (flags & CSIGNAL) > SIGNAL_MAX)
		return false;
	if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND))
		return false;
	if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM))
		return false;
	return true;
}

/* Memory, files and process of the child. On failure what was taken is in the task, for abandon().
 */
static int share_or_copy(struct task *child, const struct clone_request *request)
{
	struct task *parent = current;

	if (request->flags & CLONE_THREAD) {
		child->process = parent->process;
		process_get(child->process);
	} else {
		child->process = process_new();
		if (child->process == NULL)
			return -ENOMEM;
		child->process->exit_signal = (u32)(request->flags & CSIGNAL);
		child->process->ignored = parent->process->ignored;
	}
	if (request->flags & CLONE_VM) {
		child->mm = parent->mm;
		mm_get(child->mm);
	} else {
		child->mm = mm_fork(parent->mm);
	}
	if (request->flags & CLONE_FILES) {
		child->files = parent->files;
		files_get(child->files);
	} else {
		child->files = files_copy(parent->files);
	}
	return child->mm != NULL && child->files != NULL ? 0 : -ENOMEM;
}

static void abandon(struct task *child)
{
	u64 flags = spin_lock_irq(&tasks_lock);

	task_id_release(child);
	spin_unlock_irq(&tasks_lock, flags);
	if (child->mm != NULL)
		mm_put(child->mm);
	if (child->files != NULL)
		files_put(child->files);
	child->mm = NULL;
	child->files = NULL;
	task_put(child);
}

static void set_registers(
	struct task *child, const struct trap_frame *frame, const struct clone_request *request)
{
	struct trap_frame *child_frame = task_frame(child);

	*child_frame = *frame;
	child_frame->x[0] = 0;
	if (request->stack != 0)
		child_frame->sp = request->stack;
	fp_save(&child->fp);
	child->tls = request->flags & CLONE_SETTLS ? request->tls : SYSREG_READ(tpidr_el0);
	child->context.x19_x28[0] = 0; /* nothing to run first */
}

/* Make the child part of its process and the tree. A group that is ending takes no new threads. */
static int publish(struct task *child, const struct clone_request *request)
{
	struct process *process = child->process;
	u64 flags = spin_lock_irq(&tasks_lock);
	bool ending = current->process->exiting || current->signals != 0;

	if (!ending) {
		if (!(request->flags & CLONE_THREAD)) {
			process->pid = child->tid;
			process->leader = child;
			task_get(child);
			process_get(process); /* the tree's */
			process->parent = current->process;
			list_insert_tail(&process->parent->children, &process->sibling);
		}
		list_insert_tail(&process->threads, &child->thread_link);
		process->thread_count++;
		child->findable = true;
	}
	spin_unlock_irq(&tasks_lock, flags);
	return ending ? -EAGAIN : 0;
}

/* Who waits for `child` to let go of its memory, held; once. */
static struct task *take_vfork_parent(struct task *child)
{
	u64 flags = spin_lock_irq(&tasks_lock);
	struct task *parent = child->vfork_parent;

	child->vfork_parent = NULL;
	spin_unlock_irq(&tasks_lock, flags);
	return parent;
}

/* Until the child has left the caller's memory, or the caller is being killed. */
static void wait_for_vfork(struct task *child)
{
	struct task *parent = current;

	if (WAIT_EVENT_INTERRUPTIBLE(&parent->process->changed,
		    __atomic_load_n(&parent->vfork_done, __ATOMIC_ACQUIRE)) != 0 &&
		take_vfork_parent(child) != NULL)
		task_put(parent);
}

s64 task_clone(const struct trap_frame *frame, const struct clone_request *request)
{
	struct task *parent = current;
	struct task *child;
	u32 tid;
	int error;

	if (!flags_make_sense(request->flags))
		return -EINVAL;
	child = task_new();
	if (child == NULL)
		return -ENOMEM;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	child->affinity = parent->affinity;
	error = share_or_copy(child, request);
	if (error == 0)
		error = task_id_take(child);
	if (error != 0)
		goto fail;
	set_registers(child, frame, request);
	if (request->flags & CLONE_CHILD_CLEARTID)
		child->clear_child_tid = request->child_tid;
	child->set_child_tid = request->flags & CLONE_CHILD_SETTID ? request->child_tid : 0;
	if (request->flags & CLONE_VFORK) {
		child->vfork_parent = parent;
		task_get(parent);
		task_get(child); /* for the wait */
		parent->vfork_done = false;
	}
	error = publish(child, request);
	if (error != 0)
		goto fail_vfork;
	tid = child->tid;
	if (request->flags & CLONE_PARENT_SETTID)
		copy_to_user(request->parent_tid, &tid,
			sizeof(tid)); /* as Linux: a bad pointer is the caller's loss */
	sched_start(child);
	if (request->flags & CLONE_VFORK) {
		wait_for_vfork(child);
		task_put(child);
	}
	return tid;

fail_vfork:
	if (child->vfork_parent != NULL) {
		child->vfork_parent = NULL;
		task_put(parent);
		task_put(child);
	}
fail:
	abandon(child);
	return error;
}

/* A new user task's first steps in its own context, called by task_first_run, IRQs off. */
void task_begin_user(void)
{
	u32 tid = current->tid;

	irq_enable();
	if (current->set_child_tid != 0)
		copy_to_user(current->set_child_tid, &tid, sizeof(tid));
}

/* The child has left the memory that vfork lent it. Called by itself, at exec and exit. */
void task_vfork_release(struct task *child)
{
	struct task *parent = take_vfork_parent(child);

	if (parent == NULL)
		return;
	__atomic_store_n(&parent->vfork_done, true, __ATOMIC_RELEASE);
	waitqueue_wake(&parent->process->changed);
	task_put(parent);
}
