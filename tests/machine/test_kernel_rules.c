/* SPDX-License-Identifier: MIT
 *
 * test_kernel_rules.c: what a kernel on the machine may do and may not: calls between CPUs,
 * mutexes, interrupt masks, and that deadlocks, livelocks and broken rules end the run with a
 * message that says what happened.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "dummy_kernel.h"

#define MS UINT64_C(1000000)

static const struct machine_task_description one_busy = {
	.work = DUMMY_BUSY, .parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY};

struct world {
	struct machine_mutex mutex[2];
	uint32_t calls[4];
	uint64_t spin_flag;
	uint32_t order[16];
	uint32_t ordered;
	bool in_section;
};

enum action {
	CALL_TARGET,
	CALL_OTHER_FROM_SECTION,
	SECTION,
	SECTION_WITH_CALL,
	LOCK_BOTH_UP,
	LOCK_BOTH_DOWN,
	SPIN_FOR_FLAG,
	SET_FLAG,
	MASKED_CALL,
	MASKED_LOCK,
	UNBALANCED_RESTORE,
	CALL_THAT_CALLS,
	UNLOCK_UNHELD,
	RELOCK,
	NESTED_MASKS,
	YIELD_WITH_LOCK,
	LEAVE_MASKED,
};

static struct world *world_of(struct dummy *d)
{
	return d->test;
}

static void called(void *argument)
{
	struct dummy *d = argument;

	cr_assert(machine_irqs_masked(d->machine));
	world_of(d)->calls[machine_cpu(d->machine)]++;
}

static int64_t call_target(struct dummy *d, uint64_t cpu)
{
	return machine_call(d->machine, (uint32_t)cpu, called, d);
}

static int64_t section(struct dummy *d, uint64_t argument)
{
	struct world *w = world_of(d);

	(void)argument;
	machine_mutex_lock(d->machine, &w->mutex[0]);
	cr_assert(!w->in_section);
	w->in_section = true;
	w->order[w->ordered++ % 16] = machine_task_tid(machine_current(d->machine));
	for (int i = 0; i < 5; i++)
		machine_point(d->machine);
	w->in_section = false;
	machine_mutex_unlock(d->machine, &w->mutex[0]);
	return 0;
}

/* Holds the mutex over a call to the CPU given: the others pile up behind it. */
static int64_t section_with_call(struct dummy *d, uint64_t cpu)
{
	struct world *w = world_of(d);
	int64_t result;

	machine_mutex_lock(d->machine, &w->mutex[0]);
	w->order[w->ordered++ % 16] = machine_task_tid(machine_current(d->machine));
	result = machine_call(d->machine, (uint32_t)cpu, called, d);
	machine_mutex_unlock(d->machine, &w->mutex[0]);
	return result;
}

static int64_t lock_both(struct dummy *d, uint32_t first)
{
	struct world *w = world_of(d);

	machine_mutex_lock(d->machine, &w->mutex[first]);
	machine_call(d->machine, 1 - machine_cpu(d->machine), called, d);
	machine_mutex_lock(d->machine, &w->mutex[1 - first]);
	machine_mutex_unlock(d->machine, &w->mutex[1 - first]);
	machine_mutex_unlock(d->machine, &w->mutex[first]);
	return 0;
}

static int64_t lock_both_up(struct dummy *d, uint64_t argument)
{
	(void)argument;
	return lock_both(d, 0);
}

static int64_t lock_both_down(struct dummy *d, uint64_t argument)
{
	(void)argument;
	return lock_both(d, 1);
}

static int64_t spin_for_flag(struct dummy *d, uint64_t wanted)
{
	bool masked = machine_irq_save(d->machine);

	while (world_of(d)->spin_flag != wanted)
		machine_relax(d->machine);
	machine_irq_restore(d->machine, masked);
	return 0;
}

static int64_t set_flag(struct dummy *d, uint64_t value)
{
	world_of(d)->spin_flag = value;
	return 0;
}

static int64_t masked_call(struct dummy *d, uint64_t cpu)
{
	machine_irq_save(d->machine);
	return machine_call(d->machine, (uint32_t)cpu, called, d);
}

static int64_t masked_lock(struct dummy *d, uint64_t argument)
{
	(void)argument;
	machine_irq_save(d->machine);
	machine_mutex_lock(d->machine, &world_of(d)->mutex[0]);
	return 0;
}

static int64_t unbalanced_restore(struct dummy *d, uint64_t argument)
{
	(void)argument;
	machine_irq_restore(d->machine, false);
	return 0;
}

static void call_again(void *argument)
{
	call_target(argument, 0);
}

static int64_t call_that_calls(struct dummy *d, uint64_t cpu)
{
	return machine_call(d->machine, (uint32_t)cpu, call_again, d);
}

static int64_t unlock_unheld(struct dummy *d, uint64_t argument)
{
	(void)argument;
	machine_mutex_unlock(d->machine, &world_of(d)->mutex[0]);
	return 0;
}

static int64_t relock(struct dummy *d, uint64_t argument)
{
	(void)argument;
	machine_mutex_lock(d->machine, &world_of(d)->mutex[0]);
	machine_mutex_lock(d->machine, &world_of(d)->mutex[0]);
	return 0;
}

static int64_t nested_masks(struct dummy *d, uint64_t argument)
{
	bool outer = machine_irq_save(d->machine), inner = machine_irq_save(d->machine);

	(void)argument;
	cr_assert(!outer && inner && machine_irqs_masked(d->machine));
	machine_irq_restore(d->machine, inner);
	cr_assert(machine_irqs_masked(d->machine));
	machine_irq_restore(d->machine, outer);
	cr_assert(!machine_irqs_masked(d->machine));
	return 0;
}

static int64_t leave_masked(struct dummy *d, uint64_t argument)
{
	(void)argument;
	machine_irq_save(d->machine);
	return 0;
}

static const dummy_action actions[] = {
	[CALL_TARGET] = call_target,
	[SECTION] = section,
	[SECTION_WITH_CALL] = section_with_call,
	[LOCK_BOTH_UP] = lock_both_up,
	[LOCK_BOTH_DOWN] = lock_both_down,
	[SPIN_FOR_FLAG] = spin_for_flag,
	[SET_FLAG] = set_flag,
	[MASKED_CALL] = masked_call,
	[MASKED_LOCK] = masked_lock,
	[UNBALANCED_RESTORE] = unbalanced_restore,
	[CALL_THAT_CALLS] = call_that_calls,
	[UNLOCK_UNHELD] = unlock_unheld,
	[RELOCK] = relock,
	[NESTED_MASKS] = nested_masks,
	[LEAVE_MASKED] = leave_masked,
};

/* A run of `count` operations on `cpus` CPUs with a busy task for each; seed 0: time order. */
struct trial {
	struct world world;
	struct dummy dummy;
	struct machine_description description;
	struct machine_task_description tasks[4];
	struct machine_random_policy random;
	struct machine_policy policy;
	struct machine *machine;
	int result;
};

static void try(struct trial *t, uint32_t cpus, uint32_t tasks, const struct operation *ops,
	uint32_t count, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->dummy.actions = actions;
	t->dummy.test = &t->world;
	t->description = dummy_description(cpus);
	for (uint32_t i = 0; i < 4; i++)
		t->tasks[i] = one_busy;
	t->description.tasks = t->tasks;
	t->description.task_count = tasks;
	t->description.operations = ops;
	t->description.operation_count = count;
	t->description.end_ns = 12 * MS;
	if (seed != 0) {
		machine_random_policy_init(&t->policy, &t->random, seed);
		t->description.policy = &t->policy;
	}
	t->machine = dummy_create(&t->dummy, &t->description, NULL);
	cr_assert_not_null(t->machine);
	t->result = machine_run(t->machine);
}

static void succeeds(struct trial *t)
{
	cr_assert_eq(t->result, 0, "%s", machine_failure(t->machine));
	machine_destroy(t->machine);
}

static void fails_with(uint32_t action, uint64_t argument, const char *message)
{
	struct operation op = dummy_act(0, 1 * MS, action, argument);
	struct trial t;

	try(&t, 2, 2, &op, 1, 0);
	cr_assert_eq(t.result, -1);
	cr_assert(strstr(machine_failure(t.machine), message), "%s", machine_failure(t.machine));
	machine_destroy(t.machine);
}

Test(calls, reach_their_cpu)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, CALL_TARGET, 1), /* computes */
		dummy_act(0, 1 * MS, CALL_TARGET, 2), /* idles */
		dummy_act(0, 1 * MS, CALL_TARGET, 0), /* itself */
		dummy_act(0, 1 * MS, CALL_TARGET, 9), /* no such CPU */
		{.kind = OPERATION_CPU_OFFLINE, .actor = 0, .task = {.cpu = 2}},
		{.kind = OPERATION_IOCTL,
			.actor = 0,
			.ioctl = {.command = CALL_TARGET, .argument = 2}},
	};
	static const int64_t results[] = {0, 0, 0, -ENXIO, 0, -ENXIO};
	struct trial t;

	try(&t, 3, 2, ops, 6, 0);
	cr_assert_eq(t.result, 0, "%s", machine_failure(t.machine));
	for (uint32_t i = 0; i < 6; i++)
		cr_expect_eq(machine_operation_result(t.machine, i)->result, results[i], "%u", i);
	cr_assert_eq(t.world.calls[0], 1);
	cr_assert_eq(t.world.calls[1], 1);
	cr_assert_eq(t.world.calls[2], 1);
	machine_destroy(t.machine);
}

/* Two CPUs that call each other at the same time: each serves while it waits. */
Test(calls, cross)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, CALL_TARGET, 1), dummy_act(1, 1 * MS, CALL_TARGET, 0)};

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct trial t;

		try(&t, 2, 2, ops, 2, seed);
		cr_assert_eq(t.world.calls[0], 1);
		cr_assert_eq(t.world.calls[1], 1);
		succeeds(&t);
	}
}

/* A call that races with its CPU going off: it is run or refused, never both, never neither. */
Test(calls, to_a_cpu_that_goes_off)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, CALL_TARGET, 2),
		{.kind = OPERATION_CPU_OFFLINE,
			.when = OPERATION_AT,
			.actor = 1,
			.at_ns = 1 * MS,
			.task = {.cpu = 2}},
		dummy_act(0, 1 * MS, CALL_TARGET, 2),
		{.kind = OPERATION_CPU_ONLINE,
			.when = OPERATION_AT,
			.actor = 1,
			.at_ns = 2 * MS,
			.task = {.cpu = 2}},
	};
	uint32_t refused = 0;

	for (uint64_t seed = 1; seed < 300; seed++) {
		uint32_t failed = 0;
		struct trial t;

		try(&t, 3, 2, ops, 4, seed);
		cr_assert_eq(t.result, 0, "%s", machine_failure(t.machine));
		for (uint32_t i = 0; i < 4; i += 2) {
			int64_t result = machine_operation_result(t.machine, i)->result;

			cr_assert(result == 0 || result == -ENXIO);
			failed += result != 0;
		}
		cr_assert_eq(t.world.calls[2], 2 - failed);
		refused += failed;
		machine_destroy(t.machine);
	}
	cr_assert_gt(refused, 0);
}

Test(mutex, excludes_on_one_cpu_and_on_two)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, SECTION, 0),
		dummy_act(1, 1 * MS, SECTION, 0),
		dummy_act(2, 1 * MS, SECTION, 0),
		dummy_act(3, 1 * MS, SECTION, 0),
	};

	for (uint32_t cpus = 1; cpus <= 2; cpus++) {
		for (uint64_t seed = 0; seed < 200; seed++) {
			struct trial t;

			try(&t, cpus, 4, ops, 4, seed);
			cr_assert_eq(t.world.ordered, 4);
			succeeds(&t);
		}
	}
}

/* The holder waits for another CPU, on which the next one in turn waits for the mutex. */
Test(mutex, is_held_over_a_call)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, SECTION_WITH_CALL, 1),
		dummy_act(1, 1 * MS, SECTION_WITH_CALL, 0),
		dummy_act(2, 1 * MS, SECTION_WITH_CALL, 1),
	};

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct trial t;

		try(&t, 2, 3, ops, 3, seed);
		cr_assert_eq(t.world.ordered, 3);
		cr_assert_eq(t.world.calls[0] + t.world.calls[1], 3);
		succeeds(&t);
	}
}

Test(mutex, locked_in_both_orders_is_a_deadlock_in_some_run)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, LOCK_BOTH_UP, 0), dummy_act(1, 1 * MS, LOCK_BOTH_DOWN, 0)};
	uint32_t deadlocks = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct trial t;

		try(&t, 2, 2, ops, 2, seed);
		if (t.result != 0) {
			cr_assert(strstr(machine_failure(t.machine), "deadlock"));
			deadlocks++;
		}
		machine_destroy(t.machine);
	}
	cr_assert_gt(deadlocks, 0);
	cr_assert_lt(deadlocks, 100); /* time order has none, for one */
}

Test(spin, waits_for_another_cpu)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, SPIN_FOR_FLAG, 7), dummy_act(1, 1 * MS, SET_FLAG, 7)};
	struct trial t;

	for (uint64_t seed = 1; seed < 50; seed++) {
		try(&t, 2, 2, ops, 2, seed);
		succeeds(&t);
	}
}

Test(spin, for_ever_is_a_deadlock)
{
	fails_with(SPIN_FOR_FLAG, 7, "deadlock");
	fails_with(SPIN_FOR_FLAG, 7, "CPU 0, task 100, spins, masked");
}

Test(spin, of_two_cpus_is_a_livelock)
{
	struct operation ops[] = {
		dummy_act(0, 1 * MS, SPIN_FOR_FLAG, 7), dummy_act(1, 1 * MS, SPIN_FOR_FLAG, 8)};
	struct trial t;

	try(&t, 2, 2, ops, 2, 1);
	cr_assert_eq(t.result, -1);
	cr_assert(strstr(machine_failure(t.machine), "livelock"), "%s", machine_failure(t.machine));
	machine_destroy(t.machine);
}

/* A call to a CPU that spins with interrupts off for what the caller would do next. */
Test(calls, to_a_cpu_that_never_listens_is_a_deadlock)
{
	struct operation ops[] = {
		dummy_act(1, 1 * MS, SPIN_FOR_FLAG, 7),
		dummy_act(0, 1 * MS, CALL_TARGET, 1),
	};
	struct trial t;
	uint32_t waited = 0;

	for (uint64_t seed = 1; seed < 20; seed++) {
		try(&t, 2, 2, ops, 2, seed);
		cr_assert_eq(t.result, -1);
		cr_assert(strstr(machine_failure(t.machine), "lock"), "%s",
			machine_failure(t.machine));
		waited += strstr(machine_failure(t.machine), "waits for a call to CPU 1") != NULL;
		machine_destroy(t.machine);
	}
	cr_assert_gt(waited, 0);
}

Test(rules, are_checked)
{
	fails_with(MASKED_CALL, 1, "CPU 0: a call to another CPU with interrupts off");
	fails_with(MASKED_LOCK, 0, "CPU 0: a mutex with interrupts off");
	fails_with(UNBALANCED_RESTORE, 0, "interrupts restored that were not saved");
	fails_with(CALL_THAT_CALLS, 1, "CPU 1: a call to another CPU in an interrupt handler");
	fails_with(UNLOCK_UNHELD, 0, "does not hold it");
	fails_with(RELOCK, 0, "deadlock");
	fails_with(LEAVE_MASKED, 0, "returned to user mode with interrupts off");
}

Test(rules, masks_nest)
{
	struct operation op = dummy_act(0, 1 * MS, NESTED_MASKS, 0);
	struct trial t;

	try(&t, 1, 1, &op, 1, 0);
	succeeds(&t);
}

static void lock_in_hook(struct dummy *d, struct machine_task *prev, struct machine_task *next)
{
	(void)prev;
	(void)next;
	machine_mutex_lock(d->machine, &world_of(d)->mutex[0]);
}

Test(rules, hold_in_hooks)
{
	struct world world = {0};
	struct dummy dummy = {.test = &world, .on_switch = lock_in_hook};
	struct machine_description d = dummy_description(1);
	struct machine *m;

	d.tasks = &one_busy;
	d.task_count = 1;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_eq(machine_run(m), -1);
	cr_assert_str_eq(machine_failure(m), "CPU 0: a mutex in a hook");
	machine_destroy(m);
}
