/* SPDX-License-Identifier: MIT
 *
 * trap.h: what an exception saves, and the C side of the vectors.
 *
 * The layout is known to arch/vectors.S (offsets are asserted in arch/traps.c). On entry from EL0
 * `sp` is the user's SP_EL0; from EL1 it is the kernel stack pointer before the frame. The record
 * {fp, lr} at the end makes the interrupted function the next one in a frame-pointer walk.
 */
#ifndef KERNEL_TRAP_H
#define KERNEL_TRAP_H

#include <kernel/types.h>

struct trap_frame {
	u64 x[31];
	u64 sp;
	u64 elr;
	u64 spsr;
	u64 x0_at_entry; /* for restarting a system call */
	u64 unused;
	u64 record[2];
};

#define SPSR_MODE_MASK 0xfull
#define SPSR_EL0T      0ull

static inline bool frame_is_user(const struct trap_frame *frame)
{
	return (frame->spsr & SPSR_MODE_MASK) == SPSR_EL0T;
}

/* Called by vectors.S, IRQs off. */
void trap_el0_sync(struct trap_frame *frame);
void trap_el0_irq(struct trap_frame *frame);
void trap_el1_sync(struct trap_frame *frame);
void trap_el1_irq(struct trap_frame *frame);
void trap_unexpected(struct trap_frame *frame, u64 vector);
void trap_stack_overflow(u64 sp);

/* The last stop before EL0 (also of a new task): preemption and signals. IRQs off. */
void trap_return_to_user(struct trap_frame *frame);

#endif
