/* SPDX-License-Identifier: MIT
 *
 * machine.h: a simulated machine: CPUs, their PMUs, a virtual clock, tasks and what they execute.
 *
 * One struct machine is one run: made from a description, run once, looked at, destroyed. Nothing
 * is global, so thousands can be made one after the other (a pool keeps the stacks between them)
 * and two never meet. Everything runs on the caller's thread. The kernel above the machine is
 * reached through <machine/kernel.h> only: this library knows nothing of it.
 *
 * Time is a virtual clock in ns, one for all CPUs, from 0. Kernel code takes no time, except as
 * `irq_ns` says.
 *
 * What a task executes is stated, in integers: a phase has rates of PMU events per microsecond for
 * each cluster. Per task and PMU event the machine keeps a running total in thousandths: total +=
 * rate * ns; what a counter is told for a stretch is the difference of total / 1000 at its ends. So
 * counts are exact, do not depend on how a stretch is cut, and what is counted changes nothing.
 * Interrupts come from the model's overflows and the clock alone.
 *
 * The description and everything it points to belongs to the caller and must stay as it is until
 * machine_destroy().
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/choice.h>
#include <machine/observer.h>
#include <machine/operation.h>
#include <pmu_model/pmu_model.h>

#define MACHINE_CPUS_MAX     64u
#define MACHINE_CLUSTERS_MAX 8u
#define MACHINE_RATE_MAX     (1u << 20) /* occurrences per microsecond */
#define MACHINE_STACK_MAX    32u        /* functions in a call stack */
#define MACHINE_TICK_NS      UINT64_C(4000000)
#define MACHINE_USER_TEXT    UINT64_C(0x400000) /* first function of every program */
/* first function of the kernel program             \ */
#define MACHINE_KERNEL_TEXT UINT64_C(0xffff800008000000)
#define MACHINE_END_MAX_NS  (UINT64_C(1) << 42) /* no run is longer: 73 minutes */

/* ---- description ---- */

struct machine_function {
	const char *name;
	uint32_t size; /* bytes: a multiple of 4, at least 4 */
};

/* Functions lie one after the other from MACHINE_USER_TEXT (the kernel program:
 * MACHINE_KERNEL_TEXT), each start rounded up to 16 bytes. */
struct machine_program {
	const char *name; /* the task's name, "comm" */
	const struct machine_function *functions;
	uint32_t function_count;
};

struct machine_rate {
	uint16_t event;  /* PMU event number: 0x0011 CPU_CYCLES, 0x0008 INST_RETIRED, ... */
	uint32_t per_us; /* occurrences per microsecond, at most MACHINE_RATE_MAX */
};

struct machine_rates {
	const struct machine_rate *rate;
	uint32_t count; /* no event number twice */
};

struct machine_phase {
	/* function indices, outermost first; the pc lies in the last. At EL 1: of the kernel
	 * program */
	const uint32_t *stack;
	uint32_t depth;                    /* 1 .. MACHINE_STACK_MAX */
	uint8_t el;                        /* 0 or 1 */
	uint64_t duration_ns;              /* of CPU time, not 0 */
	const struct machine_rates *rates; /* [clusters] */
};

enum machine_work_end {
	MACHINE_WORK_EXIT,
	MACHINE_WORK_SLEEP, /* for good, or until it is woken: then the work begins anew */
};

/* What a task does from start or exec on. No phases: it only acts by operations, and sleeps. */
struct machine_work {
	uint32_t program; /* index into the description's programs */
	const struct machine_phase *phases;
	uint32_t phase_count;
	uint64_t repeat; /* how often all phases in turn; 0: for ever */
	uint8_t end;     /* enum machine_work_end */
};

struct machine_task_description {
	uint32_t work;
	uint32_t parent;   /* an earlier task, or OPERATION_NOBODY */
	bool thread;       /* a thread of the parent's process, else a process of its own */
	bool stopped;      /* does not run before CONTINUE */
	uint64_t cpu_mask; /* affinity, bit k: CPU k; 0: all */
	/* where it begins; OPERATION_NOBODY: least loaded CPU allowed, lowest number first */
	uint32_t cpu;
	uint32_t uid;
	bool perfmon;      /* capability PERFMON */
	bool sys_admin;    /* capability SYS_ADMIN */
	uint64_t start_ns; /* asleep until then */
};

struct machine_cluster {
	/* "cortex_a55": the kernel's PMU name is derived from the MIDR, or from this */
	const char *name;
	const struct pmu_cpu_config *pmu;
};

struct machine_description {
	uint32_t cpu_count;         /* 1 .. MACHINE_CPUS_MAX */
	const uint32_t *cluster_of; /* [cpu_count] */
	uint32_t cluster_count;     /* 1 .. MACHINE_CLUSTERS_MAX */
	const struct machine_cluster *clusters;
	/* [cpu_count] line high to PMU interrupt taken; NULL: the PMU configurations' */
	const uint32_t *irq_latency_ns;
	uint64_t offline_mask; /* CPUs that are off at the start; not CPU 0 */
	uint64_t seed;         /* reset state of the PMUs */
	uint64_t tick_ns;      /* 0: MACHINE_TICK_NS */

	/* EL1 time from taking a PMU interrupt to the kernel's handler, 0: none. */
	uint64_t irq_ns;
	const struct machine_rates *irq_rates; /* [clusters] what it executes; NULL: nothing */

	const struct machine_program *programs;
	uint32_t program_count;
	const struct machine_program
		*kernel; /* functions of phases at EL 1; NULL: one of 64 KiB, "kernel" */
	const struct machine_work *works;
	uint32_t work_count;
	const struct machine_task_description *tasks;
	uint32_t task_count;
	const struct operation *operations;
	uint32_t operation_count;

	/* The run ends here at the latest. 0: when all operations have finished and no task will
	 * run, tasks that repeat for ever aside. */
	uint64_t end_ns;
	const struct machine_policy *policy; /* NULL: time order */
};

/* NULL when the description is sound, else what is wrong with it. */
const char *machine_description_check(const struct machine_description *description);

/* ---- run ---- */

struct machine_kernel;
struct machine_pool;

/* Stacks, kept from one machine to the next. One pool serves one machine at a time per stack it
 * lends; destroy it after its machines. */
struct machine_pool *machine_pool_create(void);
void machine_pool_destroy(struct machine_pool *pool);

/* `pool` may be NULL. NULL: no memory, or machine_description_check() has an objection. */
struct machine *machine_create(const struct machine_description *description,
	const struct machine_kernel *kernel, struct machine_pool *pool);
void machine_destroy(struct machine *machine);

/* Before the run. The observer is copied. false: no memory. */
bool machine_observe(struct machine *machine, const struct machine_observer *observer);

/* Boot, run, end, tear down. Once. 0, or -1: the run failed, see machine_failure(). */
int machine_run(struct machine *machine);

/* Why the run failed (a broken rule of the machine or the kernel, a deadlock, a failed
 * expectation), or NULL. Lines end with a newline but the last. */
const char *machine_failure(const struct machine *machine);

/* ---- looking ---- */

enum machine_task_state {
	MACHINE_TASK_RUNNABLE, /* running included */
	MACHINE_TASK_SLEEPING,
	MACHINE_TASK_BLOCKED, /* on a mutex of the kernel */
	MACHINE_TASK_STOPPED,
	MACHINE_TASK_ZOMBIE,
};

const struct machine_description *machine_described(const struct machine *machine);
uint64_t machine_now_ns(const struct machine *machine);
/* A rolling hash of all that observers are told (64 bits, FNV-1a over the values): equal runs have
 * equal hashes. */
uint64_t machine_hash(const struct machine *machine);
/* Steps of CPUs so far. */
uint64_t machine_steps(const struct machine *machine);

/* Task number k (see operation.h); OPERATION_NOBODY: the machine's own. NULL: none (yet). */
const struct machine_task *machine_task(const struct machine *machine, uint32_t k);
uint32_t machine_task_count_max(const struct machine *machine); /* numbers are below this */

uint32_t machine_task_number(const struct machine_task *task);
uint32_t machine_task_pid(const struct machine_task *task); /* thread group id */
uint32_t machine_task_tid(const struct machine_task *task);
uint32_t machine_task_ppid(const struct machine_task *task); /* 0: none */
uint32_t machine_task_cpu(const struct machine_task *task);
uint32_t machine_task_program(const struct machine_task *task); /* index */
const char *machine_task_comm(const struct machine_task *task);
enum machine_task_state machine_task_state(const struct machine_task *task);
/* CPU time, ns, up to what observers have been told. */
uint64_t machine_task_cpu_ns(const struct machine_task *task);
/* Occurrences of a PMU event in the task's life, on all CPUs, at both levels, up to the same
 * moment. */
uint64_t machine_task_occurrences(const struct machine_task *task, uint16_t event);

bool machine_cpu_online(const struct machine *machine, uint32_t cpu);

/* What became of operation k; NULL: there is none. */
const struct operation_result *machine_operation_result(const struct machine *machine, uint32_t k);
/* The number of the event that operation k makes or names; OPERATION_NOBODY: none. */
uint32_t machine_operation_event(const struct machine *machine, uint32_t k);
/* The operation that makes event k; OPERATION_NOBODY: none. */
uint32_t machine_event_operation(const struct machine *machine, uint32_t k);
uint32_t machine_event_count(const struct machine *machine);

/* Address of a function; `kernel`: of the kernel program. 0: there is none. */
uint64_t machine_function_address(
	const struct machine_program *program, uint32_t function, bool kernel);
/* The program for EL 1 (the description's or the default). */
const struct machine_program *machine_kernel_program(const struct machine *machine);

#endif
