/* SPDX-License-Identifier: MIT
 *
 * step_table.h: what happened around the deviations of a run, one column per CPU.
 */
#ifndef TALLY_TOOLS_STEP_TABLE_H
#define TALLY_TOOLS_STEP_TABLE_H

#include <stdbool.h>

#include "explore_target.h"

/* Run the trace once more and print it on stdout. `all`: every step, not only those near a
 * deviation and near the end. Returns what was wrong with the run, or NULL. */
const char *step_table_print(
	struct explore_target *target, const struct explorer_trace *trace, bool all);

#endif
