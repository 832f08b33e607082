/* SPDX-License-Identifier: MIT
 *
 * work: a program whose every instruction is known, for count_child_exec.
 *
 * From the first instruction after execve to the svc of exit_group it executes exactly WORK_INSNS
 * instructions at EL0 (work.h): six outside the loop, three in each round. It uses no memory, so it
 * takes no fault but those of fetching its own first page. System call: exit_group.
 */
#include "work.h"

	.text
	.globl _start
	.type _start, %function
	.balign 64
_start:
	movz	x0, #(WORK_ROUNDS & 0xffff)
	movk	x0, #(WORK_ROUNDS >> 16), lsl #16
	mov	x1, #0
1:	subs	x0, x0, #1
	add	x1, x1, #1
	b.ne	1b
	mov	x0, #WORK_STATUS
	mov	x8, #94
	svc	#0
	.size _start, . - _start

	.section .note.GNU-stack, "", %progbits
