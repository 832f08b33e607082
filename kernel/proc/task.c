/* SPDX-License-Identifier: MIT
 *
 * task.c: task and process objects, the id table, kernel stacks.
 *
 * Ids run from 1 to TASK_IDS_MAX - 1 and are given out in turn. The table points to a task as long
 * as its id is taken; a first thread's id is its process's pid and stays taken until the process is
 * reaped. Stacks are mapped with a gap below each and are kept for reuse: they are never unmapped.
 * task_put() may run with IRQs off and never sleeps.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#include "../arch/smp.h"

#define STACKS_MAX TASK_IDS_MAX

extern char boot_stack[];

struct spinlock tasks_lock;
struct process *init_process;
struct task boot_task = {.comm = "idle/0", .affinity = 1, .refs = 1};

static struct task *table[TASK_IDS_MAX];
static u32 id_last;

static struct spinlock stacks_lock;
static u64 stack_spare; /* a free stack's first word links to the next */
static u32 stacks_made;

static u64 stack_make(void)
{
	u64 stack;
	u32 n;

	n = __atomic_fetch_add(&stacks_made, 1, __ATOMIC_RELAXED);
	if (n >= STACKS_MAX) {
		__atomic_fetch_sub(&stacks_made, 1, __ATOMIC_RELAXED);
		return 0;
	}
	stack = (u64)STACKS_BASE + (u64)n * STACK_SLOT + STACK_SIZE;
	for (u64 at = stack; at < stack + STACK_SIZE; at += PAGE_SIZE) {
		struct page *page = page_alloc(0);

		/* A part-made stack stays behind in its slot: memory is out, and the slot is not
		 * used again. */
		if (page == NULL || mmu_map_kernel_page(at, page_pa(page)) != 0)
			return 0;
	}
	return stack;
}

static u64 stack_take(void)
{
	u64 flags = spin_lock_irq(&stacks_lock);
	u64 stack = stack_spare;

	if (stack != 0)
		stack_spare = *(u64 *)stack;
	spin_unlock_irq(&stacks_lock, flags);
	return stack != 0 ? stack : stack_make();
}

static void stack_give(u64 stack)
{
	u64 flags = spin_lock_irq(&stacks_lock);

	*(u64 *)stack = stack_spare;
	stack_spare = stack;
	spin_unlock_irq(&stacks_lock, flags);
}

struct task *task_new(void)
{
	struct task *task = kzalloc(sizeof(*task));

	if (task == NULL)
		return NULL;
	task->stack = stack_take();
	if (task->stack == 0) {
		kfree(task);
		return NULL;
	}
	task->refs = 1;
	task->affinity = BIT(cpus_possible) - 1;
	task->rq_state = RQ_OFF;
	task->context.sp = (u64)task_frame(task);
	task->context.pc = (u64)task_first_run;
	task->head.cpu = cpu_index();
	list_init(&task->rq_link);
	list_init(&task->thread_link);
	tally_task_init(&task->tally);
	task->head.tally = &task->tally;
	return task;
}

void task_get(struct task *task)
{
	__atomic_fetch_add(&task->refs, 1, __ATOMIC_RELAXED);
}

void task_put(struct task *task)
{
	if (__atomic_fetch_sub(&task->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	KASSERT(task->mm == NULL && task->files == NULL);
	if (task->process != NULL)
		process_put(task->process);
	stack_give(task->stack);
	kfree(task);
}

int task_id_take(struct task *task)
{
	u64 flags = spin_lock_irq(&tasks_lock);
	int error = -EAGAIN;

	for (u32 i = 1; i < TASK_IDS_MAX && error != 0; i++) {
		u32 id = (id_last + i) % TASK_IDS_MAX;

		if (id != 0 && table[id] == NULL) {
			table[id] = task;
			task->tid = id;
			id_last = id;
			error = 0;
		}
	}
	spin_unlock_irq(&tasks_lock, flags);
	return error;
}

void task_id_release(struct task *task)
{
	if (task->tid != 0 && table[task->tid] == task)
		table[task->tid] = NULL;
}

/* `task` takes over the id of `from`, which keeps none. (T) */
void task_id_move(struct task *task, struct task *from)
{
	task_id_release(task);
	task->tid = from->tid;
	table[task->tid] = task;
	from->tid = 0;
}

struct task *task_find(u32 tid)
{
	struct task *task = NULL;
	u64 flags;

	if (tid == 0 || tid >= TASK_IDS_MAX)
		return NULL;
	flags = spin_lock_irq(&tasks_lock);
	task = table[tid];
	if (task != NULL && !task->findable)
		task = NULL; /* still being made, or made in vain */
	if (task != NULL)
		task_get(task);
	spin_unlock_irq(&tasks_lock, flags);
	return task;
}

struct process *process_new(void)
{
	struct process *process = kzalloc(sizeof(*process));

	if (process == NULL)
		return NULL;
	process->refs = 1;
	list_init(&process->children);
	list_init(&process->sibling);
	list_init(&process->threads);
	waitqueue_init(&process->changed);
	return process;
}

void process_get(struct process *process)
{
	__atomic_fetch_add(&process->refs, 1, __ATOMIC_RELAXED);
}

void process_put(struct process *process)
{
	if (__atomic_fetch_sub(&process->refs, 1, __ATOMIC_ACQ_REL) == 1)
		kfree(process);
}

struct task *task_new_idle(u32 cpu)
{
	struct task *task = task_new();

	if (task == NULL)
		return NULL;
	format(task->comm, sizeof(task->comm), "idle/%u", cpu);
	task->affinity = BIT(cpu);
	task->head.cpu = cpu;
	task->head.tally = NULL;
	sched_init_this_cpu(task);
	return task;
}

void tasks_init(void)
{
	boot_task.stack = (u64)boot_stack;
	list_init(&boot_task.rq_link);
	list_init(&boot_task.thread_link);
	sched_init_this_cpu(&boot_task);
}
