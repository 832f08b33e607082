/* SPDX-License-Identifier: MIT
 *
 * trace.h: a run as one line of text.
 *
 *   tally1/races/close-overflow/cfg=2cpu/core=1f0c9a2b i41 c88:1@tally_slices_end v93:2
 *
 * names the scenario, how it is configured, the engine's sources, and where the run deviates from
 * the default: the letter of the choice's kind, its step, the answer if it is not 1, and the
 * function that asked (the site), by which a replay knows that it is at the right place.
 */
#ifndef EXPLORER_TRACE_H
#define EXPLORER_TRACE_H

#include <stdio.h>

#include <explorer/search.h>

#define EXPLORER_NAME_MAX       96u
#define EXPLORER_DEVIATIONS_MAX 64u

struct explorer_trace {
	char scenario[EXPLORER_NAME_MAX];
	char config[EXPLORER_NAME_MAX];
	char core[EXPLORER_NAME_MAX];
	size_t count;
	struct explorer_deviation deviation[EXPLORER_DEVIATIONS_MAX];
	/* the function at each deviation; empty: not known */
	char site[EXPLORER_DEVIATIONS_MAX][EXPLORER_NAME_MAX];
};

/* NULL, or what is wrong with `text`: then *trace is not to be used. */
const char *explorer_trace_parse(struct explorer_trace *trace, const char *text);
/* As one line without a newline; false: it does not fit. */
bool explorer_trace_format(const struct explorer_trace *trace, char *text, size_t size);

/* The deviations of the last run of `search`. `name` gives the function of a site, or NULL. false:
 * more than EXPLORER_DEVIATIONS_MAX, the first of which are there. */
bool explorer_trace_take(struct explorer_trace *trace, const struct explorer_search *search,
	const char *(*name)(const void *site));

/* Does the replay `search` of the trace stand where the trace says? NULL, or which deviation met
 * another choice: the trace is stale. */
const char *explorer_trace_stale(const struct explorer_trace *trace,
	const struct explorer_search *search, const char *(*name)(const void *site));

/* ---- shrinking ---- */

struct explorer_shrinker {
	void *context;
	/* Does a run with these deviations fail in the same way? */
	bool (*fails)(void *context, const struct explorer_deviation *deviations, size_t count);
};

/* Drop deviations, one by one and in pairs, then move each to an earlier choice, while the run
 * fails in the same way. Returns how many runs that took. */
uint32_t explorer_shrink(const struct explorer_shrinker *shrinker,
	struct explorer_deviation *deviations, size_t *count);

#endif
