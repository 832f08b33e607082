/* SPDX-License-Identifier: MIT
 *
 * test_perf_data.c: the sections of a perf.data file and what may share one. That perf itself reads
 * it is tested by the perf_reads_*.sh scripts.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf_data.h"
#include "perf_data_features.h"

#define COMMON_SAMPLE (TALLY_SAMPLE_IP | TALLY_SAMPLE_TID)

static const uint64_t ids[] = {11, 12, 21};
static const char *const command[] = {"tally", "run", "x.yaml"};
static const struct perf_data_origin origin = {
	.hostname = "host",
	.release = "1",
	.machine = "8 CPUs",
	.cpus = 8,
	.command = command,
	.command_count = 3,
};

static struct perf_data_event event_of(const char *name, uint64_t sample_type, uint64_t flags)
{
	return (struct perf_data_event){
		.attr = {.type = TALLY_TYPE_HARDWARE, .sample_type = sample_type, .flags = flags},
		.name = name,
		.ids = ids,
		.id_count = 1,
	};
}

struct check_case {
	const char *what;
	uint64_t first;
	uint64_t second;
	uint64_t first_flags;
	uint64_t second_flags;
	bool good;
};

static const struct check_case check_cases[] = {
	{"no ids", COMMON_SAMPLE, COMMON_SAMPLE, 0, 0, false},
	{"one without id", COMMON_SAMPLE | TALLY_SAMPLE_ID, COMMON_SAMPLE, 0, 0, false},
	{"same type with id", COMMON_SAMPLE | TALLY_SAMPLE_ID, COMMON_SAMPLE | TALLY_SAMPLE_ID, 0,
		0, true},
	{"id behind other fields", COMMON_SAMPLE | TALLY_SAMPLE_ID,
		COMMON_SAMPLE | TALLY_SAMPLE_ID | TALLY_SAMPLE_ADDR, 0, 0, false},
	{"id with a field behind it", COMMON_SAMPLE | TALLY_SAMPLE_ID,
		COMMON_SAMPLE | TALLY_SAMPLE_ID | TALLY_SAMPLE_PERIOD, 0, 0, true},
	{"id elsewhere in the trailer", COMMON_SAMPLE | TALLY_SAMPLE_ID,
		COMMON_SAMPLE | TALLY_SAMPLE_ID | TALLY_SAMPLE_CPU, 0, 0, false},
	{"identifier and anything", COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER,
		COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER | TALLY_SAMPLE_ADDR | TALLY_SAMPLE_CPU, 0,
		0, true},
	{"trailers of two kinds", COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER,
		COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER, TALLY_ATTR_SAMPLE_ID_ALL, 0, false},
	{"time without a trailer", COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER | TALLY_SAMPLE_TIME,
		COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER, 0, 0, false},
	{"no ip", TALLY_SAMPLE_TID | TALLY_SAMPLE_IDENTIFIER,
		COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER, 0, 0, false},
	{"values without ids", COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER | TALLY_SAMPLE_READ,
		COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER, 0, 0, false},
};

Test(perf_data, which_events_share_a_file)
{
	for (size_t i = 0; i < sizeof(check_cases) / sizeof(check_cases[0]); i++) {
		const struct check_case *c = &check_cases[i];
		struct perf_data_event events[2] = {event_of("a", c->first, c->first_flags),
			event_of("b", c->second, c->second_flags)};
		struct failure failure = {0};

		perf_data_check(events, 2, &failure);
		cr_expect_eq(!failure.failed, c->good, "%s: %s", c->what, failure.text);
	}
}

Test(perf_data, nothing_to_write)
{
	struct failure failure = {0};

	perf_data_check(NULL, 0, &failure);
	cr_expect(failure.failed);
}

/* The whole file. */
static uint8_t *load(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	cr_assert_not_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	cr_assert_eq(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

/* Types and sizes of the records, in order. */
static void check_records(
	const uint8_t *records, uint64_t size, const uint32_t *types, size_t count)
{
	struct tally_record_header header;
	size_t k = 0;

	for (uint64_t at = 0; at < size; at += header.size, k++) {
		memcpy(&header, records + at, sizeof(header));
		cr_assert_lt(k, count, "more records than were written");
		cr_expect_eq(header.type, types[k], "record %zu has type %u", k, header.type);
		cr_assert_eq(header.size % 8, 0);
		cr_assert_leq(at + header.size, size);
	}
	cr_expect_eq(k, count);
}

static void check_features(const uint8_t *bytes, size_t size, const struct perf_data_header *header)
{
	uint64_t at = header->records.offset + header->records.size;
	uint64_t end = at;
	int count = __builtin_popcountll(header->features[0]);

	cr_expect_eq(header->features[1] | header->features[2] | header->features[3], 0);
	for (int i = 0; i < count; i++) {
		struct perf_data_section section;

		memcpy(&section, bytes + at + (size_t)i * sizeof(section), sizeof(section));
		if (i == 0)
			end = at + (size_t)count * sizeof(section);
		cr_expect_eq(section.offset, end, "section %d does not follow the one before", i);
		cr_expect_gt(section.size, 0);
		end = section.offset + section.size;
	}
	cr_expect_eq(end, size, "the sections end at %zu of %zu", (size_t)end, size);
}

Test(perf_data, layout)
{
	const uint64_t sample_type = COMMON_SAMPLE | TALLY_SAMPLE_IDENTIFIER | TALLY_SAMPLE_TIME;
	struct perf_data_event events[2] = {event_of("a", sample_type, TALLY_ATTR_SAMPLE_ID_ALL),
		event_of("b", sample_type, TALLY_ATTR_SAMPLE_ID_ALL)};
	struct {
		struct tally_record_header header;
		uint64_t identifier;
		uint64_t ip;
		uint32_t pid;
		uint32_t tid;
		uint64_t time_ns;
	} sample = {
		{TALLY_RECORD_SAMPLE, TALLY_MISC_USER, sizeof(sample)}, 21, 0x400000, 7, 7, 1000};
	static const uint32_t types[] = {TALLY_RECORD_COMM, TALLY_RECORD_FORK, TALLY_RECORD_MMAP2,
		TALLY_RECORD_SAMPLE, TALLY_RECORD_MMAP, TALLY_RECORD_MMAP2};
	struct elf_mapping mapping = {.address = 0x400000, .size = 4096, .file_offset = 4096};
	struct perf_data_header header;
	struct perf_data_attr attr;
	struct failure failure = {0};
	char path[32] = "/tmp/test_data_XXXXXX";
	struct perf_data *data;
	uint8_t *bytes;
	size_t size;

	events[0].id_count = 2;
	events[1].ids = &ids[2];
	events[1].leader = 1;
	close(mkstemp(path));
	data = perf_data_open(path, &origin, events, 2, &failure);
	cr_assert_not_null(data, "%s", failure.text);
	perf_data_comm(data, 7, 7, "a_name_of_more_than_15_bytes", false, 0);
	perf_data_fork(data, 8, 7, 8, 7, 10);
	perf_data_map(data, 7, 7, "/x/y.elf", &mapping, 0);
	perf_data_append(data, &sample.header);
	perf_data_map_kernel(data, "/x/kernel.ko", &mapping);
	perf_data_close(data, &failure);
	cr_assert_not(failure.failed, "%s", failure.text);

	bytes = load(path, &size);
	memcpy(&header, bytes, sizeof(header));
	cr_expect_eq(memcmp(&header.magic, "PERFILE2", 8), 0);
	cr_expect_eq(header.size, sizeof(header));
	cr_expect_eq(header.attr_size, sizeof(attr));
	cr_expect_eq(header.attrs.size, 2 * sizeof(attr));
	for (size_t i = 0, id = 0; i < 2; i++) {
		memcpy(&attr, bytes + header.attrs.offset + i * sizeof(attr), sizeof(attr));
		cr_expect_eq(attr.attr.size, sizeof(struct tally_attr));
		cr_assert_eq(attr.ids.size, events[i].id_count * sizeof(uint64_t));
		for (size_t k = 0; k < events[i].id_count; k++, id++)
			cr_expect_eq(memcmp(bytes + attr.ids.offset + k * 8, &ids[id], 8), 0);
	}
	check_records(bytes + header.records.offset, header.records.size, types, 6);
	check_features(bytes, size, &header);
	free(bytes);
	unlink(path);
}

Test(perf_data, write_errors_are_told)
{
	struct perf_data_event event = event_of("a", COMMON_SAMPLE, 0);
	struct failure failure = {0};
	struct perf_data *data;

	cr_expect_null(perf_data_open("/no/such/folder/perf.data", &origin, &event, 1, &failure));
	cr_expect(failure.failed);

	failure.failed = false;
	data = perf_data_open("/dev/full", &origin, &event, 1, &failure);
	cr_assert_not_null(data);
	perf_data_close(data, &failure);
	cr_expect(failure.failed);
}
