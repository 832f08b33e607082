/* SPDX-License-Identifier: MIT
 *
 * explore_main.c: the program `tally-explore`, which `tally explore`, `tally replay` and `tally
 * shrink` become: the same simulator around an engine that is instrumented access by access.
 */
#include <stdio.h>
#include <string.h>

#include "explore_command.h"

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "explore") == 0)
		return explore_command(argc, argv);
	if (argc >= 2 && strcmp(argv[1], "replay") == 0)
		return replay_command(argc, argv);
	if (argc >= 2 && strcmp(argv[1], "shrink") == 0)
		return shrink_command(argc, argv);
	fputs("usage: tally explore|replay|shrink ...\n", stderr);
	return 2;
}
