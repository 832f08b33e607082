/* SPDX-License-Identifier: MIT
 *
 * switch.S: changing the running task, a task's first steps, and FP/SIMD state.
 *
 * switch_to() is called with IRQs off under the run queue lock and returns as the next task.
 * Offsets are those of struct switch_context and struct fp_state (kernel/task.h; asserted in
 * proc/sched.c).
 */
	.text
/* x0: prev context, x1: next context, x2: next task */
	.globl	switch_to
switch_to:
	mov	x9, sp
	stp	x19, x20, [x0, #0]
	stp	x21, x22, [x0, #16]
	stp	x23, x24, [x0, #32]
	stp	x25, x26, [x0, #48]
	stp	x27, x28, [x0, #64]
	stp	x29, x30, [x0, #80]
	str	x9, [x0, #96]
	ldp	x19, x20, [x1, #0]
	ldp	x21, x22, [x1, #16]
	ldp	x23, x24, [x1, #32]
	ldp	x25, x26, [x1, #48]
	ldp	x27, x28, [x1, #64]
	ldp	x29, x30, [x1, #80]
	ldr	x9, [x1, #96]
	mov	sp, x9
	msr	sp_el0, x2
	ret

/* A new task: x19 = a function to run first, in the kernel, or 0, x20 = its argument; then to user
 * mode. */
	.globl	task_first_run
task_first_run:
	mov	x29, xzr
	mov	x30, xzr
	bl	sched_finish_switch
	cbz	x19, 1f
	msr	daifclr, #2
	mov	x0, x20
	blr	x19
1:	bl	task_begin_user
	mov	x0, sp			/* the frame lies at the top of the stack */
	bl	trap_return_to_user
	b	return_to_el0

	.arch_extension fp
	.arch_extension simd
	.globl	fp_save
fp_save:
	stp	q0, q1, [x0, #0]
	stp	q2, q3, [x0, #32]
	stp	q4, q5, [x0, #64]
	stp	q6, q7, [x0, #96]
	stp	q8, q9, [x0, #128]
	stp	q10, q11, [x0, #160]
	stp	q12, q13, [x0, #192]
	stp	q14, q15, [x0, #224]
	stp	q16, q17, [x0, #256]
	stp	q18, q19, [x0, #288]
	stp	q20, q21, [x0, #320]
	stp	q22, q23, [x0, #352]
	stp	q24, q25, [x0, #384]
	stp	q26, q27, [x0, #416]
	stp	q28, q29, [x0, #448]
	stp	q30, q31, [x0, #480]
	mrs	x1, fpsr
	mrs	x2, fpcr
	add	x0, x0, #512
	stp	w1, w2, [x0]
	ret

	.globl	fp_load
fp_load:
	ldp	q0, q1, [x0, #0]
	ldp	q2, q3, [x0, #32]
	ldp	q4, q5, [x0, #64]
	ldp	q6, q7, [x0, #96]
	ldp	q8, q9, [x0, #128]
	ldp	q10, q11, [x0, #160]
	ldp	q12, q13, [x0, #192]
	ldp	q14, q15, [x0, #224]
	ldp	q16, q17, [x0, #256]
	ldp	q18, q19, [x0, #288]
	ldp	q20, q21, [x0, #320]
	ldp	q22, q23, [x0, #352]
	ldp	q24, q25, [x0, #384]
	ldp	q26, q27, [x0, #416]
	ldp	q28, q29, [x0, #448]
	ldp	q30, q31, [x0, #480]
	add	x0, x0, #512
	ldp	w1, w2, [x0]
	msr	fpsr, x1
	msr	fpcr, x2
	ret
