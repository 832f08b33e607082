/* SPDX-License-Identifier: MIT
 *
 * failure.h: the first thing that went wrong.
 *
 * Readers and writers of files take a struct failure, and go on with harmless defaults after an
 * error; only the first message is kept, because what follows is its consequence. The caller looks
 * once, at the end. Zeroed memory is "no failure yet".
 */
#ifndef TALLY_TOOLS_FAILURE_H
#define TALLY_TOOLS_FAILURE_H

#include <stdbool.h>

struct failure {
	bool failed;
	char text[400];
};

/* Record a failure unless there is one already. No newline at the end of the message. */
void failure_set(struct failure *failure, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
