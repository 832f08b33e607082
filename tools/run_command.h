/* SPDX-License-Identifier: MIT
 *
 * run_command.h: `tally run SCENARIO`.
 */
#ifndef TALLY_TOOLS_RUN_COMMAND_H
#define TALLY_TOOLS_RUN_COMMAND_H

/* `argv` is the program's own; the exit status is the result. */
int run_command(int argc, char **argv);

#endif
