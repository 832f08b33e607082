/* SPDX-License-Identifier: MIT
 *
 * The reader's side of an event's mmap ring.
 *
 * The kernel writes whole records and then publishes data_head; a reader loads data_head (acquire),
 * reads [tail, head), and stores data_tail (release), as <linux/perf_event.h> asks for in the
 * comments on struct perf_event_mmap_page. Records may wrap at the ring's end: ring_next copies
 * each into a flat buffer.
 *
 * ring_next checks what holds for every record and fails the program's verdict otherwise: the size
 * is a multiple of 8, at least a header, at most what is unread; the type is one that this kernel
 * may write. So a whole ring that was drained by it has been checked whole.
 */
#ifndef PROGRAMS_RING_H
#define PROGRAMS_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define RING_RECORD_BYTES_MAX 512u

struct ring {
	struct perf_event_mmap_page *page;
	const unsigned char *data;
	uint64_t data_bytes; /* a power of two */
	uint64_t tail;       /* next byte to read; published by ring_release */
};

struct record {
	struct perf_event_header header;
	unsigned char body[RING_RECORD_BYTES_MAX];
};

/* Maps 1 + data_pages pages of the event's ring. */
struct ring ring_map(int fd, unsigned data_pages);
void ring_unmap(struct ring *ring);

/* The next unread record, or false. The space is not given back before ring_release. */
bool ring_next(struct ring *ring, struct record *record);
void ring_release(struct ring *ring);
uint64_t ring_head(const struct ring *ring);

/* A sample of the fields that the programs ask for, in the order of the ABI. */
#define SAMPLE_FIELDS                                                                              \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
		PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

struct sample {
	uint64_t identifier;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id;
	uint32_t cpu, reserved;
	uint64_t period;
};

struct lost {
	uint64_t id;
	uint64_t count;
};

/* The body of a SAMPLE with exactly SAMPLE_FIELDS; of a LOST record. Checks the size. */
struct sample ring_sample(const struct record *record);
struct lost ring_lost(const struct record *record);

#endif
