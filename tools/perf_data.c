/* SPDX-License-Identifier: MIT
 *
 * perf_data.c: the perf.data file: header, attrs with their ids, the data section of records,
 * feature sections.
 *
 *     file header | ids of each event | attrs | records ... | feature sections
 *
 * The header and the attrs come first but say where the data end, so they are written when the file
 * is closed. Integers are little endian, as on all hosts that this builds for (asserted below).
 *
 * Records made here end with the trailer that the first event asks for (sample_id_all), with id 0:
 * readers take a record with id 0 as belonging to the first event. All events of a file have the
 * trailer in one form, which perf_data_check() ensures as perf itself would demand when it opens
 * the file.
 *
 * Errors of stdio are sticky (ferror) and looked at once, on closing.
 */
#include "perf_data.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_data_features.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "perf.data is written in host order");

#define MAGIC            "PERFILE2"
#define RECORD_BYTES_MAX 4608u
#define PROT_READ_EXEC   5u
#define MAP_PRIVATE_FLAG 2u
#define MISC_COMM_EXEC   0x2000u
#define KERNEL_PID       UINT32_MAX

/* A record in the making; never longer than RECORD_BYTES_MAX because paths are bounded. */
struct record {
	_Alignas(8) uint8_t bytes[RECORD_BYTES_MAX];
	size_t size;
};

static void put(struct record *record, const void *bytes, size_t size)
{
	assert(record->size + size <= sizeof(record->bytes));
	memcpy(record->bytes + record->size, bytes, size);
	record->size += size;
}

static void put_u32(struct record *record, uint32_t value)
{
	put(record, &value, sizeof(value));
}

static void put_u64(struct record *record, uint64_t value)
{
	put(record, &value, sizeof(value));
}

/* A string with its NUL, padded with zeros to 8 bytes. */
static void put_string(struct record *record, const char *text)
{
	static const uint8_t zeros[8];

	put(record, text, strlen(text) + 1);
	put(record, zeros, (8 - record->size % 8) % 8);
}

static void record_begin(struct record *record, uint32_t type, uint32_t misc)
{
	struct tally_record_header header = {.type = type, .misc = (uint16_t)misc};

	record->size = 0;
	put(record, &header, sizeof(header));
}

/* The trailer, then the record goes to the file. */
static void record_end(
	struct perf_data *data, struct record *record, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	const struct tally_attr *attr = &data->events[0].attr;
	struct tally_record_header header;

	if (attr->flags & TALLY_ATTR_SAMPLE_ID_ALL) {
		if (attr->sample_type & TALLY_SAMPLE_TID) {
			put_u32(record, pid);
			put_u32(record, tid);
		}
		if (attr->sample_type & TALLY_SAMPLE_TIME)
			put_u64(record, time_ns);
		if (attr->sample_type & TALLY_SAMPLE_ID)
			put_u64(record, 0);
		if (attr->sample_type & TALLY_SAMPLE_STREAM_ID)
			put_u64(record, 0);
		if (attr->sample_type & TALLY_SAMPLE_CPU)
			put_u64(record, 0);
		if (attr->sample_type & TALLY_SAMPLE_IDENTIFIER)
			put_u64(record, 0);
	}
	memcpy(&header, record->bytes, sizeof(header));
	header.size = (uint16_t)record->size;
	memcpy(record->bytes, &header, sizeof(header));
	fwrite(record->bytes, 1, record->size, data->file);
}

/* ---- which events can share a file ---- */

/* In which u64 of a SAMPLE the id lies; -1: nowhere. */
static int sample_id_place(uint64_t sample_type)
{
	int place = 0;

	if (sample_type & TALLY_SAMPLE_IDENTIFIER)
		return 0;
	if (!(sample_type & TALLY_SAMPLE_ID))
		return -1;
	for (uint64_t bit = TALLY_SAMPLE_IP; bit <= TALLY_SAMPLE_ADDR; bit <<= 1)
		place += (sample_type & bit) != 0;
	return place;
}

/* In which u64 of a trailer the id lies, from the end; -1: nowhere. */
static int trailer_id_place(uint64_t sample_type)
{
	if (sample_type & TALLY_SAMPLE_IDENTIFIER)
		return 1;
	if (!(sample_type & TALLY_SAMPLE_ID))
		return -1;
	return 1 + ((sample_type & TALLY_SAMPLE_CPU) != 0) +
	       ((sample_type & TALLY_SAMPLE_STREAM_ID) != 0);
}

static void check_pair(const struct perf_data_event *first, const struct perf_data_event *event,
	struct failure *failure)
{
	uint64_t a = first->attr.sample_type;
	uint64_t b = event->attr.sample_type;

	if (sample_id_place(a) < 0 || sample_id_place(b) < 0)
		failure_set(failure,
			"events %s and %s share perf.data: both need sample_type identifier (or "
			"id)",
			first->name, event->name);
	else if (sample_id_place(a) != sample_id_place(b) ||
		 trailer_id_place(a) != trailer_id_place(b))
		failure_set(failure,
			"events %s and %s share perf.data, but their records carry the id in "
			"different "
			"places: give both sample_type identifier, or the same sample_type",
			first->name, event->name);
	if ((first->attr.flags ^ event->attr.flags) & TALLY_ATTR_SAMPLE_ID_ALL)
		failure_set(failure,
			"events %s and %s share perf.data: sample_id_all must be the same in both",
			first->name, event->name);
}

void perf_data_check(const struct perf_data_event *events, size_t count, struct failure *failure)
{
	if (count == 0)
		failure_set(failure, "no event has a ring: there is nothing to write to perf.data");
	for (size_t i = 0; i < count; i++) {
		const struct tally_attr *attr = &events[i].attr;

		if (i > 0)
			check_pair(&events[0], &events[i], failure);
		if (!(attr->sample_type & TALLY_SAMPLE_IP) ||
			!(attr->sample_type & TALLY_SAMPLE_TID))
			failure_set(failure,
				"event %s goes to perf.data: it needs sample_type ip and tid",
				events[i].name);
		if ((attr->sample_type & TALLY_SAMPLE_TIME) &&
			!(attr->flags & TALLY_ATTR_SAMPLE_ID_ALL))
			failure_set(failure,
				"event %s goes to perf.data: with sample_type time it needs "
				"sample_id_all, so that names and mappings have times too",
				events[i].name);
		if ((attr->sample_type & TALLY_SAMPLE_READ) &&
			!(attr->read_format & TALLY_FORMAT_ID))
			failure_set(failure,
				"event %s goes to perf.data: sample_type read needs read_format id",
				events[i].name);
	}
}

/* ---- records ---- */

/* Widen the span of time that the file's samples cover. */
static void note_time(struct perf_data *data, const struct tally_record_header *record)
{
	uint64_t sample_type = data->events[0].attr.sample_type;
	size_t at = sizeof(*record);
	uint64_t time_ns;

	if (record->type != TALLY_RECORD_SAMPLE || !(sample_type & TALLY_SAMPLE_TIME))
		return;
	at += (sample_type & TALLY_SAMPLE_IDENTIFIER) ? 8 : 0;
	at += (sample_type & TALLY_SAMPLE_IP) ? 8 : 0;
	at += (sample_type & TALLY_SAMPLE_TID) ? 8 : 0;
	if (at + sizeof(time_ns) > record->size)
		return;
	memcpy(&time_ns, (const uint8_t *)record + at, sizeof(time_ns));
	if (!data->has_samples || time_ns < data->first_ns)
		data->first_ns = time_ns;
	if (!data->has_samples || time_ns > data->last_ns)
		data->last_ns = time_ns;
	data->has_samples = true;
}

void perf_data_append(struct perf_data *data, const struct tally_record_header *record)
{
	assert(record->size >= sizeof(*record) && record->size % 8 == 0);
	note_time(data, record);
	fwrite(record, 1, record->size, data->file);
}

void perf_data_comm(struct perf_data *data, uint32_t pid, uint32_t tid, const char *name, bool exec,
	uint64_t time_ns)
{
	struct record record;
	char comm[16];

	snprintf(comm, sizeof(comm), "%s", name);
	record_begin(&record, TALLY_RECORD_COMM, exec ? MISC_COMM_EXEC : 0);
	put_u32(&record, pid);
	put_u32(&record, tid);
	put_string(&record, comm);
	record_end(data, &record, pid, tid, time_ns);
}

void perf_data_fork(struct perf_data *data, uint32_t pid, uint32_t parent_pid, uint32_t tid,
	uint32_t parent_tid, uint64_t time_ns)
{
	struct record record;

	record_begin(&record, TALLY_RECORD_FORK, 0);
	put_u32(&record, pid);
	put_u32(&record, parent_pid);
	put_u32(&record, tid);
	put_u32(&record, parent_tid);
	put_u64(&record, time_ns);
	record_end(data, &record, pid, tid, time_ns);
}

static void put_mapping(struct perf_data *data, uint32_t misc, uint32_t pid, uint32_t tid,
	const char *path, const struct elf_mapping *mapping, uint64_t time_ns)
{
	struct record record;

	record_begin(&record, TALLY_RECORD_MMAP2, misc);
	put_u32(&record, pid);
	put_u32(&record, tid);
	put_u64(&record, mapping->address);
	put_u64(&record, mapping->size);
	put_u64(&record, mapping->file_offset);
	put_u64(&record, 0); /* device: major, minor */
	put_u64(&record, 0); /* inode */
	put_u64(&record, 0); /* inode generation */
	put_u32(&record, PROT_READ_EXEC);
	put_u32(&record, MAP_PRIVATE_FLAG);
	put_string(&record, path);
	record_end(data, &record, pid, tid, time_ns);
	build_ids_note(data, misc, path, mapping->build_id);
}

void perf_data_map(struct perf_data *data, uint32_t pid, uint32_t tid, const char *path,
	const struct elf_mapping *mapping, uint64_t time_ns)
{
	put_mapping(data, TALLY_MISC_USER, pid, tid, path, mapping, time_ns);
}

void perf_data_map_kernel(
	struct perf_data *data, const char *path, const struct elf_mapping *mapping)
{
	struct record record;

	/* perf wants to know where the kernel image lies before it believes a kernel address. Ours
	 * has its functions in a file of its own, mapped like a module's, so that no file of the
	 * host is taken for the kernel's. */
	record_begin(&record, TALLY_RECORD_MMAP, TALLY_MISC_KERNEL);
	put_u32(&record, KERNEL_PID);
	put_u32(&record, 0);
	put_u64(&record, mapping->address + mapping->size);
	put_u64(&record, mapping->size);
	put_u64(&record, mapping->address + mapping->size);
	put_string(&record, "[kernel.kallsyms]_text");
	record_end(data, &record, KERNEL_PID, 0, 0);

	put_mapping(data, TALLY_MISC_KERNEL, KERNEL_PID, 0, path, mapping, 0);
}

/* ---- the file ---- */

struct perf_data *perf_data_open(const char *path, const struct perf_data_origin *origin,
	const struct perf_data_event *events, size_t count, struct failure *failure)
{
	struct perf_data *data;
	static const uint8_t zeros[sizeof(struct tally_attr) + 16];

	perf_data_check(events, count, failure);
	if (failure->failed)
		return NULL;
	data = calloc(1, sizeof(*data));
	if (data == NULL) {
		failure_set(failure, "out of memory");
		return NULL;
	}
	data->file = fopen(path, "wb");
	if (data->file == NULL) {
		failure_set(failure, "%s: %s", path, strerror(errno));
		free(data);
		return NULL;
	}
	data->path = path;
	data->origin = origin;
	data->events = events;
	data->event_count = count;
	fwrite(zeros, 1, sizeof(struct perf_data_header), data->file);
	for (size_t i = 0; i < count; i++)
		fwrite(events[i].ids, sizeof(*events[i].ids), events[i].id_count, data->file);
	data->attrs_at = (uint64_t)ftell(data->file);
	for (size_t i = 0; i < count; i++)
		fwrite(zeros, 1, sizeof(struct perf_data_attr), data->file);
	data->records_at = (uint64_t)ftell(data->file);
	return data;
}

static void attrs_write(struct perf_data *data)
{
	uint64_t ids_at = sizeof(struct perf_data_header);

	fseek(data->file, (long)data->attrs_at, SEEK_SET);
	for (size_t i = 0; i < data->event_count; i++) {
		const struct perf_data_event *event = &data->events[i];
		struct perf_data_attr attr = {
			.attr = event->attr,
			.ids = {ids_at, event->id_count * sizeof(*event->ids)},
		};

		attr.attr.size = sizeof(struct tally_attr);
		fwrite(&attr, sizeof(attr), 1, data->file);
		ids_at += attr.ids.size;
	}
}

void perf_data_close(struct perf_data *data, struct failure *failure)
{
	struct perf_data_header header = {
		.size = sizeof(header),
		.attr_size = sizeof(struct perf_data_attr),
		.attrs = {data->attrs_at, data->records_at - data->attrs_at},
	};
	bool failed;

	memcpy(&header.magic, MAGIC, sizeof(header.magic));
	header.records.offset = data->records_at;
	header.records.size = (uint64_t)ftell(data->file) - data->records_at;
	perf_data_features_write(data, header.features);
	attrs_write(data);
	fseek(data->file, 0, SEEK_SET);
	fwrite(&header, sizeof(header), 1, data->file);
	failed = ferror(data->file) != 0 || data->out_of_memory;
	if (fclose(data->file) != 0 || failed)
		failure_set(failure, "%s: could not be written whole", data->path);
	free(data->build_ids);
	free(data);
}
