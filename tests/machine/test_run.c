/* SPDX-License-Identifier: MIT
 *
 * test_run.c: whole runs of the machine: boot and teardown, the clock and the tick, tasks and their
 * work, operations at their moments, and that a run is a function of its description.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "dummy_kernel.h"

#define MS UINT64_C(1000000)

static const struct machine_task_description one_busy = {
	.work = DUMMY_BUSY, .parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY};

static void run_well(struct machine *m)
{
	int result = machine_run(m);

	cr_assert_eq(result, 0, "%s", machine_failure(m));
}

Test(run, boots_ticks_and_halts)
{
	struct machine_description d = dummy_description(4);
	struct dummy dummy = {0};
	struct machine *m;

	d.end_ns = 100 * MS;
	d.tasks = &one_busy;
	d.task_count = 1;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_not_null(m);
	run_well(m);
	cr_assert_eq(machine_now_ns(m), 100 * MS);
	cr_assert_eq(dummy.boots, 1);
	cr_assert_eq(dummy.halts, 1);
	cr_assert_eq(dummy.onlines, 4);
	cr_assert_eq(dummy.offlines, 4);
	cr_assert_eq(dummy.ticks, 4 * 25);
	cr_assert_eq(dummy.inits, 2);
	cr_assert_eq(dummy.exits, 2);
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 0)), 100 * MS);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 0), 0x08), 100 * MS);
	machine_destroy(m);
	cr_assert_eq(dummy.frees, 2);
}

Test(run, work_ends_when_it_is_done)
{
	struct machine_description d = dummy_description(1);
	struct machine_task_description tasks[] = {
		{.work = DUMMY_SHORT, .parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY},
		{.work = DUMMY_TWO_PHASES, .parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY},
	};
	struct dummy dummy = {0};
	struct machine *m;

	d.end_ns = 0;
	d.tasks = tasks;
	d.task_count = 2;
	m = dummy_create(&dummy, &d, NULL);
	run_well(m);
	cr_assert_eq(machine_now_ns(m), 10 * MS + 2 * (3 * MS + 7000), "%lu", machine_now_ns(m));
	cr_assert_eq(machine_task_state(machine_task(m, 0)), MACHINE_TASK_ZOMBIE);
	/* 7 us at 3 per us, twice */
	cr_assert_eq(machine_task_occurrences(machine_task(m, 1), 0x08), 6 * MS + 42);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 1), 0x11), 6 * MS + 14000);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 1), 0x12), 0);
	machine_destroy(m);
}

Test(run, round_robin_shares_a_cpu_by_ticks)
{
	struct machine_description d = dummy_description(1);
	struct machine_task_description tasks[] = {one_busy, one_busy, one_busy};
	struct dummy dummy = {0};
	struct machine *m;

	d.tasks = tasks;
	d.task_count = 3;
	d.end_ns = 40 * MS; /* ten slices of 4 ms: 4, 3, 3 */
	m = dummy_create(&dummy, &d, NULL);
	run_well(m);
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 0)), 16 * MS);
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 1)), 12 * MS);
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 2)), 12 * MS);
	machine_destroy(m);
}

Test(run, placement_takes_the_least_loaded_cpu_that_is_allowed)
{
	struct machine_description d = dummy_description(4);
	struct machine_task_description tasks[] = {one_busy, one_busy, one_busy, one_busy};
	struct dummy dummy = {0};
	struct machine *m;

	tasks[1].cpu_mask = 1;
	tasks[2].cpu_mask = 3;
	d.tasks = tasks;
	d.task_count = 4;
	d.end_ns = 1 * MS;
	m = dummy_create(&dummy, &d, NULL);
	run_well(m);
	cr_assert_eq(machine_task_cpu(machine_task(m, 0)), 0);
	cr_assert_eq(machine_task_cpu(machine_task(m, 1)), 0);
	cr_assert_eq(machine_task_cpu(machine_task(m, 2)), 1);
	cr_assert_eq(machine_task_cpu(machine_task(m, 3)), 2);
	machine_destroy(m);
}

struct log {
	uint32_t switches;
	uint32_t order[16];
	uint64_t begin_ns[16];
	uint32_t begun;
	uint64_t retired;
	uint64_t retired_ns;
	bool ended;
};

static void log_begin(void *context, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, uint64_t t_ns)
{
	struct log *log = context;

	(void)operation;
	(void)actor;
	if (log->begun < 16) {
		log->begin_ns[log->begun] = t_ns;
		log->order[log->begun++] = index;
	}
}

static void log_retire(void *context, const struct machine_retire *retire)
{
	struct log *log = context;

	log->retired += machine_retire_count(retire, 0x08);
	log->retired_ns += retire->t1_ns - retire->t0_ns;
}

static void log_end(void *context, uint64_t t_ns)
{
	(void)t_ns;
	((struct log *)context)->ended = true;
}

static int64_t note_cpu(struct dummy *dummy, uint64_t argument)
{
	(void)argument;
	return machine_cpu(dummy->machine);
}

static const dummy_action note_actions[] = {note_cpu};

Test(run, operations_come_at_their_moments)
{
	struct machine_description d = dummy_description(2);
	struct machine_task_description tasks[] = {one_busy, one_busy};
	struct log log = {0};
	struct machine_observer observer = {.context = &log,
		.operation_begin = log_begin,
		.retire = log_retire,
		.end = log_end};
	struct operation ops[] = {
		dummy_act(0, 7 * MS + 1, 0, 0),
		dummy_act(OPERATION_NOBODY, 0, 0, 0),
		dummy_act(1, 0, 0, 0),
		dummy_act(0, 0, 0, 0),
		dummy_act(1, 0, 0, 0),
		dummy_act(5, 3 * MS, 0, 0),
	};
	struct dummy dummy = {.actions = note_actions};
	struct machine *m;

	ops[1].when = OPERATION_NEXT; /* after 0 */
	ops[2].when = OPERATION_AFTER;
	ops[2].after = 1;
	ops[2].at_ns = 500;
	ops[3].when = OPERATION_AT_COUNT;
	ops[3].count_task = 1;
	ops[3].count_event = 0x08;
	ops[3].count = 1234567;
	ops[4].every_ns = 2 * MS;
	ops[4].at_ns = 5 * MS;
	ops[4].times = 3;
	d.tasks = tasks;
	d.task_count = 2;
	d.operations = ops;
	d.operation_count = 6;
	d.end_ns = 20 * MS;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert(machine_observe(m, &observer));
	run_well(m);
	cr_assert_eq(log.begun, 8, "%u", log.begun);
	cr_assert_eq(log.order[0], 3);
	cr_assert_eq(log.begin_ns[0], 1234567);
	cr_assert_eq(log.order[1], 5);
	cr_assert_eq(log.begin_ns[1], 3 * MS);
	cr_assert_eq(machine_operation_result(m, 5)->result, -ESRCH);
	cr_assert_eq(log.order[2], 4);
	cr_assert_eq(log.begin_ns[2], 5 * MS);
	cr_assert_eq(log.begin_ns[3], 7 * MS);
	cr_assert_eq(log.order[4], 0);
	cr_assert_eq(log.order[5], 1);
	cr_assert_eq(log.begin_ns[5], 7 * MS + 1);
	cr_assert_eq(log.order[6], 2);
	cr_assert_eq(log.begin_ns[6], 7 * MS + 501);
	cr_assert_eq(log.begin_ns[7], 9 * MS);
	cr_assert_eq(machine_operation_result(m, 0)->result, 0);
	cr_assert_eq(machine_operation_result(m, 2)->result, 1);
	cr_assert_eq(machine_operation_result(m, 4)->runs, 3);
	cr_assert_eq(log.retired_ns, 40 * MS);
	cr_assert_eq(log.retired, 40 * MS);
	cr_assert(log.ended);
	machine_destroy(m);
}

/* Everything about tasks at once; the numbers are worked out in the comments. */
static const struct operation life[] = {
	{.kind = OPERATION_STOP,
		.when = OPERATION_AT,
		.actor = OPERATION_NOBODY,
		.at_ns = 2 * MS,
		.task = {.task = 0}},
	{.kind = OPERATION_CONTINUE,
		.when = OPERATION_AT,
		.actor = OPERATION_NOBODY,
		.at_ns = 5 * MS,
		.task = {.task = 0}},
	{.kind = OPERATION_FORK,
		.when = OPERATION_AT,
		.actor = 0,
		.at_ns = 6 * MS,
		.fork = {.work = DUMMY_SHORT}},
	{.kind = OPERATION_MIGRATE,
		.when = OPERATION_AT,
		.actor = OPERATION_NOBODY,
		.at_ns = 7 * MS,
		.task = {.task = 0, .cpu = 1}},
	{.kind = OPERATION_PIN,
		.when = OPERATION_AT,
		.actor = 1,
		.at_ns = 8 * MS,
		.task = {.task = OPERATION_NOBODY, .cpu_mask = 1}},
	{.kind = OPERATION_SLEEP,
		.when = OPERATION_AT,
		.actor = 0,
		.at_ns = 9 * MS,
		.task = {.duration_ns = 3 * MS}},
	{.kind = OPERATION_EXEC,
		.when = OPERATION_AT,
		.actor = 0,
		.at_ns = 13 * MS,
		.exec = {.work = DUMMY_SHORT}},
	{.kind = OPERATION_EXIT, .when = OPERATION_AT, .actor = 0, .at_ns = 14 * MS},
	{.kind = OPERATION_EXIT, .when = OPERATION_AT, .actor = 0, .at_ns = 15 * MS},
	{.kind = OPERATION_EXIT, .when = OPERATION_AT, .actor = OPERATION_NOBODY, .at_ns = 15 * MS},
	{.kind = OPERATION_MIGRATE,
		.when = OPERATION_AT,
		.actor = 1,
		.at_ns = 15 * MS,
		.task = {.task = 1, .cpu = 1}},
	{.kind = 200, .when = OPERATION_AT, .actor = 1, .at_ns = 15 * MS},
	{.kind = OPERATION_END, .when = 77, .actor = 1},
	{.kind = OPERATION_END, .when = OPERATION_AT, .actor = OPERATION_NOBODY, .at_ns = 18 * MS},
};

Test(run, tasks_live_as_told)
{
	static const int64_t results[] = {
		0, 0, 101, 0, 0, 0, 0, 0, -ESRCH, -EPERM, -EINVAL, -ENOSYS, -EINVAL, 0};
	struct machine_description d = dummy_description(2);
	struct dummy dummy = {0};
	struct machine *m;

	d.tasks = &one_busy;
	d.task_count = 1;
	d.operations = life;
	d.operation_count = sizeof(life) / sizeof(life[0]);
	m = dummy_create(&dummy, &d, NULL);
	run_well(m);
	for (uint32_t i = 0; i < d.operation_count; i++)
		cr_expect_eq(machine_operation_result(m, i)->result, results[i], "%u: %ld", i,
			machine_operation_result(m, i)->result);
	cr_assert_eq(machine_now_ns(m), 18 * MS);
	/* task 0: 0-2, 5-9 (alone on CPU 0, then on CPU 1 with the child until that is pinned
	 * away), 12-14. At 7 ms it joins CPU 1 behind the child, whose slice ends at 8 ms: it runs
	 * from 8 ms on. */
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 0)), (2 + 2 + 1 + 2) * MS, "%lu",
		machine_task_cpu_ns(machine_task(m, 0)));
	/* the child: from 6 ms on CPU 1, from 8 ms alone on CPU 0, done with its 10 ms at 16 ms */
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 1)), 10 * MS);
	cr_assert_eq(machine_task_state(machine_task(m, 1)), MACHINE_TASK_ZOMBIE);
	cr_assert_eq(machine_task_cpu(machine_task(m, 1)), 0);
	cr_assert_eq(dummy.execs, 1);
	machine_destroy(m);
}

Test(run, cpus_come_and_go)
{
	struct machine_description d = dummy_description(2);
	struct machine_task_description tasks[] = {one_busy, one_busy};
	struct operation ops[] = {
		{.kind = OPERATION_CPU_OFFLINE,
			.when = OPERATION_AT,
			.actor = 1,
			.at_ns = 2 * MS,
			.task = {.cpu = 1}},
		{.kind = OPERATION_CPU_OFFLINE,
			.when = OPERATION_NEXT,
			.actor = 1,
			.task = {.cpu = 0}},
		{.kind = OPERATION_CPU_OFFLINE,
			.when = OPERATION_NEXT,
			.actor = 1,
			.task = {.cpu = 1}},
		{.kind = OPERATION_CPU_ONLINE,
			.when = OPERATION_AT,
			.actor = 0,
			.at_ns = 6 * MS,
			.task = {.cpu = 1}},
		{.kind = OPERATION_CPU_ONLINE,
			.when = OPERATION_NEXT,
			.actor = 0,
			.task = {.cpu = 1}},
		{.kind = OPERATION_CPU_ONLINE,
			.when = OPERATION_NEXT,
			.actor = 0,
			.task = {.cpu = 9}},
	};
	static const int64_t results[] = {0, -EBUSY, -EINVAL, 0, -EINVAL, -EINVAL};
	struct dummy dummy = {0};
	struct machine *m;

	tasks[1].cpu_mask = 2;
	d.tasks = tasks;
	d.task_count = 2;
	d.operations = ops;
	d.operation_count = 6;
	d.end_ns = 10 * MS;
	m = dummy_create(&dummy, &d, NULL);
	run_well(m);
	for (uint32_t i = 0; i < d.operation_count; i++)
		cr_expect_eq(machine_operation_result(m, i)->result, results[i], "%u: %ld", i,
			machine_operation_result(m, i)->result);
	cr_assert_eq(dummy.onlines, 3);
	cr_assert_eq(dummy.offlines, 3);
	cr_assert_eq(machine_task_cpu(machine_task(m, 1)), 1); /* back where its mask wants it */
	/* Four milliseconds shared, the rest each alone: no time is lost. */
	cr_assert_eq(
		machine_task_cpu_ns(machine_task(m, 0)) + machine_task_cpu_ns(machine_task(m, 1)),
		16 * MS);
	machine_destroy(m);
}

static uint64_t hash_of(const struct machine_description *d, struct machine_pool *pool)
{
	struct dummy dummy = {.actions = note_actions};
	struct machine *m = dummy_create(&dummy, d, pool);
	uint64_t hash;

	run_well(m);
	hash = machine_hash(m);
	machine_destroy(m);
	return hash;
}

Test(run, is_a_function_of_its_description)
{
	struct machine_description d = dummy_description(2);
	struct machine_pool *pool = machine_pool_create();
	struct machine_random_policy random;
	struct machine_policy policy;
	uint64_t first, seed_one;

	d.tasks = &one_busy;
	d.task_count = 1;
	d.operations = life;
	d.operation_count = sizeof(life) / sizeof(life[0]);
	first = hash_of(&d, pool);
	cr_assert_eq(hash_of(&d, pool), first);
	cr_assert_eq(hash_of(&d, NULL), first);
	d.operation_count--;
	cr_assert_neq(hash_of(&d, pool), first);
	d.policy = &policy;
	machine_random_policy_init(&policy, &random, 1);
	seed_one = hash_of(&d, pool);
	machine_random_policy_init(&policy, &random, 1);
	cr_assert_eq(hash_of(&d, pool), seed_one);
	machine_pool_destroy(pool);
}

Test(run, many_machines_in_one_process)
{
	struct machine_description d = dummy_description(4);
	struct machine_task_description tasks[] = {one_busy, one_busy, one_busy, one_busy};
	struct machine_pool *pool = machine_pool_create();

	d.tasks = tasks;
	d.task_count = 4;
	d.end_ns = 1 * MS;
	for (int i = 0; i < 1000; i++)
		hash_of(&d, pool);
	machine_pool_destroy(pool);
}

Test(run, unsound_descriptions_are_refused)
{
	struct machine_description d = dummy_description(2);
	struct machine_task_description task = one_busy;
	struct dummy dummy = {0};

	cr_assert_null(machine_description_check(&d));
	d.cpu_count = 0;
	cr_assert_not_null(machine_description_check(&d));
	cr_assert_null(dummy_create(&dummy, &d, NULL));
	d.cpu_count = 2;
	d.offline_mask = 1;
	cr_assert_not_null(machine_description_check(&d));
	d.offline_mask = 0;
	d.tasks = &task;
	d.task_count = 1;
	task.work = 99;
	cr_assert_not_null(machine_description_check(&d));
	task.work = 0;
	task.parent = 0;
	cr_assert_not_null(machine_description_check(&d));
}

Test(run, an_expectation_that_is_not_reached_fails_the_run)
{
	struct machine_description d = dummy_description(1);
	struct operation op = {.kind = OPERATION_EXPECT,
		.when = OPERATION_AT,
		.at_ns = 5 * MS,
		.actor = OPERATION_NOBODY};
	struct dummy dummy = {0};
	struct machine *m;

	d.operations = &op;
	d.operation_count = 1;
	d.end_ns = 4 * MS;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_eq(machine_run(m), -1);
	cr_assert(strstr(machine_failure(m), "never reached"));
	machine_destroy(m);
}
