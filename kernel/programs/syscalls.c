/* SPDX-License-Identifier: MIT
 *
 * syscalls: a smoke test of the kernel under the programs, with no perf event in it.
 *
 * Processes (fork, exit status, exec with arguments, wait4 with WNOHANG and ECHILD), copy on write
 * in both directions, demand paging and the zero page, mmap and munmap, brk, the stack's growth,
 * pipes (contents, blocking writers and readers, end of file), bad pointers (EFAULT, and nothing
 * half done), a child that faults (killed by SIGSEGV while its parent goes on), affinity, sleep and
 * clocks, registers across a preemption, and the errors of unknown calls and descriptors.
 *
 * System calls: clone execve wait4 exit_group kill mmap munmap brk pipe2 read write close nanosleep
 * sched_setaffinity sched_yield clock_gettime getpid gettid.
 */
#include "bytes.h"
#include "loop.h"
#include "print.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define MAP_BYTES (64u * PAGE_BYTES)

static unsigned shared_word = 1; /* copied on write by the children */

static unsigned char *map_anonymous(size_t bytes, int protection)
{
	long at = sys_mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at > 0, "mmap of %lu bytes: %ld", bytes, at);
	return (unsigned char *)at;
}

static void processes(void)
{
	int pid, status;
	long answer;

	CHECK(sys_getpid() == sys_gettid(), "pid %ld tid %ld", sys_getpid(), sys_gettid());
	for (int code = 0; code < 256; code += 51) {
		pid = task_fork();
		if (!pid)
			sys_exit(code);
		CHECK(pid != sys_getpid(), "the child has its parent's pid");
		status = task_wait(pid);
		CHECK(status == code << 8, "exit(%d): status %x", code, (unsigned)status);
	}
	pid = task_fork();
	if (!pid) {
		task_sleep_ns(20000000);
		sys_exit(9);
	}
	answer = sys_wait4(pid, &status, WNOHANG);
	CHECK(answer == 0, "WNOHANG on a child that sleeps: %ld", answer);
	CHECK(task_wait_exit(pid) == 9, "the sleeper's status");
	CHECK(sys_wait4(-1, &status, 0) == -ECHILD, "wait4 without a child");
	CHECK(sys_wait4(pid, NULL, 0) == -ECHILD, "wait4 twice");
	pid = task_fork();
	if (!pid)
		loop_forever();
	CHECK(sys_kill(pid, SIGKILL) == 0, "kill");
	CHECK(task_wait_exit(pid) == -SIGKILL, "the killed child");
	CHECK(sys_kill(pid, SIGKILL) == -ESRCH, "kill of no one");
}

static void exec(void)
{
	static const char *const arguments[] = {"syscalls", "echo", "two words", "", NULL};
	static const char *const environment[] = {"A=1", NULL};
	int pid = task_fork();

	if (!pid) {
		CHECK(sys_execve("/bin/none", arguments, environment) == -ENOENT, "no such file");
		CHECK(sys_execve((const char *)8, arguments, environment) == -EFAULT, "bad path");
		if (!verdict_failures())
			sys_execve("/bin/syscalls", arguments, environment);
		sys_exit(1);
	}
	CHECK(task_wait_exit(pid) == 77, "the program after exec");
}

/* The other end of exec(): are the arguments here? */
static int echoed(int argc, char **argv)
{
	bool right = argc == 4 && text_equal(argv[2], "two words") && text_equal(argv[3], "") &&
		     !argv[4] && text_equal(argv[5], "A=1") && !argv[6] &&
		     ((uintptr_t)__builtin_frame_address(0) & 15) == 0 && shared_word == 1;

	return right ? 77 : 1;
}

static void copy_on_write(void)
{
	unsigned char *page = map_anonymous(2 * PAGE_BYTES, PROT_READ | PROT_WRITE);
	int ends[2], pid;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	page[0] = 1;
	shared_word = 2;
	pid = task_fork();
	if (!pid) {
		sys_close(ends[1]);
		task_await(ends[0]); /* the parent has written its copy */
		CHECK(page[0] == 1 && shared_word == 2, "the parent's write is seen: %u %u",
			page[0], shared_word);
		page[0] = 3;
		shared_word = 3;
		page[PAGE_BYTES] = 3; /* first touched here */
		sys_exit(verdict_failures() != 0);
	}
	page[0] = 4;
	shared_word = 4;
	task_signal(ends[1]);
	CHECK(task_wait_exit(pid) == 0, "child");
	CHECK(page[0] == 4 && shared_word == 4 && page[PAGE_BYTES] == 0,
		"the child's write is seen: %u %u %u", page[0], shared_word, page[PAGE_BYTES]);
	shared_word = 1;
	sys_close(ends[0]);
	sys_close(ends[1]);
	CHECK(sys_munmap(page, 2 * PAGE_BYTES) == 0, "munmap");
}

static void memory(void)
{
	unsigned char *map = map_anonymous(MAP_BYTES, PROT_READ | PROT_WRITE), *again;
	unsigned long end = (unsigned long)sys_brk(0);
	unsigned nonzero = 0;

	for (size_t i = 0; i < MAP_BYTES; i += PAGE_BYTES / 4)
		nonzero += map[i] != 0;
	CHECK(!nonzero, "%u bytes of fresh memory are not zero", nonzero);
	for (size_t i = 0; i < MAP_BYTES; i++)
		map[i] = (unsigned char)(i * 7 / 5);
	for (size_t i = 0; i < MAP_BYTES; i++)
		nonzero += map[i] != (unsigned char)(i * 7 / 5);
	CHECK(!nonzero, "%u bytes did not keep their value", nonzero);
	CHECK(sys_munmap(map, MAP_BYTES) == 0, "munmap");
	again = map_anonymous(MAP_BYTES, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < MAP_BYTES; i += PAGE_BYTES / 4)
		nonzero += again[i] != 0;
	CHECK(!nonzero, "%u bytes of reused memory are not zero", nonzero);
	CHECK(sys_munmap(again + 1, PAGE_BYTES) == -EINVAL, "munmap of an odd address");
	CHECK(sys_mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -EINVAL,
		"mmap of nothing");
	CHECK(sys_munmap(again, MAP_BYTES) == 0, "munmap");

	CHECK((unsigned long)sys_brk(end + 3 * PAGE_BYTES) == end + 3 * PAGE_BYTES, "brk up");
	for (size_t i = 0; i < 3 * PAGE_BYTES; i += 8)
		nonzero += ((unsigned char *)end)[i] != 0;
	CHECK(!nonzero, "%u bytes of the heap are not zero", nonzero);
	((unsigned char *)end)[3 * PAGE_BYTES - 1] = 1;
	CHECK((unsigned long)sys_brk(end) == end, "brk down");
	CHECK((unsigned long)sys_brk(8) == end, "brk to nonsense");
}

/* Touches 256 KiB of stack, page by page, downwards. */
static __attribute__((noinline)) unsigned deep_stack(unsigned levels)
{
	volatile unsigned char frame[PAGE_BYTES];

	frame[0] = (unsigned char)levels;
	if (levels)
		frame[1] = (unsigned char)deep_stack(levels - 1);
	return frame[0];
}

static void pipes(void)
{
	unsigned char out[256], in[256] = {0};
	int ends[2], pid;
	long answer;

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	for (unsigned i = 0; i < sizeof out; i++)
		out[i] = (unsigned char)~i;
	CHECK(sys_write(ends[1], out, sizeof out) == sizeof out, "write");
	answer = sys_read(ends[0], in, 100);
	answer += sys_read(ends[0], in + 100, sizeof in);
	CHECK(answer == sizeof in && !memcmp(in, out, sizeof in), "read %ld bytes", answer);
	pid = task_fork();
	if (!pid) {
		/* More than a pipe holds: the writer must wait for the reader. */
		for (unsigned i = 0; i < 1024; i++)
			CHECK(sys_write(ends[1], out, sizeof out) == sizeof out, "write %u", i);
		sys_exit(verdict_failures() != 0);
	}
	sys_close(ends[1]);
	for (size_t total = 0;;) {
		answer = sys_read(ends[0], in, sizeof in);
		if (answer <= 0) {
			CHECK(answer == 0 && total == 1024 * sizeof out, "%lu bytes, then %ld",
				total, answer);
			break;
		}
		total += (size_t)answer;
	}
	CHECK(task_wait_exit(pid) == 0, "writer");
	sys_close(ends[0]);
	CHECK(sys_read(ends[0], in, 1) == -EBADF, "read of a closed descriptor");
	CHECK(sys_close(ends[0]) == -EBADF, "close twice");
	CHECK(sys_read(-1, in, 1) == -EBADF, "read of -1");
}

static void bad_pointers(void)
{
	unsigned char *page = map_anonymous(2 * PAGE_BYTES, PROT_READ | PROT_WRITE);
	unsigned char byte = 'x';
	int ends[2];

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	REQUIRE(sys_munmap(page + PAGE_BYTES, PAGE_BYTES) == 0, "munmap");
	CHECK(sys_write(ends[1], (void *)8, 1) == -EFAULT, "write from 8");
	CHECK(sys_write(ends[1], (void *)0xffff000000080000, 8) == -EFAULT,
		"write from the kernel");
	CHECK(sys_write(ends[1], page + PAGE_BYTES, 1) == -EFAULT, "write from unmapped memory");
	CHECK(sys_write(ends[1], &byte, 1) == 1, "write");
	CHECK(sys_read(ends[0], (void *)8, 1) == -EFAULT, "read to 8");
	CHECK(sys_pipe((int *)8, 0) == -EFAULT, "pipe2 to 8");
	CHECK(sys_nanosleep((void *)8) == -EFAULT, "nanosleep from 8");
	CHECK(sys_clock_gettime(CLOCK_MONOTONIC, (void *)8) == -EFAULT, "clock_gettime to 8");
	CHECK(sys_sched_setaffinity(0, 8, (void *)8) == -EFAULT, "affinity from 8");
	sys_close(ends[0]);
	sys_close(ends[1]);
	sys_munmap(page, PAGE_BYTES);
}

enum fault { NULL_READ, KERNEL_READ, TEXT_WRITE, READ_ONLY_WRITE, UNMAPPED_JUMP, FAULTS };

static _Noreturn void fault(enum fault kind)
{
	volatile unsigned char *target = NULL;

	switch (kind) {
	case KERNEL_READ:
		target = (unsigned char *)0xffff000000080000;
		break;
	case TEXT_WRITE:
		target = (unsigned char *)(uintptr_t)plain_loop;
		break;
	case READ_ONLY_WRITE:
		target = map_anonymous(PAGE_BYTES, PROT_READ);
		break;
	case UNMAPPED_JUMP:
		__asm__ volatile("br %0" ::"r"(0x7000000000ul));
		break;
	default:
		break;
	}
	if (kind == TEXT_WRITE || kind == READ_ONLY_WRITE)
		*target = 1;
	else
		sys_exit(target[8] & 1);
	sys_exit(0);
}

static void faulting_children(void)
{
	for (unsigned kind = 0; kind < FAULTS; kind++) {
		int pid = task_fork();

		if (!pid)
			fault((enum fault)kind);
		CHECK(task_wait_exit(pid) == -SIGSEGV, "fault %u: not killed by SIGSEGV", kind);
	}
}

static void time_and_affinity(void)
{
	uint64_t online = task_cpus_online(), none = 0, far = 1ull << 63, start, slept;
	struct sys_timespec before, after;

	measure("cpus=%lx", online);
	CHECK(online & 1, "CPU 0 is missing: %lx", online);
	CHECK(sys_sched_setaffinity(0, sizeof none, &none) == -EINVAL, "affinity to nothing");
	if (!(online & far))
		CHECK(sys_sched_setaffinity(0, sizeof far, &far) == -EINVAL, "affinity to CPU 63");
	CHECK(sys_clock_gettime(CLOCK_MONOTONIC, &before) == 0, "clock_gettime");
	start = clock_now_ns();
	task_sleep_ns(10000000);
	slept = clock_now_ns() - start;
	CHECK(sys_clock_gettime(CLOCK_MONOTONIC, &after) == 0, "clock_gettime");
	measure("slept_ns=%lu cpu_time_ns=%lu", slept, task_cpu_time_ns());
	CHECK(slept >= 10000000 && slept < 100000000, "slept %lu ns of 10,000,000", slept);
	CHECK((after.s - before.s) * 1000000000 + after.ns - before.ns >= 10000000,
		"the clock moved less than the sleep");
	CHECK(sys_clock_gettime(12345, &after) == -EINVAL, "clock 12345");
	CHECK(sys_sched_yield() == 0, "sched_yield");
	CHECK(syscall6(1000, 0, 0, 0, 0, 0, 0) == -ENOSYS, "system call 1000");
}

/* Two tasks on one CPU, each with its own values in every callee- and caller-saved register. */
static uint64_t hold_registers(uint64_t seed, uint64_t rounds)
{
	uint64_t sum;

	__asm__ volatile(
		"	mov	x1, %[seed]\n	add	x2, x1, #1\n	add	x3, x1, #2\n"
		"	add	x4, x1, #3\n	add	x5, x1, #4\n	add	x6, x1, #5\n"
		"	add	x7, x1, #6\n	add	x9, x1, #7\n	add	x10, x1, #8\n"
		"	add	x19, x1, #9\n	add	x20, x1, #10\n	add	x28, x1, #11\n"
		"1:	subs	%[rounds], %[rounds], #1\n"
		"	b.ne	1b\n"
		"	add	x1, x1, x2\n	add	x1, x1, x3\n	add	x1, x1, x4\n"
		"	add	x1, x1, x5\n	add	x1, x1, x6\n	add	x1, x1, x7\n"
		"	add	x1, x1, x9\n	add	x1, x1, x10\n	add	x1, x1, x19\n"
		"	add	x1, x1, x20\n	add	%[sum], x1, x28\n"
		: [sum] "=r"(sum), [rounds] "+&r"(rounds)
		: [seed] "r"(seed)
		: "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10", "x19", "x20", "x28", "cc");
	return sum - 12 * seed;
}

static void preemption(void)
{
	int pids[3];

	for (unsigned i = 0; i < 3; i++) {
		pids[i] = task_fork();
		if (!pids[i]) {
			task_pin(0, 0);
			/* 66: the sum of 0 to 11; each call lasts several time slices of three. */
			for (unsigned k = 0; k < 4; k++) {
				uint64_t sum = hold_registers(i * 0x1234567891ull + k, 4000000);

				CHECK(sum == 66, "registers of task %u sum to %lu", i, sum);
			}
			sys_exit(verdict_failures() != 0);
		}
	}
	for (unsigned i = 0; i < 3; i++)
		CHECK(task_wait_exit(pids[i]) == 0, "task %u", i);
}

int main(int argc, char **argv)
{
	verdict_begin("syscalls");
	if (argc > 1 && text_equal(argv[1], "echo"))
		return echoed(argc, argv);
	processes();
	exec();
	copy_on_write();
	memory();
	CHECK(deep_stack(64) == 64, "deep stack");
	pipes();
	bad_pointers();
	faulting_children();
	time_and_affinity();
	preemption();
	return verdict_end();
}
