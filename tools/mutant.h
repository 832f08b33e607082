/* SPDX-License-Identifier: MIT
 *
 * mutant.h: seeded faults. Only the program tally-explore-mutants has any (tests/mutants).
 */
#ifndef TALLY_TOOLS_MUTANT_H
#define TALLY_TOOLS_MUTANT_H

#include <stdbool.h>

/* Let the engine have this fault from now on; NULL: none. false: there is no such fault. */
bool mutant_choose(const char *name);

#endif
