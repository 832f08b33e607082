/* SPDX-License-Identifier: MIT
 *
 * head.S: from the boot loader to C.
 *
 * Owns the Linux arm64 Image header (Documentation/arm64/booting: x0 = device tree, MMU off, image
 * at a 2 MiB base), the drop from EL2 to EL1, the small hypervisor vector that stays behind at
 * EL2, and the switch to virtual addresses. Runs at physical addresses until `mmu_on` returns;
 * only adr/adrp references before that.
 *
 * The vector left at EL2 serves one call from EL1: hvc #0 with x0 = HVC_SET_ID, x1 = VPIDR_EL2, x2
 * = the number of event counters (MDCR_EL2.HPMN). arch/cluster.c uses it.
 */
#include <kernel/mmu.h>
#include <kernel/hyp.h>

/* Arm ARM DDI 0487, D19.2: SCTLR_EL1 with its RES1 bits, MMU and caches off. */
#define SCTLR_EL1_OFF 0x30d00800
/* M, C, SA, SA0, I, DZE, UCT, nTWI, nTWE, UCI */
#define SCTLR_EL1_ON  (SCTLR_EL1_OFF | 0x1 | 0x4 | 0x8 | 0x10 | 0x1000 | 0x4000 | 0x8000 | \
	0x10000 | 0x40000 | 0x4000000)

	.section .head.text, "ax"
	.globl	image_head
image_head:
	b	primary_entry
	.long	0
	.quad	0			/* text_offset: none */
	.quad	image_size_bytes	/* with .bss; from the linker script */
	.quad	0xa			/* little endian, 4 KiB pages, anywhere in memory */
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0

	.text
primary_entry:
	mov	x21, x0			/* device tree */
	bl	leave_el2
	mov	x22, x0			/* 1: we were at EL2 */

	/* .bss: throw away whatever the caches hold of it, then clear it in memory. */
	adrp	x0, bss_start
	adrp	x1, bss_end
	bl	invalidate_range
	adrp	x0, bss_start
	adrp	x1, bss_end
1:	stp	xzr, xzr, [x0], #16
	cmp	x0, x1
	b.lo	1b

	adrp	x0, boot_stack_top
	mov	sp, x0
	mov	x29, xzr
	adrp	x0, image_head
	mov	x1, x21
	bl	early_map
	/* What was written with the MMU off must not be hidden by a stale line. */
	adrp	x0, bss_start
	adrp	x1, bss_end
	bl	invalidate_range

	bl	mmu_on
	ldr	x8, =primary_virtual
	br	x8

primary_virtual:
	ldr	x0, =boot_stack_top
	mov	sp, x0
	mov	x29, xzr
	mov	x30, xzr
	ldr	x0, =cpus
	msr	tpidr_el1, x0
	ldr	x1, =boot_task
	str	x1, [x0]
	msr	sp_el0, x1
	ldr	x0, =vectors
	msr	vbar_el1, x0
	isb
	mov	x0, x21
	mov	x1, x22
	bl	kernel_main
	b	.

/* A secondary CPU, from PSCI CPU_ON: x0 = physical address of its struct secondary_boot. */
	.globl	secondary_entry
secondary_entry:
	mov	x21, x0
	bl	leave_el2
	bl	mmu_on
	ldr	x8, =secondary_virtual
	br	x8

secondary_virtual:
	/* struct secondary_boot (arch/smp.c), linear map: struct cpu, idle task, its stack's top */
	ldr	x0, =LINEAR_BASE
	add	x21, x21, x0
	ldp	x0, x1, [x21]
	ldr	x2, [x21, #16]
	mov	sp, x2
	mov	x29, xzr
	mov	x30, xzr
	msr	tpidr_el1, x0
	str	x1, [x0]
	msr	sp_el0, x1
	ldr	x3, =vectors
	msr	vbar_el1, x3
	isb
	bl	secondary_main
	b	.

/* x0: start, x1: end, whole cache lines. Clobbers x0-x3. */
invalidate_range:
	mrs	x2, ctr_el0
	ubfx	x2, x2, #16, #4		/* DminLine: log2 of words */
	mov	x3, #4
	lsl	x2, x3, x2
1:	dc	ivac, x0
	add	x0, x0, x2
	cmp	x0, x1
	b.lo	1b
	dsb	sy
	ret

/* Both translation regimes on; the code runs on under the identity map of TTBR0. */
mmu_on:
	tlbi	vmalle1
	ic	iallu
	dsb	nsh
	mov	x0, #0x04ff		/* MAIR: 0 write-back, 1 device nGnRE, 2 non-cacheable */
	movk	x0, #0x0044, lsl #16
	msr	mair_el1, x0
	adrp	x0, tcr_value
	ldr	x0, [x0, :lo12:tcr_value]
	msr	tcr_el1, x0
	adrp	x0, idmap_table
	msr	ttbr0_el1, x0
	adrp	x0, kernel_table
	msr	ttbr1_el1, x0
	isb
	ldr	x0, =SCTLR_EL1_ON
	msr	sctlr_el1, x0
	isb
	ic	iallu
	dsb	nsh
	isb
	ret

/* Come down to EL1 with everything that EL2 could trap let through. Returns x0 = 1 if it was EL2.
 * Clobbers x1. */
leave_el2:
	mrs	x0, CurrentEL
	cmp	x0, #(2 << 2)
	b.eq	1f
	ldr	x1, =SCTLR_EL1_OFF
	msr	sctlr_el1, x1
	isb
	mov	x0, #0
	ret

1:	mov	x0, #(1 << 31)		/* HCR_EL2: RW: EL1 is AArch64; no traps, no stage 2 */
	msr	hcr_el2, x0
	isb
	mov	x0, #3			/* CNTHCTL_EL2: EL1PCTEN, EL1PCEN */
	msr	cnthctl_el2, x0
	msr	cntvoff_el2, xzr
	mov	x0, #0x33ff		/* CPTR_EL2: RES1 bits, FP not trapped */
	msr	cptr_el2, x0
	msr	hstr_el2, xzr
	msr	vttbr_el2, xzr
	mrs	x0, midr_el1
	msr	vpidr_el2, x0
	mrs	x0, mpidr_el1
	msr	vmpidr_el2, x0

	/* MDCR_EL2.HPMN = PMCR_EL0.N: all counters are EL1's, no trap. Only where there is a PMU
	 * (ID_AA64DFR0.PMUVer). */
	mrs	x0, id_aa64dfr0_el1
	ubfx	x0, x0, #8, #4
	cbz	x0, 2f
	cmp	x0, #0xf
	b.eq	2f
	mrs	x0, pmcr_el0
	ubfx	x0, x0, #11, #5
	msr	mdcr_el2, x0
2:
	/* ID_AA64MMFR0.FGT: fine-grained traps come up unknown. HFGRTR, HFGWTR, HFGITR, HDFGRTR,
	 * HDFGWTR */
	mrs	x0, id_aa64mmfr0_el1
	ubfx	x0, x0, #56, #4
	cbz	x0, 3f
	msr	s3_4_c1_c1_4, xzr
	msr	s3_4_c1_c1_5, xzr
	msr	s3_4_c1_c1_6, xzr
	msr	s3_4_c3_c1_4, xzr
	msr	s3_4_c3_c1_5, xzr
3:
	/* System-register GIC for EL1, nothing virtual. */
	mrs	x0, id_aa64pfr0_el1
	ubfx	x0, x0, #24, #4
	cbz	x0, 4f
	mov	x0, #0xf
	msr	s3_4_c12_c9_5, x0	/* ICC_SRE_EL2: Enable, DIB, DFB, SRE */
	isb
	msr	s3_4_c12_c11_0, xzr	/* ICH_HCR_EL2 */
4:
	adr	x0, hyp_vectors
	msr	vbar_el2, x0
	ldr	x0, =SCTLR_EL1_OFF
	msr	sctlr_el1, x0
	mov	x0, #0x3c5		/* EL1h, DAIF masked */
	msr	spsr_el2, x0
	msr	elr_el2, x30
	mov	x0, #1
	isb
	eret

	.balign	2048
hyp_vectors:
	.rept	8			/* from EL2 itself: cannot happen */
	b	.
	.balign	128
	.endr
	/* synchronous, from EL1 */
	cmp	x0, #HVC_SET_ID
	b.ne	1f
	msr	vpidr_el2, x1
	mrs	x0, mdcr_el2
	bfi	x0, x2, #0, #5
	msr	mdcr_el2, x0
	isb
	mov	x0, #0
	eret
1:	mov	x0, #-1
	eret
	.balign	128
	.rept	7
	b	.
	.balign	128
	.endr
	.ltorg

	.section .bss.boot_stack, "aw", %nobits
	.balign	STACK_SLOT
	.skip	STACK_SIZE
	.globl	boot_stack
boot_stack:
	.skip	STACK_SIZE
	.globl	boot_stack_top
boot_stack_top:
	.skip	16
