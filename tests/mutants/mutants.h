/* SPDX-License-Identifier: MIT
 *
 * mutants.h: the seeded faults, one row each: what is wrong, and how it must be found.
 */
#ifndef TALLY_TESTS_MUTANTS_H
#define TALLY_TESTS_MUTANTS_H

#include <stdbool.h>
#include <stdint.h>

struct seeded_fault {
	const char *name;
	uint32_t mutant;      /* enum tally_mutant */
	const char *fault;    /* one line for people */
	const char *laws;     /* that may find it, comma between; as explore_law() names them */
	const char *scenario; /* in which it must be found: a name below scenarios/, or a plan */
	const char *bound;    /* within which budget, P/I/S; "": the scenario's for test runs */
	const char *spared;   /* why the explorer cannot find it; NULL: it must */
};

/* NULL past the last. */
const struct seeded_fault *seeded_fault_get(uint32_t index);

#endif
