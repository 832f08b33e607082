/* SPDX-License-Identifier: MIT
 *
 * list_mutants.c: the table of seeded faults as lines of fields with a tab between, for the gate.
 */
#include <stddef.h>
#include <stdio.h>

#include "mutants.h"

int main(void)
{
	const struct seeded_fault *fault;

	for (uint32_t i = 0; (fault = seeded_fault_get(i)) != NULL; i++)
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", fault->name,
			fault->laws[0] != '\0' ? fault->laws : "-",
			fault->scenario[0] != '\0' ? fault->scenario : "-",
			fault->bound[0] != '\0' ? fault->bound : "test", fault->fault,
			fault->spared != NULL ? fault->spared : "-");
	return ferror(stdout) != 0 || fflush(stdout) != 0;
}
