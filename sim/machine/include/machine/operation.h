/* SPDX-License-Identifier: MIT
 *
 * operation.h: the one vocabulary of what can be done to a simulated machine.
 *
 * Scenario files, seed generators and fuzzers all decode to an array of struct operation; the
 * machine performs it. Names are static, so that a list means the same under every schedule: task
 * k  the k-th task of the description; past these, the task that the j-th FORK of the list makes
 *   event k  the event that the k-th OPEN of the list makes (an OPEN that repeats makes it anew)
 * Any bit pattern is a valid operation: an unknown kind, a task or an event that does not exist
 * (yet, or any more) and a bad argument are answered with a negative errno and change nothing. Only
 * `attr` must be readable memory of `attr_size` bytes, or NULL.
 *
 * An operation runs in process context of its actor, on the actor's own fiber: when the actor is
 * not current, it is made current on its CPU (asleep or stopped or not), acts, and the CPU goes
 * back to what it did. In time order that takes no time. At one instant interrupts, ends of phases
 * and wake-ups come first, then operations in list order.
 */
#ifndef MACHINE_OPERATION_H
#define MACHINE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation_kind {
	/* Calls on events. The result is that of the system call. */
	OPERATION_OPEN,
	OPERATION_IOCTL,
	OPERATION_READ,
	OPERATION_MMAP,
	OPERATION_MUNMAP, /* one mapping of the event in the actor's process */
	OPERATION_CLOSE,  /* the actor's process' fd */
	/* the reader takes whole records out of the ring and moves its tail: bytes taken */
	OPERATION_DRAIN,

	/* Life of tasks. */
	OPERATION_FORK, /* result: pid of the child */
	OPERATION_EXEC,
	OPERATION_EXIT,
	OPERATION_SLEEP, /* the actor */
	OPERATION_WAKE,
	OPERATION_STOP,
	OPERATION_CONTINUE,

	/* CPUs. */
	OPERATION_PIN,     /* set the affinity mask of a task; it moves if it has to */
	OPERATION_MIGRATE, /* move a task to a CPU that its mask allows */
	OPERATION_CPU_OFFLINE,
	OPERATION_CPU_ONLINE,

	/* The experiment. */
	OPERATION_EXPECT,     /* result 0: as expected; -EBADMSG: not, and the run has failed */
	OPERATION_FAIL_ALLOC, /* make an allocation of the kernel fail */
	OPERATION_END,        /* the run ends here */
	OPERATION_KINDS,
};

enum operation_when {
	OPERATION_NEXT,  /* when the one before it in the list has finished; the first: at 0 */
	OPERATION_AT,    /* at time `at_ns`, or as soon as possible when that is past */
	OPERATION_AFTER, /* `at_ns` nanoseconds after operation number `after` has finished */
	/* when `count_task` has had `count` occurrences of PMU event `count_event` in its life */
	OPERATION_AT_COUNT,
	OPERATION_WHENS,
};

#define OPERATION_NOBODY                                                                           \
	UINT32_MAX /* actor: a task of the machine's own (root, pid 1); task, event: none */

enum operation_target {
	OPERATION_TARGET_SELF, /* pid 0 */
	OPERATION_TARGET_TASK, /* the tid of task `task` */
	OPERATION_TARGET_ALL,  /* pid -1 */
	OPERATION_TARGET_RAW,  /* pid `raw_pid` */
};

struct operation_open {
	const void *attr;   /* the bytes at the attr pointer; NULL: a bad pointer */
	uint32_t attr_size; /* how many bytes are readable there (attr.size is among them) */
	uint8_t target;     /* enum operation_target */
	uint32_t task;
	int32_t raw_pid;
	int32_t cpu;
	uint32_t group; /* event number of the leader, or OPERATION_NOBODY: group_fd -1 */
	bool group_raw; /* pass raw_group_fd instead */
	int32_t raw_group_fd;
	uint64_t flags; /* of perf_event_open(2) */
};

struct operation_ioctl {
	uint32_t event;
	uint32_t command; /* as the ABI has it */
	uint64_t argument;
	bool argument_event; /* the argument is the fd of event number `argument` (SET_OUTPUT) */
	/* the argument is a pointer to a u64 that holds `argument`; result bytes: the u64 after it
	 */
	bool argument_memory;
	bool argument_fault; /* the argument is a bad pointer */
};

struct operation_read {
	uint32_t event;
	uint32_t size;  /* of the buffer; 0: large enough for anything */
	bool zero_size; /* a buffer of 0 bytes */
	bool fault;     /* a bad pointer */
};

struct operation_mmap {
	uint32_t event;
	uint64_t pages;  /* the control page included */
	uint64_t offset; /* in pages */
	bool writable;
	bool private_mapping;
};

struct operation_drain {
	uint32_t event;
	uint32_t max_bytes; /* 0: everything; a record is taken whole or not at all */
};

struct operation_event {
	uint32_t event; /* MUNMAP, CLOSE */
};

struct operation_fork {
	/* index into the description's works; OPERATION_NOBODY: as the parent, from the start */
	uint32_t work;
	bool thread; /* same process (thread group, fds), else a new one with copies of the fds */
};

struct operation_exec {
	uint32_t work; /* index into the description's works: its program and what it then does */
};

struct operation_task {
	uint32_t task;        /* WAKE, STOP, CONTINUE, PIN, MIGRATE; OPERATION_NOBODY: the actor */
	uint32_t cpu;         /* MIGRATE, CPU_OFFLINE, CPU_ONLINE */
	uint64_t cpu_mask;    /* PIN: bit k: CPU k */
	uint64_t duration_ns; /* SLEEP; 0: until WAKE */
};

/* Only the fields whose bit is set in `fields` are compared. */
#define OPERATION_EXPECT_VALUE   (1u << 0)
#define OPERATION_EXPECT_ENABLED (1u << 1)
#define OPERATION_EXPECT_RUNNING (1u << 2)
#define OPERATION_EXPECT_SAMPLES (1u << 3)
#define OPERATION_EXPECT_LOST    (1u << 4)
#define OPERATION_EXPECT_RESULT  (1u << 5) /* the result of operation number `operation` */
#define OPERATION_EXPECT_SIZE                                                                      \
	(1u << 6) /* the number of bytes that a read with a large buffer returns */

struct operation_expect {
	uint32_t event;
	uint32_t fields;
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
	/* SAMPLE records of the event taken out of its ring or still in it; lost ones not */
	uint64_t samples;
	/* told by LOST records taken out so far, or by the LOST field of read, whichever is more */
	uint64_t lost;
	uint64_t tolerance;    /* of value, in units */
	uint64_t tolerance_ns; /* of both times */
	uint64_t tolerance_samples;
	uint32_t operation;
	int64_t result;
	uint64_t size;
};

struct operation_fail_alloc {
	uint32_t skip;  /* let so many allocations succeed first */
	uint32_t count; /* then fail so many; 0 counts as 1 */
};

struct operation {
	uint8_t kind;   /* enum operation_kind */
	uint8_t when;   /* enum operation_when */
	uint32_t actor; /* task number or OPERATION_NOBODY */
	uint64_t at_ns;
	uint32_t after; /* operation number (index in the list) */
	uint32_t count_task;
	uint16_t count_event;
	uint64_t count;
	/* not 0: again so long after each start; such an operation does not keep the run alive */
	uint64_t every_ns;
	uint64_t times; /* with every_ns: how often in all; 0: until the end */
	union {
		struct operation_open open;
		struct operation_ioctl ioctl;
		struct operation_read read;
		struct operation_mmap mmap;
		struct operation_drain drain;
		struct operation_event event;
		struct operation_fork fork;
		struct operation_exec exec;
		struct operation_task task;
		struct operation_expect expect;
		struct operation_fail_alloc fail_alloc;
	};
};

enum operation_state {
	OPERATION_WAITING, /* not due yet */
	OPERATION_DUE,     /* given to the actor */
	OPERATION_RUNNING,
	OPERATION_FINISHED, /* for repeated ones: at least once, and no more to come */
};

/* What EXPECT compares: what the kernel says of an event, by a read in the actor's name and by the
 * ring. */
struct operation_counts {
	uint32_t known; /* OPERATION_EXPECT_* bits of the fields that could be had */
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
	uint64_t samples;
	uint64_t lost;
	uint64_t size;
};

/* What became of operation k. `bytes` holds what the kernel wrote to user memory (READ, IOCTL with
 * a pointer), and is owned by the machine until the operation runs again. */
struct operation_result {
	uint8_t state;
	uint64_t runs;  /* how often it has finished */
	int64_t result; /* >= 0, or a negative errno */
	uint64_t begin_ns;
	uint64_t end_ns;
	const uint8_t *bytes;
	size_t size;
	struct operation_counts counts; /* EXPECT: what was found */
};

/* "open", "ioctl", ...; NULL past the last. */
const char *operation_kind_name(unsigned int kind);

#endif
