/* SPDX-License-Identifier: MIT
 *
 * Loops whose number of instructions is known, for loop.h.
 *
 * Written by hand because the measurement is exact: no compiler decides how many instructions lie
 * between two labels. The labels are global, so that a program computes the number from addresses,
 * and so that a sample's address can be compared with them. The layout is fixed: LOOP_BODY_INSNS
 * instructions per round, everything else executed once.
 *
 * What a user-only count of instructions sees of measured_loop: the counter starts inside the
 * ENABLE call, in the kernel; the first counted instruction is the one after the first svc, to
 * which the kernel returns by eret (retired at EL1). The last counted one is the second svc: it is
 * executed at EL0 and counts there, the exception it causes being taken afterwards (Arm ARM,
 * description of the event INST_RETIRED, 0x0008). So the counted stretch is [measured_loop_begin,
 * measured_loop_end).
 */
	.text
	.set	IOCTL, 29
	.set	ENABLE, 0x2400
	.set	DISABLE, 0x2401

/* long measured_loop(int fd, uint64_t rounds, unsigned long argument): 0, or the calls' -errno */
	.globl measured_loop, measured_loop_begin, measured_loop_body, measured_loop_body_end
	.globl measured_loop_end
	.type measured_loop, %function
	.balign 64
measured_loop:
	sxtw	x9, w0
	mov	x10, x1
	mov	x11, x2
	mov	x8, #IOCTL
	mov	x0, x9
	mov	x1, #ENABLE
	svc	#0
measured_loop_begin:
	mov	x12, x0
	mov	x13, #0
measured_loop_body:
	subs	x10, x10, #1
	add	x13, x13, #1
	b.ne	measured_loop_body
measured_loop_body_end:
	mov	x0, x9
	mov	x1, #DISABLE
	mov	x2, x11
	svc	#0
measured_loop_end:
	orr	x0, x0, x12
	ret
	.size measured_loop, . - measured_loop

/* void plain_loop(uint64_t rounds): the same body with no calls around it */
	.globl plain_loop, plain_loop_body, plain_loop_body_end
	.type plain_loop, %function
	.balign 64
plain_loop:
	mov	x13, #0
plain_loop_body:
	subs	x0, x0, #1
	add	x13, x13, #1
	b.ne	plain_loop_body
plain_loop_body_end:
	ret
	.size plain_loop, . - plain_loop

	.section .note.GNU-stack, "", %progbits
