/* SPDX-License-Identifier: MIT
 *
 * test_random_runs.c: runs by seed, each judged by the oracle to the unit. A plain program, so that
 * it runs under every sanitizer.
 *
 *   test_random_runs               the seeds of the test
 *   test_random_runs FIRST COUNT   these seeds
 *   test_random_runs print SEED    one seed, all that happens in it
 *   test_random_runs save SEED FILE  its bytes, for the fuzz target's corpus
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <api_run.h>

#define SEEDS      1500u
#define BYTES_MAX  1024u
#define FAILED_MAX 5u

struct sums {
	uint64_t failed;
	uint64_t opened;
	uint64_t reads;
	uint64_t records;
	uint64_t samples;
	uint64_t placements;
	uint64_t stretches;
};

static int print_seed(uint64_t seed)
{
	uint8_t bytes[BYTES_MAX];
	size_t size = api_bytes_of_seed(seed, bytes, sizeof(bytes));
	struct api_outcome outcome;

	api_run(bytes, size, true, &outcome);
	printf("%s", outcome.text);
	return outcome.failed;
}

static int save_seed(uint64_t seed, const char *path)
{
	uint8_t bytes[BYTES_MAX];
	size_t size = api_bytes_of_seed(seed, bytes, sizeof(bytes));
	FILE *file = fopen(path, "wb");
	bool written;

	if (!file) {
		perror(path);
		return 1;
	}
	written = fwrite(bytes, 1, size, file) == size;
	return fclose(file) != 0 || !written;
}

static void run_seed(uint64_t seed, struct sums *sums)
{
	uint8_t bytes[BYTES_MAX];
	size_t size = api_bytes_of_seed(seed, bytes, sizeof(bytes));
	struct api_outcome outcome;

	api_run(bytes, size, false, &outcome);
	sums->opened += outcome.opened;
	sums->samples += outcome.samples;
	sums->reads += outcome.tally.reads;
	sums->records += outcome.tally.records;
	sums->placements += outcome.tally.placements;
	sums->stretches += outcome.tally.stretches;
	if (!outcome.failed)
		return;
	sums->failed++;
	if (sums->failed <= FAILED_MAX)
		printf("seed %" PRIu64 ":\n%s", seed, outcome.text);
}

/* The judgement must rest on something. */
static bool is_thin(const struct sums *sums, uint64_t seeds)
{
	return sums->opened < seeds || sums->reads < seeds || sums->records < seeds ||
	       sums->placements < 10 * seeds;
}

int main(int argc, char **argv)
{
	uint64_t first = 1, count = SEEDS;
	struct sums sums = {0};

	if (argc == 3 && !strcmp(argv[1], "print"))
		return print_seed(strtoull(argv[2], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "save"))
		return save_seed(strtoull(argv[2], NULL, 10), argv[3]);
	if (argc == 3) {
		first = strtoull(argv[1], NULL, 10);
		count = strtoull(argv[2], NULL, 10);
	}
	for (uint64_t seed = first; seed < first + count; seed++)
		run_seed(seed, &sums);
	printf("%" PRIu64 " runs, %" PRIu64 " failed: %" PRIu64 " events, %" PRIu64
	       " placements, %" PRIu64 " stretches, %" PRIu64 " reads, %" PRIu64
	       " records, %" PRIu64 " samples\n",
		count, sums.failed, sums.opened, sums.placements, sums.stretches, sums.reads,
		sums.records, sums.samples);
	if (count >= 100 && is_thin(&sums, count)) {
		printf("too little was judged\n");
		return 1;
	}
	return sums.failed != 0;
}
