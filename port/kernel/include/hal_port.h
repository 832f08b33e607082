/* SPDX-License-Identifier: MIT
 *
 * hal_port.h: the hot half of the HAL on our kernel, inline.
 *
 * Seen by every file of the engine, so it includes only headers that bring no names of the kernel's
 * own with them. Who and when is one load through SP_EL0 (kernel/task_head.h) or one counter read
 * (kernel/clock.h); the interrupt mask is the I bit of DAIF. A register of the PMU that is a
 * constant becomes its one instruction; the banks of counters and types go through branch tables,
 * because a system register's number is part of the instruction.
 */
#ifndef HAL_PORT_H
#define HAL_PORT_H

#include <kernel/clock.h>
#include <kernel/task_head.h>

#define HAL_HOT static inline

/* Room for the kernel's struct mutex; the size is asserted in hal.c. */
struct hal_mutex {
	uint64_t words[4];
};

HAL_HOT uint32_t hal_cpu(void)
{
	return __atomic_load_n(&task_head_current()->cpu, __ATOMIC_RELAXED);
}

HAL_HOT uint64_t hal_clock_ns(void)
{
	return clock_ns();
}

HAL_HOT struct tally_task *hal_current(void)
{
	return task_head_current()->tally;
}

HAL_HOT struct hal_irq_key hal_irq_save(void)
{
	struct hal_irq_key key;

	__asm__ volatile("mrs %0, daif\n\tmsr daifset, #2" : "=r"(key.state)::"memory");
	return key;
}

HAL_HOT void hal_irq_restore(struct hal_irq_key key)
{
	__asm__ volatile("msr daif, %0" ::"r"(key.state) : "memory");
}

HAL_HOT void hal_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

HAL_HOT void hal_pmu_barrier(void)
{
	__asm__ volatile("isb" ::: "memory");
}

HAL_HOT void hal_trace(enum hal_trace kind, uint64_t a, uint64_t b)
{
	(void)kind;
	(void)a;
	(void)b;
}

/* A branch into a table of 31 entries of 8 bytes: an access and a branch behind the table; `n` is
 * at most 30. Each object that accesses a bank has a table of its own, so none needs a symbol of
 * the port's. */
#define PORT_BANK_8(access, a, b, c, d, e, f, g, h)                                                \
	access(a) access(b) access(c) access(d) access(e) access(f) access(g) access(h)
#define PORT_BANK(access)                                                                          \
	"	adr	%[at], 1f\n"                                                                         \
	"	add	%[at], %[at], %x[n], lsl #3\n"                                                       \
	"	br	%[at]\n"                                                                              \
	"1:\n" PORT_BANK_8(access, 0, 1, 2, 3, 4, 5, 6, 7)                                         \
		PORT_BANK_8(access, 8, 9, 10, 11, 12, 13, 14, 15)                                  \
			PORT_BANK_8(access, 16, 17, 18, 19, 20, 21, 22, 23) access(24) access(25)  \
				access(26) access(27) access(28) access(29) access(30) "2:\n"
#define PORT_CNTR_READ(k)   "	mrs	%[value], pmevcntr" #k "_el0\n	b	2f\n"
#define PORT_TYPER_READ(k)  "	mrs	%[value], pmevtyper" #k "_el0\n	b	2f\n"
#define PORT_CNTR_WRITE(k)  "	msr	pmevcntr" #k "_el0, %x[value]\n	b	2f\n"
#define PORT_TYPER_WRITE(k) "	msr	pmevtyper" #k "_el0, %x[value]\n	b	2f\n"

#define PORT_BANK_READ(name, access)                                                               \
	static __attribute__((noinline, unused)) uint64_t name(uint64_t n)                         \
	{                                                                                          \
		uint64_t value, at;                                                                \
		__asm__ volatile(PORT_BANK(access)                                                 \
				 : [value] "=&r"(value), [at] "=&r"(at)                            \
				 : [n] "r"(n)                                                      \
				 : "memory");                                                      \
		return value;                                                                      \
	}
#define PORT_BANK_WRITE(name, access)                                                              \
	static __attribute__((noinline, unused)) void name(uint64_t n, uint64_t value)             \
	{                                                                                          \
		uint64_t at;                                                                       \
		__asm__ volatile(PORT_BANK(access)                                                 \
				 : [at] "=&r"(at)                                                  \
				 : [n] "r"(n), [value] "rZ"(value)                                 \
				 : "memory");                                                      \
	}

PORT_BANK_READ(port_pmevcntr_read, PORT_CNTR_READ)
PORT_BANK_READ(port_pmevtyper_read, PORT_TYPER_READ)
PORT_BANK_WRITE(port_pmevcntr_write, PORT_CNTR_WRITE)
PORT_BANK_WRITE(port_pmevtyper_write, PORT_TYPER_WRITE)

#define PORT_MRS(name)                                                                             \
	({                                                                                         \
		uint64_t value_;                                                                   \
		__asm__ volatile("mrs %0, " #name : "=r"(value_)::"memory");                       \
		value_;                                                                            \
	})
#define PORT_MSR(name, value) __asm__ volatile("msr " #name ", %x0" ::"rZ"(value) : "memory")

/* Arm ARM DDI 0487, D19.5 */
HAL_HOT uint64_t hal_pmu_read(uint32_t reg)
{
	if (reg >= HAL_PMEVTYPER)
		return port_pmevtyper_read(reg - HAL_PMEVTYPER);
	if (reg >= HAL_PMEVCNTR)
		return port_pmevcntr_read(reg - HAL_PMEVCNTR);
	switch (reg) {
	case HAL_ID_AA64DFR0:
		return PORT_MRS(id_aa64dfr0_el1);
	case HAL_MIDR:
		return PORT_MRS(midr_el1);
	case HAL_PMCR:
		return PORT_MRS(pmcr_el0);
	case HAL_PMCEID0:
		return PORT_MRS(pmceid0_el0);
	case HAL_PMCEID1:
		return PORT_MRS(pmceid1_el0);
	case HAL_PMCNTENSET:
		return PORT_MRS(pmcntenset_el0);
	case HAL_PMCNTENCLR:
		return PORT_MRS(pmcntenclr_el0);
	case HAL_PMINTENSET:
		return PORT_MRS(pmintenset_el1);
	case HAL_PMINTENCLR:
		return PORT_MRS(pmintenclr_el1);
	case HAL_PMOVSSET:
		return PORT_MRS(pmovsset_el0);
	case HAL_PMOVSCLR:
		return PORT_MRS(pmovsclr_el0);
	case HAL_PMUSERENR:
		return PORT_MRS(pmuserenr_el0);
	case HAL_PMCCNTR:
		return PORT_MRS(pmccntr_el0);
	case HAL_PMCCFILTR:
		return PORT_MRS(pmccfiltr_el0);
	default:
		__builtin_unreachable(); /* hal.h names no other */
	}
}

HAL_HOT void hal_pmu_write(uint32_t reg, uint64_t value)
{
	if (reg >= HAL_PMEVTYPER) {
		port_pmevtyper_write(reg - HAL_PMEVTYPER, value);
		return;
	}
	if (reg >= HAL_PMEVCNTR) {
		port_pmevcntr_write(reg - HAL_PMEVCNTR, value);
		return;
	}
	switch (reg) {
	case HAL_PMCR:
		PORT_MSR(pmcr_el0, value);
		break;
	case HAL_PMCNTENSET:
		PORT_MSR(pmcntenset_el0, value);
		break;
	case HAL_PMCNTENCLR:
		PORT_MSR(pmcntenclr_el0, value);
		break;
	case HAL_PMINTENSET:
		PORT_MSR(pmintenset_el1, value);
		break;
	case HAL_PMINTENCLR:
		PORT_MSR(pmintenclr_el1, value);
		break;
	case HAL_PMOVSSET:
		PORT_MSR(pmovsset_el0, value);
		break;
	case HAL_PMOVSCLR:
		PORT_MSR(pmovsclr_el0, value);
		break;
	case HAL_PMUSERENR:
		PORT_MSR(pmuserenr_el0, value);
		break;
	case HAL_PMCCNTR:
		PORT_MSR(pmccntr_el0, value);
		break;
	case HAL_PMCCFILTR:
		PORT_MSR(pmccfiltr_el0, value);
		break;
	default: /* the identification registers cannot be written */
		__builtin_unreachable();
	}
}

#undef PORT_BANK_8
#undef PORT_BANK
#undef PORT_CNTR_READ
#undef PORT_TYPER_READ
#undef PORT_CNTR_WRITE
#undef PORT_TYPER_WRITE
#undef PORT_BANK_READ
#undef PORT_BANK_WRITE
#undef PORT_MRS
#undef PORT_MSR

#endif
