/* SPDX-License-Identifier: MIT
 *
 * explore_exec.h: the commands of `tally` that are another program's.
 */
#ifndef TALLY_TOOLS_EXPLORE_EXEC_H
#define TALLY_TOOLS_EXPLORE_EXEC_H

#include <stdbool.h>

/* explore, replay and shrink: become tally-explore, which lies beside this program. Returns only
 * when that cannot be (true: a message was printed), or when argv[1] is another command (false). */
bool explore_exec(char **argv);

#endif
