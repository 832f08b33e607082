/* SPDX-License-Identifier: MIT
 *
 * timer.c: the generic timer (Arm ARM DDI 0487, D11): the clock, the 250 Hz tick and one-shot
 * timers.
 *
 * The clock (kernel/clock.h) is CNTVCT since boot, scaled by a fixed-point factor; it is the same
 * on all CPUs. Each CPU has a sorted list of armed timers; its compare register stands at the next
 * tick or the first timer, whichever is sooner. The list is guarded by the base's lock (irq), so
 * that a timer can be cancelled from another CPU. Handlers run with IRQs off on the CPU that armed
 * them.
 */
#include <kernel/arch.h>
#include <kernel/irq.h>
#include <kernel/lock.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/task.h>

#define TICK_NS (NSEC_PER_SEC / TICK_HZ)

struct timer_base {
	struct spinlock lock;
	struct list armed; /* by deadline */
	struct timer *running;
	u64 next_tick_ns;
};

static struct timer_base bases[CPUS_MAX];
static u64 realtime_offset_ns;

u64 clock_realtime_offset_ns(void)
{
	return realtime_offset_ns;
}

static void program(struct timer_base *base)
{
	u64 next = base->next_tick_ns;
	u64 now = clock_ns();
	unsigned __int128 counts;

	if (!list_empty(&base->armed))
		next = MIN(next, LIST_FIRST(&base->armed, struct timer, link)->deadline_ns);
	/* From now on, so that the factor's error does not grow with the uptime. Rounded up; a
	 * count early does no harm. */
	counts = (unsigned __int128)(next > now ? next - now : 0) * clock_scale()->counts_per_ns >>
		 32;
	SYSREG_WRITE(cntv_cval_el0, clock_count() + (u64)counts + 1);
	SYSREG_WRITE(cntv_ctl_el0, 1);
	isb();
}

static void run_expired(struct timer_base *base, u64 now)
{
	spin_lock_raw(&base->lock);
	while (!list_empty(&base->armed)) {
		struct timer *timer = LIST_FIRST(&base->armed, struct timer, link);

		if (timer->deadline_ns > now)
			break;
		list_remove(&timer->link);
		timer->armed = false;
		base->running = timer;
		spin_unlock_raw(&base->lock);
		timer->fn(timer);
		spin_lock_raw(&base->lock);
		base->running = NULL;
	}
	program(base);
	spin_unlock_raw(&base->lock);
}

static void timer_interrupt(u32 intid, void *arg)
{
	struct timer_base *base = &bases[cpu_index()];
	u64 now = clock_ns();

	(void)intid;
	(void)arg;
	if (now >= base->next_tick_ns) {
		/* Ticks that were slept through or held up are not made up for. */
		base->next_tick_ns += (now - base->next_tick_ns) / TICK_NS * TICK_NS + TICK_NS;
		this_cpu()->ticks++;
		sched_tick();
		perf_tick();
	}
	run_expired(base, now);
	/* An emulator that runs its CPUs in turn on one thread may leave the others no time while
	 * one is busy: let it go on to the next (QEMU -icount). On hardware a hint without effect.
	 */
	cpu_relax();
}

void timer_arm(struct timer *timer, u64 deadline_ns)
{
	u64 flags = irq_save();
	struct timer_base *base = &bases[cpu_index()];
	struct list *at = &base->armed;

	spin_lock_raw(&base->lock);
	KASSERT(!timer->armed);
	timer->deadline_ns = deadline_ns;
	timer->cpu = cpu_index();
	timer->armed = true;
	LIST_FOR_EACH (pos, &base->armed) {
		if (LIST_ENTRY(pos, struct timer, link)->deadline_ns > deadline_ns) {
			at = pos;
			break;
		}
	}
	list_insert_before(at, &timer->link);
	program(base);
	spin_unlock_irq(&base->lock, flags);
}

void timer_cancel(struct timer *timer)
{
	struct timer_base *base = &bases[timer->cpu];

	for (;;) {
		u64 flags = spin_lock_irq(&base->lock);
		bool running = base->running == timer;

		if (timer->armed) {
			list_remove(&timer->link);
			timer->armed = false;
		}
		spin_unlock_irq(&base->lock, flags);
		if (!running)
			return;
		cpu_relax();
	}
}

void timer_init(void)
{
	u64 hz = SYSREG_READ(cntfrq_el0);
	u64 start = clock_count();

	for (u32 cpu = 0; cpu < cpus_possible; cpu++)
		cpus[cpu].clock = (struct clock_scale){
			.start = start,
			.ns_per_count = (NSEC_PER_SEC << 32) / hz,
			.counts_per_ns = (hz << 32) / NSEC_PER_SEC,
		};
	if (machine.rtc != 0) {
		/* PL031 (Arm DDI 0224): RTCDR, seconds since 1970 */
		u32 seconds = *(volatile u32 *)mmu_map_device(machine.rtc, PAGE_SIZE);

		realtime_offset_ns = seconds * NSEC_PER_SEC;
	}
	irq_set_handler(machine.timer_intid, timer_interrupt, NULL);
}

void timer_init_this_cpu(void)
{
	struct timer_base *base = &bases[cpu_index()];

	list_init(&base->armed);
	/* Each CPU ticks at a phase of its own: no two ticks want the same locks at the same
	 * moment. */
	base->next_tick_ns = (clock_ns() / TICK_NS + 1) * TICK_NS +
			     TICK_NS / cpus_possible * cpu_index();
	program(base);
	irq_enable_line(machine.timer_intid);
}
