/* SPDX-License-Identifier: MIT
 *
 * shrink.c: fewer deviations, and earlier ones, that fail in the same way (explorer/trace.h).
 *
 * A deviation that is dropped may shift the steps of those after it; a candidate that then fails no
 * more is given up. What remains is minimal in that no one and no two of them can be left out.
 */
#include <explorer/trace.h>

#include <string.h>

#define EARLIER_MAX 64u /* steps that a deviation is tried to move by */

struct shrinking {
	const struct explorer_shrinker *shrinker;
	struct explorer_deviation *deviation;
	size_t count;
	uint32_t runs;
};

/* Try without deviations a and b (a == b: one). */
static bool drop(struct shrinking *s, size_t a, size_t b)
{
	struct explorer_deviation left[EXPLORER_DEVIATIONS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (i != a && i != b)
			left[n++] = s->deviation[i];
	}
	s->runs++;
	if (!s->shrinker->fails(s->shrinker->context, left, n))
		return false;
	memcpy(s->deviation, left, n * sizeof(left[0]));
	s->count = n;
	return true;
}

static void drop_singly(struct shrinking *s)
{
	for (size_t i = s->count; i-- > 0;)
		(void)drop(s, i, i);
}

/* true: a pair could go. */
static bool drop_pair(struct shrinking *s)
{
	for (size_t a = 0; a < s->count; a++) {
		for (size_t b = a + 1; b < s->count; b++) {
			if (drop(s, a, b))
				return true;
		}
	}
	return false;
}

/* Move deviation i to the earliest step, in halving strides, at which the run still fails. */
static void move_earlier(struct shrinking *s, size_t i)
{
	uint32_t least = i == 0 ? 1 : s->deviation[i - 1].step + 1;

	for (uint32_t stride = EARLIER_MAX; stride > 0;) {
		struct explorer_deviation was = s->deviation[i];

		if (was.step < least + stride) {
			stride /= 2;
			continue;
		}
		s->deviation[i].step -= stride;
		s->runs++;
		if (!s->shrinker->fails(s->shrinker->context, s->deviation, s->count)) {
			s->deviation[i] = was;
			stride /= 2;
		}
	}
}

uint32_t explorer_shrink(const struct explorer_shrinker *shrinker,
	struct explorer_deviation *deviations, size_t *count)
{
	struct shrinking s = {.shrinker = shrinker, .deviation = deviations, .count = *count};

	if (s.count > EXPLORER_DEVIATIONS_MAX)
		return 0;
	do
		drop_singly(&s);
	while (drop_pair(&s));
	for (size_t i = 0; i < s.count; i++)
		move_earlier(&s, i);
	*count = s.count;
	return s.runs;
}
