/* SPDX-License-Identifier: MIT
 *
 * replay.c: run a fuzz target over files, or over all files of directories: a plain main(), so that
 * corpora are ordinary tests in every build and a finding can be looked at in a debugger.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

#define FILE_MAX      (1u << 16)
#define PATH_MAX_HERE 4096u

static uint32_t files_run;

static int run_file(const char *path)
{
	static uint8_t bytes[FILE_MAX];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	fprintf(stderr, "%s (%zu bytes)\n", path, size); /* the last line names what aborted */
	(void)LLVMFuzzerTestOneInput(bytes, size);
	files_run++;
	return 0;
}

static int run_path(const char *path)
{
	char name[PATH_MAX_HERE];
	DIR *directory = opendir(path);
	const struct dirent *entry;
	int failures = 0;

	if (!directory)
		return run_file(path);
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		failures += run_file(name);
	}
	closedir(directory);
	return failures;
}

int main(int argc, char **argv)
{
	int failures = 0;

	for (int i = 1; i < argc; i++)
		failures += run_path(argv[i]);
	if (files_run == 0) {
		fprintf(stderr, "no input was run\n");
		return 2;
	}
	printf("%u inputs passed\n", files_run);
	return failures != 0;
}
