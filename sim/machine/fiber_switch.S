/* SPDX-License-Identifier: MIT
 *
 * void fiber_swap(void **save_sp, void *load_sp): keep the callee-saved registers on this stack, and take up those on
 * the other one. A new stack is laid out by fiber_take() so that fiber_swap returns into fiber_start, with the fiber in
 * a callee-saved register; fiber_start hands it to fiber_first(), which never returns.
 */
#if defined(__x86_64__)
/* System V AMD64 ABI: rbx, rbp, r12-r15 are the callee's to keep; MXCSR and the x87 control word never change here. */
	.text
	.globl fiber_swap
	.type fiber_swap, @function
fiber_swap:
	.cfi_startproc
	endbr64
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.cfi_endproc
	.size fiber_swap, .-fiber_swap

	.globl fiber_start
	.type fiber_start, @function
fiber_start:
	endbr64
	movq %rbx, %rdi
	xorl %ebp, %ebp
	call fiber_first
	ud2
	.size fiber_start, .-fiber_start
#elif defined(__aarch64__)
/* AAPCS64: x19-x29, lr and d8-d15 are the callee's to keep. */
	.text
	.globl fiber_swap
	.type fiber_swap, %function
fiber_swap:
	sub sp, sp, #160
	stp x19, x20, [sp]
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	mov x9, sp
	str x9, [x0]
	mov sp, x1
	ldp x19, x20, [sp]
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp d8, d9, [sp, #96]
	ldp d10, d11, [sp, #112]
	ldp d12, d13, [sp, #128]
	ldp d14, d15, [sp, #144]
	add sp, sp, #160
	ret
	.size fiber_swap, .-fiber_swap

	.globl fiber_start
	.type fiber_start, %function
fiber_start:
	mov x0, x19
	mov x29, xzr
	bl fiber_first
	brk #1
	.size fiber_start, .-fiber_start
#else
#error "no fiber switch for this host"
#endif
	.section .note.GNU-stack, "", %progbits
