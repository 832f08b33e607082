// Entry, exception vectors and register access stubs of the guest of the differential test.
//
// QEMU enters at _start at EL1 with the MMU off. There is one CPU and no interrupt is taken
// (DAIF stays masked; the line is read at the interrupt controller instead). An access runs
// under `guarded_access`: a stub of one MRS or MSR and a RET, at EL1 or, by an exception return,
// at EL0. Whatever ends it, the stub's return or an exception, comes back to the caller with the
// exception class. No stub touches the stack or a callee-saved register.

	.section .text.start, "ax"
	.global _start
_start:
	adrp	x0, stack_top
	add	x0, x0, :lo12:stack_top
	mov	sp, x0
	adrp	x0, vectors
	add	x0, x0, :lo12:vectors
	msr	vbar_el1, x0
	isb
	bl	guest_main
	b	.

// struct access guarded_access(stub x0, value x1, el x2): returns the register's value in x0 and
// the exception class in x1, 0x15 (SVC) when the access was done.
	.text
	.global guarded_access
guarded_access:
	stp	x29, x30, [sp, #-96]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	adr	x30, access_done
	cbz	x2, 1f
	mov	x3, x0
	mov	x0, x1
	br	x3
1:	msr	elr_el1, x0
	mov	x3, #0x3c0		// SPSR: EL0t, DAIF masked
	msr	spsr_el1, x3
	mov	x0, x1
	eret
access_done:				// runs at either level
	svc	#0

// Both levels' synchronous exceptions end here. SP_EL1 is as guarded_access left it.
access_end:
	mrs	x1, esr_el1
	lsr	x1, x1, #26
	isb
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #96
	ret

	.balign	2048
vectors:
	.rept	4			// current EL, SP_EL0
	.balign	128
	b	unexpected
	.endr
	.balign	128			// current EL, SP_EL1: synchronous
	b	access_end
	.rept	3
	.balign	128
	b	unexpected
	.endr
	.balign	128			// lower EL, AArch64: synchronous
	b	access_end
	.rept	7
	.balign	128
	b	unexpected
	.endr
	.balign	128
unexpected:
	mrs	x0, esr_el1
	mrs	x1, elr_el1
	b	guest_unexpected

	.global semihosting_call
semihosting_call:
	hlt	#0xf000
	ret

// Two tables by enum pmu_reg: read stubs and write stubs; 0 where there is no register.
	.macro	stub reg
	.pushsection .text
.Lread\@:
	mrs	x0, \reg
	ret
.Lwrite\@:
	msr	\reg, x0
	isb
	ret
	.popsection
	.quad	.Lread\@, .Lwrite\@
	.endm

	.section .rodata
	.balign	8
	.global access_stubs
access_stubs:
	stub	S3_3_C9_C12_0		// PMCR_EL0
	stub	S3_3_C9_C12_1		// PMCNTENSET_EL0
	stub	S3_3_C9_C12_2		// PMCNTENCLR_EL0
	stub	S3_0_C9_C14_1		// PMINTENSET_EL1
	stub	S3_0_C9_C14_2		// PMINTENCLR_EL1
	stub	S3_3_C9_C14_3		// PMOVSSET_EL0
	stub	S3_3_C9_C12_3		// PMOVSCLR_EL0
	stub	S3_3_C9_C12_4		// PMSWINC_EL0
	stub	S3_3_C9_C12_5		// PMSELR_EL0
	stub	S3_3_C9_C13_1		// PMXEVTYPER_EL0
	stub	S3_3_C9_C13_2		// PMXEVCNTR_EL0
	stub	S3_3_C9_C13_0		// PMCCNTR_EL0
	stub	S3_3_C14_C15_7		// PMCCFILTR_EL0
	stub	S3_3_C9_C14_0		// PMUSERENR_EL0
	stub	S3_3_C9_C12_6		// PMCEID0_EL0
	stub	S3_3_C9_C12_7		// PMCEID1_EL0
	stub	S3_0_C9_C14_6		// PMMIR_EL1
	stub	S3_4_C1_C1_1		// MDCR_EL2
	.fill	2 * 14, 8, 0		// up to PMU_PMEVCNTR0_EL0
	.irpc	n, 01234567
	stub	S3_3_C14_C8_\n		// PMEVCNTR0_EL0 to 7
	.endr
	.fill	2 * 24, 8, 0		// up to PMU_PMEVTYPER0_EL0
	.irpc	n, 01234567
	stub	S3_3_C14_C12_\n		// PMEVTYPER0_EL0 to 7
	.endr

	.bss
	.balign	16
	.skip	16384
stack_top:
