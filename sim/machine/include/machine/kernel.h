/* SPDX-License-Identifier: MIT
 *
 * kernel.h: the border between the machine and the kernel that runs on it (port/sim, or a dummy in
 * a test).
 *
 * struct machine_kernel is what the machine calls: hooks and "system calls". They run on a fiber of
 * the machine, on the CPU that they are about. Contexts, as in the engine's HAL: hook (IRQs off),
 * irq (IRQs off, in a handler), task (IRQs on; may wait). Below it is what the kernel may call
 * back, from its fibers only: every function is a point at which another CPU may step when the
 * policy wants it (machine_point()).
 *
 * The rules that a kernel must keep are checked: waiting, calling, allocating with IRQs off or in a
 * handler, and unbalanced IRQ keys, fail the run with a message.
 */
#ifndef MACHINE_KERNEL_H
#define MACHINE_KERNEL_H

#include <machine/machine.h>

struct machine_regs {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t lr;
	uint8_t el; /* what was stopped: 0 or 1 */
};

/* A call is given user memory as address and size by `struct machine_kernel` users' own means; here
 * are plain bytes. */
struct machine_open_call {
	const void *attr; /* NULL: a bad pointer */
	uint32_t attr_size;
	int32_t pid;
	int32_t cpu;
	int32_t group_fd;
	uint64_t flags;
	int32_t fd;     /* the number the new fd gets: fds are never reused in a run */
	uint32_t event; /* number of the event, to tell observers */
};

struct machine_kernel {
	void *context;
	size_t task_size; /* bytes of kernel state in every task, zeroed: machine_task_kernel() */

	/* task context, on CPU 0, before anything else and after everything else. boot: 0 or a
	 * negative errno. */
	int (*boot)(void *context, struct machine *machine);
	void (*halt)(void *context);

	/* hook */
	void (*cpu_online)(void *context);
	void (*cpu_offline)(void *context);
	void (*sched_switch)(void *context, struct machine_task *prev, struct machine_task *next);
	void (*tick)(void *context);                                           /* irq */
	void (*pmu_interrupt)(void *context, const struct machine_regs *regs); /* irq */

	/* Before the task is seen by anyone; `parent` NULL: from the description. No fiber of the
	 * child runs yet. For tasks of the description: context of boot; else the parent's, task. 0
	 * or a negative errno. */
	int (*task_init)(
		void *context, struct machine_task *task, struct machine_task *parent, bool thread);
	void (*task_exec)(void *context, struct machine_task *task); /* task: the caller */
	void (*task_exit)(void *context, struct machine_task *task); /* task: the caller */
	void (*task_free)(void *context,
		struct machine_task *task); /* nobody refers to it any more: task or machine end */

	/* System calls: task context. `fd` may be any number. */
	int64_t (*open)(void *context, const struct machine_open_call *call);
	int64_t (*ioctl)(void *context, int32_t fd, uint32_t command, uint64_t argument);
	/* With a pointer argument: `memory` is the u64 there, NULL a bad pointer. */
	int64_t (*ioctl_memory)(void *context, int32_t fd, uint32_t command, uint64_t *memory);
	int64_t (*read)(void *context, int32_t fd, void *buffer, size_t size, bool fault);
	int64_t (*mmap)(void *context, int32_t fd, uint64_t offset, uint64_t pages, bool writable,
		bool shared);
	int64_t (*munmap)(void *context, int32_t fd);
	int64_t (*close)(void *context, int32_t fd);
	int64_t (*drain)(void *context, int32_t fd, uint32_t max_bytes);
	int64_t (*counts)(void *context, int32_t fd, struct operation_counts *counts);
};

/* ---- what the kernel may call: any context ---- */

uint32_t machine_cpu(const struct machine *machine);                 /* the CPU that runs this */
struct machine_task *machine_current(const struct machine *machine); /* NULL: idle */
void *machine_task_kernel(const struct machine_task *task);          /* its task_size bytes */
struct machine_task *machine_task_find(
	struct machine *machine, uint32_t tid); /* not zombies; NULL: none */
void machine_task_get(
	struct machine_task *task); /* a reference: the kernel state lives while there is one */
void machine_task_put(struct machine_task *task);
const struct machine_task_description *machine_task_described(
	const struct machine_task *task); /* rights; of the oldest ancestor */
bool machine_task_user_regs(const struct machine_task *task,
	struct machine_regs *regs); /* false: none (the machine's own) */

/* IRQ mask of this CPU: true when it was masked before. */
bool machine_irq_save(struct machine *machine);
void machine_irq_restore(struct machine *machine, bool was_masked);
bool machine_irqs_masked(const struct machine *machine);
void machine_relax(struct machine *machine);

/* A point of the kernel where another CPU may step and pending interrupts be taken, if the policy
 * says so. */
void machine_point(struct machine *machine);
/* The same for what no other CPU can see: interrupts alone, when exploring. */
void machine_point_local(struct machine *machine);

/* When exploring: kernel code here may execute until a counter overflows. Called in front of PMU
 * accesses. */
void machine_execute(struct machine *machine);
/* May register writes take effect late? */
bool machine_late_registers(const struct machine *machine);

/* The PMU of this CPU. Retirement is up to date. After register writes the line is looked at when
 * the kernel unmasks. */
struct pmu_cpu *machine_pmu(struct machine *machine);

/* Fail the run unless this is task context with IRQs on; `what` names the caller. */
void machine_require_task_context(struct machine *machine, const char *what);

/* Does this allocation fail (operation FAIL_ALLOC, or a choice)? */
bool machine_allocation_fails(struct machine *machine);

/* End the run as failed. From a fiber only. */
_Noreturn void machine_fail(struct machine *machine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- task context only ---- */

/* Run fn(arg) on `cpu` with IRQs off and wait. 0, or -ENXIO: offline. Serves calls to this CPU
 * meanwhile. */
int machine_call(struct machine *machine, uint32_t cpu, void (*fn)(void *arg), void *arg);

/* A sleeping mutex, first come first served. Zeroed is unlocked. */
struct machine_mutex {
	struct machine_task *owner; /* of the machine's boot context: NULL while held is set */
	struct machine_task *first;
	struct machine_task *last;
	bool held;
};
void machine_mutex_lock(struct machine *machine, struct machine_mutex *mutex);
void machine_mutex_unlock(struct machine *machine, struct machine_mutex *mutex);

/* ---- telling observers ---- */
void machine_tell_trace(struct machine *machine, uint32_t kind, uint64_t a, uint64_t b);
void machine_tell_record(struct machine *machine, uint32_t event, const void *bytes, size_t size);

#endif
