/* SPDX-License-Identifier: MIT
 *
 * The reader's side of an event's mmap ring: see ring.h.
 */
#include "ring.h"

#include "bytes.h"
#include "syscall.h"
#include "verdict.h"

struct ring ring_map(int fd, unsigned data_pages)
{
	size_t bytes = (1 + (size_t)data_pages) * PAGE_BYTES;
	long at = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct ring ring = {0};

	REQUIRE(at > 0, "mmap of a ring of 1+%u pages: %ld", data_pages, at);
	ring.page = (struct perf_event_mmap_page *)at;
	ring.data = (const unsigned char *)at + PAGE_BYTES;
	ring.data_bytes = (uint64_t)data_pages * PAGE_BYTES;
	CHECK(ring.page->data_offset == PAGE_BYTES, "data_offset %lu",
		(unsigned long)ring.page->data_offset);
	CHECK(ring.page->data_size == ring.data_bytes, "data_size %lu",
		(unsigned long)ring.page->data_size);
	ring.tail = ring.page->data_tail;
	return ring;
}

void ring_unmap(struct ring *ring)
{
	long answer = sys_munmap(ring->page, PAGE_BYTES + ring->data_bytes);

	REQUIRE(answer == 0, "munmap of a ring: %ld", answer);
	ring->page = NULL;
}

uint64_t ring_head(const struct ring *ring)
{
	/* Pairs with the kernel's release store of data_head: the records below it are whole. */
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static void copy_out(const struct ring *ring, uint64_t from, void *to, size_t bytes)
{
	unsigned char *d = to;

	for (size_t i = 0; i < bytes; i++)
		d[i] = ring->data[(from + i) & (ring->data_bytes - 1)];
}

bool ring_next(struct ring *ring, struct record *record)
{
	uint64_t unread = ring_head(ring) - ring->tail;
	size_t size;

	if (!unread)
		return false;
	REQUIRE(unread <= ring->data_bytes, "%lu unread bytes in a ring of %lu", unread,
		ring->data_bytes);
	REQUIRE(unread >= sizeof record->header, "%lu unread bytes: no header", unread);
	copy_out(ring, ring->tail, &record->header, sizeof record->header);
	size = record->header.size;
	REQUIRE(size % 8 == 0 && size >= sizeof record->header && size <= unread &&
			size - sizeof record->header <= sizeof record->body,
		"record at %lu: type %u size %u, %lu unread", ring->tail,
		(unsigned)record->header.type, (unsigned)size, unread);
	REQUIRE(record->header.type >= PERF_RECORD_MMAP && record->header.type < PERF_RECORD_MAX,
		"record at %lu: type %u", ring->tail, (unsigned)record->header.type);
	copy_out(ring, ring->tail + sizeof record->header, record->body,
		size - sizeof record->header);
	ring->tail += size;
	return true;
}

void ring_release(struct ring *ring)
{
	/* Pairs with the kernel's reading of data_tail before it writes: our reads are done. */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

struct sample ring_sample(const struct record *record)
{
	struct sample sample;

	REQUIRE(record->header.size == sizeof record->header + sizeof sample, "sample of %u bytes",
		(unsigned)record->header.size);
	memcpy(&sample, record->body, sizeof sample);
	return sample;
}

struct lost ring_lost(const struct record *record)
{
	struct lost lost;

	REQUIRE(record->header.size >= sizeof record->header + sizeof lost,
		"LOST record of %u bytes", (unsigned)record->header.size);
	memcpy(&lost, record->body, sizeof lost);
	return lost;
}
