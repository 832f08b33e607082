/* SPDX-License-Identifier: MIT
 *
 * irq.h: interrupts: who handles which, calls between CPUs, the tick and timers.
 *
 * Handlers run with IRQs off and do not nest. INTIDs are the GIC's: 0-15 SGI, 16-31 PPI, 32- SPI.
 */
#ifndef KERNEL_IRQ_H
#define KERNEL_IRQ_H

#include <kernel/clock.h>
#include <kernel/list.h>
#include <kernel/types.h>

#define IRQ_PPI_BASE 16u
#define IRQ_SPI_BASE 32u
#define IRQS_MAX     1020u

typedef void (*irq_handler)(u32 intid, void *arg);

/* ---- the controller (arch/gic.c) ---- */
void gic_init(void);
void gic_init_this_cpu(void);
/* Name the handler of an interrupt; at boot, before it is enabled. */
void irq_set_handler(u32 intid, irq_handler handler, void *arg);
/* PPIs: on this CPU; SPIs: routed to the boot CPU. */
void irq_enable_line(u32 intid);
/* Take and handle what is pending; called by the vectors, IRQs off. */
void irq_dispatch(void);

enum ipi {
	IPI_RESCHED, /* look at need_resched */
	IPI_CALL,    /* serve the call queue */
	IPI_STOP,    /* panic elsewhere: stand still */
};
void ipi_send(u32 cpu, enum ipi kind);

/* ---- calls (arch/smp.c) ---- */

/* Start every CPU of the device tree; boot CPU, task context. */
void smp_start_secondaries(void);

/* Run fn(arg) on `cpu` with IRQs off and wait for it. IRQs on, no spin lock held. Serves calls sent
 * here meanwhile. 0, or -ENXIO: offline. */
int smp_call(u32 cpu, void (*fn)(void *arg), void *arg);

/* Make every other CPU stand still, for panic(). */
void smp_stop_others(void);

/* ---- time (arch/timer.c) ---- */

#define TICK_HZ 250u

void timer_init(void);
void timer_init_this_cpu(void);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC. */
u64 clock_realtime_offset_ns(void);

struct timer {
	struct list link;
	u64 deadline_ns;
	void (*fn)(struct timer *timer); /* IRQs off, on the CPU that armed it */
	u32 cpu;
	bool armed;
};

/* Call fn once at or after `deadline_ns`, on this CPU. Any context. */
void timer_arm(struct timer *timer, u64 deadline_ns);
/* On return fn is not running and will not run. Not from fn itself. */
void timer_cancel(struct timer *timer);

#endif
