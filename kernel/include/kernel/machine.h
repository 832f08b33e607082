/* SPDX-License-Identifier: MIT
 *
 * machine.h: what the device tree says about the machine, read once at boot (arch/machine.c) and
 * constant afterwards.
 *
 * Addresses are physical. An interrupt that the tree does not name is 0 (an SGI, so never a
 * device's).
 */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

#include <kernel/types.h>

#define MACHINE_RANGES_MAX  32u
#define MACHINE_REDISTS_MAX 4u
#define BOOTARGS_MAX        1024u

struct range {
	u64 start;
	u64 size;
};

enum uart_kind {
	UART_NONE,
	UART_PL011,
	UART_8250, /* snps,dw-apb-uart and ns16550a */
};

struct machine {
	struct range ram[MACHINE_RANGES_MAX];
	u32 rams;
	struct range reserved[MACHINE_RANGES_MAX]; /* not to be handed out: kernel, dtb, initrd,
						      firmware */
	u32 reserveds;
	u64 mpidr[CPUS_MAX]; /* affinity fields; the boot CPU is index 0 */
	u32 cpus;
	struct range gic_dist;
	struct range gic_redist[MACHINE_REDISTS_MAX];
	u64 gic_redist_stride; /* 0: the architecture's 128 KiB */
	u32 gic_redists;
	u32 timer_intid;         /* virtual timer */
	u32 pmu_intid[CPUS_MAX]; /* PPIs; 0: that CPU's PMU has none */
	enum uart_kind uart;
	struct range uart_regs;
	u32 uart_reg_shift;
	u32 uart_intid;
	u64 rtc; /* PL031 or 0 */
	bool psci_smc;
	bool psci;
	bool booted_at_el2;
	struct range initrd;
	char bootargs[BOOTARGS_MAX];
};

extern struct machine machine;

/* Fill `machine` from the flattened tree and bring the console up; panics on a bad tree. */
void machine_read(const void *fdt, u64 fdt_pa);

/* The value of word `name=` in the boot arguments, copied to `value`; false: not there. "--" ends
 * the search. */
bool boot_arg(const char *name, char *value, size_t size);

/* ---- UART (arch/uart.c) ---- */
void uart_init(void);
void uart_put(char c);
void uart_enable_rx(void (*received)(char c));

/* ---- PSCI (arch/psci.c), DEN 0022 ---- */
s64 psci_cpu_on(u64 mpidr, u64 entry_pa, u64 context);
_Noreturn void psci_system_off(void);

/* ---- EL2 facts, when entered there (arch/cluster.c) ---- */
/* Apply `tally.cluster2=CPULIST:MIDR:NCOUNTERS` to this CPU. Before anything reads MIDR or the PMU.
 */
void cluster_apply_this_cpu(u32 cpu);

#endif
