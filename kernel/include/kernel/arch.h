/* SPDX-License-Identifier: MIT
 *
 * arch.h: the instructions that C has no words for: system registers, barriers, the interrupt mask.
 *
 * Only the I bit of DAIF (Arm ARM DDI 0487, C5.2.2) is used to keep interrupts out: there are no
 * FIQs of ours, and SErrors are fatal.
 */
#ifndef KERNEL_ARCH_H
#define KERNEL_ARCH_H

#include <kernel/types.h>

#define SYSREG_READ(name)                                                                          \
	({                                                                                         \
		u64 value_;                                                                        \
		__asm__ volatile("mrs %0, " #name : "=r"(value_));                                 \
		value_;                                                                            \
	})
#define SYSREG_WRITE(name, value) __asm__ volatile("msr " #name ", %x0" ::"rZ"((u64)(value)))

#define DAIF_I BIT(7)

static inline void isb(void)
{
	__asm__ volatile("isb" ::: "memory");
}

static inline void dsb_sy(void)
{
	__asm__ volatile("dsb sy" ::: "memory");
}

static inline void dsb_ish(void)
{
	__asm__ volatile("dsb ish" ::: "memory");
}

static inline void dsb_ishst(void)
{
	__asm__ volatile("dsb ishst" ::: "memory");
}

static inline void dmb_ish(void)
{
	__asm__ volatile("dmb ish" ::: "memory");
}

static inline void cpu_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

static inline void irq_enable(void)
{
	__asm__ volatile("msr daifclr, #2" ::: "memory");
}

static inline void irq_disable(void)
{
	__asm__ volatile("msr daifset, #2" ::: "memory");
}

static inline bool irqs_off(void)
{
	return (SYSREG_READ(daif) & DAIF_I) != 0;
}

static inline u64 irq_save(void)
{
	u64 flags = SYSREG_READ(daif);

	irq_disable();
	return flags;
}

static inline void irq_restore(u64 flags)
{
	__asm__ volatile("msr daif, %0" ::"r"(flags) : "memory");
}

#endif
