/* SPDX-License-Identifier: MIT
 *
 * port.h: the inside of port/sim.
 *
 * A file is one open event. It lives by references: one per fd in any process, one per mapping, one
 * per system call that is using it; the last to go closes the event. Everything here runs on fibers
 * of the machine, in task context, and may be interleaved with other CPUs at the engine's HAL
 * calls, so a list is never walked across such a call.
 */
#ifndef PORT_SIM_PORT_H
#define PORT_SIM_PORT_H

#include <errno.h>
#include <machine/kernel.h>
#include <machine/order.h>
#include <port_sim/run.h>
#include <tally/tally.h>

/* ---- memory of the engine (memory.c) ---- */

struct block {
	struct block *prev;
	struct block *next;
	size_t size;
	uint64_t magic;
};

/* Pages: freed when the engine has let go and no user maps them. */
struct pages {
	struct pages *next;
	uint8_t *base;
	size_t count;
	uint32_t mappings;
	bool held; /* by the engine */
};

struct memory {
	struct block *blocks;
	struct block *buried; /* freed, kept until the run is over */
	struct pages *pages;
	struct pages *buried_pages;
	size_t held; /* bytes, pages included */
	size_t peak;
};

void *memory_alloc(struct memory *memory, size_t size);
/* NULL, or what is wrong with freeing it. */
const char *memory_free(struct memory *memory, void *at, size_t size);
void *memory_pages_alloc(struct memory *memory, size_t count);
const char *memory_pages_free(struct memory *memory, void *base, size_t count);
struct pages *memory_pages_map(struct memory *memory, void *base);
void memory_pages_unmap(struct memory *memory, struct pages *pages);
/* Give everything back to the host. */
void memory_drop(struct memory *memory);

/* ---- user memory (user.c) ---- */

/* A piece of the caller's memory, for the length of one system call. */
struct user_range {
	struct user_range *prev;
	struct user_range *next;
	const struct machine_task *task;
	size_t size;
	uint8_t bytes[];
};

#define USER_BAD_ADDRESS UINT64_C(16) /* in the page that nobody maps */

/* ---- files and processes (process.c) ---- */

struct file {
	struct file *prev; /* port->files */
	struct file *next;
	struct tally_event *event;
	struct file
		*leader; /* itself, or the file of group_fd when it was opened; not a reference */
	uint32_t number; /* of the event, in the list of operations */
	uint32_t references;
	uint64_t id;
	uint64_t serial; /* age: files of one leader in order */
	struct tally_attr attr;
	bool was_mapped;
	uint64_t samples_taken; /* SAMPLE records of this event that readers took out */
	uint64_t lost_taken;    /* what LOST records that readers took out told */
};

struct fd {
	int32_t number;
	bool close_on_exec;
	struct file *file;
};

struct mapping {
	struct mapping *next;
	/* that it was made with: fds are never reused, so it names the mapping after close too */
	int32_t fd;
	struct file *file;
	struct tally_ring *ring;
	struct pages *pages;
	uint64_t size; /* of the data, bytes */
	bool writable;
};

struct process {
	struct process *next; /* port->processes */
	uint32_t threads;
	struct fd *fds;
	uint32_t fd_count;
	uint32_t fd_space;
	struct mapping *mappings;
};

/* Kernel state of a task: what the machine keeps for us. */
struct port_task {
	struct tally_task tally; /* first */
	struct machine_task *machine;
	struct process *process;
};

/* Register writes of one CPU that have not taken effect yet, oldest first (pmu.c). */
#define LATE_WRITES_MAX 8u
struct late_write {
	uint32_t reg;
	uint32_t delay; /* accesses until it takes effect; 0: at the barrier */
	uint64_t value;
};

struct late_writes {
	uint32_t count;
	struct late_write write[LATE_WRITES_MAX];
};

#define SCRATCH_SIZE (UINT16_MAX + 1u) /* any record fits */

struct port_sim {
	struct machine *machine;
	const struct machine_description *description;
	struct machine_kernel kernel;
	struct tally_engine engine;
	struct tally_config config;
	struct tally_cluster cluster[MACHINE_CLUSTERS_MAX];
	uint32_t cluster_of[MACHINE_CPUS_MAX];
	bool without_checks;
	struct memory memory;
	struct user_range *user;
	struct file *files;
	struct process *processes;
	uint64_t last_serial;
	uint64_t *event_id; /* by number */
	bool running;
	bool explored;            /* the policy of its machine is an explorer's */
	bool checking;            /* in tally_check(): time stands, registers answer at once */
	uint64_t *scratch;        /* SCRATCH_SIZE bytes; not across a HAL call */
	struct late_writes *late; /* [cpus] */
	uint64_t statistic[sizeof(((struct tally_engine *)0)->statistic) / sizeof(uint64_t)];
};

/* All register writes of this CPU take effect. */
void port_synchronize(struct port_sim *port);

/* The run that HAL functions are about. */
struct port_sim *port_running(void);
/* Returns what was there before. */
struct port_sim *port_set_running(struct port_sim *port);

/* Does somebody judge accesses to memory? (machine/order.h) */
static inline bool port_is_judged(void)
{
	return machine_order.judge != NULL;
}

static inline struct port_task *port_task_of(const struct machine_task *task)
{
	return machine_task_kernel(task);
}

struct process *process_current(struct port_sim *port);
struct process *process_create(struct port_sim *port, const struct process *parent);
void process_free_all(struct port_sim *port);
/* The file of an fd of the caller, with a reference; NULL: EBADF. */
struct file *file_get(struct port_sim *port, int32_t fd);
void file_put(struct port_sim *port, struct file *file);
/* Room for one more fd, before anything that cannot be undone. 0 or -ENOMEM. */
int process_fd_reserve(struct process *process);
/* Takes over the caller's reference. */
void process_fd_install(
	struct process *process, int32_t number, struct file *file, bool close_on_exec);
int64_t process_fd_close(struct port_sim *port, struct process *process, int32_t number);
/* Takes over the caller's reference to the file and the ring's hold. */
int process_map(struct port_sim *port, int32_t fd, struct file *file, struct tally_ring *ring,
	uint64_t pages, bool writable);
int64_t process_unmap(struct port_sim *port, int32_t fd);
/* A mapping of the caller's made with `fd`, or NULL. */
struct mapping *process_mapping(struct port_sim *port, int32_t fd);
void process_exec(struct port_sim *port, struct process *process);
/* A thread has left: the last one takes mappings and fds with it. */
void process_leave(struct port_sim *port, struct process *process);

struct user_range *user_range_create(struct port_sim *port, size_t size);
void user_range_destroy(struct port_sim *port, struct user_range *range);
static inline uint64_t user_address(const struct user_range *range)
{
	return (uint64_t)(uintptr_t)range->bytes;
}

/* ---- system calls (syscall.c), the ring's reader (reader.c) ---- */
void syscall_fill(struct machine_kernel *kernel);
int64_t reader_drain(struct port_sim *port, struct mapping *mapping, uint32_t max_bytes);
/* SAMPLE records of the file, and what LOST records tell, that wait in the ring. */
void reader_count(
	struct port_sim *port, const struct mapping *mapping, uint64_t *samples, uint64_t *lost);

#endif
