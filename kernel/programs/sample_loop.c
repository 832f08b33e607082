/* SPDX-License-Identifier: MIT
 *
 * sample_loop: fixed-period sampling of cycles into an mmap ring.
 *
 *	sample_loop [dump]
 *
 * Checks, each on a ring that is parsed record by record to its end:
 *   - whole: a user-only event around measured_loop. Every address lies between the two calls,
 *     nearly all in the loop's body; ids, pid, tid, CPU and period are right, time never goes back
 *     and keeps step with the period; the number of samples is count / period, exactly so on one
 *     CPU;
 *   - sliced: the same while another task competes for the CPU. The remainder of a period is
 *     carried from slice to slice, so the number stays count / period, less at most one;
 *   - levels: an unfiltered event over system calls. Samples come from both levels, and the
 *     header's misc agrees with the address;
 *   - lost: a ring of one page that nobody reads. What was emitted is what is in the ring and what
 *     is lost: read(2) with PERF_FORMAT_LOST says so, and the LOST record in front of the next
 *     sample.
 * With `dump` the first ring also leaves the guest as the file sample_loop.ring.
 *
 * Rates stay far below perf_event_max_sample_rate, so a THROTTLE record is an error here.
 *
 * System calls: perf_event_open ioctl read close mmap munmap clone kill wait4 sched_setaffinity
 * getpid gettid write exit_group.
 */
#include "bytes.h"
#include "dump.h"
#include "event.h"
#include "loop.h"
#include "ring.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define PERIOD       100000u
#define SHORT_PERIOD 20000u
#define ROUNDS       (100u * PERIOD / LOOP_BODY_INSNS + PERIOD / 6) /* 100.5 periods at 1 per ns */

static unsigned cpus;

/* What the records of a ring added up to. */
struct tally {
	uint64_t samples, in_body, user, kernel;
	uint64_t lost_records, lost;
	uint64_t others; /* THROTTLE, UNTHROTTLE and whatever else */
	uint64_t first_ns, last_ns;
};

static int open_sampler(uint64_t period, bool user_only)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	attr.sample_period = period;
	attr.sample_type = SAMPLE_FIELDS;
	attr.exclude_kernel = user_only;
	attr.exclude_hv = user_only;
	attr.read_format = READ_TIMES | PERF_FORMAT_LOST;
	return event_require(&attr, 0, -1, -1);
}

static void check_sample(
	const struct record *record, uint64_t id, uint64_t period, struct tally *tally)
{
	struct sample s = ring_sample(record);
	unsigned level = record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	CHECK(s.identifier == id && s.id == id, "ids %lu %lu, the event's %lu", s.identifier, s.id,
		id);
	CHECK(s.pid == (uint32_t)sys_getpid() && s.tid == (uint32_t)sys_gettid(), "pid %u tid %u",
		s.pid, s.tid);
	CHECK(s.cpu == 0, "cpu %u", s.cpu);
	CHECK(s.period == period, "period %lu", s.period);
	CHECK(s.time_ns >= tally->last_ns, "time %lu after %lu", s.time_ns, tally->last_ns);
	if (!tally->samples)
		tally->first_ns = s.time_ns;
	tally->last_ns = s.time_ns;
	tally->samples++;
	tally->in_body += loop_measured_body_holds(s.ip);
	if (level == PERF_RECORD_MISC_USER) {
		tally->user++;
		CHECK(s.ip >> 48 == 0, "user sample at %lx", s.ip);
	} else {
		tally->kernel++;
		CHECK(level == PERF_RECORD_MISC_KERNEL, "level %u", level);
		CHECK(s.ip >> 48 == 0xffff, "kernel sample at %lx", s.ip);
	}
}

static struct tally drain(struct ring *ring, uint64_t id, uint64_t period)
{
	struct tally tally = {0};
	struct record record;

	while (ring_next(ring, &record)) {
		if (record.header.type == PERF_RECORD_SAMPLE) {
			check_sample(&record, id, period, &tally);
		} else if (record.header.type == PERF_RECORD_LOST) {
			struct lost lost = ring_lost(&record);

			CHECK(lost.id == id, "LOST of id %lu", lost.id);
			tally.lost_records++;
			tally.lost += lost.count;
		} else {
			tally.others++;
		}
	}
	CHECK(!tally.others, "%lu records are neither SAMPLE nor LOST", tally.others);
	ring_release(ring);
	return tally;
}

/* value, enabled, running, lost */
static void read_event(int fd, uint64_t words[EVENT_WORDS_MAX])
{
	unsigned count = event_read_words(fd, words);

	REQUIRE(count == 4, "%u words", count);
}

static void whole(bool dump)
{
	int fd = open_sampler(PERIOD, true);
	struct ring ring = ring_map(fd, 8);
	uint64_t words[EVENT_WORDS_MAX], expected, id = event_id(fd);
	struct tally tally;

	CHECK(measured_loop(fd, ROUNDS, 0) == 0, "ioctl failed");
	read_event(fd, words);
	if (dump)
		dump_bytes("sample_loop.ring", ring.data, (size_t)ring_head(&ring));
	tally = drain(&ring, id, PERIOD);
	expected = words[0] / PERIOD;
	measure("whole count=%lu period=%u samples=%lu in_body=%lu lost=%lu span_ns=%lu", words[0],
		PERIOD, tally.samples, tally.in_body, words[3], tally.last_ns - tally.first_ns);
	CHECK(tally.samples > 50, "%lu samples", tally.samples);
	CHECK(tally.kernel == 0, "%lu kernel samples of a user-only event", tally.kernel);
	CHECK(tally.in_body + 1 >= tally.samples, "%lu of %lu samples in the loop", tally.in_body,
		tally.samples);
	CHECK(!tally.lost_records && !words[3], "lost %lu", words[3]);
	if (cpus == 1)
		CHECK(tally.samples == expected, "%lu samples, count / period %lu", tally.samples,
			expected);
	else
		CHECK(within_percent(tally.samples, expected, 5), "%lu samples, count / period %lu",
			tally.samples, expected);
	/* The samples' own time runs with the kernel's work too: a little over the periods. */
	CHECK(within_percent(tally.last_ns - tally.first_ns, (tally.samples - 1) * PERIOD, 10),
		"%lu samples in %lu ns", tally.samples, tally.last_ns - tally.first_ns);
	ring_unmap(&ring);
	event_close(fd);
}

static void sliced(void)
{
	int fd = open_sampler(PERIOD, true);
	struct ring ring = ring_map(fd, 8);
	uint64_t words[EVENT_WORDS_MAX], expected, id = event_id(fd);
	struct tally tally;
	int pid = task_fork();

	if (!pid)
		loop_forever();
	CHECK(measured_loop(fd, ROUNDS * 3, 0) == 0, "ioctl failed");
	CHECK(sys_kill(pid, SIGKILL) == 0, "kill");
	task_wait(pid);
	read_event(fd, words);
	tally = drain(&ring, id, PERIOD);
	expected = words[0] / PERIOD;
	measure("sliced count=%lu samples=%lu in_body=%lu lost=%lu span_ns=%lu", words[0],
		tally.samples, tally.in_body, words[3], tally.last_ns - tally.first_ns);
	CHECK(tally.in_body + 1 >= tally.samples, "%lu of %lu samples in the loop", tally.in_body,
		tally.samples);
	if (cpus == 1)
		CHECK(tally.samples == expected || tally.samples + 1 == expected,
			"%lu samples, count / period %lu", tally.samples, expected);
	else
		CHECK(within_percent(tally.samples, expected, 5), "%lu samples, count / period %lu",
			tally.samples, expected);
	ring_unmap(&ring);
	event_close(fd);
}

static void levels(void)
{
	int fd = open_sampler(SHORT_PERIOD + 11, false); /* not in step with the calls */
	struct ring ring = ring_map(fd, 8);
	uint64_t words[EVENT_WORDS_MAX], id = event_id(fd);
	struct tally tally;

	event_enable(fd);
	for (unsigned i = 0; i < 2000; i++) {
		sys_getpid();
		plain_loop(200);
	}
	event_disable(fd);
	read_event(fd, words);
	tally = drain(&ring, id, SHORT_PERIOD + 11);
	measure("levels count=%lu samples=%lu user=%lu kernel=%lu", words[0], tally.samples,
		tally.user, tally.kernel);
	CHECK(tally.user > 0 && tally.kernel > 0, "user %lu kernel %lu", tally.user, tally.kernel);
	CHECK(tally.samples <= words[0] / (SHORT_PERIOD + 11) + 1, "%lu samples of %lu cycles",
		tally.samples, words[0]);
	ring_unmap(&ring);
	event_close(fd);
}

static void lost(void)
{
	int fd = open_sampler(SHORT_PERIOD, true);
	struct ring ring = ring_map(fd, 1);
	uint64_t first[EVENT_WORDS_MAX], second[EVENT_WORDS_MAX], id = event_id(fd);
	struct tally full, after;
	uint64_t head;

	CHECK(measured_loop(fd, ROUNDS / 2, 0) == 0, "ioctl failed"); /* some 250 periods */
	read_event(fd, first);
	head = ring_head(&ring);
	full = drain(&ring, id, SHORT_PERIOD);
	CHECK(full.samples > 0 && head + sizeof(struct sample) + 8 >= ring.data_bytes,
		"%lu samples, %lu bytes: the ring is not full", full.samples, head);
	CHECK(!full.lost_records, "a LOST record before there was room");
	CHECK(first[3] > 0, "nothing lost");

	CHECK(measured_loop(fd, ROUNDS / 50, 0) == 0, "ioctl failed"); /* some 10 periods */
	read_event(fd, second);
	after = drain(&ring, id, SHORT_PERIOD);
	measure("lost count=%lu first_samples=%lu first_lost=%lu second_samples=%lu "
		"lost_record=%lu",
		second[0], full.samples, first[3], after.samples, after.lost);
	CHECK(after.lost_records == 1 && after.lost == first[3],
		"%lu LOST records of %lu, read says %lu", after.lost_records, after.lost, first[3]);
	CHECK(second[3] == first[3], "lost grew from %lu to %lu with room", first[3], second[3]);
	if (cpus == 1)
		CHECK(full.samples + first[3] + after.samples == second[0] / SHORT_PERIOD,
			"%lu + %lu + %lu samples, count / period %lu", full.samples, first[3],
			after.samples, second[0] / SHORT_PERIOD);
	ring_unmap(&ring);
	event_close(fd);
}

int main(int argc, char **argv)
{
	verdict_begin("sample_loop");
	cpus = task_cpu_count();
	task_pin(0, 0);
	whole(argc > 1 && text_equal(argv[1], "dump"));
	sliced();
	levels();
	lost();
	return verdict_end();
}
