/* SPDX-License-Identifier: MIT
 *
 * syscall.h: the system call table (Linux arm64 numbers) and its handlers' shape.
 *
 * A handler gets the six argument registers and returns what goes to x0: a result or -errno. It
 * runs in task context with IRQs on.
 */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H

#include <kernel/types.h>

struct trap_frame;

struct syscall_args {
	u64 a[6];
	struct trap_frame *frame;
};

typedef s64 (*syscall_fn)(const struct syscall_args *args);

s64 syscall_dispatch(struct trap_frame *frame);

/* ---- the handlers, by the file they are in ---- */
#define SYSCALL(name) s64 sys_##name(const struct syscall_args *args)

/* syscall/sys_file.c */
SYSCALL(fcntl);
SYSCALL(ioctl);
SYSCALL(openat);
SYSCALL(close);
SYSCALL(dup);
SYSCALL(dup3);
SYSCALL(pipe2);
SYSCALL(lseek);
SYSCALL(read);
SYSCALL(write);
SYSCALL(readv);
SYSCALL(writev);
/* syscall/sys_process.c */
SYSCALL(exit);
SYSCALL(exit_group);
SYSCALL(clone);
SYSCALL(execve);
SYSCALL(wait4);
SYSCALL(kill);
SYSCALL(tkill);
SYSCALL(tgkill);
SYSCALL(set_tid_address);
SYSCALL(getpid);
SYSCALL(getppid);
SYSCALL(gettid);
SYSCALL(get_id_zero);
SYSCALL(prctl);
SYSCALL(uname);
SYSCALL(sched_yield);
SYSCALL(sched_setaffinity);
SYSCALL(sched_getaffinity);
SYSCALL(getcpu);
/* syscall/sys_memory.c */
SYSCALL(brk);
SYSCALL(mmap);
SYSCALL(munmap);
SYSCALL(mprotect);
/* syscall/sys_time.c */
SYSCALL(nanosleep);
SYSCALL(clock_gettime);
SYSCALL(clock_getres);
SYSCALL(clock_nanosleep);
SYSCALL(gettimeofday);
/* port/kernel/perf_syscall.c */
SYSCALL(perf_event_open);

#endif
