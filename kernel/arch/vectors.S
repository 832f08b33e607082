/* SPDX-License-Identifier: MIT
 *
 * vectors.S: exception entry and return at EL1 (Arm ARM DDI 0487, D1.3).
 *
 * Every entry saves a struct trap_frame (kernel/trap.h) on the kernel stack and calls C with it.
 * From EL0, SP_EL0 is the user's stack pointer until it is saved; then it becomes the running
 * task, found through TPIDR_EL1. From EL1 the stack is checked first: a frame that would lie below
 * the stack (bit STACK_SHIFT clear) goes to an emergency stack and panic.
 */
#include <kernel/mmu.h>

#define FRAME_SIZE   304
#define FRAME_SP     248
#define FRAME_ELR    256
#define FRAME_X0     272
#define FRAME_RECORD 288

	.macro	save_gprs
	stp	x0, x1, [sp, #0]
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	stp	x16, x17, [sp, #128]
	stp	x18, x19, [sp, #144]
	stp	x20, x21, [sp, #160]
	stp	x22, x23, [sp, #176]
	stp	x24, x25, [sp, #192]
	stp	x26, x27, [sp, #208]
	stp	x28, x29, [sp, #224]
	.endm

	.macro	restore_gprs
	ldp	x0, x1, [sp, #0]
	ldp	x2, x3, [sp, #16]
	ldp	x4, x5, [sp, #32]
	ldp	x6, x7, [sp, #48]
	ldp	x8, x9, [sp, #64]
	ldp	x10, x11, [sp, #80]
	ldp	x12, x13, [sp, #96]
	ldp	x14, x15, [sp, #112]
	ldp	x16, x17, [sp, #128]
	ldp	x18, x19, [sp, #144]
	ldp	x20, x21, [sp, #160]
	ldp	x22, x23, [sp, #176]
	ldp	x24, x25, [sp, #192]
	ldp	x26, x27, [sp, #208]
	ldp	x28, x29, [sp, #224]
	ldr	x30, [sp, #240]
	.endm

	.macro	enter_from_el0 handler
	sub	sp, sp, #FRAME_SIZE
	save_gprs
	mrs	x21, sp_el0
	mrs	x22, elr_el1
	mrs	x23, spsr_el1
	stp	x30, x21, [sp, #240]
	stp	x22, x23, [sp, #FRAME_ELR]
	str	x0, [sp, #FRAME_X0]
	stp	xzr, xzr, [sp, #FRAME_RECORD]
	add	x29, sp, #FRAME_RECORD
	mrs	x20, tpidr_el1
	ldr	x20, [x20]
	msr	sp_el0, x20
	mov	x0, sp
	bl	\handler
	b	return_to_el0
	.endm

	.macro	enter_from_el1 handler
	save_gprs
	add	x21, sp, #FRAME_SIZE
	mrs	x22, elr_el1
	mrs	x23, spsr_el1
	stp	x30, x21, [sp, #240]
	stp	x22, x23, [sp, #FRAME_ELR]
	stp	x29, x22, [sp, #FRAME_RECORD]
	add	x29, sp, #FRAME_RECORD
	mov	x0, sp
	bl	\handler
	b	return_to_el1
	.endm

	.macro	vector label
	.balign	128
	b	\label
	.endm

	/* Room for the frame, then its lowest address must still be in the upper half of the slot.
	 * No register is free: x0 is swapped through sp. */
	.macro	vector_el1 label
	.balign	128
	sub	sp, sp, #FRAME_SIZE
	add	sp, sp, x0		/* sp' = sp + x0 */
	sub	x0, sp, x0		/* x0' = sp */
	tbz	x0, #STACK_SHIFT, stack_overflow
	sub	x0, sp, x0		/* x0 */
	sub	sp, sp, x0		/* sp */
	b	\label
	.endm

	.text
	.balign	2048
	.globl	vectors
vectors:
	vector	unexpected_0		/* EL1 with SP_EL0: never used */
	vector	unexpected_1
	vector	unexpected_2
	vector	unexpected_3
	vector_el1 el1_sync
	vector_el1 el1_irq
	vector_el1 unexpected_6
	vector_el1 unexpected_7
	vector	el0_sync
	vector	el0_irq
	vector	unexpected_10
	vector	unexpected_11
	vector	unexpected_12		/* AArch32: no such process */
	vector	unexpected_13
	vector	unexpected_14
	vector	unexpected_15

el0_sync:
	enter_from_el0 trap_el0_sync
el0_irq:
	enter_from_el0 trap_el0_irq
el1_sync:
	enter_from_el1 trap_el1_sync
el1_irq:
	enter_from_el1 trap_el1_irq

	.macro	unexpected_vector number, space
unexpected_\number:
	.ifc	\space, none
	sub	sp, sp, #FRAME_SIZE
	.endif
	save_gprs
	add	x21, sp, #FRAME_SIZE
	mrs	x22, elr_el1
	mrs	x23, spsr_el1
	stp	x30, x21, [sp, #240]
	stp	x22, x23, [sp, #FRAME_ELR]
	stp	x29, x22, [sp, #FRAME_RECORD]
	add	x29, sp, #FRAME_RECORD
	.if	\number >= 8
	mrs	x20, tpidr_el1
	ldr	x20, [x20]
	msr	sp_el0, x20
	.endif
	mov	x0, sp
	mov	x1, #\number
	bl	trap_unexpected
	b	.
	.endm
	unexpected_vector 0, none
	unexpected_vector 1, none
	unexpected_vector 2, none
	unexpected_vector 3, none
	unexpected_vector 6, made
	unexpected_vector 7, made
	unexpected_vector 10, none
	unexpected_vector 11, none
	unexpected_vector 12, none
	unexpected_vector 13, none
	unexpected_vector 14, none
	unexpected_vector 15, none

stack_overflow:
	ldr	x1, =emergency_stack_top
	mov	x2, x0
	mov	sp, x1
	mov	x0, x2
	bl	trap_stack_overflow
	b	.

/* IRQs off, sp at the frame. */
	.globl	return_to_el0
return_to_el0:
	ldp	x21, x22, [sp, #FRAME_SP]
	ldr	x23, [sp, #(FRAME_ELR + 8)]
	msr	sp_el0, x21
	msr	elr_el1, x22
	msr	spsr_el1, x23
	restore_gprs
	add	sp, sp, #FRAME_SIZE
	eret

return_to_el1:
	ldp	x22, x23, [sp, #FRAME_ELR]
	msr	elr_el1, x22
	msr	spsr_el1, x23
	restore_gprs
	add	sp, sp, #FRAME_SIZE
	eret

	.section .bss.emergency_stack, "aw", %nobits
	.balign	STACK_SLOT
	.skip	STACK_SIZE
	.skip	STACK_SIZE
	.globl	emergency_stack_top
emergency_stack_top:
	.skip	16
