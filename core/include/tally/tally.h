/* SPDX-License-Identifier: MIT
 *
 * tally.h: what a kernel calls.
 *
 * A kernel embeds one struct tally_engine and one struct tally_task per thread, supplies the
 * functions of hal.h, and calls the hooks and event calls below. docs/porting.md has the order in
 * which to bring them up.
 *
 * Contexts are those of hal.h. Switch hooks (switch, tick, PMU interrupt, CPU online and offline)
 * run with IRQs off on the CPU they are about, take no mutex and allocate nothing. Process hooks
 * (exec, exit) and the event calls run in task context and may sleep. No call of this header may be
 * made while the kernel holds a spin lock, except the switch hook, which is made under the run
 * queue lock.
 */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/abi.h>
#include <tally/hal.h>

struct tally_context;
struct tally_cpu;
struct tally_event;
struct tally_pmu;
struct tally_ring;

#define TALLY_PAGE_SIZE 4096u

/* A set of CPUs with one type of PMU. */
struct tally_cluster {
	const char *name; /* "armv8_cortex_a55": the PMU's name for users; lives as long as the
			     engine */
};

/* Facts about the machine. Kept by the engine as a pointer: constant for its life. */
struct tally_config {
	uint32_t cpus;                       /* possible CPUs, at least 1 */
	uint32_t clusters;                   /* 1 or more */
	const struct tally_cluster *cluster; /* [clusters] */
	const uint32_t *cluster_of;          /* [cpus]: index into cluster[] */
	const char *all_name;                /* "armv8_pmuv3": the PMU that spans all CPUs */
	bool pmu_irq;                        /* the overflow interrupt is wired and handled */
	int32_t paranoid;                    /* perf_event_paranoid at start */
	uint32_t max_sample_rate; /* perf_event_max_sample_rate at start, samples per second */
};

/* Per-thread state, embedded in the kernel's own; engine-private inside. */
struct tally_task {
	struct tally_context
		*ctx; /* NULL: none yet; a tombstone after exit. Changed under engine->tasks */
};

/* One spin lock, built from atomics, hal_irq_save() and hal_relax(). */
struct tally_spin {
	uint32_t held;
};

/* All state of the engine. The kernel provides the memory, zeroed; fields are engine-private. */
struct tally_engine {
	uint32_t gate; /* contexts that a hook might have to load or have loaded; atomic */
	struct tally_spin tasks; /* leaf: every task->ctx */
	const struct tally_config *config;
	struct tally_cpu *cpu; /* [config->cpus] */
	struct tally_pmu *pmu; /* [pmus] */
	uint32_t pmus;
	int32_t paranoid;
	uint32_t max_sample_rate;
	uint64_t last_id;      /* of events; atomic */
	uint64_t statistic[8]; /* enum tally_statistic; atomic */
};

enum tally_statistic {
	TALLY_STAT_EVENTS,          /* live events */
	TALLY_STAT_CONTEXTS,        /* live contexts */
	TALLY_STAT_RINGS,           /* live rings */
	TALLY_STAT_IRQ_SPURIOUS,    /* PMU interrupts with no flag of ours */
	TALLY_STAT_PERIODS_SKIPPED, /* whole sample periods dropped because an interrupt came that
				       late */
	TALLY_STAT_SAMPLES,         /* samples due: written, lost or without a ring */
};

/* ---- life of the engine: task context ---- */

/* Prepare `e` (zeroed memory) for the machine that `config` describes. 0, -EINVAL (impossible
 * config), -ENOMEM. Then call tally_cpu_online() on each CPU that is up. */
int tally_init(struct tally_engine *e, const struct tally_config *config);

/* Undo tally_init(): every event is closed, every task with a context has exited, no CPU is online
 * in the engine. */
void tally_fini(struct tally_engine *e);

uint64_t tally_statistic(const struct tally_engine *e, enum tally_statistic which);

/* ---- switch hooks: IRQs off, on the CPU concerned ---- */

/* This CPU comes up: its PMU is brought from any state to all stopped, probed, and CPU `hal_cpu()`
 * counts from now on. Called once per coming up, before user tasks run here. */
void tally_cpu_online(struct tally_engine *e);

/* This CPU goes down: what is loaded here is unloaded; CPU-wide events of it end for good (read
 * gives the last value). After it the CPU runs no task and no call until tally_cpu_online(). */
void tally_cpu_offline(struct tally_engine *e);

void tally_sched_switch_loaded(
	struct tally_engine *e, struct tally_task *prev, struct tally_task *next);

/* The CPU is about to run `next` instead of `prev` (either may be NULL: a task without Tally
 * state). IRQs stay off from here until hal_current() is `next`; prev is not runnable elsewhere
 * before this returns. Also called when a new task runs for the first time. Costs one load when
 * nothing counts anywhere. */
static inline void tally_sched_switch(
	struct tally_engine *e, struct tally_task *prev, struct tally_task *next)
{
	if (__builtin_expect(__atomic_load_n(&e->gate, __ATOMIC_RELAXED) != 0, 0))
		tally_sched_switch_loaded(e, prev, next);
}

/* The periodic tick of this CPU (250 Hz by convention): turns take place here. */
void tally_tick(struct tally_engine *e);

/* The PMU interrupt of this CPU. `regs`: what it stopped. true: a flag of ours was set; false:
 * spurious. */
bool tally_pmu_interrupt(struct tally_engine *e, const struct tally_regs *regs);

/* Check the engine's invariants on this CPU, against its registers too; a broken one is a
 * hal_panic(). For simulators and debug builds, after a hook. */
void tally_check(struct tally_engine *e);

/* ---- process hooks: task context ---- */

/* A task is being made; before anything can see it. */
void tally_task_init(struct tally_task *task);

/* `task`, the caller, has passed the point of no return of execve and has its new name and mm. */
void tally_task_exec(struct tally_engine *e, struct tally_task *task);

/* `task`, the caller, is exiting: its events stop for good here, and none can be opened on it from
 * now on. Its fds are closed by the kernel separately, before or after. Called once, before the
 * task is reaped. */
void tally_task_exit(struct tally_engine *e, struct tally_task *task);

/* ---- events: task context ---- */

/* perf_event_open(2) in two steps, because the order of errors is ABI: between them the port finds
 * a free fd (EMFILE) and the event of group_fd (EBADF). */
struct tally_open {
	struct tally_attr attr;
	int32_t pid;
	int32_t cpu;
	uint64_t flags;
};

/* Judge flags, attr and rights; copies the attr at user address `attr`. Changes nothing but
 * attr.size on E2BIG. 0, or -EINVAL, -EFAULT, -E2BIG, -EACCES, -EOPNOTSUPP. */
int tally_open_begin(struct tally_engine *e, struct tally_open *open, uint64_t attr, int32_t pid,
	int32_t cpu, uint64_t flags);

/* Make the event. `group`: the event of group_fd, kept open by the caller, or NULL for -1. On
 * success *event is the new event with one hold, which tally_event_close() gives back, and it
 * counts if attr says so. On error nothing changed. 0, or -ENOENT, -ESRCH, -EINVAL, -EACCES,
 * -EOPNOTSUPP, -E2BIG, -ENODEV, -ENOMEM. */
int tally_open_finish(struct tally_engine *e, const struct tally_open *open,
	struct tally_event *group, struct tally_event **event);

/* The last fd and the last mapping are gone. On return nothing can reach the event. */
void tally_event_close(struct tally_event *event);

/* ioctl(2): `cmd` is compared whole, unknown is -ENOTTY. */
int64_t tally_event_ioctl(struct tally_event *event, uint32_t cmd, uint64_t arg);

/* read(2) into the caller's memory: bytes written, 0 for an event in error state, -ENOSPC, -EFAULT,
 * -ENOMEM. */
int64_t tally_event_read(struct tally_event *event, uint64_t buffer, size_t size);

/* mmap(2) of the event's fd: `pages` including the control page, at page offset `pgoff`. A second
 * mapping of the same size shares the ring. On success *ring has one hold more, which
 * tally_ring_unmap() gives back. 0, -EINVAL, -ENOMEM. The port maps tally_ring_page(ring, i) for i
 * in 0 .. pages-1. */
int tally_event_mmap(struct tally_event *event, uint64_t pgoff, uint64_t pages, bool shared,
	bool writable, struct tally_ring **ring);
void *tally_ring_page(struct tally_ring *ring, uint64_t page);

/* One mapping of `ring`, made through `event`, is gone; before the event's close that it may lead
 * to. */
void tally_ring_unmap(struct tally_event *event, struct tally_ring *ring);

/* The event's id, as PERF_EVENT_IOC_ID gives it. any context. */
uint64_t tally_event_id(const struct tally_event *event);

/* ---- PMUs, for sysfs and for tools ---- */

struct tally_pmu_info {
	const char *name;
	uint32_t type;   /* for attr.type */
	int32_t cluster; /* index into config->cluster, -1: all CPUs */
};

/* The k-th PMU, false past the last. any context. */
bool tally_pmu_info(const struct tally_engine *e, uint32_t k, struct tally_pmu_info *info);

/* The PMU name for a MIDR ("armv8_cortex_a76"), or NULL for a part that has no name here. any
 * context. */
const char *tally_pmu_name(uint64_t midr);

#endif
