/* SPDX-License-Identifier: MIT
 *
 * perf_data_features.h: what perf_data.c and perf_data_features.c know in common: the file's fixed
 * parts and the state of a file being written. Nobody else includes it.
 */
#ifndef TALLY_TOOLS_PERF_DATA_FEATURES_H
#define TALLY_TOOLS_PERF_DATA_FEATURES_H

#include <stdio.h>

#include "perf_data.h"

/* A stretch of the file. */
struct perf_data_section {
	uint64_t offset;
	uint64_t size;
};

#define PERF_DATA_FEATURE_WORDS 4u

struct perf_data_header {
	uint64_t magic;
	uint64_t size;
	uint64_t attr_size;
	struct perf_data_section attrs;
	struct perf_data_section records;
	struct perf_data_section event_types; /* no longer used by perf: empty */
	uint64_t features[PERF_DATA_FEATURE_WORDS];
};
_Static_assert(sizeof(struct perf_data_header) == 104, "perf.data header");

struct perf_data_attr {
	struct tally_attr attr;
	struct perf_data_section ids;
};

/* One file that was mapped, for the table of build ids. */
struct perf_data_build_id {
	char path[4096];
	uint32_t misc;
	uint8_t id[ELF_BUILD_ID_SIZE];
};

struct perf_data {
	FILE *file;
	const char *path;
	const struct perf_data_origin *origin;
	const struct perf_data_event *events;
	size_t event_count;
	uint64_t attrs_at;   /* file offset */
	uint64_t records_at; /* file offset */
	uint64_t first_ns;   /* time of samples; valid with has_samples */
	uint64_t last_ns;
	struct perf_data_build_id *build_ids;
	size_t build_id_count;
	bool has_samples;
	bool out_of_memory;
};

/* Remember a mapped file, once. */
void build_ids_note(struct perf_data *data, uint32_t misc, const char *path,
	const uint8_t id[ELF_BUILD_ID_SIZE]);

/* Write all feature sections at the file's position, and set their bits. */
void perf_data_features_write(struct perf_data *data, uint64_t features[PERF_DATA_FEATURE_WORDS]);

#endif
