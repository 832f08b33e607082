/* SPDX-License-Identifier: MIT
 *
 * System calls of the AArch64 Linux ABI, one thin inline function each.
 *
 * Numbers come from the kernel's exported header <asm/unistd.h>, so that the programs are judged
 * against the published ABI and not against our own restatement of it. Every function returns what
 * the kernel returned: a result, or -errno. Nothing is retried, nothing is translated.
 *
 * The calling convention (Linux, arch/arm64 ABI): number in x8, arguments in x0 to x5, result in
 * x0, every other register kept. `syscall6` therefore clobbers memory and nothing else; a kernel
 * that loses another register fails these programs, as it should.
 */
#ifndef PROGRAMS_SYSCALL_H
#define PROGRAMS_SYSCALL_H

#include <asm/unistd.h>
#include <linux/errno.h>
#include <stddef.h>
#include <stdint.h>

#define SIGCHLD   17
#define SIGKILL   9
#define SIGSEGV   11
#define WNOHANG   1
#define O_CLOEXEC 02000000

#define PROT_READ     1
#define PROT_WRITE    2
#define MAP_SHARED    1
#define MAP_PRIVATE   2
#define MAP_ANONYMOUS 0x20

#define CLOCK_MONOTONIC         1
#define CLOCK_THREAD_CPUTIME_ID 3

#define PAGE_BYTES 4096u

struct sys_timespec {
	int64_t s;
	int64_t ns;
};

static inline long syscall6(long number, long a0, long a1, long a2, long a3, long a4, long a5)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a0;
	register long x1 __asm__("x1") = a1;
	register long x2 __asm__("x2") = a2;
	register long x3 __asm__("x3") = a3;
	register long x4 __asm__("x4") = a4;
	register long x5 __asm__("x5") = a5;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline long sys_read(int fd, void *to, size_t bytes)
{
	return syscall6(__NR_read, fd, (long)to, (long)bytes, 0, 0, 0);
}

static inline long sys_write(int fd, const void *from, size_t bytes)
{
	return syscall6(__NR_write, fd, (long)from, (long)bytes, 0, 0, 0);
}

static inline long sys_open(const char *path, int flags)
{
	return syscall6(__NR_openat, -100 /* AT_FDCWD */, (long)path, flags, 0, 0, 0);
}

static inline long sys_close(int fd)
{
	return syscall6(__NR_close, fd, 0, 0, 0, 0, 0);
}

static inline long sys_pipe(int *ends, int flags)
{
	return syscall6(__NR_pipe2, (long)ends, flags, 0, 0, 0, 0);
}

static inline long sys_ioctl(int fd, unsigned long command, unsigned long argument)
{
	return syscall6(__NR_ioctl, fd, (long)command, (long)argument, 0, 0, 0);
}

static inline long sys_mmap(void *at, size_t bytes, int protection, int flags, int fd, long offset)
{
	return syscall6(__NR_mmap, (long)at, (long)bytes, protection, flags, fd, offset);
}

static inline long sys_munmap(void *at, size_t bytes)
{
	return syscall6(__NR_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

static inline long sys_brk(unsigned long end)
{
	return syscall6(__NR_brk, (long)end, 0, 0, 0, 0, 0);
}

static inline long sys_clone(unsigned long flags, void *stack)
{
	return syscall6(__NR_clone, (long)flags, (long)stack, 0, 0, 0, 0);
}

static inline long sys_execve(const char *path, const char *const *argv, const char *const *envp)
{
	return syscall6(__NR_execve, (long)path, (long)argv, (long)envp, 0, 0, 0);
}

static inline long sys_wait4(int pid, int *status, int options)
{
	return syscall6(__NR_wait4, pid, (long)status, options, 0, 0, 0);
}

static inline long sys_kill(int pid, int signal)
{
	return syscall6(__NR_kill, pid, signal, 0, 0, 0, 0);
}

static inline long sys_getpid(void)
{
	return syscall6(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

static inline long sys_gettid(void)
{
	return syscall6(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

static inline long sys_sched_yield(void)
{
	return syscall6(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

static inline long sys_sched_setaffinity(int pid, size_t bytes, const void *mask)
{
	return syscall6(__NR_sched_setaffinity, pid, (long)bytes, (long)mask, 0, 0, 0);
}

static inline long sys_nanosleep(const struct sys_timespec *time)
{
	return syscall6(__NR_nanosleep, (long)time, 0, 0, 0, 0, 0);
}

static inline long sys_clock_gettime(int clock, struct sys_timespec *time)
{
	return syscall6(__NR_clock_gettime, clock, (long)time, 0, 0, 0, 0);
}

static inline long sys_perf_event_open(
	const void *attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	return syscall6(__NR_perf_event_open, (long)attr, pid, cpu, group_fd, (long)flags, 0);
}

/* Ends the calling thread; the others of its process go on. */
static inline _Noreturn void sys_exit_thread(int status)
{
	syscall6(__NR_exit, status, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

static inline _Noreturn void sys_exit(int status)
{
	syscall6(__NR_exit_group, status, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

#endif
