/* SPDX-License-Identifier: MIT
 *
 * reader.c: the user's side of a ring: takes whole records out and moves the tail.
 *
 * Reads as perf_event_open(2) tells users to: data_head with acquire, records, then data_tail with
 * release. What lies between tail and head must parse: a header whose size is at least 8, a
 * multiple of 8, and within the head; anything else fails the run. A drain is one step of the
 * machine.
 */
#include "port.h"

#include <inttypes.h>
#include <string.h>

struct window {
	const uint8_t *data;
	uint64_t mask;
	uint64_t tail;
	uint64_t head;
};

static struct tally_control_page *control_of(const struct mapping *mapping)
{
	return (struct tally_control_page *)(void *)mapping->pages->base;
}

static struct window window_of(const struct mapping *mapping)
{
	struct tally_control_page *control = control_of(mapping);

	return (struct window){
		.data = mapping->pages->base + TALLY_PAGE_SIZE,
		.mask = mapping->size - 1,
		.tail = control->data_tail,
		/* acquire, partner: the engine's release store after it wrote the record */
		.head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE),
	};
}

static void copy_out(const struct window *window, uint64_t at, void *to, size_t size)
{
	size_t offset = at & window->mask;
	size_t first = window->mask + 1 - offset;

	if (first > size)
		first = size;
	memcpy(to, window->data + offset, first);
	memcpy((uint8_t *)to + first, window->data, size - first);
}

/* The record at the tail: its size (below 64 KiB, as scratch is), 0 when there is none. */
static size_t record_at(struct port_sim *port, const struct file *file, const struct window *window)
{
	struct tally_record_header header;
	uint64_t there = window->head - window->tail;

	if (there == 0)
		return 0;
	if (there > window->mask + 1 || there < sizeof(header))
		machine_fail(port->machine,
			"event %u: its ring holds %" PRIu64 " of %" PRIu64 " bytes", file->number,
			there, window->mask + 1);
	copy_out(window, window->tail, &header, sizeof(header));
	if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > there)
		machine_fail(port->machine,
			"event %u: a record of type %u and %u bytes in a ring that holds %" PRIu64,
			file->number, header.type, header.size, there);
	return header.size;
}

/* Is the SAMPLE the file's own? Rings may be shared; a record without an id is taken to be. */
static bool is_own(const struct file *file, const uint8_t *record)
{
	uint64_t type = file->attr.sample_type, id;
	size_t at = sizeof(struct tally_record_header);

	if (!(type & TALLY_SAMPLE_IDENTIFIER)) {
		if (!(type & TALLY_SAMPLE_ID))
			return true;
		at += 8 * (size_t)((type & TALLY_SAMPLE_IP ? 1 : 0) +
				   (type & TALLY_SAMPLE_TID ? 1 : 0) +
				   (type & TALLY_SAMPLE_TIME ? 1 : 0) +
				   (type & TALLY_SAMPLE_ADDR ? 1 : 0));
	}
	memcpy(&id, record + at, sizeof(id));
	return id == file->id;
}

static void add_up(
	const struct file *file, const uint8_t *record, uint64_t *samples, uint64_t *lost)
{
	struct tally_record_header header;
	uint64_t count;

	memcpy(&header, record, sizeof(header));
	if (header.type == TALLY_RECORD_SAMPLE && is_own(file, record))
		(*samples)++;
	if (header.type == TALLY_RECORD_LOST) { /* u64 id, u64 lost */
		memcpy(&count, record + sizeof(header) + 8, sizeof(count));
		*lost += count;
	}
}

void reader_count(
	struct port_sim *port, const struct mapping *mapping, uint64_t *samples, uint64_t *lost)
{
	struct window window;
	uint8_t *record = (uint8_t *)port->scratch;
	size_t size;

	if (mapping->size == 0)
		return;
	window = window_of(mapping);
	while ((size = record_at(port, mapping->file, &window)) != 0) {
		copy_out(&window, window.tail, record, size);
		add_up(mapping->file, record, samples, lost);
		window.tail += size;
	}
}

int64_t reader_drain(struct port_sim *port, struct mapping *mapping, uint32_t max_bytes)
{
	struct file *file = mapping->file;
	struct window window;
	uint8_t *record = (uint8_t *)port->scratch;
	int64_t taken = 0;
	size_t size;

	if (mapping->size == 0)
		return 0;
	if (!mapping->writable)
		return -EACCES; /* the tail cannot be moved */
	window = window_of(mapping);
	while ((size = record_at(port, file, &window)) != 0) {
		if (max_bytes != 0 && (uint64_t)taken + size > max_bytes)
			break;
		copy_out(&window, window.tail, record, size);
		add_up(file, record, &file->samples_taken, &file->lost_taken);
		machine_tell_record(port->machine, file->number, record, size);
		window.tail += size;
		taken += (int64_t)size;
	}
	/* release, partner: the engine's acquire load of data_tail before it writes over the space
	 */
	__atomic_store_n(&control_of(mapping)->data_tail, window.tail, __ATOMIC_RELEASE);
	return taken;
}
