/* SPDX-License-Identifier: MIT
 *
 * fuzz_api.c: sequences of calls on the simulated machine, with the oracle at their side
 * (libFuzzer). What fails is printed and aborts. Replay one input: fuzz_api_replay FILE.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api_run.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct api_outcome outcome;

	api_run(bytes, size, getenv("TALLY_FUZZ_PRINT") != NULL, &outcome);
	if (outcome.failed) {
		fprintf(stderr, "%s", outcome.text);
		abort();
	}
	return 0;
}
