/* SPDX-License-Identifier: MIT
 *
 * task.h: threads and processes.
 *
 * A task is what the scheduler runs; a process is what tasks share a pid, a parent and an end with.
 * Kernel threads and the idle tasks have no process and no mm. Lifetime: a task is referenced by
 * its being alive, by whoever found it, and, for the first thread, by the process until it is
 * reaped. The id stays taken as long as the task is in the table. Locks: `tasks_lock` (irq) guards
 * the table, the process lists and everything marked (T). (R): the run queue lock of
 * task->head.cpu. (S): the task itself.
 */
#ifndef KERNEL_TASK_H
#define KERNEL_TASK_H

#include <kernel/cpu.h>
#include <kernel/list.h>
#include <kernel/lock.h>
#include <kernel/mmu.h>
#include <kernel/trap.h>
#include <kernel/types.h>

#include <tally/tally.h>

#define TASK_IDS_MAX 8192u

struct files;
struct mm;

enum task_state {
	TASK_RUNNING,
	TASK_SLEEPING, /* a signal may wake it */
	TASK_BLOCKED,  /* only what it waits for may */
	TASK_DEAD,
};

enum rq_state {
	RQ_OFF,    /* not runnable */
	RQ_QUEUED, /* running or in its CPU's list */
	RQ_MOVING, /* somebody is about to queue it on head.cpu */
};

/* Callee-saved registers (AAPCS64) of a task that is not running; known to arch/switch.S. */
struct switch_context {
	u64 x19_x28[10];
	u64 fp;
	u64 pc;
	u64 sp;
};

struct fp_state {
	u64 v[64];
	u32 fpsr;
	u32 fpcr;
} __attribute__((aligned(16)));

#define COMM_SIZE 16u

struct process {
	u32 pid;
	u32 refs;               /* atomic */
	struct process *parent; /* (T) */
	struct list children;   /* (T) */
	struct list sibling;    /* (T) */
	struct list threads;    /* (T) */
	u32 thread_count;       /* (T) alive */
	u32 exit_signal;
	bool exiting;             /* (T) the whole group ends, with `status` */
	bool zombie;              /* (T) */
	int status;               /* (T) as wait4 gives it */
	u64 signals;              /* (T) pending for any thread */
	u64 ignored;              /* (T) dispositions: SIG_IGN */
	u64 runtime_ns;           /* (T) of threads that ended */
	u64 children_ns;          /* (T) of children reaped */
	struct task *leader;      /* (T) held until reaped */
	struct waitqueue changed; /* a child ended, a thread ended, vfork done */
};

struct task {
	struct task_head head; /* first: cpu.h */
	struct switch_context context;
	u64 stack;           /* lowest address */
	u32 refs;            /* atomic */
	u32 state;           /* enum task_state; set by itself, or by a waker under (R) */
	u32 rq_state;        /* (R) */
	u32 slice_ticks;     /* (R) used of this slice */
	struct list rq_link; /* (R) */
	u64 affinity;        /* (R) */
	u64 runtime_ns;      /* (R) without the slice it is in */
	u64 switched_in_ns;  /* (R) */

	u32 tid;
	struct process *process;
	struct list thread_link;   /* (T) */
	u64 signals;               /* (T) pending for this thread */
	bool vfork_done;           /* the vfork child that this task waits for has let go; atomic */
	struct task *vfork_parent; /* (T) held; who waits for this task to let go of its mm */

	struct mm *mm;       /* (S) */
	struct files *files; /* (S) */
	u64 tls;             /* TPIDR_EL0 while not running */
	struct fp_state fp;
	u64 clear_child_tid; /* (S) user address to clear at exit, or 0 */
	u64 set_child_tid;   /* (S) user address to fill at the first run, or 0 */
	u32 nofault;         /* (S) > 0: faults on user memory are errors at once */
	char comm[COMM_SIZE];
	bool findable; /* (T) task_find() may give it out */
	struct tally_task tally;
};

extern struct spinlock tasks_lock;
extern struct process *init_process;

static inline struct trap_frame *task_frame(struct task *task)
{
	return (struct trap_frame *)(task->stack + STACK_SIZE) - 1;
}

/* ---- task.c ---- */
void tasks_init(void);
struct task *task_new(void); /* stack and reference, no id; NULL: no memory */
void task_get(struct task *task);
void task_put(struct task *task);
int task_id_take(struct task *task);     /* sets tid; -EAGAIN */
void task_id_release(struct task *task); /* (T) */
struct task *task_find(u32 tid);         /* with a reference, or NULL */
struct process *process_new(void);
void process_get(struct process *process);
void process_put(struct process *process);

/* ---- sched.c ---- */
void sched_init_this_cpu(struct task *idle);
void sched_start(struct task *task);               /* first time runnable */
bool task_wake(struct task *task, bool interrupt); /* interrupt: only if TASK_SLEEPING */
void sched_yield_current(void);
int sched_set_affinity(struct task *task, u64 mask);
void sched_tick(void);
u64 task_runtime_ns(struct task *task);
_Noreturn void sched_idle_loop(void);
void sched_finish_switch(void);
_Noreturn void sched_exit_current(void); /* state is TASK_DEAD from here; never returns */

/* ---- arch/switch.S ---- */
void switch_to(struct switch_context *prev, struct switch_context *next, struct task *next_task);
void task_first_run(void);
void fp_save(struct fp_state *fp);
void fp_load(const struct fp_state *fp);

/* ---- fork.c, exec.c, exit.c, signal.c ---- */
struct clone_request {
	u64 flags;
	u64 stack;
	u64 parent_tid;
	u64 tls;
	u64 child_tid;
};
void task_begin_user(void);
void task_vfork_release(struct task *child);
/* On return 0 the caller is its process's only thread. -EINTR: it is itself being ended. */
int process_end_others(struct process *process);
void task_id_move(struct task *task, struct task *from); /* (T) */
s64 task_clone(const struct trap_frame *frame, const struct clone_request *request);
/* Become the program at `path`: `arguments` are argc then envc strings, each with its 0, `bytes` in
 * all. Kernel memory. 0: the caller's frame is the new program's first. -errno: nothing has
 * changed. After the old program is gone a failure ends the process. */
struct exec_arguments {
	char *strings;
	u64 bytes;
	u32 argc;
	u32 envc;
};
int task_exec(const char *path, const struct exec_arguments *arguments);
s64 task_exec_user(u64 path, u64 argv, u64 envp);
void start_init(void);
/* `status` is wait4's: exit code << 8, or the signal. */
_Noreturn void task_exit(int status);       /* this thread */
_Noreturn void task_exit_group(int status); /* all of the process */
s64 task_wait(s32 pid, u64 status, u32 options, u64 rusage);

#define SIGHUP     1
#define SIGINT     2
#define SIGILL     4
#define SIGTRAP    5
#define SIGBUS     7
#define SIGFPE     8
#define SIGKILL    9
#define SIGSEGV    11
#define SIGPIPE    13
#define SIGTERM    15
#define SIGCHLD    17
#define SIGCONT    18
#define SIGURG     23
#define SIGWINCH   28
#define SIGNAL_MAX 64

bool signal_pending(void);                     /* for the caller, one that would end it */
void signal_deliver(struct trap_frame *frame); /* on the way to EL0; IRQs on */
int signal_send_process(struct process *process, u32 signal);
int signal_send_task(struct task *task, u32 signal);
s64 signal_kill(s32 pid, u32 signal); /* pid -1: all but init and the caller */
/* The caller did something fatal. */
_Noreturn void signal_fatal(u32 signal);

#endif
