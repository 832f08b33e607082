/* SPDX-License-Identifier: MIT
 *
 * explore_command.h: `tally explore`, `tally replay` and `tally shrink`. Exit status: 0 nothing
 * wrong, 1 something was found, 2 wrong usage or input, 3 stopped before the end.
 */
#ifndef TALLY_TOOLS_EXPLORE_COMMAND_H
#define TALLY_TOOLS_EXPLORE_COMMAND_H

int explore_command(int argc, char **argv);
int replay_command(int argc, char **argv);
int shrink_command(int argc, char **argv);

#endif
