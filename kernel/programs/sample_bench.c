/* SPDX-License-Identifier: MIT
 *
 * sample_bench: what one sample costs, from the interrupt's entry to its return.
 *
 *	sample_bench MODE [PERIOD [ROUNDS]]
 *
 * A user-only cycles event runs over a loop twice: with a period that never ends, and with PERIOD.
 * The difference in time over the number of samples is the cost of one; under `-icount shift=0` a
 * nanosecond is an instruction. Counting user cycles only keeps the two runs' number of periods
 * equal.
 *
 *	nobuf   a sampling event without a ring
 *	ip      IP alone
 *	basic   IP, TID, TIME, PERIOD
 *	all     the fields that sample_loop checks
 *
 * The ring holds all samples of the run (SAMPLES_MAX), so that no LOST path is measured. The
 * verdict is about the run: as many samples as periods, none lost.
 *
 * System calls: sched_setaffinity perf_event_open ioctl read close mmap munmap write exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "ring.h"
#include "task.h"
#include "verdict.h"

#define RING_PAGES    64u
#define SAMPLES_MAX   (RING_PAGES * 4096u / 80u)
#define SETTLE_ROUNDS 2000000u

struct mode {
	const char *name;
	uint64_t sample_type;
	bool with_ring;
};

static const struct mode modes[] = {
	{"nobuf", PERF_SAMPLE_IP, false},
	{"ip", PERF_SAMPLE_IP, true},
	{"basic", PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD, true},
	{"all", SAMPLE_FIELDS, true},
};

struct pass {
	uint64_t ticks, count, samples, bytes;
};

static struct pass run(const struct mode *mode, uint64_t period, uint64_t rounds)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct pass pass = {0};
	struct ring ring = {0};
	struct record record;
	struct reading before, after;
	uint64_t head = 0;
	int fd;

	attr.sample_period = period;
	attr.sample_type = mode->sample_type;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	fd = event_require(&attr, 0, -1, -1);
	if (mode->with_ring)
		ring = ring_map(fd, RING_PAGES);
	/* First touches of the ring, and some ticks, outside the measured stretch. */
	CHECK(measured_loop(fd, SETTLE_ROUNDS, 0) == 0, "ioctl failed");
	while (mode->with_ring && ring_next(&ring, &record))
		;
	if (mode->with_ring) {
		ring_release(&ring);
		head = ring_head(&ring);
	}
	before = event_read(fd);
	pass.ticks = clock_ticks();
	CHECK(measured_loop(fd, rounds, 0) == 0, "ioctl failed");
	pass.ticks = clock_ticks() - pass.ticks;
	after = event_read(fd);
	pass.count = after.value - before.value;
	if (mode->with_ring) {
		pass.bytes = ring_head(&ring) - head;
		while (ring_next(&ring, &record)) {
			CHECK(record.header.type == PERF_RECORD_SAMPLE, "record of type %u",
				(unsigned)record.header.type);
			pass.samples++;
		}
		ring_unmap(&ring);
	} else {
		pass.samples = after.value / period - before.value / period;
	}
	event_close(fd);
	return pass;
}

int main(int argc, char **argv)
{
	uint64_t period = argc > 2 ? (uint64_t)text_number(argv[2]) : 100000;
	uint64_t rounds = argc > 3 ? (uint64_t)text_number(argv[3]) : 10000000;
	const struct mode *mode = NULL;
	struct pass without, with;
	uint64_t expected, tenths_ns;

	verdict_begin("sample_bench");
	for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
		if (text_equal(argv[1], modes[i].name))
			mode = &modes[i];
	}
	REQUIRE(mode, "no such mode");
	expected = LOOP_BODY_INSNS * rounds / period;
	REQUIRE(expected > 0 && expected < SAMPLES_MAX, "%lu samples", expected);
	task_pin(0, 0);
	without = run(mode, 1ull << 40, rounds);
	with = run(mode, period, rounds);
	CHECK(within_percent(with.samples, with.count / period, 1), "%lu samples in %lu cycles",
		with.samples, with.count);
	CHECK(without.samples == 0, "%lu samples without a period", without.samples);
	REQUIRE(with.samples > 0 && with.ticks >= without.ticks, "%lu samples, %lu and %lu ticks",
		with.samples, with.ticks, without.ticks);
	tenths_ns = clock_ticks_to_ns(with.ticks - without.ticks) * 10 / with.samples;
	measure("mode=%s period=%lu samples=%lu bytes_per_sample=%lu base_ticks=%lu with_ticks=%lu "
		"ns_per_sample=%lu.%lu",
		mode->name, period, with.samples, with.bytes / with.samples, without.ticks,
		with.ticks, tenths_ns / 10, tenths_ns % 10);
	return verdict_end();
}
