/* SPDX-License-Identifier: MIT
 *
 * The first instructions of every guest program.
 *
 * The kernel enters at _start with the stack of the AArch64 Linux ABI: at sp the argument count,
 * then argv, a null, the environment, a null, and the auxiliary vector; sp is 16-byte aligned
 * (AAPCS64 6.4.5.1). No register but sp and pc means anything. The frame record is closed with
 * zeros so that a frame-pointer walk of a sample ends here.
 */
	.text
	.globl _start
	.type _start, %function
_start:
	mov	x29, #0
	mov	x30, #0
	ldr	w0, [sp]
	add	x1, sp, #8
	bl	main
	mov	w8, #94			/* exit_group: ends the threads that the program left */
	svc	#0
1:	b	1b
	.size _start, . - _start

	.section .note.GNU-stack, "", %progbits
