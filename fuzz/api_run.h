/* SPDX-License-Identifier: MIT
 *
 * api_run.h: bytes to a run: a machine, tasks, operations, and the oracle at their side.
 *
 * Any bytes are a run. Fuzzers mutate them, a seed makes them (api_bytes_of_seed()), a corpus file
 * holds them: all decode to the machine's one vocabulary of operations. Layout: a head of 8 bytes
 * (machine, policy, seed, tasks), two bytes for each task, then operations, each with its length in
 * front, so that a mutation of one leaves the others what they were. What is missing reads as 0.
 */
#ifndef FUZZ_API_RUN_H
#define FUZZ_API_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <oracle/oracle.h>

#define API_OPERATIONS_MAX 48u
#define API_TASKS_MAX      6u

struct api_outcome {
	bool failed;     /* the machine or the kernel broke a rule, or the oracle objects */
	char text[2048]; /* why */
	struct oracle_tally tally;
	uint64_t opened;
	uint64_t samples;
	uint64_t hash; /* of everything that happened */
};

/* Fill `bytes` with a run of that seed; returns how many bytes it takes (at most `room`). */
size_t api_bytes_of_seed(uint64_t seed, uint8_t *bytes, size_t room);

/* Run them. `print`: write the operations and their results to stdout. */
void api_run(const uint8_t *bytes, size_t size, bool print, struct api_outcome *outcome);

#endif
