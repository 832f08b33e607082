/* SPDX-License-Identifier: MIT
 *
 * machine.c: the description of this machine, and the boot arguments in it.
 *
 * Filled once, on the boot CPU, before there is memory to allocate, from the device tree that the
 * boot loader handed over (devtree.c reads it). The console comes up here, so that whatever is
 * wrong with the rest of the tree can be said.
 */
#include <kernel/arch.h>
#include <kernel/devtree.h>
#include <kernel/machine.h>
#include <kernel/printk.h>
#include <kernel/string.h>

struct machine machine;

void machine_read(const void *fdt, u64 fdt_pa)
{
	u64 boot_mpidr = SYSREG_READ(mpidr_el1) & MPIDR_AFFINITY;
	const char *problem = devtree_read(&machine, fdt, DEVTREE_BYTES_MAX, fdt_pa, boot_mpidr);

	uart_init();
	if (problem != NULL)
		panic("device tree at %lx: %s", fdt_pa, problem);
}

bool boot_arg(const char *name, char *value, size_t size)
{
	const char *p = machine.bootargs;
	size_t name_len = strlen(name);

	while (*p != '\0') {
		size_t word = 0;

		while (p[word] != '\0' && p[word] != ' ')
			word++;
		if (word == 2 && p[0] == '-' && p[1] == '-')
			return false;
		if (word > name_len && strncmp(p, name, name_len) == 0 && p[name_len] == '=') {
			string_copy(value, p + name_len + 1, MIN(size, word - name_len));
			return true;
		}
		p += word;
		while (*p == ' ')
			p++;
	}
	return false;
}
