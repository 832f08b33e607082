/* SPDX-License-Identifier: MIT
 *
 * syscall.c: the system calls on events, as the machine performs them: fds, user memory and the
 * order of errors around the engine's calls. All in task context on the caller's fiber.
 */
#include "port.h"

#include <stdlib.h>
#include <string.h>

#define COUNTS_SIZE 16384u /* the largest that read can return */

/* ---- user memory ---- */

struct user_range *user_range_create(struct port_sim *port, size_t size)
{
	struct user_range *range = malloc(sizeof(*range) + size);

	if (!range)
		return NULL;
	*range = (struct user_range){0};
	range->task = machine_current(port->machine);
	range->size = size;
	range->next = port->user;
	if (range->next)
		range->next->prev = range;
	port->user = range;
	return range;
}

void user_range_destroy(struct port_sim *port, struct user_range *range)
{
	if (range->prev)
		range->prev->next = range->next;
	else
		port->user = range->next;
	if (range->next)
		range->next->prev = range->prev;
	free(range);
}

/* ---- perf_event_open ---- */

static int64_t make_file(struct port_sim *port, const struct machine_open_call *call,
	const struct tally_open *open, struct file *group)
{
	struct process *process = process_current(port);
	struct file *file = calloc(1, sizeof(*file));
	int error;

	if (!file || process_fd_reserve(process) != 0) {
		free(file);
		return -ENOMEM;
	}
	machine_judged_begin();
	error = tally_open_finish(&port->engine, open, group ? group->event : NULL, &file->event);
	machine_judged_end();
	if (error != 0) {
		free(file);
		return error;
	}
	file->number = call->event;
	file->references = 1;
	file->id = tally_event_id(file->event);
	file->serial = ++port->last_serial;
	file->attr = open->attr;
	file->leader = group && !(call->flags & TALLY_FLAG_FD_NO_GROUP) ? group->leader : file;
	file->next = port->files;
	if (file->next)
		file->next->prev = file;
	port->files = file;
	port->event_id[call->event] = file->id;
	process_fd_install(process, call->fd, file, call->flags & TALLY_FLAG_FD_CLOEXEC);
	return call->fd;
}

static int64_t sys_open(void *context, const struct machine_open_call *call)
{
	struct port_sim *port = context;
	struct user_range *attr = call->attr ? user_range_create(port, call->attr_size) : NULL;
	struct tally_open open;
	struct file *group = NULL;
	int64_t result;

	if (call->attr && !attr)
		return -ENOMEM;
	if (attr && call->attr_size != 0)
		memcpy(attr->bytes, call->attr, call->attr_size);
	machine_judged_begin();
	result = tally_open_begin(&port->engine, &open,
		attr ? user_address(attr) : USER_BAD_ADDRESS, call->pid, call->cpu, call->flags);
	machine_judged_end();
	if (attr)
		user_range_destroy(port, attr);
	if (result != 0)
		return result;
	if (call->group_fd != -1) {
		group = file_get(port, call->group_fd);
		if (!group)
			return -EBADF;
	}
	result = make_file(port, call, &open, group);
	if (group)
		file_put(port, group);
	return result;
}

/* ---- ioctl, read ---- */

static int64_t sys_ioctl(void *context, int32_t fd, uint32_t command, uint64_t argument)
{
	struct port_sim *port = context;
	struct file *file = file_get(port, fd);
	int64_t result;

	if (!file)
		return -EBADF;
	machine_judged_begin();
	result = tally_event_ioctl(file->event, command, argument);
	machine_judged_end();
	file_put(port, file);
	return result;
}

static int64_t sys_ioctl_memory(void *context, int32_t fd, uint32_t command, uint64_t *memory)
{
	struct port_sim *port = context;
	struct user_range *range;
	int64_t result;

	if (!memory)
		return sys_ioctl(context, fd, command, USER_BAD_ADDRESS);
	range = user_range_create(port, sizeof(*memory));
	if (!range)
		return -ENOMEM;
	memcpy(range->bytes, memory, sizeof(*memory));
	result = sys_ioctl(context, fd, command, user_address(range));
	memcpy(memory, range->bytes, sizeof(*memory));
	user_range_destroy(port, range);
	return result;
}

static int64_t sys_read(void *context, int32_t fd, void *buffer, size_t size, bool fault)
{
	struct port_sim *port = context;
	struct file *file = file_get(port, fd);
	struct user_range *range;
	int64_t result;

	if (!file)
		return -EBADF;
	range = user_range_create(port, size);
	if (!range) {
		file_put(port, file);
		return -ENOMEM;
	}
	machine_judged_begin();
	result = tally_event_read(
		file->event, fault ? USER_BAD_ADDRESS : user_address(range), size);
	machine_judged_end();
	if (result > 0) {
		if ((uint64_t)result > size)
			machine_fail(port->machine, "event %u: read returns more than the buffer",
				file->number);
		memcpy(buffer, range->bytes, (size_t)result);
	}
	user_range_destroy(port, range);
	file_put(port, file);
	return result;
}

/* ---- mappings ---- */

static int64_t sys_mmap(
	void *context, int32_t fd, uint64_t offset, uint64_t pages, bool writable, bool shared)
{
	struct port_sim *port = context;
	struct file *file = file_get(port, fd);
	struct tally_ring *ring;
	int64_t result;

	if (!file)
		return -EBADF;
	machine_judged_begin();
	result = tally_event_mmap(file->event, offset, pages, shared, writable, &ring);
	machine_judged_end();
	if (result == 0) {
		result = process_map(port, fd, file, ring, pages, writable);
		if (result == 0)
			return 0; /* the mapping has the reference */
		machine_judged_begin();
		tally_ring_unmap(file->event, ring);
		machine_judged_end();
	}
	file_put(port, file);
	return result;
}

static int64_t sys_munmap(void *context, int32_t fd)
{
	return process_unmap(context, fd);
}

static int64_t sys_close(void *context, int32_t fd)
{
	struct port_sim *port = context;

	return process_fd_close(port, process_current(port), fd);
}

static int64_t sys_drain(void *context, int32_t fd, uint32_t max_bytes)
{
	struct port_sim *port = context;
	struct mapping *mapping = process_mapping(port, fd);

	return mapping ? reader_drain(port, mapping, max_bytes) : -EINVAL;
}

/* ---- what an event says of itself, for expectations ---- */

/* Where the file's own values are in a GROUP read: by age among the leader's files. */
static uint64_t place_in_group(const struct port_sim *port, const struct file *file)
{
	uint64_t place = file->leader == file ? 0 : 1;

	for (const struct file *f = port->files; f; f = f->next) {
		if (f->leader == file->leader && f != file && f->leader != f &&
			f->serial < file->serial && file->leader != file)
			place++;
	}
	return place;
}

static void parse_read(const struct port_sim *port, const struct file *file, const uint64_t *words,
	size_t count, struct operation_counts *counts)
{
	uint64_t format = file->attr.read_format, group = 1;
	size_t at = 0, place = 0, entry = 1; /* words of an entry of a group */

	if (format & TALLY_FORMAT_ID)
		entry++;
	if (format & TALLY_FORMAT_LOST)
		entry++;
	if (format & TALLY_FORMAT_GROUP) {
		group = words[at++];
		place = place_in_group(port, file);
	} else {
		counts->value = words[at++];
	}
	counts->known |= OPERATION_EXPECT_VALUE;
	if (format & TALLY_FORMAT_TOTAL_TIME_ENABLED) {
		counts->enabled_ns = words[at++];
		counts->known |= OPERATION_EXPECT_ENABLED;
	}
	if (format & TALLY_FORMAT_TOTAL_TIME_RUNNING) {
		counts->running_ns = words[at++];
		counts->known |= OPERATION_EXPECT_RUNNING;
	}
	if (format & TALLY_FORMAT_GROUP) {
		if (place >= group || at + entry * group > count) {
			counts->known &= ~OPERATION_EXPECT_VALUE;
			return;
		}
		at += entry * place;
		counts->value = words[at++];
	}
	if (format & TALLY_FORMAT_ID)
		at++;
	if (format & TALLY_FORMAT_LOST) {
		counts->lost = words[at];
		counts->known |= OPERATION_EXPECT_LOST;
	}
}

static void count_records(
	struct port_sim *port, const struct file *file, struct operation_counts *counts)
{
	uint64_t samples = file->samples_taken, lost = file->lost_taken;

	for (const struct process *process = port->processes; process; process = process->next) {
		const struct mapping *mapping = process->mappings;

		while (mapping && mapping->file != file)
			mapping = mapping->next;
		if (mapping) { /* one is enough: all of them show the same ring */
			reader_count(port, mapping, &samples, &lost);
			break;
		}
	}
	counts->samples = samples;
	counts->known |= OPERATION_EXPECT_SAMPLES | OPERATION_EXPECT_LOST;
	if (lost > counts->lost)
		counts->lost = lost;
}

static int64_t sys_counts(void *context, int32_t fd, struct operation_counts *counts)
{
	struct port_sim *port = context;
	struct file *file = file_get(port, fd);
	struct user_range *range;
	int64_t result;

	if (!file)
		return -EBADF;
	range = user_range_create(port, COUNTS_SIZE);
	if (!range) {
		file_put(port, file);
		return -ENOMEM;
	}
	machine_judged_begin();
	result = tally_event_read(file->event, user_address(range), COUNTS_SIZE);
	machine_judged_end();
	if (result >= 0) {
		counts->size = (uint64_t)result;
		counts->known |= OPERATION_EXPECT_SIZE;
		memcpy(port->scratch, range->bytes, COUNTS_SIZE);
		if (result > 0)
			parse_read(port, file, port->scratch, (size_t)result / sizeof(uint64_t),
				counts);
		if (file->was_mapped)
			count_records(port, file, counts);
		result = 0;
	}
	user_range_destroy(port, range);
	file_put(port, file);
	return result;
}

void syscall_fill(struct machine_kernel *kernel)
{
	kernel->open = sys_open;
	kernel->ioctl = sys_ioctl;
	kernel->ioctl_memory = sys_ioctl_memory;
	kernel->read = sys_read;
	kernel->mmap = sys_mmap;
	kernel->munmap = sys_munmap;
	kernel->close = sys_close;
	kernel->drain = sys_drain;
	kernel->counts = sys_counts;
}
