/* SPDX-License-Identifier: MIT
 *
 * pmu_banks.S: PMEVCNTRn_EL0 and PMEVTYPERn_EL0 by number (Arm ARM DDI 0487, D19.5).
 *
 * A system register's number is part of the instruction, so there is one instruction per register
 * and a branch into the table of them: entry n is 8 bytes, access and return. x0: n, 0 to 30 (not
 * checked), x1: the value to write; x2 and, for reads, x0 are changed.
 */
#define ALL(entry) \
	entry(0); entry(1); entry(2); entry(3); entry(4); entry(5); entry(6); entry(7); \
	entry(8); entry(9); entry(10); entry(11); entry(12); entry(13); entry(14); entry(15); \
	entry(16); entry(17); entry(18); entry(19); entry(20); entry(21); entry(22); entry(23); \
	entry(24); entry(25); entry(26); entry(27); entry(28); entry(29); entry(30)

#define COUNTER_READ(n)	 mrs x0, pmevcntr##n##_el0; ret
#define COUNTER_WRITE(n) msr pmevcntr##n##_el0, x1; ret
#define TYPE_READ(n)	 mrs x0, pmevtyper##n##_el0; ret
#define TYPE_WRITE(n)	 msr pmevtyper##n##_el0, x1; ret

	.macro	enter_table name
	.globl	\name
\name:
	adr	x2, 1f
	add	x2, x2, x0, lsl #3
	br	x2
1:
	.endm

	.text
	enter_table port_pmevcntr_read
	ALL(COUNTER_READ)
	enter_table port_pmevcntr_write
	ALL(COUNTER_WRITE)
	enter_table port_pmevtyper_read
	ALL(TYPE_READ)
	enter_table port_pmevtyper_write
	ALL(TYPE_WRITE)
