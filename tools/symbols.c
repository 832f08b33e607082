/* SPDX-License-Identifier: MIT
 *
 * symbols.c: names of addresses in this very program (symbols.h), by elfutils' libdwfl.
 *
 * The program is opened once, when a name is first wanted. Without symbols or debug information
 * names are left out; nothing fails. What is looked up is a return address: the call is just before
 * it.
 */
#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Dwfl *open_self(void)
{
	static char *no_debuginfo_path = NULL;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_debuginfo_path,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl == NULL)
		return NULL;
	if (dwfl_linux_proc_report(dwfl, getpid()) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0) {
		dwfl_end(dwfl);
		return NULL;
	}
	return dwfl;
}

/* The module that holds the address; NULL: none. */
static Dwfl_Module *module_of(uint64_t address)
{
	static Dwfl *self;
	static bool tried;

	if (!tried)
		self = open_self();
	tried = true;
	return self != NULL ? dwfl_addrmodule(self, address) : NULL;
}

const char *symbol_name(const void *address)
{
	uint64_t at = (uint64_t)(uintptr_t)address - 1;
	Dwfl_Module *module = module_of(at);

	return module != NULL ? dwfl_module_addrname(module, at) : NULL;
}

const char *symbol_place(const void *address)
{
	static char text[160];
	uint64_t at = (uint64_t)(uintptr_t)address - 1;
	Dwfl_Module *module = module_of(at);
	const char *name = module != NULL ? dwfl_module_addrname(module, at) : NULL;
	Dwfl_Line *line = module != NULL ? dwfl_module_getsrc(module, at) : NULL;
	const char *file = NULL;
	int number = 0;

	if (line != NULL)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (file != NULL && strrchr(file, '/') != NULL)
		file = strrchr(file, '/') + 1;
	if (file != NULL)
		snprintf(text, sizeof(text), "%s (%s:%d)", name != NULL ? name : "?", file, number);
	else
		snprintf(text, sizeof(text), "%s", name != NULL ? name : "?");
	return text;
}
