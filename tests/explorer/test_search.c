/* SPDX-License-Identifier: MIT
 *
 * test_search.c: the searches against small worlds whose runs can be counted by hand, traces as
 * text, and shrinking.
 */
#include <criterion/criterion.h>
#include <explorer/search.h>
#include <explorer/trace.h>
#include <string.h>

#define EXHAUST_MAX 100000u

/* A world of `choices` binary choices of one kind; returns the answers as bits. */
static uint32_t bits_of(
	struct explorer_search *search, enum machine_choice_kind kind, uint32_t choices)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < choices; i++)
		bits |= explorer_choose(search, kind, 2, 0, NULL) << i;
	return bits;
}

static uint64_t count_runs(const struct explorer_budget *budget, enum machine_choice_kind kind,
	uint32_t choices, uint64_t *seen)
{
	struct explorer_search *search = explorer_search_exhaustive(budget);
	uint64_t runs = 0;

	*seen = 0;
	while (explorer_search_next(search) && runs < EXHAUST_MAX) {
		*seen |= UINT64_C(1) << bits_of(search, kind, choices);
		runs++;
	}
	cr_assert(!explorer_search_diverged(search));
	explorer_search_free(search);
	return runs;
}

/* Within a budget of k there are sum over i <= k of (6 over i) runs, each once. */
Test(search, exhausts_what_the_budget_allows)
{
	static const uint64_t runs[] = {1, 7, 22, 42};
	uint64_t seen;

	for (uint32_t k = 0; k < 4; k++) {
		const struct explorer_budget budget = {.preemptions = k};

		cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_CPU, 6, &seen), runs[k]);
		cr_assert_eq((uint64_t)__builtin_popcountll(seen), runs[k]);
	}
}

Test(search, kinds_draw_from_their_own_budgets)
{
	const struct explorer_budget budget = {.interrupts = 1, .stale = 2};
	uint64_t seen;

	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_CPU, 5, &seen), 1);
	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_INTERRUPT, 5, &seen), 6);
	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_EVENTS, 5, &seen), 6);
	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_VALUE, 5, &seen), 16);
	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_HARDWARE, 5, &seen), 16);
	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_FAULT, 5, &seen), 1);
	/* which CPU goes on when one cannot is free: all 2^5 */
	cr_assert_eq(count_runs(&budget, MACHINE_CHOICE_NEXT, 5, &seen), 32);
	cr_assert_eq(seen, UINT32_MAX);
}

/* A choice that exists only after an answer: 1 + 3 runs. */
Test(search, follows_choices_that_depend_on_answers)
{
	const struct explorer_budget budget = {.preemptions = 2};
	struct explorer_search *search = explorer_search_exhaustive(&budget);
	uint32_t runs = 0, deep = 0;

	while (explorer_search_next(search)) {
		runs++;
		if (explorer_choose(search, MACHINE_CHOICE_CPU, 2, 0, NULL) != 0)
			deep += explorer_choose(search, MACHINE_CHOICE_CPU, 3, 1, NULL);
	}
	cr_assert_eq(runs, 4);
	cr_assert_eq(deep, 0 + 1 + 2);
	explorer_search_free(search);
}

/* Shards and workers that share units meet every run but the default one exactly once. */
Test(search, shards_are_disjoint_and_complete)
{
	const struct explorer_budget budget = {.preemptions = 2};
	static uint8_t claimed[64];
	uint64_t seen = 0, runs = 0;

	for (uint32_t shard = 0; shard < 3; shard++) {
		struct explorer_search *search = explorer_search_exhaustive(&budget);

		explorer_search_shard(search, shard, 3);
		while (explorer_search_next(search)) {
			uint32_t bits = bits_of(search, MACHINE_CHOICE_CPU, 6);

			cr_assert(bits == 0 || !(seen >> bits & 1));
			seen |= UINT64_C(1) << bits;
			runs += bits != 0;
		}
		explorer_search_free(search);
	}
	cr_assert_eq(runs, 21);
	runs = 0;
	for (uint32_t worker = 0; worker < 2; worker++) {
		struct explorer_search *search = explorer_search_exhaustive(&budget);

		explorer_search_share(search, claimed, sizeof(claimed));
		for (uint32_t k = 0; explorer_search_next(search) && (worker != 0 || k < 9); k++)
			runs += bits_of(search, MACHINE_CHOICE_CPU, 6) != 0;
		explorer_search_free(search);
	}
	cr_assert_leq(runs, 21); /* the first left in the middle of a unit: nobody else took it */
	cr_assert_geq(runs, 15);
}

Test(search, a_world_that_changes_is_noticed)
{
	const struct explorer_budget budget = {.preemptions = 1};
	struct explorer_search *search = explorer_search_exhaustive(&budget);
	uint32_t n = 2;

	while (explorer_search_next(search)) {
		(void)explorer_choose(search, MACHINE_CHOICE_CPU, n, 0, NULL);
		(void)explorer_choose(search, MACHINE_CHOICE_CPU, 2, 0, NULL);
		n = 3;
	}
	cr_assert(explorer_search_diverged(search));
	explorer_search_free(search);
}

Test(search, random_and_pct_runs_are_functions_of_seed_and_number)
{
	for (int pct = 0; pct < 2; pct++) {
		uint64_t hash[2][20];

		for (int k = 0; k < 2; k++) {
			struct explorer_search *search = pct ? explorer_search_pct(5, 20, 3)
							     : explorer_search_random(5, 20);
			uint32_t runs = 0;

			while (explorer_search_next(search)) {
				(void)bits_of(search, MACHINE_CHOICE_CPU, 30);
				hash[k][runs++] = explorer_choices_hash(search);
			}
			cr_assert_eq(runs, 20);
			explorer_search_free(search);
		}
		cr_assert_arr_eq(hash[0], hash[1], sizeof(hash[0]));
	}
}

Test(search, replay_and_bytes_give_what_they_are_told)
{
	static const struct explorer_deviation deviations[] = {
		{.step = 2, .kind = MACHINE_CHOICE_CPU, .answer = 1},
		{.step = 5, .kind = MACHINE_CHOICE_CPU, .answer = 1}};
	static const uint8_t bytes[] = {1, 0, 3, 7};
	struct explorer_search *search = explorer_search_replay(deviations, 2);

	cr_assert(explorer_search_next(search));
	cr_assert_eq(bits_of(search, MACHINE_CHOICE_CPU, 6), 0x12);
	cr_assert(!explorer_search_next(search));
	explorer_search_free(search);
	search = explorer_search_bytes(bytes, sizeof(bytes));
	cr_assert(explorer_search_next(search));
	cr_assert_eq(bits_of(search, MACHINE_CHOICE_CPU, 6), 0xd); /* modulo 2, then 0 */
	explorer_search_free(search);
}

/* ---- traces ---- */

Test(trace, text_and_back)
{
	static const char *const texts[] = {
		"tally1/races/close-overflow/cfg=2cpu/core=1f0c9a2b i41 c88:3@tally_slices_end "
		"v93:2",
		"tally1/ring/cfg=2cpu,mutant=x/core=0",
	};
	struct explorer_trace trace;
	char text[512];

	for (size_t i = 0; i < 2; i++) {
		cr_assert_null(explorer_trace_parse(&trace, texts[i]));
		cr_assert(explorer_trace_format(&trace, text, sizeof(text)));
		cr_assert_str_eq(text, texts[i]);
	}
	cr_assert_null(explorer_trace_parse(&trace, texts[0]));
	cr_assert_str_eq(trace.scenario, "races/close-overflow");
	cr_assert_eq(trace.count, 3);
	cr_assert_eq(trace.deviation[1].step, 88);
	cr_assert_eq(trace.deviation[1].kind, MACHINE_CHOICE_CPU);
	cr_assert_eq(trace.deviation[1].answer, 3);
	cr_assert_str_eq(trace.site[1], "tally_slices_end");
	cr_assert_eq(trace.deviation[0].answer, 1);
	cr_assert(!explorer_trace_format(&trace, text, 20));
}

Test(trace, what_is_no_trace_is_refused)
{
	static const char *const texts[] = {"", "tally2/a/cfg=1/core=2", "tally1/a/core=2",
		"tally1/a/cfg=b", "tally1//cfg=b/core=c", "tally1/a/cfg=/core=c",
		"tally1/a/cfg=b/core=c x1", "tally1/a/cfg=b/core=c i", "tally1/a/cfg=b/core=c i0",
		"tally1/a/cfg=b/core=c i1:0",
		"tally1/a/cfg=b/core=c i1:", "tally1/a/cfg=b/core=c i1@",
		"tally1/a/cfg=b/core=c i1x", "tally1/a/cfg=b/core=c i99999999999",
		"tally1/a/cfg=b/core=c i5 c5", "tally1/a/cfg=b/core= i5"};
	char longest[9000];
	struct explorer_trace trace;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_assert_not_null(explorer_trace_parse(&trace, texts[i]), "%s", texts[i]);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "tally1/", 7);
	longest[sizeof(longest) - 1] = '\0';
	cr_assert_not_null(explorer_trace_parse(&trace, longest));
}

Test(trace, stale_ones_are_noticed)
{
	struct explorer_trace trace = {
		.count = 1, .deviation = {{.step = 3, .kind = MACHINE_CHOICE_CPU, .answer = 1}}};
	struct explorer_search *search = explorer_search_replay(trace.deviation, 1);

	cr_assert(explorer_search_next(search));
	(void)bits_of(search, MACHINE_CHOICE_CPU, 3);
	cr_assert_null(explorer_trace_stale(&trace, search, NULL));
	trace.deviation[0].kind = MACHINE_CHOICE_VALUE;
	cr_assert_not_null(explorer_trace_stale(&trace, search, NULL));
	trace.deviation[0] = (struct explorer_deviation){
		.step = 4, .kind = MACHINE_CHOICE_CPU, .answer = 1};
	cr_assert_not_null(explorer_trace_stale(&trace, search, NULL));
	explorer_search_free(search);
}

/* ---- shrinking ---- */

/* Fails exactly when CPU deviations at two steps at least 4 apart are there, the second of them at
 * 20 or later. */
static bool fails(void *context, const struct explorer_deviation *d, size_t count)
{
	(void)context;
	for (size_t a = 0; a < count; a++) {
		for (size_t b = a + 1; b < count; b++) {
			if (d[b].step >= 20 && d[b].step - d[a].step >= 4)
				return true;
		}
	}
	return false;
}

Test(shrink, drops_and_moves)
{
	const struct explorer_shrinker shrinker = {.fails = fails};
	struct explorer_deviation d[] = {{3, MACHINE_CHOICE_CPU, 1}, {9, MACHINE_CHOICE_CPU, 1},
		{17, MACHINE_CHOICE_CPU, 1}, {30, MACHINE_CHOICE_CPU, 1},
		{77, MACHINE_CHOICE_CPU, 1}};
	size_t count = 5;

	cr_assert_gt(explorer_shrink(&shrinker, d, &count), 0);
	cr_assert_eq(count, 2);
	cr_assert_eq(d[0].step, 1);
	cr_assert_eq(d[1].step, 20);
}
