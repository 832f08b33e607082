/* SPDX-License-Identifier: MIT
 *
 * uaccess.S: copies to and from user memory, and the table of their instructions that may fault.
 *
 * LDTR and STTR access memory with EL0's rights (Arm ARM DDI 0487, C6.2), so neither PAN nor a
 * wild kernel pointer in the user's hands matters. When one faults for good, arch/traps.c finds it
 * in .ex_table and continues at the paired address. x0: to, x1: from, x2: bytes. Return x0: bytes
 * not copied.
 */
	.macro	may_fault label
	.pushsection .ex_table, "a"
	.balign	4
	.long	\label - .
	.long	user_fault - .
	.popsection
	.endm

	.text
	.globl	uaccess_copy_from
uaccess_copy_from:
	cmp	x2, #8
	b.lo	2f
1:	ldtr	x3, [x1]
	may_fault 1b
	str	x3, [x0], #8
	add	x1, x1, #8
	sub	x2, x2, #8
	cmp	x2, #8
	b.hs	1b
2:	cbz	x2, 4f
3:	ldtrb	w3, [x1]
	may_fault 3b
	strb	w3, [x0], #1
	add	x1, x1, #1
	subs	x2, x2, #1
	b.ne	3b
4:	mov	x0, #0
	ret

	.globl	uaccess_copy_to
uaccess_copy_to:
	cmp	x2, #8
	b.lo	2f
1:	ldr	x3, [x1], #8
5:	sttr	x3, [x0]
	may_fault 5b
	add	x0, x0, #8
	sub	x2, x2, #8
	cmp	x2, #8
	b.hs	1b
2:	cbz	x2, 4f
3:	ldrb	w3, [x1], #1
6:	sttrb	w3, [x0]
	may_fault 6b
	add	x0, x0, #1
	subs	x2, x2, #1
	b.ne	3b
4:	mov	x0, #0
	ret

/* x0: to, x1: bytes */
	.globl	uaccess_clear
uaccess_clear:
	mov	x2, x1
	cmp	x2, #8
	b.lo	2f
1:	sttr	xzr, [x0]
	may_fault 1b
	add	x0, x0, #8
	sub	x2, x2, #8
	cmp	x2, #8
	b.hs	1b
2:	cbz	x2, 4f
3:	sttrb	wzr, [x0]
	may_fault 3b
	add	x0, x0, #1
	subs	x2, x2, #1
	b.ne	3b
4:	mov	x0, #0
	ret

user_fault:
	mov	x0, x2
	ret
