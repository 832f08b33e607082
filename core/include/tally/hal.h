/* SPDX-License-Identifier: MIT
 *
 * hal.h: what a kernel supplies to Tally.
 *
 * One header per port, <hal_port.h>, comes with it and is included below. It defines:
 *   HAL_HOT          `static inline` if the port gives the hot functions (marked HAL_HOT here) as
 * inline definitions in hal_port.h, or `extern` if it links them; struct hal_mutex a sleeping
 * mutex, complete type. Every other function is an ordinary external function of the port.
 *
 * Contexts named in the contracts:
 *   task    process context: may sleep and allocate; IRQs are on; no spin lock is held
 *   hook    inside a switch hook: IRQs off, bounded, no sleeping
 *   irq     inside an interrupt handler or a call from another CPU: IRQs off
 * "any" means all three. Errors are negative errno values of Linux (core/errno.h). Nothing here is
 * called before tally_init() or after tally_fini().
 */
#ifndef TALLY_HAL_H
#define TALLY_HAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_task;

/* ---- types ---- */

/* What hal_irq_save() found; opaque to Tally, restored in strictly nested order on the same CPU. */
struct hal_irq_key {
	uint64_t state;
};

/* What an interrupt or exception stopped. */
struct tally_regs {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp; /* x29 */
	uint64_t lr; /* x30 */
	bool user;   /* stopped at EL0 */
};

struct hal_ids {
	uint32_t pid; /* thread group id */
	uint32_t tid;
};

enum hal_cap {
	HAL_CAP_PERFMON,
	HAL_CAP_SYS_ADMIN,
};

/* PMUv3 registers, by the names of the Arm ARM (DDI 0487, D19.5), without the _EL0 or _EL1. The
 * last two are banks: HAL_PMEVCNTR + n and HAL_PMEVTYPER + n, n from 0 to 30. */
enum hal_pmu_reg {
	HAL_ID_AA64DFR0,
	HAL_MIDR,
	HAL_PMCR,
	HAL_PMCEID0,
	HAL_PMCEID1,
	HAL_PMCNTENSET,
	HAL_PMCNTENCLR,
	HAL_PMINTENSET,
	HAL_PMINTENCLR,
	HAL_PMOVSSET,
	HAL_PMOVSCLR,
	HAL_PMUSERENR,
	HAL_PMCCNTR,
	HAL_PMCCFILTR,
	HAL_PMEVCNTR,
	HAL_PMEVTYPER = HAL_PMEVCNTR + 31,
	HAL_PMU_REGS = HAL_PMEVTYPER + 31,
};

/* What hal_trace() reports. The simulator's oracle takes from it which event the engine meant to
 * have in which counter, and judges everything else by the registers; a kernel leaves it empty. */
enum hal_trace {
	HAL_TRACE_PLACED,  /* a: event id, b: slot: the event counts in this CPU's slot from now on
			    */
	HAL_TRACE_LEFT,    /* a: event id, b: slot: and here it ceased to */
	HAL_TRACE_SKIPPED, /* a: event id, b: whole periods skipped because the interrupt came late
			    */
};

#include <hal_port.h>

/* ---- who and when ---- */

/* The CPU that runs this, 0 .. config.cpus-1. any; stable only with IRQs off. */
HAL_HOT uint32_t hal_cpu(void);

/* Nanoseconds of the clock that times and samples use: monotonic on each CPU, running through idle,
 * the same clock on all CPUs within the accuracy of the machine (Linux: sched_clock). any. */
HAL_HOT uint64_t hal_clock_ns(void);

/* The task that this CPU runs, or NULL for one that Tally never sees (idle). any. */
HAL_HOT struct tally_task *hal_current(void);

/* ---- interrupts ---- */

/* Mask interrupts of this CPU, the PMU's and other CPUs' calls included. any; nests. Orders as a
 * compiler barrier. */
HAL_HOT struct hal_irq_key hal_irq_save(void);

/* Put back what hal_irq_save() found. any. */
HAL_HOT void hal_irq_restore(struct hal_irq_key key);

/* One turn of a spin loop. any. In the simulator other CPUs run meanwhile. It does not serve calls.
 */
HAL_HOT void hal_relax(void);

/* ---- other CPUs ---- */

/* Run fn(arg) on `cpu` in irq context and wait until it has returned. A call to the own CPU runs it
 * here, IRQs off. task, IRQs on, no spin lock held (mutexes may be). The port runs fn or fails the
 * call, exactly one of the two, and touches the request no more after answering. While it waits, it
 * serves calls that others send to this CPU. Everything written before the call is visible to fn,
 * and everything fn wrote is visible on return. 0, or -ENXIO: that CPU is offline, and everything
 * written before the call is visible to it once it comes back, from tally_cpu_online() on. */
int hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg);

/* ---- the PMU of this CPU ---- */

/* Read or write one register of the PMU of this CPU. any, IRQs off. No barrier is implied: a write
 * takes effect at the latest at hal_pmu_barrier(), and may before. Registers that the PMU lacks are
 * not asked for. */
HAL_HOT uint64_t hal_pmu_read(uint32_t reg);
HAL_HOT void hal_pmu_write(uint32_t reg, uint64_t value);

/* Context synchronisation: earlier register writes have taken effect, later reads see it (ISB).
 * any, IRQs off. */
HAL_HOT void hal_pmu_barrier(void);

/* ---- memory: task context only ---- */

/* Zeroed memory, aligned to 16 bytes, or NULL. Not for use by user mappings. */
void *hal_alloc(size_t size);

/* Give back what hal_alloc(size) gave; NULL is ignored. */
void hal_free(void *memory, size_t size);

/* `count` zeroed pages of 4096 bytes, contiguous for the kernel, that the port can map to users
 * page by page with the same cacheability on both sides; or NULL. hal_pages_free() drops the
 * engine's hold: a page that is still mapped by a user lives on, unwritten, until unmapped. */
void *hal_pages_alloc(size_t count);
void hal_pages_free(void *pages, size_t count);

/* A sleeping mutex. task only. */
void hal_mutex_init(struct hal_mutex *mutex);
void hal_mutex_lock(struct hal_mutex *mutex);
void hal_mutex_unlock(struct hal_mutex *mutex);

/* ---- tasks and users ---- */

/* The thread with this id as the caller sees it, with a reference; pid 0 is the caller. NULL: none.
 * task. */
struct tally_task *hal_task_find(int32_t pid);
void hal_task_put(struct tally_task *task);

/* May the caller observe `task` (perf_event_open(2), ptrace access mode READ, real credentials)?
 * task. */
bool hal_task_observable(struct tally_task *task);

/* Has the caller the capability? task. */
bool hal_capable(enum hal_cap cap);

/* The ids of `task`, never NULL; both 0xffffffff once it is dead. any. */
struct hal_ids hal_task_ids(const struct tally_task *task);

/* The user registers with which `task`, current on this CPU, last entered the kernel; false: it has
 * none. hook, irq. */
bool hal_user_regs(const struct tally_task *task, struct tally_regs *regs);

/* Copy `size` bytes from or to the caller's memory. task. 0 or -EFAULT; then the rest may be copied
 * in part. */
int hal_copy_from_user(void *to, uint64_t from, size_t size);
int hal_copy_to_user(uint64_t to, const void *from, size_t size);

/* ---- debugging ---- */

/* A broken invariant: print and stop. any. */
_Noreturn void hal_panic(const char *what, const char *file, int line);

/* See enum hal_trace. any, IRQs off. */
HAL_HOT void hal_trace(enum hal_trace kind, uint64_t a, uint64_t b);

#endif
