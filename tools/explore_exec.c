/* SPDX-License-Identifier: MIT
 *
 * explore_exec.c: becoming tally-explore (explore_exec.h). It is a program of its own because it
 * holds another build of the engine, in which every access to memory is a call.
 */
#define _GNU_SOURCE
#include "explore_exec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "tally-explore"

bool explore_exec(char **argv)
{
	static const char *const commands[] = {"explore", "replay", "shrink"};
	char path[4096];
	ssize_t length;
	char *slash;
	bool ours = false;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		ours |= strcmp(argv[1], commands[i]) == 0;
	if (!ours)
		return false;
	length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM) - 1);
	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash != NULL ? slash + 1 : path, PROGRAM);
	execv(path, argv);
	fprintf(stderr, "tally %s: %s: %s\n", argv[1], path, strerror(errno));
	return true;
}
