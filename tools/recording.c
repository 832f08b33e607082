/* SPDX-License-Identifier: MIT
 *
 * recording.c: an observer that keeps what perf.data will hold, and writes it when the run is over.
 *
 * It is kept in memory first because the ids of events, which the file states before the records,
 * are known only when the events have been opened. Events of one declaration (the copies of an
 * event for several tasks or CPUs) become one event of the file with several ids, as `perf record`
 * does it.
 *
 * Which events go to the file: those with a ring; those that may write to another's ring; and the
 * members of a group whose leader samples the values of all (PERF_SAMPLE_READ), because the samples
 * name them.
 *
 * Callbacks run on stacks of the machine; they allocate, and on running out of memory note it for
 * recording_write().
 */
#include "recording.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_program.h"
#include "perf_data.h"

#define FIRST_ROOM 4096u

/* Something that befell a task and that perf wants to know. */
enum task_note_kind {
	NOTE_BEGAN,  /* was there from the start */
	NOTE_FORKED, /* came from another task */
	NOTE_EXECED, /* got another program */
};

struct task_note {
	enum task_note_kind kind;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent_pid;
	uint32_t parent_tid;
	uint32_t program;
	bool other_program; /* than its parent's: a child of a FORK that gives it other work */
	uint64_t time_ns;
	char comm[16];
};

struct recording {
	const struct scenario *scenario;
	uint8_t *records; /* whole records, one behind the other */
	size_t records_size;
	size_t records_room;
	struct task_note *notes;
	size_t note_count;
	size_t note_room;
	uint64_t *lost; /* [event_count] */
	struct perf_data_event *events;
	size_t event_count;
	uint64_t *ids; /* [scenario->event_count] */
	bool out_of_memory;
};

/* ---- which events ---- */

static bool leader_samples_values(
	const struct scenario *scenario, const struct scenario_event *event)
{
	const struct tally_attr *leader = &scenario->events[event->leader].attr;

	return (leader->sample_type & TALLY_SAMPLE_READ) &&
	       (leader->read_format & TALLY_FORMAT_GROUP);
}

static bool goes_to_file(const struct scenario *scenario, const struct scenario_event *event)
{
	return !event->must_fail &&
	       (event->ring_pages > 0 || (event->attr.sample_type & TALLY_SAMPLE_IP) != 0 ||
		       leader_samples_values(scenario, event));
}

/* Add the declaration whose first event is `first`; `leader` is its leader's place in the file. */
static void add_event(struct recording *recording, uint32_t first, size_t leader)
{
	const struct scenario *scenario = recording->scenario;
	struct perf_data_event *added = &recording->events[recording->event_count++];

	*added = (struct perf_data_event){
		.attr = scenario->events[first].attr,
		.name = scenario->events[first].declared,
		.ids = &recording->ids[first],
		.leader = leader,
	};
	while (first + added->id_count < scenario->event_count &&
		scenario->events[first + added->id_count].declaration == first)
		added->id_count++;
}

/* Leaders in the order of the scenario, each with its members behind it, as perf expects groups. */
static void choose_events(struct recording *recording)
{
	const struct scenario *scenario = recording->scenario;

	for (uint32_t i = 0; i < scenario->event_count; i++) {
		const struct scenario_event *event = &scenario->events[i];
		const struct scenario_event *leader = &scenario->events[event->leader];
		size_t place = recording->event_count;

		if (event->declaration != i || !goes_to_file(scenario, event) ||
			(event->leader != i && goes_to_file(scenario, leader)))
			continue;
		add_event(recording, i, place);
		for (uint32_t j = i + 1; j < scenario->event_count; j++) {
			const struct scenario_event *member = &scenario->events[j];

			if (member->declaration == j && member->leader == i && event->leader == i &&
				goes_to_file(scenario, member))
				add_event(recording, j, place);
		}
	}
}

struct recording *recording_create(
	const struct scenario *scenario, bool for_perf_data, struct failure *failure)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	size_t room = scenario->event_count + 1u;

	if (recording == NULL) {
		failure_set(failure, "out of memory");
		return NULL;
	}
	recording->scenario = scenario;
	recording->lost = calloc(room, sizeof(*recording->lost));
	recording->events = calloc(room, sizeof(*recording->events));
	recording->ids = calloc(room, sizeof(*recording->ids));
	if (recording->lost == NULL || recording->events == NULL || recording->ids == NULL) {
		failure_set(failure, "out of memory");
	} else {
		choose_events(recording);
		if (for_perf_data)
			perf_data_check(recording->events, recording->event_count, failure);
	}
	if (failure->failed) {
		recording_destroy(recording);
		return NULL;
	}
	return recording;
}

void recording_destroy(struct recording *recording)
{
	if (recording == NULL)
		return;
	free(recording->records);
	free(recording->notes);
	free(recording->lost);
	free(recording->events);
	free(recording->ids);
	free(recording);
}

/* ---- the observer ---- */

/* Room for `more` elements of `size` behind `used` ones; false: no memory. */
static bool make_room(struct recording *recording, void **memory, size_t *room, size_t used,
	size_t more, size_t size)
{
	size_t wanted = *room > 0 ? *room : FIRST_ROOM / size;
	void *grown;

	if (used + more <= *room)
		return true;
	while (wanted < used + more)
		wanted *= 2;
	grown = realloc(*memory, wanted * size);
	if (grown == NULL) {
		recording->out_of_memory = true;
		return false;
	}
	*memory = grown;
	*room = wanted;
	return true;
}

static void on_record(void *context, uint32_t event, const void *bytes, size_t size, uint64_t t_ns)
{
	struct recording *recording = context;
	void *memory = recording->records;
	struct tally_record_header header;
	uint64_t body[2]; /* of a LOST record: id, count */

	(void)t_ns;
	memcpy(&header, bytes, sizeof(header));
	if (header.type == TALLY_RECORD_LOST && size >= sizeof(header) + sizeof(body)) {
		memcpy(body, (const uint8_t *)bytes + sizeof(header), sizeof(body));
		recording->lost[event] += body[1];
	}
	if (!make_room(
		    recording, &memory, &recording->records_room, recording->records_size, size, 1))
		return;
	recording->records = memory;
	memcpy(recording->records + recording->records_size, bytes, size);
	recording->records_size += size;
}

static void note(struct recording *recording, enum task_note_kind kind,
	const struct machine_task *task, const struct machine_task *parent, uint64_t t_ns)
{
	void *memory = recording->notes;
	struct task_note *entry;

	if (!make_room(recording, &memory, &recording->note_room, recording->note_count, 1,
		    sizeof(*entry)))
		return;
	recording->notes = memory;
	entry = &recording->notes[recording->note_count++];
	*entry = (struct task_note){
		.kind = kind,
		.pid = machine_task_pid(task),
		.tid = machine_task_tid(task),
		.parent_pid = parent != NULL ? machine_task_pid(parent) : 0,
		.parent_tid = parent != NULL ? machine_task_tid(parent) : 0,
		.program = machine_task_program(task),
		.other_program = parent != NULL &&
				 machine_task_program(task) != machine_task_program(parent),
		.time_ns = t_ns,
	};
	snprintf(entry->comm, sizeof(entry->comm), "%s", machine_task_comm(task));
}

static void on_fork(void *context, const struct machine_task *parent,
	const struct machine_task *child, uint64_t t_ns)
{
	note(context, parent != NULL ? NOTE_FORKED : NOTE_BEGAN, child, parent, t_ns);
}

static void on_exec(void *context, const struct machine_task *task, uint64_t t_ns)
{
	note(context, NOTE_EXECED, task, NULL, t_ns);
}

void recording_observer(struct recording *recording, struct machine_observer *observer)
{
	*observer = (struct machine_observer){
		.context = recording,
		.record = on_record,
		.task_fork = on_fork,
		.task_exec = on_exec,
	};
}

uint64_t recording_lost(const struct recording *recording, uint32_t event)
{
	assert(event < recording->scenario->event_count);
	return recording->lost[event];
}

/* ---- files ---- */

/* One program as it is on disk. */
struct program_file {
	char path[PATH_MAX];
	struct elf_mapping mapping;
};

static void write_program(struct program_file *file, const struct machine_program *program,
	bool kernel, struct failure *failure)
{
	struct elf_function *functions = calloc(program->function_count, sizeof(*functions));

	if (functions == NULL) {
		failure_set(failure, "out of memory");
		return;
	}
	for (uint32_t i = 0; i < program->function_count; i++)
		functions[i] = (struct elf_function){
			.name = program->functions[i].name,
			.address = machine_function_address(program, i, kernel),
			.size = program->functions[i].size,
		};
	elf_program_write(file->path, functions, program->function_count, &file->mapping, failure);
	free(functions);
}

/* The absolute path of `name` in the folder `programs` beside the file `beside`. */
static void program_path(
	struct program_file *file, const char *beside, const char *name, struct failure *failure)
{
	const char *slash = strrchr(beside, '/');
	char folder[PATH_MAX];
	char whole[PATH_MAX];
	int length;

	snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - beside + 1) : 2,
		slash != NULL ? beside : "./");
	if (realpath(folder, whole) == NULL) {
		failure_set(failure, "%s: %s", folder, strerror(errno));
		return;
	}
	length = snprintf(folder, sizeof(folder), "%s/programs", whole);
	if (length >= 0 && (size_t)length < sizeof(folder) && mkdir(folder, 0777) != 0 &&
		errno != EEXIST)
		failure_set(failure, "%s: %s", folder, strerror(errno));
	length = snprintf(file->path, sizeof(file->path), "%s/%s", folder, name);
	if (length < 0 || (size_t)length >= sizeof(file->path))
		failure_set(failure, "%s: the path is too long", name);
}

/* All programs, then the kernel's. */
static void write_programs(const struct recording *recording, const struct port_sim *port,
	const char *path, struct program_file *files, struct failure *failure)
{
	const struct machine_description *machine = &recording->scenario->machine;
	const struct machine *run = port_sim_machine((struct port_sim *)(uintptr_t)port);
	struct program_file *kernel = &files[machine->program_count];

	for (uint32_t i = 0; i < machine->program_count && !failure->failed; i++) {
		char name[NAME_MAX + 1];

		snprintf(name, sizeof(name), "%s.elf", machine->programs[i].name);
		program_path(&files[i], path, name, failure);
		if (!failure->failed)
			write_program(&files[i], &machine->programs[i], false, failure);
	}
	/* perf takes a file of the kernel for a module by its name only. */
	program_path(kernel, path, "kernel.ko", failure);
	if (!failure->failed)
		write_program(kernel, machine_kernel_program(run), true, failure);
}

static void write_note(
	struct perf_data *data, const struct task_note *note, const struct program_file *files)
{
	const struct program_file *file = &files[note->program];

	if (note->kind == NOTE_FORKED) {
		perf_data_fork(data, note->pid, note->parent_pid, note->tid, note->parent_tid,
			note->time_ns);
		/* perf lets a child inherit name and mappings. */
		if (!note->other_program)
			return;
	}
	perf_data_comm(
		data, note->pid, note->tid, note->comm, note->kind == NOTE_EXECED, note->time_ns);
	if (note->pid == note->tid)
		perf_data_map(
			data, note->pid, note->tid, file->path, &file->mapping, note->time_ns);
}

static void write_records(struct perf_data *data, const struct recording *recording)
{
	struct tally_record_header header;

	for (size_t at = 0; at < recording->records_size; at += header.size) {
		const uint8_t *record = recording->records + at;

		memcpy(&header, record, sizeof(header));
		perf_data_append(data, (const struct tally_record_header *)(const void *)record);
	}
}

static void write_file(struct recording *recording, const char *path,
	const struct perf_data_origin *origin, const struct program_file *files,
	struct failure *failure)
{
	struct perf_data *data;
	const struct program_file *kernel = &files[recording->scenario->machine.program_count];

	data = perf_data_open(path, origin, recording->events, recording->event_count, failure);
	if (data == NULL)
		return;
	perf_data_map_kernel(data, kernel->path, &kernel->mapping);
	for (size_t i = 0; i < recording->note_count; i++)
		write_note(data, &recording->notes[i], files);
	write_records(data, recording);
	perf_data_close(data, failure);
}

void recording_write(struct recording *recording, const struct port_sim *port, const char *path,
	const char *const *command, size_t command_count, struct failure *failure)
{
	const struct scenario *scenario = recording->scenario;
	struct program_file *files;
	char machine[128];
	struct perf_data_origin origin = {
		.hostname = "tally-simulator",
		.release = "tally",
		.machine = machine,
		.cpus = scenario->machine.cpu_count,
		.command = command,
		.command_count = command_count,
	};

	snprintf(machine, sizeof(machine), "simulated %s, aarch64", scenario->machine_name);
	for (uint32_t i = 0; i < scenario->event_count; i++)
		recording->ids[i] = port_sim_event_id(port, i);
	files = calloc(scenario->machine.program_count + 1u, sizeof(*files));
	if (files == NULL || recording->out_of_memory)
		failure_set(failure, "out of memory");
	if (!failure->failed)
		write_programs(recording, port, path, files, failure);
	if (!failure->failed)
		write_file(recording, path, &origin, files, failure);
	free(files);
}
