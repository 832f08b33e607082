/* SPDX-License-Identifier: MIT
 *
 * count_self: a task counts its own cycles and instructions.
 *
 * Around a loop of known length it counts PERF_COUNT_HW_CPU_CYCLES and, where the PMU has it,
 * PERF_COUNT_HW_INSTRUCTIONS, and checks
 *   - that nothing moves before ENABLE and after DISABLE, in value and in both times;
 *   - that cycles are the time (a cycle is a nanosecond here, see event.h) and times the clock's;
 *   - that RESET zeroes the value and no time;
 *   - every single-event read format, the short and the long buffer;
 *   - that exclude_user and exclude_kernel split the count.
 * Where instructions cannot be opened (QEMU without -icount says ENOENT) a measure line says so and
 * cycles alone are tested. With several CPUs INST_RETIRED in QEMU sees all of them, so the upper
 * bound is checked on one CPU only.
 *
 * System calls: perf_event_open ioctl read close sched_setaffinity write exit_group.
 */
#include "event.h"
#include "loop.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define ROUNDS 3000000u

static void count_cycles(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int fd = event_require(&attr, 0, -1, -1);
	struct reading before = event_read(fd), after, again;
	uint64_t start, wall_ns;

	CHECK(!before.value && !before.enabled_ns && !before.running_ns,
		"a disabled event reads %lu %lu %lu", before.value, before.enabled_ns,
		before.running_ns);
	start = clock_ticks();
	CHECK(measured_loop(fd, ROUNDS, 0) == 0, "ioctl failed");
	wall_ns = clock_ticks_to_ns(clock_ticks() - start);
	after = event_read(fd);
	plain_loop(ROUNDS / 10);
	again = event_read(fd);

	measure("cycles=%lu enabled_ns=%lu running_ns=%lu wall_ns=%lu", after.value,
		after.enabled_ns, after.running_ns, wall_ns);
	event_check_times("cycles", &after, true);
	CHECK(within_percent(after.value, after.running_ns, 5), "%lu cycles in %lu ns", after.value,
		after.running_ns);
	CHECK(after.enabled_ns <= wall_ns + wall_ns / 20, "enabled %lu of %lu ns", after.enabled_ns,
		wall_ns);
	CHECK(again.value == after.value && again.enabled_ns == after.enabled_ns &&
			again.running_ns == after.running_ns,
		"moved after DISABLE: %lu %lu %lu", again.value, again.enabled_ns,
		again.running_ns);

	event_reset(fd);
	again = event_read(fd);
	CHECK(again.value == 0, "value %lu after RESET", again.value);
	CHECK(again.enabled_ns == after.enabled_ns && again.running_ns == after.running_ns,
		"RESET moved the times: %lu %lu", again.enabled_ns, again.running_ns);
	event_close(fd);
}

static void count_instructions(unsigned cpus)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t loop_insns = loop_measured_insns(ROUNDS);
	struct reading r;
	int fd;

	if (!event_has_instructions()) {
		measure("instructions=absent");
		return;
	}
	fd = event_require(&attr, 0, -1, -1);
	CHECK(measured_loop(fd, ROUNDS, 0) == 0, "ioctl failed");
	r = event_read(fd);
	measure("instructions=%lu loop=%lu enabled_ns=%lu running_ns=%lu", r.value, loop_insns,
		r.enabled_ns, r.running_ns);
	event_check_times("instructions", &r, true);
	CHECK(r.value >= loop_insns, "%lu instructions, the loop alone has %lu", r.value,
		loop_insns);
	if (cpus == 1)
		CHECK(within_percent(r.value, loop_insns, 5), "%lu instructions, the loop has %lu",
			r.value, loop_insns);
	event_close(fd);
}

/* Words of a read in the ABI's order for a single event: value, enabled, running, id, lost. */
static void read_formats(void)
{
	for (uint64_t format = 0; format < 32; format++) {
		struct perf_event_attr attr = event_attr(
			PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
		uint64_t words[EVENT_WORDS_MAX] = {0};
		unsigned count = 0, expected = 1;
		int fd;

		if (format & PERF_FORMAT_GROUP)
			continue; /* group_read has these */
		attr.read_format = format;
		fd = event_require(&attr, 0, -1, -1);
		CHECK(measured_loop(fd, 1000, 0) == 0, "ioctl failed");
		count = event_read_words(fd, words);
		CHECK(words[0] > 0, "format %lx: value 0", format);
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			CHECK(words[expected++] > 0, "format %lx: enabled 0", format);
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			CHECK(words[expected++] > 0, "format %lx: running 0", format);
		if (format & PERF_FORMAT_ID) {
			CHECK(words[expected] == event_id(fd), "format %lx: id %lu", format,
				words[expected]);
			expected++;
		}
		if (format & PERF_FORMAT_LOST) {
			CHECK(words[expected] == 0, "format %lx: lost %lu", format,
				words[expected]);
			expected++;
		}
		CHECK(count == expected, "format %lx: %u words", format, count);
		CHECK(sys_read(fd, words, expected * 8 - 1) == -ENOSPC, "format %lx: short buffer",
			format);
		CHECK(sys_read(fd, words, 0) == -ENOSPC, "format %lx: empty buffer", format);
		CHECK(sys_read(fd, (void *)8, expected * 8) == -EFAULT, "format %lx: bad pointer",
			format);
		event_close(fd);
	}
}

static void privilege_filters(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct reading both, user, kernel;
	int fds[3];

	fds[0] = event_require(&attr, 0, -1, -1);
	attr.exclude_kernel = 1;
	fds[1] = event_require(&attr, 0, -1, -1);
	attr.exclude_kernel = 0;
	attr.exclude_user = 1;
	fds[2] = event_require(&attr, 0, -1, -1);

	for (unsigned i = 0; i < 3; i++)
		event_enable(fds[i]);
	plain_loop(ROUNDS / 3);
	for (unsigned i = 0; i < 2000; i++)
		sys_getpid();
	for (unsigned i = 0; i < 3; i++)
		event_disable(fds[i]);
	both = event_read(fds[0]);
	user = event_read(fds[1]);
	kernel = event_read(fds[2]);
	measure("both=%lu user=%lu kernel=%lu", both.value, user.value, kernel.value);
	CHECK(user.value > 0 && kernel.value > 0, "user %lu kernel %lu", user.value, kernel.value);
	CHECK(user.value < both.value && kernel.value < both.value, "user %lu kernel %lu both %lu",
		user.value, kernel.value, both.value);
	CHECK(within_percent(user.value + kernel.value, both.value, 5),
		"user %lu + kernel %lu, both %lu", user.value, kernel.value, both.value);
	for (unsigned i = 0; i < 3; i++)
		event_close(fds[i]);
}

int main(void)
{
	unsigned cpus;

	verdict_begin("count_self");
	cpus = task_cpu_count();
	task_pin(0, 0);
	count_cycles();
	count_instructions(cpus);
	read_formats();
	privilege_filters();
	return verdict_end();
}
