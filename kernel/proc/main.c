/* SPDX-License-Identifier: MIT
 *
 * main.c: the order in which the kernel comes up, on the boot CPU, from virtual addresses to the
 * first process.
 */
#include <kernel/cpu.h>
#include <kernel/file.h>
#include <kernel/irq.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/task.h>

#include "../arch/smp.h"

_Noreturn void kernel_main(u64 fdt_pa, u64 booted_at_el2);

extern char text_start[], image_end[];

static void memory_init(void)
{
	machine.reserved[machine.reserveds++] = (struct range){
		virt_to_phys(text_start), (u64)(image_end - text_start)};
	for (u32 i = 0; i < machine.rams; i++)
		mmu_map_linear(machine.ram[i].start, machine.ram[i].size);
	page_init();
	mmu_pages_ready();
	mmu_init_this_cpu();
}

static void print_machine(void)
{
	u32 online = 0;

	for (u32 i = 0; i < cpus_possible; i++)
		online += cpus[i].online;
	printk("tally: %u of %u CPUs, %lu MiB, entered at EL%d\n", online, cpus_possible,
		pages_total() >> 8, machine.booted_at_el2 ? 2 : 1);
	for (u32 i = 0; i < cpus_possible; i++) {
		const char *name = cpu_part_name(cpus[i].midr);

		if (cpus[i].online)
			printk("tally: cpu %u: mpidr %lx midr %lx %s\n", i, cpus[i].mpidr,
				cpus[i].midr, name != NULL ? name : "");
	}
}

_Noreturn void kernel_main(u64 fdt_pa, u64 booted_at_el2)
{
	cpu_init_this();
	machine_read(phys_to_virt(fdt_pa), fdt_pa);
	machine.booted_at_el2 = booted_at_el2 != 0;
	memory_init();
	smp_init();
	cluster_apply_this_cpu(0);
	tasks_init();
	gic_init();
	timer_init();
	cpu_come_online();
	smp_start_secondaries();
	print_machine();
	initramfs_init();
	console_init();
	start_init();
	sched_idle_loop();
}
