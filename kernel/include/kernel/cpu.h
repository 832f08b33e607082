/* SPDX-License-Identifier: MIT
 *
 * cpu.h: the CPUs, one struct each, and which of them this is.
 *
 * TPIDR_EL1 of every CPU points to its struct cpu for good. SP_EL0, while in the kernel, points to
 * the running task, whose first bytes are struct task_head: so `current`, its CPU number and its
 * preemption count are each one load and right at the moment of the load, preemptible or not.
 * this_cpu() is stable only with preemption or IRQs off.
 */
#ifndef KERNEL_CPU_H
#define KERNEL_CPU_H

#include <kernel/arch.h>
#include <kernel/clock.h>
#include <kernel/task_head.h>
#include <kernel/types.h>

struct task;
struct trap_frame;

struct cpu {
	struct task *running;         /* at offset 0: the entry code reads it */
	struct clock_scale clock;     /* at CLOCK_SCALE_OFFSET */
	u32 index;                    /* logical number, dense from 0 */
	bool online;                  /* runs tasks and serves calls; written by itself */
	bool need_resched;            /* set by any CPU with an IPI, or by itself */
	u64 mpidr;                    /* affinity fields only */
	u64 midr;                     /* as EL1 reads it, after tally.cluster2 */
	struct trap_frame *irq_frame; /* what the interrupt in progress stopped, or NULL */
	u64 ticks;
};

extern struct cpu cpus[CPUS_MAX];
extern u32 cpus_possible; /* fixed once the device tree is read */

static inline struct cpu *this_cpu(void)
{
	return (struct cpu *)SYSREG_READ(tpidr_el1);
}

static inline struct task *current_task(void)
{
	return (struct task *)(uintptr_t)task_head_current();
}

#define current current_task()

static inline u32 cpu_index(void)
{
	return __atomic_load_n(&task_head_current()->cpu, __ATOMIC_RELAXED);
}

static inline void preempt_disable(void)
{
	((struct task_head *)(void *)current)->preempt_count++;
	__asm__ volatile("" ::: "memory");
}

/* Give up the CPU here if a switch was asked for while preemption was off. */
void preempt_check(void);

static inline void preempt_enable_no_check(void)
{
	__asm__ volatile("" ::: "memory");
	((struct task_head *)(void *)current)->preempt_count--;
}

static inline void preempt_enable(void)
{
	preempt_enable_no_check();
	if (((struct task_head *)(void *)current)->preempt_count == 0)
		preempt_check();
}

/* Bits of cpus that are online. */
u64 cpus_online_mask(void);

/* This CPU's registers that are the same in every boot: FP access, user access, exception base. */
void cpu_init_this(void);

/* Name of the core for a MIDR, NULL if unknown. */
const char *cpu_part_name(u64 midr);

#endif
