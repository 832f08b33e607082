/* SPDX-License-Identifier: MIT
 *
 * Processes, threads, CPUs and time: see task.h.
 *
 * fork is clone with SIGCHLD alone: a copy of the address space. A thread shares memory, files and
 * signal handlers and counts as one of the same process (CLONE_THREAD needs CLONE_SIGHAND, which
 * needs CLONE_VM). Its first instructions run on the new stack before any C frame exists there, so
 * they are hand-written: function and argument are handed over in callee-saved registers, which
 * clone keeps.
 */
#include "task.h"

#include "loop.h"
#include "syscall.h"
#include "verdict.h"

#define CLONE_VM      0x00000100ul
#define CLONE_FS      0x00000200ul
#define CLONE_FILES   0x00000400ul
#define CLONE_SIGHAND 0x00000800ul
#define CLONE_THREAD  0x00010000ul
#define CLONE_SYSVSEM 0x00040000ul
#define THREAD_FLAGS                                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

#define NS_PER_S 1000000000ull
#define SPIN_ROUNDS                                                                                \
	700u /* some 2 us between two looks at the clock: a YIELD costs an emulator time */

int task_fork(void)
{
	long pid = sys_clone(SIGCHLD, NULL);

	REQUIRE(pid >= 0, "fork %ld", pid);
	if (!pid)
		verdict_forget();
	return (int)pid;
}

int task_wait(int pid)
{
	int status = 0;
	long answer = sys_wait4(pid, &status, 0);

	REQUIRE(answer == pid, "wait4(%d) %ld", pid, answer);
	return status;
}

int task_wait_exit(int pid)
{
	int status = task_wait(pid);

	if (status & 0x7f)
		return -(status & 0x7f);
	return status >> 8 & 0xff;
}

void task_allow(int pid, uint64_t cpu_mask)
{
	long answer = sys_sched_setaffinity(pid, sizeof cpu_mask, &cpu_mask);

	REQUIRE(answer == 0, "sched_setaffinity(%d, %lx) %ld", pid, cpu_mask, answer);
}

void task_pin(int pid, unsigned cpu)
{
	task_allow(pid, 1ull << cpu);
}

uint64_t task_cpus_online(void)
{
	uint64_t online = 0;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		uint64_t mask = 1ull << cpu;

		if (sys_sched_setaffinity(0, sizeof mask, &mask) == 0)
			online |= mask;
	}
	task_allow(0, online);
	return online;
}

unsigned task_cpu_count(void)
{
	unsigned count = 0;

	for (uint64_t online = task_cpus_online(); online; online &= online - 1)
		count++;
	return count;
}

void task_sleep_ns(uint64_t ns)
{
	struct sys_timespec time = {.s = (int64_t)(ns / NS_PER_S), .ns = (int64_t)(ns % NS_PER_S)};
	long answer = sys_nanosleep(&time);

	REQUIRE(answer == 0, "nanosleep %ld", answer);
}

static long thread_clone(unsigned long flags, void *stack_top, void (*body)(void *), void *argument)
{
	register long x8 __asm__("x8") = __NR_clone;
	register long x0 __asm__("x0") = (long)flags;
	register void *x1 __asm__("x1") = stack_top;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register void *x20 __asm__("x20") = argument;
	register void (*x21)(void *) __asm__("x21") = body;

	__asm__ volatile("	svc	#0\n"
			 "	cbnz	x0, 1f\n"
			 "	mov	x29, #0\n"
			 "	mov	x0, x20\n"
			 "	blr	x21\n"
			 "	mov	x0, #0\n"
			 "	mov	x8, %[exit]\n"
			 "	svc	#0\n"
			 "1:\n"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x20),
			 "r"(x21), [exit] "i"(__NR_exit)
			 : "memory", "x30");
	return x0;
}

int task_thread(void (*body)(void *), void *argument, void *stack)
{
	long tid = thread_clone(THREAD_FLAGS, (char *)stack + STACK_BYTES, body, argument);

	REQUIRE(tid > 0, "clone of a thread %ld", tid);
	return (int)tid;
}

uint64_t task_cpu_time_ns(void)
{
	struct sys_timespec time = {0};

	if (sys_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) < 0)
		return 0;
	return (uint64_t)time.s * NS_PER_S + (uint64_t)time.ns;
}

void task_signal(int fd)
{
	long answer = sys_write(fd, "", 1);

	REQUIRE(answer == 1, "write to a pipe %ld", answer);
}

void task_await(int fd)
{
	char byte;
	long answer = sys_read(fd, &byte, 1);

	REQUIRE(answer == 1, "read from a pipe %ld", answer);
}

uint64_t clock_ticks(void)
{
	uint64_t ticks;

	/* The first isb keeps the reading after what comes before it, the second before what
	 * follows (Arm ARM, register CNTVCT_EL0: it may be read ahead of program order). */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
	return ticks;
}

uint64_t clock_ticks_per_s(void)
{
	uint64_t frequency;

	__asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
	return frequency;
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
	uint64_t per_s = clock_ticks_per_s();

	/* In two parts, so that no product passes 64 bits for any uptime (per_s < 2^32). */
	return ticks / per_s * NS_PER_S + ticks % per_s * NS_PER_S / per_s;
}

uint64_t clock_now_ns(void)
{
	return clock_ticks_to_ns(clock_ticks());
}

void clock_spin_ns(uint64_t ns)
{
	uint64_t start = clock_ticks();
	uint64_t ticks = ns * (clock_ticks_per_s() / 1000) / 1000000;

	while (clock_ticks() - start < ticks) {
		plain_loop(SPIN_ROUNDS);
		cpu_yield();
	}
}

bool within_percent(uint64_t a, uint64_t b, unsigned percent)
{
	uint64_t difference = a > b ? a - b : b - a;

	return difference * 100 <= b * percent;
}
