/* SPDX-License-Identifier: MIT
 *
 * psci.c: the firmware calls that start CPUs and switch the machine off (Arm DEN 0022, PSCI 1.0).
 *
 * The conduit, HVC or SMC, is the device tree's. Any context.
 */
#include <kernel/arch.h>
#include <kernel/machine.h>

#define PSCI_CPU_ON     0xc4000003ull
#define PSCI_SYSTEM_OFF 0x84000008ull

static s64 psci_call(u64 function, u64 a, u64 b, u64 c)
{
	register u64 x0 __asm__("x0") = function;
	register u64 x1 __asm__("x1") = a;
	register u64 x2 __asm__("x2") = b;
	register u64 x3 __asm__("x3") = c;

	if (machine.psci_smc)
		__asm__ volatile("smc #0"
				 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory", "x4", "x5",
				 "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
				 "x16", "x17");
	else
		__asm__ volatile("hvc #0"
				 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory", "x4", "x5",
				 "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
				 "x16", "x17");
	return (s64)x0;
}

s64 psci_cpu_on(u64 mpidr, u64 entry_pa, u64 context)
{
	if (!machine.psci)
		return -1;
	return psci_call(PSCI_CPU_ON, mpidr, entry_pa, context);
}

_Noreturn void psci_system_off(void)
{
	irq_disable();
	if (machine.psci)
		psci_call(PSCI_SYSTEM_OFF, 0, 0, 0);
	for (;;)
		__asm__ volatile("wfi");
}
