/* SPDX-License-Identifier: MIT
 *
 * perf_data.h: writes the file format of the `perf` tool (perf.data), so that `perf report`, `perf
 * script` and others look at a simulated run as at a real one.
 *
 * Use: perf_data_open() with the events, then the records in any order (perf sorts by time), then
 * perf_data_close(), which completes the header. Until then the file is not readable. Records that
 * the engine wrote go in verbatim with perf_data_append(); what the machine knows and no ring
 * reported, names and mappings of tasks, is made here, as `perf record` makes it for tasks that
 * were there before it started.
 */
#ifndef TALLY_TOOLS_PERF_DATA_H
#define TALLY_TOOLS_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/abi.h>

#include "elf_program.h"
#include "failure.h"

/* One event as the file describes it. Strings and arrays are kept by pointer until
 * perf_data_close(). */
struct perf_data_event {
	struct tally_attr attr;
	const char *name;
	const uint64_t
		*ids; /* what records carry in ID and IDENTIFIER: the ids of all its copies */
	size_t id_count;
	size_t leader; /* index of its group's leader, its own when single */
};

/* Where the data come from: the header's features. */
struct perf_data_origin {
	const char *hostname;
	const char *release;
	const char *machine; /* what the CPUs are, for people */
	uint32_t cpus;
	const char *const *command; /* argv */
	size_t command_count;
};

struct perf_data;

/* Can these events share a file, so that a reader can tell whose a record is? Sets *failure with
 * the reason if not. */
void perf_data_check(const struct perf_data_event *events, size_t count, struct failure *failure);

/* Begin `path`, replacing what is there. NULL with *failure set. The events outlive the file. */
struct perf_data *perf_data_open(const char *path, const struct perf_data_origin *origin,
	const struct perf_data_event *events, size_t count, struct failure *failure);

/* One record as it stood in a ring, header.size bytes. */
void perf_data_append(struct perf_data *data, const struct tally_record_header *record);

/* A task got a name; `exec`: by execve. */
void perf_data_comm(struct perf_data *data, uint32_t pid, uint32_t tid, const char *name, bool exec,
	uint64_t time_ns);

/* A task began. */
void perf_data_fork(struct perf_data *data, uint32_t pid, uint32_t parent_pid, uint32_t tid,
	uint32_t parent_tid, uint64_t time_ns);

/* The file `path` (absolute), written by elf_program_write(), is mapped into the process. */
void perf_data_map(struct perf_data *data, uint32_t pid, uint32_t tid, const char *path,
	const struct elf_mapping *mapping, uint64_t time_ns);

/* The same for the kernel's own text. */
void perf_data_map_kernel(
	struct perf_data *data, const char *path, const struct elf_mapping *mapping);

/* Complete and close the file, and free `data`. Errors of all writes since the open are reported
 * here. */
void perf_data_close(struct perf_data *data, struct failure *failure);

#endif
