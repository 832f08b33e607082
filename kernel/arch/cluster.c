/* SPDX-License-Identifier: MIT
 *
 * cluster.c: makes some CPUs look like another core, when the kernel was entered at EL2.
 *
 * Boot argument: tally.cluster2=CPULIST:MIDR:NCOUNTERS, for example
 * tally.cluster2=2-3:0x410fd083:4. CPULIST is Linux's form (0,2-3). Those CPUs then read MIDR in
 * MIDR_EL1 (through VPIDR_EL2) and NCOUNTERS in PMCR_EL0.N (through MDCR_EL2.HPMN; Arm ARM DDI
 * 0487, D19.3). It gives an emulator of equal cores two kinds of PMU to show. Applied on each CPU
 * before anything reads either register. Without EL2 the argument is reported and ignored.
 */
#include <kernel/arch.h>
#include <kernel/hyp.h>
#include <kernel/machine.h>
#include <kernel/printk.h>
#include <kernel/string.h>

static bool list_has(const char *list, char **end, u32 cpu)
{
	bool found = false;
	char *p = (char *)(u64)list;

	for (;;) {
		unsigned long first = strtoul(p, &p, 10);
		unsigned long last = first;

		if (*p == '-')
			last = strtoul(p + 1, &p, 10);
		found |= cpu >= first && cpu <= last;
		if (*p != ',')
			break;
		p++;
	}
	*end = p;
	return found;
}

void cluster_apply_this_cpu(u32 cpu)
{
	char value[128];
	char *p;
	u64 midr, counters;

	if (!boot_arg("tally.cluster2", value, sizeof(value)))
		return;
	if (!machine.booted_at_el2) {
		if (cpu == 0)
			printk("tally.cluster2: not entered at EL2, ignored\n");
		return;
	}
	if (!list_has(value, &p, cpu))
		return;
	midr = *p == ':' ? strtoul(p + 1, &p, 0) : 0;
	counters = *p == ':' ? strtoul(p + 1, &p, 0) : 0;
	if (midr == 0 || *p != '\0') {
		printk("tally.cluster2: expected CPULIST:MIDR:NCOUNTERS\n");
		return;
	}
	/* HPMN above PMCR_EL0.N is CONSTRAINED UNPREDICTABLE; reads of N here are still the
	 * hardware's. */
	counters = MIN(counters, (SYSREG_READ(pmcr_el0) >> 11) & 31);

	register u64 x0 __asm__("x0") = HVC_SET_ID;
	register u64 x1 __asm__("x1") = midr;
	register u64 x2 __asm__("x2") = counters;
	__asm__ volatile("hvc #0" : "+r"(x0) : "r"(x1), "r"(x2) : "memory");
	isb();
}
