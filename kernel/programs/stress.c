/* SPDX-License-Identifier: MIT
 *
 * stress: everything a process does, many times over by several at once, with events open on all.
 *
 *	stress [MS [WORKERS [SEED]]]
 *	stress child			(run by itself, see `executes`)
 *
 * Each worker has a counting and a sampling event on itself; each CPU has one; each child is opened
 * by its parent while it lives. Until MS milliseconds are over the workers draw from: a child that
 * writes into a pipe, copy on write, shared memory, a child that is killed, that faults, that
 * executes a program, whose threads end, or are ended by exit_group or by exec, that is moved from
 * CPU to CPU, and whose stack grows deep.
 *
 * Checks: what the children compute and how they end; a worker's event ran, and no event ever ran
 * longer than it was enabled. Nothing about counts: an emulator's threads make them race.
 *
 * System calls: perf_event_open ioctl read close mmap munmap clone execve exit exit_group wait4
 * kill pipe2 write sched_setaffinity sched_yield nanosleep getpid.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "random.h"
#include "ring.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define WORKERS_MAX  32u
#define THREADS      6u
#define THREAD_STEPS 20u
#define PIPE_BYTES   60000u
#define CHUNK_BYTES  10000u
#define COW_PAGES    64u
#define SHARED_PAGES 8u
#define SHARED_ADDS  50u
#define MOVES        6u
#define DEEP_FRAMES  100u
#define CHILD_STATUS 42
#define SIGILL       4
#define SIGTERM      15

static unsigned char stacks[THREADS][STACK_BYTES] __attribute__((aligned(16)));
static unsigned char chunk[CHUNK_BYTES];
static unsigned steps_done; /* by the threads of one process */
static unsigned cpu_count;

static int open_running(int pid, int cpu)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);

	attr.disabled = 0;
	return event_open(&attr, pid, cpu, -1);
}

/* An event on a child that may be gone already. */
static int watch(int pid)
{
	int fd = open_running(pid, -1);

	REQUIRE(fd >= 0 || fd == -ESRCH, "open on child %d: %d", pid, fd);
	return fd;
}

static void check_watched(int fd)
{
	struct reading r;

	if (fd < 0)
		return;
	r = event_read(fd);
	CHECK(r.running_ns <= r.enabled_ns, "a child's running %lu > enabled %lu", r.running_ns,
		r.enabled_ns);
	event_close(fd);
}

/* Waits for a watched child, which must end so (an exit status, or -signal). */
static void expect_end(const char *what, int pid, int fd, int expected)
{
	int status = task_wait_exit(pid);

	CHECK(status == expected, "%s: ended with %d, not %d", what, status, expected);
	check_watched(fd);
}

static unsigned char *map(unsigned pages, int sharing)
{
	long at = sys_mmap(NULL, (size_t)pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		sharing | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at > 0, "mmap of %u pages: %ld", pages, at);
	return (unsigned char *)at;
}

static _Noreturn void write_pattern(int fd)
{
	for (unsigned done = 0; done < PIPE_BYTES;) {
		unsigned char byte = (unsigned char)(done / CHUNK_BYTES);
		unsigned left = CHUNK_BYTES - done % CHUNK_BYTES;
		long wrote;

		memset(chunk, byte, left);
		wrote = sys_write(fd, chunk, left);
		REQUIRE(wrote > 0, "write to the pipe: %ld", wrote);
		done += (unsigned)wrote;
	}
	sys_exit(5);
}

static void pipes(struct random *random)
{
	unsigned total = 0, wrong = 0;
	int ends[2], pid, fd;
	long got;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	pid = task_fork();
	if (!pid) {
		sys_close(ends[0]);
		write_pattern(ends[1]);
	}
	fd = watch(pid);
	sys_close(ends[1]);
	while ((got = sys_read(ends[0], chunk, 1 + random_below(random, CHUNK_BYTES))) > 0) {
		for (long i = 0; i < got; i++)
			wrong += chunk[i] != (unsigned char)((total + (unsigned)i) / CHUNK_BYTES);
		total += (unsigned)got;
	}
	CHECK(got == 0 && total == PIPE_BYTES && !wrong, "%u bytes, %u wrong, then %ld", total,
		wrong, got);
	sys_close(ends[0]);
	expect_end("writer", pid, fd, 5);
}

static void copies_on_write(struct random *random)
{
	unsigned char *at = map(COW_PAGES, MAP_PRIVATE);
	unsigned wrong = 0, own;
	int pid, fd;

	(void)random;
	for (unsigned i = 0; i < COW_PAGES; i++)
		at[i * PAGE_BYTES] = 1;
	pid = task_fork();
	fd = pid ? watch(pid) : -1;
	own = pid ? 2 : 3;
	for (unsigned i = 0; i < COW_PAGES; i++) {
		wrong += at[i * PAGE_BYTES] != 1;
		at[i * PAGE_BYTES] = (unsigned char)own;
	}
	for (unsigned i = 0; i < COW_PAGES; i++)
		wrong += at[i * PAGE_BYTES] != own;
	if (!pid)
		sys_exit(wrong != 0);
	CHECK(!wrong, "%u pages show the child's writes", wrong);
	expect_end("copier", pid, fd, 0);
	/* A hole in the middle: both sides stay. */
	REQUIRE(sys_munmap(at + PAGE_BYTES, (COW_PAGES - 2) * PAGE_BYTES) == 0, "munmap");
	CHECK(sys_pipe((int *)(void *)(at + 2 * PAGE_BYTES), 0) == -EFAULT, "the hole is there");
	CHECK(at[0] == 2 && at[(COW_PAGES - 1) * PAGE_BYTES] == 2, "the hole's edges");
	REQUIRE(sys_munmap(at, COW_PAGES * PAGE_BYTES) == 0, "munmap");
}

static void shares(struct random *random)
{
	unsigned char *at = map(SHARED_PAGES, MAP_SHARED);
	int pid = task_fork(), fd = pid ? watch(pid) : -1;
	unsigned wrong = 0;

	(void)random;
	for (unsigned k = 0; k < SHARED_ADDS; k++)
		for (unsigned i = 0; i < SHARED_PAGES; i++)
			__atomic_fetch_add(
				(unsigned *)(void *)(at + i * PAGE_BYTES), 1, __ATOMIC_RELAXED);
	if (!pid)
		sys_exit(0);
	expect_end("sharer", pid, fd, 0);
	for (unsigned i = 0; i < SHARED_PAGES; i++)
		wrong += *(unsigned *)(void *)(at + i * PAGE_BYTES) != 2 * SHARED_ADDS;
	CHECK(!wrong, "%u of %u shared words are wrong", wrong, SHARED_PAGES);
	REQUIRE(sys_munmap(at, SHARED_PAGES * PAGE_BYTES) == 0, "munmap");
}

static void kills(struct random *random)
{
	uint64_t sleeps = random_below(random, 2);
	int pid = task_fork(), fd;

	if (!pid) {
		if (!sleeps)
			loop_forever();
		task_sleep_ns(100000000000ull);
		sys_exit(1);
	}
	fd = watch(pid);
	plain_loop(1 + random_below(random, 2000));
	CHECK(sys_kill(pid, SIGKILL) == 0, "kill");
	expect_end("killed", pid, fd, -SIGKILL);
}

static void faults(struct random *random)
{
	uint64_t kind = random_below(random, 4);
	int pid = task_fork();

	if (!pid) {
		if (kind == 0)
			__asm__ volatile("str wzr, [%0]" ::"r"(8ul) : "memory");
		if (kind == 1)
			__asm__ volatile("str wzr, [%0]" ::"r"(0xffff800080000000ul) : "memory");
		if (kind == 2)
			__asm__ volatile("br %0" ::"r"(0x1000ul));
		__asm__ volatile("msr vbar_el1, xzr");
	}
	expect_end("faulter", pid, watch(pid), kind == 3 ? -SIGILL : -SIGSEGV);
}

static _Noreturn void execute_child(void)
{
	static const char *const arguments[] = {"stress", "child", NULL};
	static const char *const environment[] = {NULL};

	sys_execve("/bin/stress", arguments, environment);
	sys_exit(1);
}

static void executes(struct random *random)
{
	int pid = task_fork();

	(void)random;
	if (!pid) {
		if (open_running(0, -1) < 0)
			sys_exit(1);
		execute_child();
	}
	expect_end("program", pid, watch(pid), CHILD_STATUS);
}

static void step(void *forever)
{
	if (open_running(0, -1) < 0)
		sys_exit(1);
	for (unsigned i = 0; i < THREAD_STEPS; i++) {
		__atomic_fetch_add(&steps_done, 1, __ATOMIC_RELAXED);
		sys_sched_yield();
	}
	if (forever != NULL)
		loop_forever();
}

/* Threads that end by themselves, or run on when the process exits, or when one executes. */
static void threads(struct random *random)
{
	uint64_t end = random_below(random, 3);
	int pid = task_fork(), fd;

	if (!pid) {
		steps_done = 0;
		for (unsigned i = 0; i < THREADS; i++)
			task_thread(step, end ? stacks : NULL, stacks[i]);
		if (end == 2)
			execute_child();
		while (!end &&
			__atomic_load_n(&steps_done, __ATOMIC_RELAXED) != THREADS * THREAD_STEPS)
			sys_sched_yield();
		if (end == 0)
			sys_exit_thread(0);
		sys_exit(7);
	}
	fd = watch(pid);
	expect_end("threads", pid, fd, end == 0 ? 0 : end == 1 ? 7 : CHILD_STATUS);
}

static void moves(struct random *random)
{
	int pid = task_fork(), fd;

	if (!pid)
		for (;;) {
			sys_getpid();
			cpu_yield();
		}
	fd = watch(pid);
	for (unsigned i = 0; i < MOVES; i++) {
		task_pin(pid, (unsigned)random_below(random, cpu_count));
		task_pin(0, (unsigned)random_below(random, cpu_count));
	}
	task_allow(0, (1ull << cpu_count) - 1);
	CHECK(sys_kill(pid, SIGTERM) == 0, "kill");
	expect_end("moved", pid, fd, -SIGTERM);
}

static __attribute__((noinline)) unsigned deepen(unsigned frames)
{
	volatile unsigned char frame[3000];

	frame[0] = (unsigned char)frames;
	frame[2999] = (unsigned char)(frames ? deepen(frames - 1) : 0);
	return frame[0];
}

static void deepens(struct random *random)
{
	int pid = task_fork();

	(void)random;
	if (!pid)
		sys_exit(deepen(DEEP_FRAMES) != DEEP_FRAMES);
	expect_end("deep", pid, watch(pid), 0);
}

static void (*const acts[])(struct random *random) = {
	pipes, copies_on_write, shares, kills, faults, executes, threads, threads, moves, deepens};

#define ACTS (sizeof acts / sizeof acts[0])

static _Noreturn void worker(unsigned number, uint64_t seed, uint64_t end_ns)
{
	struct random random = random_stream(seed, number);
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);
	int fd = open_running(0, -1), sampler;
	unsigned rounds = 0, records = 0;
	struct record record;
	struct ring ring;
	struct reading r;

	REQUIRE(fd >= 0, "open on self: %d", fd);
	attr.disabled = 0;
	attr.sample_period = 100000;
	attr.sample_type = SAMPLE_FIELDS;
	sampler = event_require(&attr, 0, -1, -1);
	ring = ring_map(sampler, 2);
	while (clock_now_ns() < end_ns && !verdict_failures()) {
		acts[random_below(&random, ACTS)](&random);
		rounds++;
		while (ring_next(&ring, &record))
			records++;
		ring_release(&ring);
	}
	r = event_read(fd);
	CHECK(r.running_ns > 0 && r.running_ns <= r.enabled_ns, "running %lu, enabled %lu",
		r.running_ns, r.enabled_ns);
	ring_unmap(&ring);
	measure("worker=%u rounds=%u records=%u", number, rounds, records);
	sys_exit(verdict_failures() != 0);
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? (uint64_t)text_number(argv[1]) : 300;
	unsigned workers = argc > 2 ? (unsigned)text_number(argv[2]) : 4;
	uint64_t seed = argc > 3 ? (uint64_t)text_number(argv[3]) : 1;
	int pids[WORKERS_MAX], cpu_fds[CPUS_MAX];
	uint64_t end_ns = clock_now_ns() + ms * 1000000;

	if (argc > 1 && text_equal(argv[1], "child"))
		return CHILD_STATUS;
	verdict_begin("stress");
	REQUIRE(workers <= WORKERS_MAX, "%u workers", workers);
	cpu_count = task_cpu_count();
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		cpu_fds[cpu] = open_running(-1, (int)cpu);
		REQUIRE(cpu_fds[cpu] >= 0, "open on CPU %u: %d", cpu, cpu_fds[cpu]);
	}
	for (unsigned i = 0; i < workers; i++) {
		pids[i] = task_fork();
		if (!pids[i])
			worker(i, seed, end_ns);
	}
	for (unsigned i = 0; i < workers; i++) {
		int status = task_wait_exit(pids[i]);

		CHECK(status == 0, "worker %u ended with %d", i, status);
	}
	CHECK(sys_wait4(-1, NULL, 0) == -ECHILD, "a child is left");
	for (unsigned cpu = 0; cpu < cpu_count; cpu++)
		check_watched(cpu_fds[cpu]);
	return verdict_end();
}
