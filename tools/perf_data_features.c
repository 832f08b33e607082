/* SPDX-License-Identifier: MIT
 *
 * perf_data_features.c: the feature sections of perf.data, which tell where, on what and with which
 * events the data were taken, and which files the mappings name.
 *
 * Behind the records stands a table with one (offset, size) per feature, in the order of the
 * feature bits, then the sections themselves. The table is written twice: as a place holder, and
 * again when the sections are known.
 *
 * The feature ARCH is left out on purpose. With "aarch64" in it, `perf script` of 6.1 on a host of
 * another architecture complains on stderr, for every mapping, that it has no unwinder, although no
 * sample needs one. Without it perf takes the host's, which for symbols makes no difference.
 * CPUDESC says what the machine is, for people.
 */
#include "perf_data_features.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the header's feature map, in file order. */
enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_GROUP_DESC = 17,
	FEATURE_SAMPLE_TIME = 21,
};

#define BUILD_ID_NAME_ALIGN    64u
#define MISC_BUILD_ID_HAS_SIZE 0x8000u
#define ALL_PROCESSES          UINT32_MAX

/* One entry of the table of build ids, before the file name. */
struct build_id_entry {
	struct tally_record_header header;
	uint32_t pid;
	uint8_t id[ELF_BUILD_ID_SIZE];
	uint8_t id_size;
	uint8_t reserved[3];
};
_Static_assert(sizeof(struct build_id_entry) == 36, "build id entry");

void build_ids_note(struct perf_data *data, uint32_t misc, const char *path,
	const uint8_t id[ELF_BUILD_ID_SIZE])
{
	struct perf_data_build_id *entry;
	struct perf_data_build_id *grown;

	for (size_t i = 0; i < data->build_id_count; i++) {
		if (strcmp(data->build_ids[i].path, path) == 0)
			return;
	}
	grown = realloc(data->build_ids, (data->build_id_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		data->out_of_memory = true;
		return;
	}
	data->build_ids = grown;
	entry = &grown[data->build_id_count++];
	assert(strlen(path) < sizeof(entry->path));
	snprintf(entry->path, sizeof(entry->path), "%s", path);
	entry->misc = misc;
	memcpy(entry->id, id, ELF_BUILD_ID_SIZE);
}

static void write_u32(FILE *file, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, file);
}

/* A string of the header: length with padding, bytes, zeros. */
static void write_string(FILE *file, const char *text)
{
	size_t size = strlen(text) + 1;
	size_t padded = (size + BUILD_ID_NAME_ALIGN - 1) / BUILD_ID_NAME_ALIGN *
			BUILD_ID_NAME_ALIGN;
	static const uint8_t zeros[BUILD_ID_NAME_ALIGN];

	write_u32(file, (uint32_t)padded);
	fwrite(text, 1, size, file);
	fwrite(zeros, 1, padded - size, file);
}

static void write_build_ids(struct perf_data *data)
{
	static const uint8_t zeros[BUILD_ID_NAME_ALIGN];

	for (size_t i = 0; i < data->build_id_count; i++) {
		const struct perf_data_build_id *file = &data->build_ids[i];
		size_t size = strlen(file->path) + 1;
		size_t padded = (size + BUILD_ID_NAME_ALIGN - 1) / BUILD_ID_NAME_ALIGN *
				BUILD_ID_NAME_ALIGN;
		struct build_id_entry entry = {
			.header.misc = (uint16_t)(file->misc | MISC_BUILD_ID_HAS_SIZE),
			.header.size = (uint16_t)(sizeof(entry) + padded),
			.pid = ALL_PROCESSES,
			.id_size = ELF_BUILD_ID_SIZE,
		};

		memcpy(entry.id, file->id, ELF_BUILD_ID_SIZE);
		fwrite(&entry, sizeof(entry), 1, data->file);
		fwrite(file->path, 1, size, data->file);
		fwrite(zeros, 1, padded - size, data->file);
	}
}

static void write_event_desc(struct perf_data *data)
{
	write_u32(data->file, (uint32_t)data->event_count);
	write_u32(data->file, sizeof(struct tally_attr));
	for (size_t i = 0; i < data->event_count; i++) {
		const struct perf_data_event *event = &data->events[i];
		struct tally_attr attr = event->attr;

		attr.size = sizeof(attr);
		fwrite(&attr, sizeof(attr), 1, data->file);
		write_u32(data->file, (uint32_t)event->id_count);
		write_string(data->file, event->name);
		fwrite(event->ids, sizeof(*event->ids), event->id_count, data->file);
	}
}

/* Members of the group that event `leader` leads, itself included. */
static uint32_t group_size(const struct perf_data *data, size_t leader)
{
	uint32_t size = 0;

	for (size_t i = 0; i < data->event_count; i++)
		size += data->events[i].leader == leader;
	return size;
}

static uint32_t group_count(const struct perf_data *data)
{
	uint32_t groups = 0;

	for (size_t i = 0; i < data->event_count; i++)
		groups += group_size(data, i) > 1;
	return groups;
}

static void write_group_desc(struct perf_data *data)
{
	write_u32(data->file, group_count(data));
	for (size_t i = 0; i < data->event_count; i++) {
		if (group_size(data, i) <= 1)
			continue;
		write_string(data->file, "{anon_group}");
		write_u32(data->file, (uint32_t)i);
		write_u32(data->file, group_size(data, i));
	}
}

static void write_command(struct perf_data *data)
{
	write_u32(data->file, (uint32_t)data->origin->command_count);
	for (size_t i = 0; i < data->origin->command_count; i++)
		write_string(data->file, data->origin->command[i]);
}

static void write_cpus(struct perf_data *data)
{
	write_u32(data->file, data->origin->cpus); /* available */
	write_u32(data->file, data->origin->cpus); /* online */
}

static void write_sample_time(struct perf_data *data)
{
	fwrite(&data->first_ns, sizeof(data->first_ns), 1, data->file);
	fwrite(&data->last_ns, sizeof(data->last_ns), 1, data->file);
}

static void write_feature(struct perf_data *data, enum feature feature)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
		write_build_ids(data);
		break;
	case FEATURE_HOSTNAME:
		write_string(data->file, data->origin->hostname);
		break;
	case FEATURE_OSRELEASE:
		write_string(data->file, data->origin->release);
		break;
	case FEATURE_NRCPUS:
		write_cpus(data);
		break;
	case FEATURE_CPUDESC:
		write_string(data->file, data->origin->machine);
		break;
	case FEATURE_CMDLINE:
		write_command(data);
		break;
	case FEATURE_EVENT_DESC:
		write_event_desc(data);
		break;
	case FEATURE_GROUP_DESC:
		write_group_desc(data);
		break;
	case FEATURE_SAMPLE_TIME:
		write_sample_time(data);
		break;
	}
}

void perf_data_features_write(struct perf_data *data, uint64_t features[PERF_DATA_FEATURE_WORDS])
{
	static const enum feature all[] = {FEATURE_BUILD_ID, FEATURE_HOSTNAME, FEATURE_OSRELEASE,
		FEATURE_NRCPUS, FEATURE_CPUDESC, FEATURE_CMDLINE, FEATURE_EVENT_DESC,
		FEATURE_GROUP_DESC, FEATURE_SAMPLE_TIME};
	struct perf_data_section table[sizeof(all) / sizeof(all[0])] = {{0}};
	long table_at = ftell(data->file);
	size_t count = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if ((all[i] == FEATURE_GROUP_DESC && group_count(data) == 0) ||
			(all[i] == FEATURE_SAMPLE_TIME && !data->has_samples) ||
			(all[i] == FEATURE_BUILD_ID && data->build_id_count == 0))
			continue;
		features[all[i] / 64] |= UINT64_C(1) << all[i] % 64;
		count++;
	}
	fwrite(table, sizeof(table[0]), count, data->file);
	count = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!(features[all[i] / 64] >> all[i] % 64 & 1))
			continue;
		table[count].offset = (uint64_t)ftell(data->file);
		write_feature(data, all[i]);
		table[count].size = (uint64_t)ftell(data->file) - table[count].offset;
		count++;
	}
	fseek(data->file, table_at, SEEK_SET);
	fwrite(table, sizeof(table[0]), count, data->file);
}
