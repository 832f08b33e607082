/* SPDX-License-Identifier: MIT
 *
 * test_memory.c: the memory model beyond litmus tests: races of plain accesses, freed memory,
 * classes of sites, waiting, and the small vehicle.
 */
#include <criterion/criterion.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <machine/order.h>

#include "memory.h"
#include "memory_plans.h"

#define OUTSIDE(name, parameters, ...)                                                             \
	void name parameters                                                                       \
	{                                                                                          \
		machine_judged_end();                                                              \
		__VA_ARGS__;                                                                       \
		machine_judged_begin();                                                            \
	}

OUTSIDE(outside_freed, (const void *at, size_t size), machine_order_freed(at, size))
OUTSIDE(outside_fresh, (const void *at, size_t size), machine_order_fresh(at, size))
OUTSIDE(outside_release, (void *at), machine_order_release(at))
OUTSIDE(outside_acquire, (void *at), machine_order_acquire(at))
OUTSIDE(outside_quiet, (void), machine_order_quiet())
OUTSIDE(outside_write, (uint64_t * at, uint64_t value), *at = value)

#define RUNS_MAX   200000u
#define VALUES_MAX 32u

struct result {
	uint32_t runs;
	uint32_t wrong; /* runs that failed */
	uint32_t choices;
	uint32_t value_n;          /* the largest n of a choice of a value */
	uint32_t seen[VALUES_MAX]; /* runs in which r[0] was this at the end */
	char text[256];            /* why the first one failed */
};

static void note(struct result *result, const struct explorer_threads *threads,
	const struct explorer_search *search, const char *wrong)
{
	const struct memory_world *w = explorer_threads_world(threads);
	const struct explorer_choice *choice;
	size_t count;

	choice = explorer_choices(search, &count);
	for (size_t i = 0; i < count; i++) {
		if (choice[i].kind == MACHINE_CHOICE_VALUE && choice[i].n > result->value_n)
			result->value_n = choice[i].n;
	}
	result->choices += (uint32_t)count;
	result->runs++;
	if (wrong == NULL)
		result->seen[w->r[0] < VALUES_MAX ? w->r[0] : VALUES_MAX - 1]++;
	else if (result->wrong++ == 0)
		strncpy(result->text, wrong, sizeof(result->text) - 1);
}

static struct result exhaust_within(
	const struct explorer_plan *plan, const struct explorer_budget *budget)
{
	struct explorer_threads *threads = explorer_threads_create(plan);
	struct result result;

	cr_assert_not_null(threads);
	do {
		struct explorer_search *search = explorer_search_exhaustive(budget);

		cr_assert_not_null(search);
		result = (struct result){0};
		while (explorer_search_next(search)) {
			const char *wrong = explorer_threads_run(threads, search);

			note(&result, threads, search, wrong);
			cr_assert_lt(result.runs, RUNS_MAX, "%s does not end", plan->name);
		}
		cr_assert_not(explorer_search_diverged(search), "%s", plan->name);
		explorer_search_free(search);
	} while (explorer_sites_promote() != 0);
	explorer_threads_destroy(threads);
	return result;
}

/* A few of everything. */
static struct result exhaust(const struct explorer_plan *plan)
{
	static const struct explorer_budget budget = {
		.preemptions = 3, .interrupts = 2, .stale = 4};

	return exhaust_within(plan, &budget);
}

static void init(void)
{
	cr_assert_eq(explorer_sites_init(), 0);
	explorer_sites_learn(false);
}

TestSuite(memory, .init = init);

/* `first` and `second` are in the text of the first failure. */
static void expect_wrong(const struct explorer_plan *plan, const char *first, const char *second)
{
	struct result result = exhaust(plan);

	cr_expect_gt(result.wrong, 0, "%s: nothing is wrong", plan->name);
	cr_expect_eq(
		strncmp(result.text, first, strlen(first)), 0, "%s: %s", plan->name, result.text);
	cr_expect_not_null(strstr(result.text, second), "%s: %s", plan->name, result.text);
}

static void expect_right(const struct explorer_plan *plan)
{
	struct result result = exhaust(plan);

	cr_expect_gt(result.runs, 0);
	cr_expect_eq(result.wrong, 0, "%s: %s", plan->name, result.text);
}

/* ---- races ---- */

Test(memory, fields_that_share_a_granule_do_not_race)
{
	expect_right(&plan_fields_apart);
	expect_right(&plan_fields_split);
	expect_wrong(&plan_fields_same, "race: read at ", " by CPU 1 are not ordered");
	expect_wrong(&plan_fields_overlap, "race: write at ", " by CPU 1 are not ordered");
}

Test(memory, plain_reads_race_with_atomic_writes_only)
{
	struct result result = exhaust(&plan_read_atomic_store);

	cr_expect_eq(result.wrong, result.runs); /* in either order */
	cr_expect_not_null(strstr(result.text, "read at "), "%s", result.text);
	cr_expect_not_null(strstr(result.text, "atomic write at "), "%s", result.text);
	expect_right(&plan_read_atomic_load);
	expect_wrong(&plan_write_atomic_load, "race: atomic read at ", " and write at ");
	expect_right(&plan_read_failed_exchange);
}

Test(memory, reads_of_every_cpu_are_remembered)
{
	expect_right(&plan_write_after_two_reads);
	expect_wrong(&plan_write_after_one_read, "race: read at ", "by CPU 1 and write at ");
}

Test(memory, releases_and_acquires_order)
{
	struct result result = exhaust(&plan_exchange_acquires);

	cr_expect_eq(result.wrong, 0, "%s", result.text);
	cr_expect_gt(result.seen[1], 0);
	expect_wrong(&plan_exchange_relaxed, "race: write at ", " and read at ");
	expect_wrong(&plan_write_after_release, "race: write at ", " and read at ");
}

Test(memory, copies_and_fills_touch_their_bytes)
{
	struct result result = exhaust(&plan_fill);

	cr_expect_eq(result.wrong, result.runs, "%s", result.text);
	expect_right(&plan_copy);
	expect_wrong(&plan_compare, "race: read at ", "and write at ");
}

Test(memory, unaligned_accesses_span_granules)
{
	/* bytes 6 to 9 against 5, 10 and 8: the last alone overlaps */
	struct result result = exhaust(&plan_unaligned);

	cr_expect_eq(result.wrong, result.runs, "%s", result.text);
	cr_expect_eq(strncmp(result.text, "race: write at ", 15), 0, "%s", result.text);
}

Test(memory, lines_that_collide_are_kept_apart)
{
	struct result result;

	expect_right(&plan_far);
	result = exhaust(&plan_far_same);
	cr_expect_eq(result.runs, 2); /* which CPU is the first */
	cr_expect_eq(result.wrong, 2);
}

Test(memory, generations_wrap)
{
	struct result before = exhaust(&plan_fields_same);

	explorer_memory.generation = UINT64_MAX << (48 - LINE_SHIFT);
	explorer_memory.generation -= UINT64_C(2) << (48 - LINE_SHIFT);
	cr_expect_gt(before.wrong, 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct result after = exhaust(&plan_fields_same);

		cr_expect_eq(after.wrong, before.wrong);
		expect_right(&plan_fields_apart);
	}
	cr_expect_lt(explorer_memory.generation, UINT64_C(64) << (48 - LINE_SHIFT));
}

/* ---- memory that comes and goes ---- */

Test(memory, freed_memory_is_not_used)
{
	expect_wrong(&plan_freed, "L2 use after free: read at ", " by CPU 0 of memory at ");
	expect_wrong(&plan_freed_untouched, "L2 use after free: write at ", "CPU 0 gave back");
	expect_right(&plan_freed_fresh);
	expect_right(&plan_freed_location);
}

Test(memory, freeing_is_a_write)
{
	struct result result = exhaust(&plan_freed_unordered);

	/* the write first: a race; freed first: a use after it */
	cr_expect_eq(result.wrong, result.runs, "%s", result.text);
	cr_expect_eq(strncmp(result.text, "race: write at ", 15), 0, "%s", result.text);
	expect_wrong(&plan_freed_atomic, "race: atomic write at ", "and write at ");
}

/* ---- what the machine orders ---- */

Test(memory, the_machine_orders)
{
	struct result result = exhaust(&plan_machine_order);

	cr_expect_eq(result.wrong, 0, "%s", result.text);
	cr_expect_gt(result.seen[1], 0);
	result = exhaust(&plan_quiet);
	cr_expect_eq(result.wrong, 0, "%s", result.text);
	cr_expect_gt(result.seen[1], 0);
}

/* ---- locations ---- */

static struct memory_world world_of_default_run(const struct explorer_plan *plan)
{
	struct explorer_threads *threads = explorer_threads_create(plan);
	struct explorer_search *search = explorer_search_replay(NULL, 0);
	struct memory_world world;

	cr_assert(threads != NULL && search != NULL && explorer_search_next(search));
	cr_assert_null(explorer_threads_run(threads, search));
	memcpy(&world, explorer_threads_world(threads), sizeof(world));
	explorer_search_free(search);
	explorer_threads_destroy(threads);
	return world;
}

Test(memory, sizes_can_be_mixed)
{
	struct memory_world w = world_of_default_run(&plan_mixed_sizes);

	cr_expect_eq(w.r[0], 0x22222222);
	cr_expect_eq(w.r[1], UINT64_C(0x1111111133333333));
	cr_expect_eq(w.r[2], UINT64_C(0x4444444433333333));
}

Test(memory, writes_of_others_are_seen)
{
	struct memory_world w = world_of_default_run(&plan_foreign_write);
	struct result result;

	cr_expect_eq(w.r[0], 5);
	result = exhaust(&plan_plain_reset);
	cr_expect_eq(result.wrong, 0, "%s", result.text);
	cr_expect_eq(result.seen[0], 0); /* from before the plain write */
	cr_expect_gt(result.seen[1], 0);
	cr_expect_gt(result.seen[2], 0);
	cr_expect_gt(result.seen[9], 0);
}

Test(memory, history_is_short)
{
	const struct explorer_budget budget = {.stale = 1};
	struct result result = exhaust_within(&plan_history, &budget);

	/* the reader last, or first: it reads the newest, or one of the seven before it */
	cr_expect_eq(result.value_n, 8);
	for (uint32_t value = 0; value <= 12; value++)
		cr_expect_eq(result.seen[value], value == 0 || value >= 5, "%u: %u", value,
			result.seen[value]);
}

Test(memory, a_stale_value_comes_twice_at_most)
{
	const struct explorer_budget budget = {.stale = 9};
	struct result result = exhaust_within(&plan_spin, &budget);

	cr_expect_gt(result.seen[0], 0);
	cr_expect_gt(result.seen[1], 0);
	cr_expect_gt(result.seen[2], 0);
	for (uint32_t k = 3; k < VALUES_MAX; k++)
		cr_expect_eq(result.seen[k], 0, "%u stale values", k);
}

Test(memory, updates_have_their_values)
{
	struct memory_world w = world_of_default_run(&plan_updates);
	uint64_t scratch = 0;

	/* by hand, for uint8_t: what each returns, folded */
	const uint8_t by_hand[] = {0xfd, 0xfd, 0x02, 0xfb, 0xf0, 0xfc, 0xa9, 0xf6, 0, 2, 1, 9};
	uint64_t folded = 0;

	for (size_t i = 0; i < sizeof(by_hand); i++)
		folded = folded * 31 + by_hand[i];
	cr_expect_eq(w.r[0], folded);
	/* nobody watches: the same */
	cr_expect_eq(updates_of_size(1, &scratch), w.r[0]);
	cr_expect_eq(updates_of_size(2, &scratch), w.r[1]);
	cr_expect_eq(updates_of_size(4, &scratch), w.r[2]);
	cr_expect_eq(updates_of_size(8, &scratch), w.r[3]);
	cr_expect_neq(w.r[0], w.r[1]);
}

/* ---- points ---- */

Test(memory, handlers_come_between_accesses_they_share)
{
	struct result result = exhaust(&plan_interrupt_plain);

	/* never; in front of both writes of what it reads, not of the one between; at the end */
	cr_expect_eq(result.runs, 4);
	for (uint32_t k = 0; k < 4; k++)
		cr_expect_eq(result.seen[k], 1);
	result = exhaust(&plan_interrupt_atomic);
	cr_expect_eq(result.runs, 4);
	for (uint32_t k = 0; k < 4; k++)
		cr_expect_eq(result.seen[k], 1);
	result = exhaust(&plan_interrupt_none);
	cr_expect_eq(result.runs, 2);
	cr_expect_eq(explorer_sites_shared(), 0);
}

Test(memory, counting_is_no_point)
{
	struct result result = exhaust(&plan_counting);

	cr_expect_eq(result.runs, 2); /* which CPU is the first */
	cr_expect_eq(result.choices, 2);
	cr_expect_eq(explorer_sites_shared(), 0);
}

Test(memory, learning_takes_effect_when_it_may)
{
	uint64_t none = explorer_sites_hash(), some;

	(void)world_of_default_run(&plan_wait);
	cr_expect_eq(explorer_sites_shared(), 0);
	cr_expect_eq(explorer_sites_hash(), none);
	cr_expect_eq(explorer_sites_promote(), 2); /* the load and the store */
	cr_expect_eq(explorer_sites_promote(), 0);
	cr_expect_eq(explorer_sites_shared(), 2);
	some = explorer_sites_hash();
	cr_expect_neq(some, none);
	cr_assert_eq(explorer_sites_init(), 0);
	cr_expect_eq(explorer_sites_hash(), none);
	explorer_sites_learn(true);
	(void)world_of_default_run(&plan_wait);
	cr_expect_eq(explorer_sites_hash(), some);
	cr_expect_eq(explorer_sites_promote(), 0);
}

Test(memory, processes_share_what_is_learned)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		(void)world_of_default_run(&plan_wait);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_expect_eq(explorer_sites_promote(), 2);
}

/* ---- waiting ---- */

Test(memory, who_waits_is_woken_by_a_store)
{
	struct result result = exhaust(&plan_wait);

	cr_expect_eq(result.wrong, 0, "%s", result.text);
	cr_expect_gt(result.runs, 2);
	cr_expect_eq(result.seen[7], result.runs);
	expect_right(&plan_wait_either); /* a store behind the look at it is not missed */
}

Test(memory, deadlocks_are_told)
{
	struct result result = exhaust(&plan_deadlock);

	cr_expect_eq(result.wrong, result.runs);
	cr_expect_str_eq(result.text, "deadlock: CPU 0 waits, CPU 1 waits");
	result = exhaust(&plan_deadlock_one);
	cr_expect_eq(result.wrong, result.runs);
	cr_expect_str_eq(result.text, "deadlock: CPU 0 has ended, CPU 1 waits");
}

Test(memory, livelocks_are_told)
{
	const struct explorer_budget none = {0};
	struct result result = exhaust_within(&plan_livelock, &none);

	cr_expect_eq(result.wrong, result.runs);
	cr_expect_eq(strncmp(result.text, "livelock: CPU 0 ", 16), 0, "%s", result.text);
	result = exhaust_within(&plan_endless, &none); /* without a single point */
	cr_expect_eq(result.wrong, result.runs);
	cr_expect_eq(strncmp(result.text, "livelock: ", 10), 0, "%s", result.text);
}

/* ---- telling ---- */

struct told {
	uint32_t plain_writes, plain_reads, stores, updates, loads, stale;
	uint64_t read, stored, updated, loaded;
};

static void tell(void *context, const struct explorer_access *access)
{
	struct told *told = context;

	cr_assert_not_null(access->site);
	if (!access->atomic && access->size == 8) {
		told->plain_writes += access->kind == EXPLORER_WRITE;
		told->plain_reads += access->kind == EXPLORER_READ;
		told->read = access->kind == EXPLORER_READ ? access->value : told->read;
	} else if (access->kind == EXPLORER_WRITE) {
		told->stores++;
		told->stored = access->value;
		cr_assert_eq(access->order, __ATOMIC_RELEASE);
	} else if (access->kind == EXPLORER_UPDATE) {
		told->updates++;
		told->updated = access->value;
	} else if (access->kind == EXPLORER_READ) {
		told->loads++;
		told->stale += access->stale;
		told->loaded = access->value;
	}
}

/* CPU 0 runs to its end, then CPU 1 loads the store in front of the newest. */
Test(memory, every_access_is_told)
{
	const struct explorer_deviation old = {
		.step = 2, .kind = MACHINE_CHOICE_VALUE, .answer = 1};
	struct explorer_threads *threads = explorer_threads_create(&plan_values);
	struct explorer_search *search = explorer_search_replay(&old, 1);
	const struct memory_world *w;
	struct told told = {0};

	cr_assert(threads != NULL && search != NULL && explorer_search_next(search));
	cr_assert_null(explorer_threads_tell(threads, search, tell, &told));
	w = explorer_threads_world(threads);
	cr_expect_eq(w->r[0], 3);
	cr_expect_eq(w->x, 9);
	cr_expect_eq(told.read, 3);
	cr_expect_eq(told.plain_writes, 4); /* data, r[0], r[2], r[1] of the other */
	cr_expect_eq(told.stores, 1);
	cr_expect_eq(told.stored, 4);
	cr_expect_eq(told.updates, 1);
	cr_expect_eq(told.updated, 9);
	cr_expect_eq(told.loads, 1);
	cr_expect_eq(told.stale, 1);
	cr_expect_eq(told.loaded, 4);
	explorer_search_free(search);
	explorer_threads_destroy(threads);
}
