/* SPDX-License-Identifier: MIT
 *
 * process.c: processes: their fds, their mappings, and the files behind both.
 *
 * A file goes with its last reference, whoever drops it; a mapping is a reference, so that a closed
 * event counts on while its ring is mapped. fork copies fds and no mapping; exec drops mappings and
 * close-on-exec fds; the exit of the last thread drops all. Each of these takes an entry out of its
 * list before it calls the engine, which may let other CPUs run.
 */
#include "port.h"

#include <stdlib.h>
#include <string.h>

struct process *process_current(struct port_sim *port)
{
	struct machine_task *task = machine_current(port->machine);

	return task ? port_task_of(task)->process : NULL;
}

struct process *process_create(struct port_sim *port, const struct process *parent)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	if (parent && parent->fd_count != 0) {
		process->fds = malloc(parent->fd_count * sizeof(*process->fds));
		if (!process->fds) {
			free(process);
			return NULL;
		}
		memcpy(process->fds, parent->fds, parent->fd_count * sizeof(*process->fds));
		process->fd_count = process->fd_space = parent->fd_count;
		for (uint32_t i = 0; i < process->fd_count; i++)
			process->fds[i].file->references++;
	}
	process->next = port->processes;
	port->processes = process;
	return process;
}

void process_free_all(struct port_sim *port)
{
	while (port->processes) {
		struct process *process = port->processes;

		port->processes = process->next;
		while (process->mappings) { /* only after a run that failed */
			struct mapping *mapping = process->mappings;

			process->mappings = mapping->next;
			free(mapping);
		}
		free(process->fds);
		free(process);
	}
	while (port->files) {
		struct file *file = port->files;

		port->files = file->next;
		free(file);
	}
}

/* ---- files ---- */

static struct fd *find_fd(struct process *process, int32_t number)
{
	for (uint32_t i = 0; process && i < process->fd_count; i++) {
		if (process->fds[i].number == number)
			return &process->fds[i];
	}
	return NULL;
}

struct file *file_get(struct port_sim *port, int32_t fd)
{
	struct fd *found = find_fd(process_current(port), fd);

	if (!found)
		return NULL;
	machine_order_acquire(found->file);
	found->file->references++;
	return found->file;
}

void file_put(struct port_sim *port, struct file *file)
{
	machine_order_release(file);
	if (--file->references != 0)
		return;
	machine_order_acquire(file);
	if (file->prev)
		file->prev->next = file->next;
	else
		port->files = file->next;
	if (file->next)
		file->next->prev = file->prev;
	for (struct file *f = port->files; f; f = f->next) {
		if (f->leader == file) /* it leads itself now */
			f->leader = f;
	}
	machine_judged_begin();
	tally_event_close(file->event);
	machine_judged_end();
	free(file);
}

int process_fd_reserve(struct process *process)
{
	uint32_t space = process->fd_space ? process->fd_space * 2 : 8;
	struct fd *grown;

	if (process->fd_count < process->fd_space)
		return 0;
	grown = realloc(process->fds, space * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	process->fds = grown;
	process->fd_space = space;
	return 0;
}

void process_fd_install(
	struct process *process, int32_t number, struct file *file, bool close_on_exec)
{
	if (process_fd_reserve(process) !=
		0) /* a thread took the reserved place, and the host has no memory */
		abort();
	machine_order_release(file);
	process->fds[process->fd_count++] = (struct fd){number, close_on_exec, file};
}

static void close_at(struct port_sim *port, struct process *process, uint32_t index)
{
	struct file *file = process->fds[index].file;

	process->fd_count--;
	memmove(&process->fds[index], &process->fds[index + 1],
		(process->fd_count - index) * sizeof(struct fd));
	file_put(port, file);
}

int64_t process_fd_close(struct port_sim *port, struct process *process, int32_t number)
{
	struct fd *fd = find_fd(process, number);

	if (!fd)
		return -EBADF;
	close_at(port, process, (uint32_t)(fd - process->fds));
	return 0;
}

/* ---- mappings ---- */

int process_map(struct port_sim *port, int32_t fd, struct file *file, struct tally_ring *ring,
	uint64_t pages, bool writable)
{
	struct process *process = process_current(port);
	struct mapping *mapping = calloc(1, sizeof(*mapping));

	if (!mapping)
		return -ENOMEM;
	mapping->pages = memory_pages_map(&port->memory, tally_ring_page(ring, 0));
	if (!mapping->pages || mapping->pages->count < pages)
		machine_fail(port->machine, "event %u: its ring is not in pages of that number",
			file->number);
	for (uint64_t i = 0; i < pages; i++) {
		if (tally_ring_page(ring, i) != mapping->pages->base + i * TALLY_PAGE_SIZE)
			machine_fail(port->machine,
				"event %u: the pages of its ring are not in order", file->number);
	}
	mapping->fd = fd;
	mapping->file = file;
	mapping->ring = ring;
	mapping->size = (pages - 1) * TALLY_PAGE_SIZE;
	mapping->writable = writable;
	mapping->next = process->mappings;
	machine_order_release(file); /* as the address space's lock; partner: unmap() */
	process->mappings = mapping;
	file->was_mapped = true;
	return 0;
}

static void unmap(struct port_sim *port, struct mapping *mapping)
{
	struct file *file = mapping->file;

	machine_order_acquire(file); /* partner: process_map(), in another thread of the process */
	memory_pages_unmap(&port->memory, mapping->pages);
	machine_judged_begin();
	tally_ring_unmap(file->event, mapping->ring);
	machine_judged_end();
	free(mapping);
	file_put(port, file);
}

struct mapping *process_mapping(struct port_sim *port, int32_t fd)
{
	struct process *process = process_current(port);
	struct mapping *mapping = process ? process->mappings : NULL;

	while (mapping && mapping->fd != fd)
		mapping = mapping->next;
	return mapping;
}

int64_t process_unmap(struct port_sim *port, int32_t fd)
{
	struct mapping *mapping = process_mapping(port, fd);
	struct mapping **at = &process_current(port)->mappings;

	if (!mapping)
		return -EINVAL;
	while (*at != mapping)
		at = &(*at)->next;
	*at = mapping->next;
	unmap(port, mapping);
	return 0;
}

static void unmap_all(struct port_sim *port, struct process *process)
{
	while (process->mappings) {
		struct mapping *mapping = process->mappings;

		process->mappings = mapping->next;
		unmap(port, mapping);
	}
}

void process_exec(struct port_sim *port, struct process *process)
{
	unmap_all(port, process);
	for (uint32_t i = process->fd_count; i-- > 0;) {
		if (i < process->fd_count && process->fds[i].close_on_exec)
			close_at(port, process, i);
	}
}

void process_leave(struct port_sim *port, struct process *process)
{
	if (--process->threads != 0)
		return;
	unmap_all(port, process);
	while (process->fd_count != 0)
		close_at(port, process, process->fd_count - 1);
}
