/* SPDX-License-Identifier: MIT
 *
 * test_litmus.c: every litmus test, exhausted: exactly the outcomes that belong to it are seen.
 *
 * Which outcomes C11 forbids is told here once more, by hand: all others of the test's shape are
 * listed as seen. Where the architecture allows an outcome that the model does not produce, the
 * test says so and asserts that it does not: those are the model's limits (memory.c).
 */
#include <criterion/criterion.h>

#include <string.h>

#include <explorer/plans.h>

#define OUTCOMES_MAX 10000u
#define RUNS_MAX     2000000u
#define ROUNDS_MAX   8u
#define LIST_MAX     17u

struct result {
	uint8_t seen[OUTCOMES_MAX]; /* by outcome */
	uint32_t runs;
	uint32_t races;
	uint32_t other; /* failures that are no race */
	char text[256]; /* of the first one */
};

static void run_once(const struct explorer_litmus *litmus, struct explorer_threads *threads,
	struct explorer_search *search, struct result *result)
{
	const char *wrong = explorer_threads_run(threads, search);

	result->runs++;
	if (wrong == NULL || strncmp(wrong, "litmus", 6) == 0)
		result->seen[explorer_litmus_outcome(litmus, explorer_threads_world(threads))] = 1;
	if (wrong == NULL)
		return;
	if (strncmp(wrong, "race: ", 6) == 0)
		result->races++;
	else if (result->other++ == 0)
		strncpy(result->text, wrong, sizeof(result->text) - 1);
}

/* All runs within the budget, again until no site changes its class. */
static void exhaust(const struct explorer_litmus *litmus, struct result *result)
{
	static const struct explorer_budget budget = {.preemptions = 6, .stale = 6};
	struct explorer_threads *threads = explorer_threads_create(&litmus->plan);
	uint32_t rounds = 0;

	cr_assert_not_null(threads);
	do {
		struct explorer_search *search = explorer_search_exhaustive(&budget);

		cr_assert_not_null(search);
		memset(result, 0, sizeof(*result));
		while (explorer_search_next(search)) {
			run_once(litmus, threads, search, result);
			cr_assert_lt(result->runs, RUNS_MAX, "%s does not end", litmus->plan.name);
		}
		cr_assert_not(explorer_search_diverged(search), "%s", litmus->plan.name);
		explorer_search_free(search);
		cr_assert_lt(++rounds, ROUNDS_MAX);
	} while (explorer_sites_promote() != 0);
	explorer_threads_destroy(threads);
}

struct expected {
	const char *name;
	uint32_t seen[LIST_MAX]; /* exactly these; ended by END */
	bool races;              /* some runs must be reported as races */
	bool wrong;              /* some runs must be objected to by the plan's check */
};
#define END UINT32_MAX

static const struct expected table[] = {
	{.name = "sb", .seen = {0, 1, 10, 11, END}},
	{.name = "sb-fences", .seen = {1, 10, 11, END}},
	{.name = "sb-seq", .seen = {1, 10, 11, END}},
	/* a seq_cst update is no fence for the relaxed load behind it */
	{.name = "sb-updates", .seen = {0, 1, 10, 11, END}},
	{.name = "sb-mixed", .seen = {1, 10, 11, END}},
	{.name = "mp", .seen = {0, 1, 10, 11, END}},
	{.name = "mp-release-acquire", .seen = {0, 1, 11, END}},
	{.name = "mp-fences", .seen = {0, 1, 11, END}},
	{.name = "mp-release", .seen = {0, 1, 10, 11, END}},
	{.name = "mp-acquire", .seen = {0, 1, 10, 11, END}},
	{.name = "mp-data", .seen = {0, 11, END}},
	{.name = "mp-data-release", .seen = {0, END}, .races = true},
	{.name = "mp-data-acquire", .seen = {0, END}, .races = true},
	{.name = "corr", .seen = {0, 1, 11, END}},
	{.name = "coww", .seen = {0, 1, 2, 11, 12, 22, END}},
	{.name = "corw", .seen = {1, 2, 12, END}},
	{.name = "cowr", .seen = {11, 12, 22, END}},
	{.name = "iriw",
		.seen = {0, 1, 10, 11, 100, 101, 110, 111, 1000, 1001, 1010, 1011, 1100, 1101, 1110,
			1111, END}},
	{.name = "iriw-seq",
		.seen = {0, 1, 10, 11, 100, 101, 110, 111, 1000, 1001, 1011, 1100, 1101, 1110, 1111,
			END}},
	/* limit: AArch64 has 11, the model does not */
	{.name = "lb", .seen = {0, 1, 10, END}},
	/* limit: AArch64 has 11, the model does not */
	{.name = "2+2w", .seen = {12, 21, 22, END}},
	{.name = "s", .seen = {1, 2, 11, END}},
	{.name = "r", .seen = {1, 2, 11, 12, END}},
	{.name = "r-fences", .seen = {1, 11, 12, END}},
	{.name = "wrc", .seen = {0, 1, 10, 11, 100, 101, 111, END}},
	{.name = "seqlock", .seen = {0, 100, 111, END}},
	{.name = "seqlock-writer-unfenced", .seen = {0, 100, 101, 110, 111, END}, .wrong = true},
	{.name = "seqlock-reader-unfenced", .seen = {0, 100, 101, 110, 111, END}, .wrong = true},
	{.name = "owner", .seen = {12, 21, END}},
	{.name = "owner-relaxed", .seen = {END}, .races = true},
	{.name = "release-sequence", .seen = {0, 10, 21, END}},
	{.name = "release-sequence-broken", .seen = {0, 10, END}, .races = true},
	{.name = "once", .seen = {77, END}},
	{.name = "once-relaxed", .seen = {77, END}, .races = true},
};
#define TABLE_COUNT (sizeof(table) / sizeof(*table))

static void compare(const struct expected *expected, const struct result *result)
{
	uint32_t wanted = 0, seen = 0;

	for (const uint32_t *o = expected->seen; *o != END; o++) {
		wanted++;
		cr_expect(result->seen[*o], "%s: outcome %u was not seen in %u runs",
			expected->name, *o, result->runs);
	}
	for (uint32_t o = 0; o < OUTCOMES_MAX; o++) {
		bool listed = false;

		for (const uint32_t *k = expected->seen; *k != END; k++)
			listed |= *k == o;
		seen += result->seen[o];
		cr_expect(listed || !result->seen[o], "%s: outcome %u was seen", expected->name, o);
	}
	cr_expect_eq(seen, wanted, "%s: %u outcomes instead of %u", expected->name, seen, wanted);
	cr_expect_eq(
		result->races != 0, expected->races, "%s: %u races", expected->name, result->races);
	cr_expect_eq(result->other != 0, expected->wrong, "%s: %u complaints, first: %s",
		expected->name, result->other, result->text);
}

Test(litmus, every_outcome)
{
	static struct result result;
	const struct explorer_litmus *litmus;
	uint32_t count = 0;

	cr_assert_eq(explorer_sites_init(), 0);
	explorer_sites_learn(false);
	for (; (litmus = explorer_litmus_get(count)) != NULL; count++) {
		cr_assert_lt(count, TABLE_COUNT);
		cr_assert_str_eq(litmus->plan.name + strlen("litmus/"), table[count].name);
		exhaust(litmus, &result);
		cr_log_info("%-32s %7u runs", litmus->plan.name, result.runs);
		compare(&table[count], &result);
	}
	cr_assert_eq(count, TABLE_COUNT);
}

Test(litmus, plans_are_found_by_name)
{
	const struct explorer_plan *plan;
	uint32_t count = 0;

	for (; (plan = explorer_plan_get(count)) != NULL; count++)
		cr_assert_eq(explorer_plan_find(plan->name), plan);
	cr_assert_eq(count, TABLE_COUNT + 1);
	cr_assert_eq(explorer_plan_find("ring"), &explorer_plan_ring);
	cr_assert_null(explorer_plan_find("litmus"));
	cr_assert_null(explorer_plan_find(""));
}
