/* SPDX-License-Identifier: MIT
 *
 * Processes, threads, CPUs and time for the guest programs.
 *
 * Time comes from the generic timer's virtual count, which a kernel lets EL0 read (Arm ARM,
 * register CNTKCTL_EL1, field EL0VCTEN): no system call lies between two readings. Everything that
 * can fail ends the program through REQUIRE, so that callers need not check.
 */
#ifndef PROGRAMS_TASK_H
#define PROGRAMS_TASK_H

#include <stdbool.h>
#include <stdint.h>

#define CPUS_MAX    64u
#define STACK_BYTES 16384u

/* fork(2): 0 in the child, whose failed checks count from zero, and the child's id in the parent.
 */
int task_fork(void);

/* Waits for exactly this child and returns its wait status as wait4 gives it. */
int task_wait(int pid);

/* Waits for a child that must exit by itself; returns its exit status, or -signal if killed. */
int task_wait_exit(int pid);

/* Restricts a task (0: the caller) to one CPU, or to the CPUs of a mask. */
void task_pin(int pid, unsigned cpu);
void task_allow(int pid, uint64_t cpu_mask);

/* The CPUs that exist, found by asking for each; the caller's own affinity ends as all of them. */
uint64_t task_cpus_online(void);
unsigned task_cpu_count(void);

void task_sleep_ns(uint64_t ns);

/* A thread of this process on its own stack (STACK_BYTES at `stack`); returns its id. */
int task_thread(void (*body)(void *), void *argument, void *stack);

/* CPU time of the calling thread in ns, or 0 if the kernel does not keep it. */
uint64_t task_cpu_time_ns(void);

/* One byte through a pipe: the simplest way for two tasks to meet. */
void task_signal(int fd);
void task_await(int fd);

uint64_t clock_ticks(void);
uint64_t clock_ticks_per_s(void);
uint64_t clock_ticks_to_ns(uint64_t ticks);
uint64_t clock_now_ns(void);

/* Burns CPU until `ns` of the virtual count have passed. */
void clock_spin_ns(uint64_t ns);

/* For every loop that spins long beside other CPUs. QEMU 7.2 in lockstep (-icount, several CPUs)
 * lets the lowest-numbered busy CPU run until it idles or executes YIELD, and the others starve. */
static inline void cpu_yield(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/* |a - b| <= percent of b */
bool within_percent(uint64_t a, uint64_t b, unsigned percent);

#endif
