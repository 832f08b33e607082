/* SPDX-License-Identifier: MIT
 *
 * Random numbers that a seed repeats: xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
 *
 * No global state: a task keeps its own. Not for anything but tests.
 */
#ifndef PROGRAMS_RANDOM_H
#define PROGRAMS_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state; /* never 0 */
};

/* A stream of its own for each pair of numbers. */
static inline struct random random_stream(uint64_t seed, uint64_t number)
{
	uint64_t state = (seed * 0x9e3779b97f4a7c15ull + number + 1) * 0xbf58476d1ce4e5b9ull;

	return (struct random){state ? state : 1};
}

static inline uint64_t random_next(struct random *random)
{
	uint64_t state = random->state;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return random->state = state;
}

static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return (random_next(random) >> 8) % limit;
}

#endif
