/* SPDX-License-Identifier: MIT
 *
 * smp.h: bringing CPUs up; for arch/ and main.c alone.
 */
#ifndef KERNEL_ARCH_SMP_H
#define KERNEL_ARCH_SMP_H

#include <kernel/types.h>

struct task;

void smp_init(void);
void cpu_come_online(void);
/* The idle task of a CPU that is not up yet, already its current one (proc/sched.c). */
struct task *task_new_idle(u32 cpu);

#endif
