/* SPDX-License-Identifier: MIT
 *
 * group_read: groups are scheduled, switched, gated and read as one.
 *
 *	group_read [COUNTERS]
 *
 * A group of three cycles events (the third user-only) on the calling task. Checks:
 *   - a disabled leader gates its enabled members: all read zero, times too;
 *   - plain ENABLE and DISABLE of the leader start and stop the counting of all three; equal events
 *     have nearly equal values, and all were there all the time (running = enabled);
 *   - PERF_FORMAT_GROUP in every combination with both times, ID and LOST: the number of members,
 *     one pair of times, the members in order of opening; read through a member's fd too, in the
 *     member's own format; ENOSPC for a buffer that is one byte short;
 *   - RESET with PERF_IOC_FLAG_GROUP on any member zeroes all values and no time; DISABLE with the
 *     flag turns every member off, so that a plain ENABLE of the leader moves the leader alone; a
 *     plain DISABLE of a member stops that member alone;
 *   - a group that needs more counters than the PMU has (COUNTERS, 7 on the machines of this tree)
 *     is refused at open with EINVAL, and what was opened before still counts.
 *
 * System calls: perf_event_open ioctl read close sched_setaffinity write exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define MEMBERS      3u
#define ROUNDS       300000u
#define COUNTERS_MAX 31u

struct group {
	int fds[MEMBERS];
	uint64_t ids[MEMBERS];
};

struct group_values {
	uint64_t enabled_ns, running_ns;
	uint64_t value[MEMBERS];
};

static struct group open_group(uint64_t leader_format, uint64_t member_format)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct group group;

	attr.read_format = leader_format;
	group.fds[0] = event_require(&attr, 0, -1, -1);
	attr.disabled = 0;
	attr.read_format = member_format;
	group.fds[1] = event_require(&attr, 0, -1, group.fds[0]);
	attr.exclude_kernel = 1;
	group.fds[2] = event_require(&attr, 0, -1, group.fds[0]);
	for (unsigned i = 0; i < MEMBERS; i++)
		group.ids[i] = event_id(group.fds[i]);
	return group;
}

static void close_group(const struct group *group)
{
	for (unsigned i = 0; i < MEMBERS; i++)
		event_close(group->fds[i]);
}

/* Reads through one fd, whose format is `format`, and checks everything but the values. */
static struct group_values read_group(const struct group *group, unsigned through, uint64_t format)
{
	uint64_t words[EVENT_WORDS_MAX] = {0};
	unsigned count = event_read_words(group->fds[through], words), at = 0;
	struct group_values values = {0};

	CHECK(words[at] == MEMBERS, "format %lx: %lu members", format, words[at]);
	at++;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		values.enabled_ns = words[at++];
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		values.running_ns = words[at++];
	for (unsigned i = 0; i < MEMBERS; i++) {
		values.value[i] = words[at++];
		if (format & PERF_FORMAT_ID) {
			CHECK(words[at] == group->ids[i],
				"format %lx: member %u has id %lu, not %lu", format, i, words[at],
				group->ids[i]);
			at++;
		}
		if (format & PERF_FORMAT_LOST) {
			CHECK(words[at] == 0, "format %lx: lost %lu", format, words[at]);
			at++;
		}
	}
	CHECK(count == at, "format %lx: %u words, expected %u", format, count, at);
	CHECK(sys_read(group->fds[through], words, at * 8 - 1) == -ENOSPC,
		"format %lx: short buffer", format);
	return values;
}

static void check_counted(const char *how, const struct group_values *v)
{
	measure("%s leader=%lu member=%lu user=%lu enabled_ns=%lu running_ns=%lu", how, v->value[0],
		v->value[1], v->value[2], v->enabled_ns, v->running_ns);
	for (unsigned i = 0; i < MEMBERS; i++)
		CHECK(v->value[i] > 0, "%s: member %u is 0", how, i);
	CHECK(within_percent(v->value[1], v->value[0], 2), "%s: equal events %lu and %lu", how,
		v->value[0], v->value[1]);
	CHECK(v->value[2] < v->value[1], "%s: user %lu of %lu", how, v->value[2], v->value[1]);
}

static void gating_and_switching(void)
{
	const uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | READ_TIMES;
	struct group group = open_group(format, format);
	struct group_values before, after, again;

	plain_loop(ROUNDS / 10);
	before = read_group(&group, 0, format);
	for (unsigned i = 0; i < MEMBERS; i++)
		CHECK(!before.value[i], "gated member %u counted %lu", i, before.value[i]);
	CHECK(!before.enabled_ns && !before.running_ns, "gated group: times %lu %lu",
		before.enabled_ns, before.running_ns);

	CHECK(measured_loop(group.fds[0], ROUNDS, 0) == 0, "ioctl failed");
	after = read_group(&group, 0, format);
	check_counted("leader", &after);
	CHECK(after.enabled_ns > 0 && after.enabled_ns == after.running_ns,
		"enabled %lu running %lu", after.enabled_ns, after.running_ns);
	plain_loop(ROUNDS / 10);
	again = read_group(&group, 1, format);
	CHECK(!memcmp(&after, &again, sizeof after), "moved after DISABLE: %lu to %lu",
		after.value[0], again.value[0]);

	event_group(group.fds[2], PERF_EVENT_IOC_RESET);
	again = read_group(&group, 0, format);
	for (unsigned i = 0; i < MEMBERS; i++)
		CHECK(!again.value[i], "member %u is %lu after RESET", i, again.value[i]);
	CHECK(again.enabled_ns == after.enabled_ns && again.running_ns == after.running_ns,
		"RESET moved the times to %lu %lu", again.enabled_ns, again.running_ns);
	close_group(&group);
}

static void group_flag(void)
{
	const uint64_t format = PERF_FORMAT_GROUP | READ_TIMES;
	struct group group = open_group(format, format);
	struct group_values first, second, third;

	event_group(group.fds[1], PERF_EVENT_IOC_ENABLE);
	plain_loop(ROUNDS);
	event_group(group.fds[2], PERF_EVENT_IOC_DISABLE);
	first = read_group(&group, 0, format);
	check_counted("flag", &first);

	event_enable(group.fds[0]); /* the members are off */
	plain_loop(ROUNDS);
	event_disable(group.fds[0]);
	second = read_group(&group, 0, format);
	CHECK(second.value[0] > first.value[0], "leader stands at %lu", second.value[0]);
	CHECK(second.value[1] == first.value[1] && second.value[2] == first.value[2],
		"members that are off went to %lu %lu", second.value[1], second.value[2]);

	event_group(group.fds[0], PERF_EVENT_IOC_ENABLE);
	event_disable(group.fds[1]);
	second = read_group(&group, 0, format);
	plain_loop(ROUNDS);
	third = read_group(&group, 0, format);
	CHECK(third.value[1] == second.value[1], "a disabled member went from %lu to %lu",
		second.value[1], third.value[1]);
	CHECK(third.value[0] > second.value[0] && third.value[2] > second.value[2],
		"the others stand: %lu %lu", third.value[0], third.value[2]);
	close_group(&group);
}

static void formats(void)
{
	for (uint64_t format = 0; format < 32; format++) {
		struct group group;
		struct group_values values;
		struct reading single;

		if (!(format & PERF_FORMAT_GROUP))
			continue;
		group = open_group(READ_TIMES | PERF_FORMAT_GROUP, format);
		CHECK(measured_loop(group.fds[0], ROUNDS / 10, 0) == 0, "ioctl failed");
		values = read_group(&group, 1, format);
		CHECK(values.value[0] > 0 && values.value[1] > 0, "format %lx: values %lu %lu",
			format, values.value[0], values.value[1]);
		close_group(&group);

		/* A member without GROUP reads itself alone, while its leader reads all. */
		group = open_group(format, READ_TIMES);
		CHECK(measured_loop(group.fds[0], ROUNDS / 10, 0) == 0, "ioctl failed");
		values = read_group(&group, 0, format);
		single = event_read(group.fds[1]);
		event_check_times("member", &single, true);
		CHECK(single.value == values.value[1], "alone %lu, in the group %lu", single.value,
			values.value[1]);
		close_group(&group);
	}
}

static void too_large(unsigned counters)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_RAW, PMU_CYCLES);
	int fds[COUNTERS_MAX + 1], answer = 0;
	unsigned count = 0;
	struct reading r;

	/* Enabled all, as Linux leaves members that are off out of its reckoning. */
	attr.disabled = 0;
	while (count <= COUNTERS_MAX) {
		answer = event_open(&attr, 0, -1, count ? fds[0] : -1);
		if (answer < 0)
			break;
		fds[count++] = answer;
	}
	measure("largest_group=%u", count);
	CHECK(answer == -EINVAL, "member %u: %d", count + 1, answer);
	CHECK(count == counters, "%u members fitted, expected %u", count, counters);
	plain_loop(ROUNDS);
	for (unsigned i = 0; i < count; i++) {
		r = event_read(fds[i]);
		CHECK(r.value > 0 && r.running_ns > 0, "member %u: %lu in %lu ns", i, r.value,
			r.running_ns);
	}
	for (unsigned i = 0; i < count; i++)
		event_close(fds[i]);
}

int main(int argc, char **argv)
{
	verdict_begin("group_read");
	task_pin(0, 0);
	gating_and_switching();
	group_flag();
	formats();
	too_large(argc > 1 ? (unsigned)text_number(argv[1]) : 7);
	return verdict_end();
}
