/* SPDX-License-Identifier: MIT
 *
 * task_head.h: the first bytes of every struct task, for code that finds the running one through
 * SP_EL0 and needs no more of the kernel (the engine's inline HAL). Includes nothing of the kernel.
 */
#ifndef KERNEL_TASK_HEAD_H
#define KERNEL_TASK_HEAD_H

#include <stdint.h>

struct tally_task;

struct task_head {
	uint32_t preempt_count; /* > 0: no preemption; changed by the task itself only */
	uint32_t cpu;           /* where it runs, or last ran */
	struct tally_task
		*tally; /* its state in the engine; NULL: one that the engine never sees (idle) */
};

static inline const struct task_head *task_head_current(void)
{
	const struct task_head *head;

	/* Not volatile: between two switches the answer does not change, as seen by the task
	 * itself. */
	__asm__("mrs %0, sp_el0" : "=r"(head));
	return head;
}

#endif
