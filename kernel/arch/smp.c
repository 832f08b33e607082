/* SPDX-License-Identifier: MIT
 *
 * smp.c: starting the other CPUs, and calls from one CPU to another.
 *
 * A call is a request on the caller's stack, linked into the target's queue and announced by an
 * IPI. The target unlinks it, runs it with IRQs off and stores `done` last (release): after that it
 * does not touch the request. The queue's lock orders sending against going offline: a request is
 * queued while the target is online, and a CPU that goes offline serves its queue after saying so;
 * so each request is run, or refused, exactly one of the two. The caller waits with IRQs on and so
 * serves calls sent to it: two CPUs that call each other do not deadlock.
 */
#include <kernel/arch.h>
#include <kernel/cpu.h>
#include <kernel/errno.h>
#include <kernel/irq.h>
#include <kernel/lock.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#include "smp.h"

struct call {
	struct list link;
	void (*fn)(void *arg);
	void *arg;
	bool done; /* release by the target, acquire by the caller */
};

struct call_queue {
	struct spinlock lock;
	struct list calls;
};

/* Read by secondary_virtual in head.S; clean to memory before CPU_ON, because the CPU starts with
 * caches off. */
struct secondary_boot {
	struct cpu *cpu;
	struct task *idle;
	u64 stack_top;
};

static struct call_queue queues[CPUS_MAX];
static struct secondary_boot boots[CPUS_MAX];

void secondary_main(void);
extern char secondary_entry[];

static void serve_calls(u32 intid, void *arg)
{
	struct call_queue *queue = &queues[cpu_index()];

	(void)intid;
	(void)arg;
	for (;;) {
		struct call *call = NULL;

		spin_lock_raw(&queue->lock);
		if (!list_empty(&queue->calls)) {
			call = LIST_FIRST(&queue->calls, struct call, link);
			list_remove(&call->link);
		}
		spin_unlock_raw(&queue->lock);
		if (call == NULL)
			return;
		call->fn(call->arg);
		__atomic_store_n(&call->done, true, __ATOMIC_RELEASE);
	}
}

int smp_call(u32 cpu, void (*fn)(void *arg), void *arg)
{
	struct call call = {.fn = fn, .arg = arg};
	struct call_queue *queue;
	bool online;
	u64 flags;

	KASSERT(!irqs_off());
	KASSERT(current->head.preempt_count == 0);
	if (cpu >= cpus_possible)
		return -ENXIO;
	flags = irq_save();
	if (cpu == cpu_index()) {
		fn(arg);
		irq_restore(flags);
		return 0;
	}
	queue = &queues[cpu];
	spin_lock_raw(&queue->lock);
	online = __atomic_load_n(&cpus[cpu].online, __ATOMIC_RELAXED);
	if (online)
		list_insert_tail(&queue->calls, &call.link);
	spin_unlock_irq(&queue->lock, flags);
	if (!online)
		return -ENXIO;
	ipi_send(cpu, IPI_CALL);
	while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE))
		cpu_relax();
	return 0;
}

/* The need_resched flag does the work: the way out of the interrupt looks at it. */
static void resched_interrupt(u32 intid, void *arg)
{
	(void)intid;
	(void)arg;
}

static void stop_interrupt(u32 intid, void *arg)
{
	(void)intid;
	(void)arg;
	this_cpu()->online = false;
	for (;;)
		__asm__ volatile("wfi");
}

void smp_stop_others(void)
{
	for (u32 i = 0; i < cpus_possible; i++)
		if (cpus[i].online && i != cpu_index())
			ipi_send(i, IPI_STOP);
}

void smp_init(void)
{
	for (u32 i = 0; i < CPUS_MAX; i++)
		list_init(&queues[i].calls);
	for (u32 i = 0; i < machine.cpus; i++) {
		cpus[i].index = i;
		cpus[i].mpidr = machine.mpidr[i];
	}
	cpus_possible = machine.cpus;
	irq_set_handler(IPI_RESCHED, resched_interrupt, NULL);
	irq_set_handler(IPI_CALL, serve_calls, NULL);
	irq_set_handler(IPI_STOP, stop_interrupt, NULL);
}

/* First C of a secondary, on its idle task's stack, IRQs off. */
void secondary_main(void)
{
	struct cpu *cpu = this_cpu();

	cpu_init_this();
	mmu_init_this_cpu();
	cluster_apply_this_cpu(cpu->index);
	cpu_come_online();
	sched_idle_loop();
}

/* Common end of bringing a CPU up, the boot CPU too. IRQs off; they are on after it. */
void cpu_come_online(void)
{
	struct cpu *cpu = this_cpu();

	cpu->midr = SYSREG_READ(midr_el1);
	gic_init_this_cpu();
	timer_init_this_cpu();
	/* under the lock of its calls: one that found it offline is seen from here on (hal_call) */
	spin_lock_raw(&queues[cpu->index].lock);
	__atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
	spin_unlock_raw(&queues[cpu->index].lock);
	irq_enable();
}

static bool start_one(u32 i)
{
	struct task *idle = task_new_idle(i);
	u64 deadline_ns;
	s64 error;

	if (idle == NULL)
		return false;
	boots[i] = (struct secondary_boot){&cpus[i], idle, idle->stack + STACK_SIZE};
	__asm__ volatile("dc civac, %0" ::"r"(&boots[i]) : "memory");
	__asm__ volatile("dc civac, %0" ::"r"((char *)(&boots[i] + 1) - 1) : "memory");
	dsb_sy();
	error = psci_cpu_on(cpus[i].mpidr, virt_to_phys(secondary_entry), virt_to_phys(&boots[i]));
	if (error != 0) {
		printk("cpu %u: CPU_ON failed: %ld\n", i, (long)error);
		return false;
	}
	deadline_ns = clock_ns() + 2 * NSEC_PER_SEC;
	while (!__atomic_load_n(&cpus[i].online, __ATOMIC_ACQUIRE)) {
		if (clock_ns() > deadline_ns) {
			printk("cpu %u: did not come up\n", i);
			return false;
		}
		cpu_relax();
	}
	return true;
}

void smp_start_secondaries(void)
{
	for (u32 i = 1; i < cpus_possible; i++)
		start_one(i);
}
