/* SPDX-License-Identifier: MIT
 *
 * table.c: the system call table by Linux arm64 number (include/uapi/asm-generic/unistd.h's
 * numbers), and the dispatch.
 *
 * A number without a handler is -ENOSYS, said once per number on the console.
 */
#include <kernel/errno.h>
#include <kernel/printk.h>
#include <kernel/syscall.h>
#include <kernel/task.h>
#include <kernel/trap.h>

#define NUMBERS 512u

static const syscall_fn table[NUMBERS] = {
	[23] = sys_dup,
	[24] = sys_dup3,
	[25] = sys_fcntl,
	[29] = sys_ioctl,
	[56] = sys_openat,
	[57] = sys_close,
	[59] = sys_pipe2,
	[62] = sys_lseek,
	[63] = sys_read,
	[64] = sys_write,
	[65] = sys_readv,
	[66] = sys_writev,
	[93] = sys_exit,
	[94] = sys_exit_group,
	[96] = sys_set_tid_address,
	[101] = sys_nanosleep,
	[113] = sys_clock_gettime,
	[114] = sys_clock_getres,
	[115] = sys_clock_nanosleep,
	[122] = sys_sched_setaffinity,
	[123] = sys_sched_getaffinity,
	[124] = sys_sched_yield,
	[129] = sys_kill,
	[130] = sys_tkill,
	[131] = sys_tgkill,
	[160] = sys_uname,
	[167] = sys_prctl,
	[168] = sys_getcpu,
	[169] = sys_gettimeofday,
	[172] = sys_getpid,
	[173] = sys_getppid,
	[174] = sys_get_id_zero, /* getuid, geteuid, getgid, getegid: everybody is root */
	[175] = sys_get_id_zero,
	[176] = sys_get_id_zero,
	[177] = sys_get_id_zero,
	[178] = sys_gettid,
	[214] = sys_brk,
	[215] = sys_munmap,
	[220] = sys_clone,
	[221] = sys_execve,
	[222] = sys_mmap,
	[226] = sys_mprotect,
	[241] = sys_perf_event_open,
	[260] = sys_wait4,
};

static u64 said[NUMBERS / 64];

static s64 unknown(u64 number)
{
	u64 bit = BIT(number % 64);

	if (number < NUMBERS &&
		!(__atomic_fetch_or(&said[number / 64], bit, __ATOMIC_RELAXED) & bit))
		printk("tally: system call %lu: not there (%s)\n", number, current->comm);
	return -ENOSYS;
}

s64 syscall_dispatch(struct trap_frame *frame)
{
	u64 number = frame->x[8] & 0xffffffff;
	struct syscall_args args = {
		.a = {frame->x[0], frame->x[1], frame->x[2], frame->x[3], frame->x[4], frame->x[5]},
		.frame = frame,
	};

	if (number >= NUMBERS || table[number] == NULL)
		return unknown(number);
	return table[number](&args);
}
