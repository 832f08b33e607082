/* SPDX-License-Identifier: MIT
 *
 * state.h: the inside of a simulated machine, for the files of this folder only.
 *
 * Who runs: `running` is the CPU whose fiber is on the host CPU, NULL while the conductor (the
 * caller's stack) is. All kernel code runs between conductor_step() and a yield; time moves only in
 * conductor_jump(), when no CPU has anything to do at the present instant.
 *
 * Where a task is: `queued` in its CPU's round-robin queue exactly when it may compute
 * (task_eligible()); in the urgent queue as well, or only, while it has operations to perform. A
 * CPU runs the first urgent task, else the head of the queue, which is therefore where the current
 * task stays while it computes.
 */
#ifndef MACHINE_STATE_H
#define MACHINE_STATE_H

#include <errno.h>
#include <machine/kernel.h>
#include <machine/machine.h>

#include <machine/fiber.h>

#define NEVER UINT64_MAX

/* A broken machine (not a broken kernel): stop at once. */
#define MACHINE_ASSERT(condition)                                                                  \
	((condition) ? (void)0 : machine_broken(#condition, __FILE__, __LINE__))
_Noreturn void machine_broken(const char *what, const char *file, int line);

/* ---- compiled description (compile.c) ---- */

/* A rate with the place of its event in every ledger. A ledger is a u64 per distinct PMU event of
 * the description: the occurrences so far, in thousandths. */
struct compiled_rate {
	uint16_t event;
	uint16_t slot;
	uint32_t per_us;
};

struct compiled_rates {
	const struct compiled_rate *rate;
	uint32_t count;
};

struct compiled_work {
	const struct compiled_rates *phase; /* [phase_count][cluster_count] */
};

struct compiled {
	uint16_t *event; /* distinct, ascending */
	uint32_t event_count;
	struct compiled_rate *rate; /* all of them */
	struct compiled_rates *rates;
	struct compiled_work *work;       /* [work_count] */
	const struct compiled_rates *irq; /* [cluster_count] or NULL */
};

/* ---- tasks ---- */

struct task_link {
	struct machine_task *prev;
	struct machine_task *next;
};

struct machine_task {
	struct machine *machine;
	struct machine_task *all_next; /* machine->all_tasks */
	uint32_t number;
	uint32_t pid, tid, ppid;
	uint32_t references;
	const struct machine_task_description *description; /* rights: of the oldest ancestor */
	struct fiber *fiber;
	void *kernel; /* kernel->task_size bytes */

	/* scheduling */
	uint32_t cpu;
	uint64_t cpu_mask;
	uint32_t move_to; /* current on `cpu` and to be moved; OPERATION_NOBODY: no */
	bool sleeping;
	bool stopped;
	bool blocked; /* on a mutex, or on a CPU that goes on or off */
	bool zombie;
	bool queued;
	bool urgent;
	uint64_t wake_ns; /* while sleeping; NEVER */
	struct task_link in_queue;
	struct task_link in_urgent;
	struct machine_mutex *waiting_for;
	struct machine_task *mutex_next;
	uint32_t waiting_cpu; /* going on or off; OPERATION_NOBODY: none */

	/* operations given to it, in order; and what its fiber is to do when back in user mode */
	uint32_t due_first, due_last; /* operation numbers, linked by run.due_next */
	bool exit_requested;
	bool left_world; /* the kernel's exit hook has run */
	bool performing; /* in the kernel on its own account */

	/* what it executes */
	uint32_t work; /* OPERATION_NOBODY: machine->own_work */
	uint32_t phase;
	uint64_t rounds_left;   /* 0 with repeat 0: for ever */
	uint64_t phase_left_ns; /* of CPU time */
	bool work_done;
	const struct compiled_rates *rates; /* of the open segment */
	uint32_t segment_cluster;
	uint64_t segment_ns;     /* CPU time in the segment: not yet in `ledger` */
	uint64_t segment_serial; /* new for every segment of the machine */
	uint64_t *ledger;
	uint64_t cpu_ns;
};

/* ---- CPUs ---- */

enum cpu_state {
	CPU_OFFLINE,
	CPU_KERNEL,  /* its fiber runs, or it was left at a point */
	CPU_COMPUTE, /* user mode or idle: time may pass */
	CPU_SPIN,    /* in machine_relax() */
	CPU_CALL,    /* waits for another CPU */
	CPU_IRQ,     /* time passes in an interrupt handler */
};

/* A synchronous call, on the stack of the caller. */
struct call {
	struct call *next;
	void (*fn)(void *arg);
	void *arg;
	uint32_t target;
	int result;
	bool done;
};

struct demand {
	uint16_t event;
	uint16_t slot;
	uint32_t per_us; /* not 0 */
};

struct machine_cpu {
	struct machine *machine;
	uint32_t number;
	uint32_t cluster;
	uint64_t bit;
	struct pmu_cpu *pmu;
	uint32_t latency_ns;
	enum cpu_state state;
	bool online;
	bool want_online;
	bool want_offline;
	uint64_t transitions;         /* how often it has gone on or off */
	struct machine_task *current; /* NULL: idle */
	/* being switched to: in the hook, as good as current for others */
	struct machine_task *incoming;
	struct fiber *idle;
	struct fiber *fiber; /* of current or idle */
	struct fiber *dead;  /* of a task that exited here: given back by who runs next */

	/* interrupts */
	bool masked;
	uint32_t irq_level;
	bool in_hook;
	bool tick_pending;
	uint64_t ticked_ns; /* when the last one was taken: there are no two at one instant */
	bool resched;
	bool line; /* the PMU's, as last looked at */
	uint64_t line_rise_ns;
	struct call *calls;   /* to be served, oldest first */
	struct call *waiting; /* the one it waits for, for the wait graph */
	uint64_t spin_steps;  /* machine->steps when it last looked at what it spins for */

	/* queues */
	struct machine_task *queue_first, *queue_last;
	struct machine_task *urgent_first, *urgent_last;
	uint32_t queue_count;

	/* time */
	uint64_t accounted_ns; /* everything up to here has been retired */
	uint64_t next_ns;      /* next interesting moment, when not stale */
	bool next_stale;
	uint64_t irq_left_ns;
	uint64_t *irq_ledger;
	uint64_t irq_segment_ns;

	/* What some counter counts of what is executed here; valid for (generation, serial). */
	uint64_t demand_generation;
	uint64_t demand_serial;
	uint32_t demand_count;
	struct demand demand[PMU_COUNTERS_MAX];
};

/* ---- operations ---- */

struct operation_run {
	struct operation_result result;
	uint8_t *buffer; /* behind result.bytes */
	size_t buffer_size;
	uint32_t event; /* the event that it makes or names */
	uint32_t task;  /* FORK: number of the child */
	uint32_t due_next;
	uint64_t due_ns; /* AT, repeated: when it is due; AFTER: once known; NEVER: not yet */
	uint64_t starts;
};

struct event_name {
	uint32_t operation; /* its OPEN */
	int32_t fd;         /* -1: not open */
};

struct machine {
	const struct machine_description *description;
	const struct machine_kernel *kernel;
	struct machine_program kernel_program; /* when the description has none */
	struct machine_function kernel_function;
	struct compiled compiled;
	struct machine_pool *pool;
	bool own_pool;
	struct pmu_model *model;

	uint64_t now_ns;
	uint64_t tick_ns;
	uint64_t next_tick_ns;
	uint64_t end_ns;
	uint64_t next_wake_ns; /* not later than the first sleeper's */
	uint64_t steps;
	uint64_t steps_here; /* since time last moved */
	uint64_t idle_spins; /* steps that only spun, since one that did not */
	uint64_t segment_serial;

	struct machine_cpu *cpu; /* [cpu_count] */
	uint32_t cpu_count;
	struct machine_cpu *running;
	struct machine_cpu *last;   /* stepped last */
	struct machine_cpu *forced; /* chosen at a point to step next */
	struct fiber host;

	struct machine_task *all_tasks;
	struct machine_task **numbered; /* [numbered_count]: description's, then FORKs' */
	uint32_t numbered_count;
	struct machine_task *own; /* of OPERATION_NOBODY */
	struct machine_task_description own_description;
	struct machine_work own_work;
	uint32_t next_tid;

	struct operation_run *run; /* [operation_count] */
	struct event_name *event;
	uint32_t event_count;
	uint32_t unfinished;    /* operations that keep the run alive */
	uint32_t first_waiting; /* all before it have been started and do not repeat */
	uint64_t next_due_ns;
	bool look_for_due;
	uint32_t in_flight; /* given to an actor and not finished */
	uint32_t count_triggers;
	int32_t next_fd;
	uint32_t fail_skip, fail_count;

	struct machine_observer *observer;
	uint32_t observer_count;
	bool telling;
	bool retire_told; /* somebody listens to retire */
	uint64_t hash;

	bool ran, booted, started, ended, ending, failed;
	char *failure;
	size_t failure_size;
};

/* ---- compile.c ---- */
int machine_compile(struct compiled *compiled, const struct machine_description *description);
void machine_compiled_free(struct compiled *compiled);
/* The place of an event in ledgers, or -1. */
int machine_slot(const struct compiled *compiled, uint16_t event);

/* ---- account.c ---- */
/* Everything that this CPU did up to now is retired and told. */
void account_cpu(struct machine_cpu *c);
void account_all(struct machine *m);
/* The next moment at which something happens on this CPU if nobody interferes. */
uint64_t account_next(struct machine_cpu *c);
void account_look_at_line(struct machine_cpu *c);
uint64_t account_pmu_due_ns(const struct machine_cpu *c); /* NEVER: no interrupt */
/* Work and segments of tasks. */
void account_begin_work(struct machine_task *task, uint32_t work);
void account_open_segment(struct machine_task *task, uint32_t cluster);
/* How long `task` must compute on in its segment until it has had `count` occurrences. */
uint64_t account_until_count(const struct machine_task *task, uint16_t event, uint64_t count);
/* Where the task is in its program: function index (in the stack), pc. */
void account_regs(const struct machine_task *task, struct machine_regs *regs);

/* ---- cpu.c ---- */
struct machine_cpu *cpu_running(const struct machine *m);
bool cpu_has_interrupt(const struct machine_cpu *c);
/* Serve everything pending that is not masked, and reschedule if asked for. May return on another
 * CPU. */
void cpu_take_interrupts(struct machine *m);
/* Leave for the conductor in `state`; returns when this fiber is stepped again, maybe on another
 * CPU. */
void cpu_yield(struct machine *m, enum cpu_state state);
void cpu_idle_main(void *cpu);
/* After a fiber came to run in a switch. */
void cpu_arrived(struct machine *m);

/* ---- task.c, queue.c ---- */
struct machine_task *task_create(struct machine *m,
	const struct machine_task_description *description, uint32_t number,
	struct machine_task *parent, bool thread, uint32_t work, int *error);
void task_free(struct machine_task *task);
/* The kernel's part of exiting, once; the caller is `task`. */
void task_leave_world(struct machine_task *task);
void task_main(void *task);
bool task_eligible(const struct machine_task *task);
/* Queue or unqueue after one of the flags behind task_eligible() changed. */
void task_requeue(struct machine_task *task);
void task_make_urgent(struct machine_task *task);
void task_clear_urgent(struct machine_task *task);
/* To another CPU; now, or when its CPU has switched away from it. */
void task_move(struct machine_task *task, uint32_t cpu);
/* Least loaded CPU that the mask allows, lowest number first; any CPU when none of the mask's is
 * on. */
uint32_t task_place(const struct machine *m, uint64_t cpu_mask);
bool task_cpu_usable(const struct machine *m, uint32_t cpu);
/* The current task gives up its CPU until task_unblock(). */
void task_block(struct machine *m);
void task_unblock(struct machine_task *task);
void task_wake(struct machine_task *task);
void queue_rotate(struct machine_cpu *c);
/* Run whoever should run here. */
void queue_schedule(struct machine *m);

/* ---- operation.c, perform.c ---- */
int operation_prepare(struct machine *m);
void operation_free(struct machine *m);
/* Give due operations to their actors. true: something was started. */
bool operation_start_due(struct machine *m);
uint64_t operation_next_ns(const struct machine *m);
/* Earliest moment on this CPU at which a count trigger fires. */
uint64_t operation_count_ns(struct machine_cpu *c);
/* On the actor's fiber: everything that was given to it. */
void operation_perform_due(struct machine_task *task);
/* The operations of a task that will perform no more are answered. */
void operation_refuse_due(struct machine_task *task);
int64_t operation_perform(struct machine *m, struct machine_task *actor, uint32_t index);
uint8_t *operation_buffer(struct machine *m, uint32_t index, size_t size);

/* ---- conductor.c ---- */
bool conductor_can_step(const struct machine_cpu *c);
/* A failure found outside fibers. */
void machine_note_failure(struct machine *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- tell.c ---- */
void tell_retire(struct machine_cpu *c, const struct machine_retire *retire);
void tell_switch(
	struct machine_cpu *c, const struct machine_task *prev, const struct machine_task *next);
void tell_pmu_interrupt(struct machine_cpu *c, const struct machine_regs *regs);
void tell_tick(struct machine_cpu *c);
void tell_operation_begin(struct machine *m, uint32_t index, const struct machine_task *actor);
void tell_operation_end(struct machine *m, uint32_t index, const struct machine_task *actor);
void tell_fork(
	struct machine *m, const struct machine_task *parent, const struct machine_task *child);
void tell_exec(struct machine *m, const struct machine_task *task);
void tell_exit(struct machine *m, const struct machine_task *task);
void tell_cpu(struct machine_cpu *c, bool online);
void tell_end(struct machine *m);
void tell_pmu_changes(struct machine *m); /* install the model's observer if somebody listens */

static inline bool machine_explored(const struct machine *m)
{
	return m->description->policy && m->description->policy->explored;
}

/* What comes before and after it is the same in every run: neither explored nor judged. */
static inline bool machine_in_experiment(const struct machine *m)
{
	const struct machine_policy *policy = m->description->policy;

	return m->started && !m->ending && m->now_ns >= policy->from_ns &&
	       m->now_ns < policy->until_ns;
}

static inline const struct machine_work *task_work(const struct machine_task *task)
{
	const struct machine *m = task->machine;

	return task->work == OPERATION_NOBODY ? &m->own_work : &m->description->works[task->work];
}

struct machine_pool {
	struct fiber_pool *fibers;
};

#endif
