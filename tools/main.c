/* SPDX-License-Identifier: MIT
 *
 * main.c: the program `tally`: picks the subcommand.
 *
 * Exit status, of every subcommand: 0 all is as it should be; 1 the run found a fault; 2 the
 * command line or the input is wrong, and nothing was done.
 */
#include <stdio.h>
#include <string.h>

#include "explore_exec.h"
#include "run_command.h"

static const char usage[] =
	"usage: tally COMMAND ...\n"
	"\n"
	"Runs the Tally perf engine on a simulated multi-CPU Arm machine.\n"
	"\n"
	"commands:\n"
	"  run SCENARIO     run a scenario and compare every count with the oracle's\n"
	"  explore NAME...  run a scenario in every way that it can happen, within a budget\n"
	"  replay TRACE     run the one run that a line of text names, and print its steps\n"
	"  shrink TRACE     the same fault with fewer deviations and operations\n"
	"\n"
	"`tally COMMAND --help` says more.\n"
	"exit status: 0 all counts right, 1 a fault was found, 2 wrong usage or input\n";

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (strcmp(argv[1], "run") == 0)
		return run_command(argc, argv);
	if (explore_exec(argv))
		return 2;
	fprintf(stderr, "tally: unknown command `%s`\n%s", argv[1], usage);
	return 2;
}
