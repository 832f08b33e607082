/* SPDX-License-Identifier: MIT
 *
 * answer.c: what a read must give, number by number (perf_event_open(2), "Reading results").
 *
 * A single: value, enabled, running, id, lost, as read_format asks. A group: how many, enabled and
 * running of the leader, then value, id and lost of the leader and of its members by age. An answer
 * is made before and after a call; what the kernel said must lie between.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

static struct range exactly(uint64_t number)
{
	return (struct range){number, number};
}

static uint64_t count_of(const struct oracle_event *event)
{
	return event->residence->count;
}

struct range value_of(const struct oracle_event *event)
{
	uint64_t count = count_of(event);
	bool resetting = event->resets_pending || event->leader->resets_pending;
	uint64_t most_base = resetting ? count : event->base.most;

	return (struct range){count - most_base, count - event->base.least};
}

static uint32_t bits_of(uint64_t format, uint64_t mask)
{
	uint32_t bits = 0;

	for (uint64_t rest = format & mask; rest; rest &= rest - 1)
		bits++;
	return bits;
}

uint32_t answer_size(const struct oracle_event *event)
{
	uint64_t format = event->attr.read_format;
	uint32_t times = bits_of(
		format, TALLY_FORMAT_TOTAL_TIME_ENABLED | TALLY_FORMAT_TOTAL_TIME_RUNNING);
	uint32_t each = 1 + bits_of(format, TALLY_FORMAT_ID | TALLY_FORMAT_LOST);

	if ((format & TALLY_FORMAT_GROUP) == 0)
		return 8 * (times + each);
	return 8 * (1 + times + each * (1 + event->leader->member_count));
}

uint32_t answer_events(const struct oracle_event *event)
{
	bool group = (event->attr.read_format & TALLY_FORMAT_GROUP) != 0;

	return group ? 1 + event->leader->member_count : 1;
}

static void add(struct answer *answer, struct range range)
{
	if (answer->count < ANSWER_MAX)
		answer->word[answer->count++] = range;
}

static void add_times(struct answer *answer, uint64_t format, const struct oracle_event *event)
{
	if ((format & TALLY_FORMAT_TOTAL_TIME_ENABLED) != 0)
		add(answer, (struct range){event->enabled_least_ns, event->enabled_most_ns});
	if ((format & TALLY_FORMAT_TOTAL_TIME_RUNNING) != 0)
		add(answer, exactly(event->residence->running_ns));
}

static void add_name(struct answer *answer, uint64_t format, const struct oracle_event *event)
{
	if ((format & TALLY_FORMAT_ID) != 0)
		add(answer, exactly(event->residence->id));
	if ((format & TALLY_FORMAT_LOST) != 0)
		add(answer,
			event->lost_unsure ? (struct range){0, UINT64_MAX} : exactly(event->lost));
}

void answer_of(const struct oracle_event *event, struct answer *answer)
{
	uint64_t format = event->attr.read_format;
	const struct oracle_event *leader = event->leader;

	answer->count = 0;
	answer->events = 1;
	answer->unsure = event->unchecked;
	if ((format & TALLY_FORMAT_GROUP) == 0) {
		add(answer, value_of(event));
		add_times(answer, format, event);
		add_name(answer, format, event);
		return;
	}
	answer->events = 1 + leader->member_count;
	answer->unsure |= leader->order_unsure || leader->unchecked;
	add(answer, exactly(answer->events));
	add_times(answer, format, leader);
	add(answer, value_of(leader));
	add_name(answer, format, leader);
	FOR_EACH_MEMBER(member, leader)
	{
		answer->unsure |= member->unchecked;
		add(answer, value_of(member));
		add_name(answer, format, member);
	}
}

/* What word `k` of an answer is, for people. */
static const char *word_name(const struct oracle_event *event, uint32_t k)
{
	uint64_t format = event->attr.read_format;
	bool group = (format & TALLY_FORMAT_GROUP) != 0;
	const char *name[6];
	uint32_t head = 0;
	uint32_t each = 0;
	const char *entry[3];

	if (group)
		name[head++] = "number of events";
	if (!group)
		name[head++] = "value";
	if ((format & TALLY_FORMAT_TOTAL_TIME_ENABLED) != 0)
		name[head++] = "time enabled";
	if ((format & TALLY_FORMAT_TOTAL_TIME_RUNNING) != 0)
		name[head++] = "time running";
	if (k < head)
		return name[k];
	if (group)
		entry[each++] = "value";
	if ((format & TALLY_FORMAT_ID) != 0)
		entry[each++] = "id";
	if ((format & TALLY_FORMAT_LOST) != 0)
		entry[each++] = "lost";
	return entry[(k - head) % each];
}

static const char *law_of(const char *name)
{
	if (!strcmp(name, "value"))
		return "C1";
	if (!strcmp(name, "time enabled") || !strcmp(name, "time running"))
		return "T1";
	return !strcmp(name, "lost") ? "B3" : "R1";
}

/* C3, T1: what the reader sees never goes back, whatever the oracle thinks it is. */
static void judge_monotony(struct oracle *o, struct oracle_event *event, const uint64_t *word)
{
	uint64_t format = event->attr.read_format;
	uint32_t k = 1;
	uint64_t enabled = UINT64_MAX;
	uint64_t running = 0;

	if ((format & TALLY_FORMAT_TOTAL_TIME_ENABLED) != 0)
		enabled = word[k++];
	if ((format & TALLY_FORMAT_TOTAL_TIME_RUNNING) != 0)
		running = word[k++];
	if (running > enabled)
		oracle_violate(o, "T1", ORACLE_NOBODY, event, enabled, running,
			"it ran %" PRIu64 " ns, but was enabled for %" PRIu64 " ns", running,
			enabled);
	if ((format & TALLY_FORMAT_GROUP) != 0)
		return;
	if (event->was_read && word[0] < event->read_value)
		oracle_violate(o, "C3", ORACLE_NOBODY, event, event->read_value, word[0],
			"the value went back from %" PRIu64 " to %" PRIu64, event->read_value,
			word[0]);
	if (event->was_read &&
		(enabled < event->read_enabled_ns || running < event->read_running_ns))
		oracle_violate(o, "T1", ORACLE_NOBODY, event, event->read_running_ns, running,
			"a time went back: enabled %" PRIu64 " to %" PRIu64 ", running %" PRIu64
			" to %" PRIu64,
			event->read_enabled_ns, enabled, event->read_running_ns, running);
	event->was_read = true;
	event->read_value = word[0];
	event->read_enabled_ns = enabled == UINT64_MAX ? 0 : enabled;
	event->read_running_ns = running;
}

static void judge_word(struct oracle *o, struct oracle_event *event, uint32_t k, struct range range,
	uint64_t found)
{
	const char *name = word_name(event, k);

	if (found >= range.least && found <= range.most)
		return;
	if (range.least == range.most)
		oracle_violate(o, law_of(name), ORACLE_NOBODY, event, range.least, found,
			"read: word %u, %s, is %" PRIu64 ", not %" PRIu64, k, name, found,
			range.least);
	else
		oracle_violate(o, law_of(name), ORACLE_NOBODY, event, range.least, found,
			"read: word %u, %s, is %" PRIu64 ", not in %" PRIu64 " to %" PRIu64, k,
			name, found, range.least, range.most);
}

static bool equals(const struct answer *answer, const uint64_t *word)
{
	for (uint32_t k = 0; k < answer->count; k++) {
		if (word[k] < answer->word[k].least || word[k] > answer->word[k].most)
			return false;
	}
	return true;
}

/* C6: where counters moved once during the call, a group's answer is of before or of after. */
static void judge_instant(struct oracle *o, struct oracle_event *event, const struct answer *before,
	const struct answer *after, const uint64_t *word)
{
	if (before->events == after->events && !before->unsure && !after->unsure &&
		!equals(before, word) && !equals(after, word))
		oracle_violate(o, "C6", ORACLE_NOBODY, event, after->word[0].least, word[0],
			"read: the values of a group are not of one instant");
}

void answer_judge(struct oracle *o, struct oracle_event *event, const struct answer *before,
	bool moved_once, const uint8_t *bytes, size_t size)
{
	struct answer *after = oracle_grow(NULL, sizeof(*after));
	uint64_t word[ANSWER_MAX];

	answer_of(event, after);
	o->tally.reads++;
	if (size == 8 * (size_t)after->count)
		memcpy(word, bytes, size);
	if (size != 8 * (size_t)after->count) {
		if (before->events == after->events)
			oracle_violate(o, "R1", ORACLE_NOBODY, event, 8 * (uint64_t)after->count,
				size, "read: %zu bytes, not %u", size, 8 * after->count);
	} else if (!event->unchecked) {
		judge_monotony(o, event, word);
		for (uint32_t k = 0; k < after->count; k++) {
			struct range range = after->word[k];
			bool same = before->events == after->events;

			if (after->unsure || !same)
				break;
			if (before->word[k].least < range.least)
				range.least = before->word[k].least;
			if (before->word[k].most > range.most)
				range.most = before->word[k].most;
			judge_word(o, event, k, range, word[k]);
		}
		if (moved_once)
			judge_instant(o, event, before, after, word);
	}
	free(after);
}
