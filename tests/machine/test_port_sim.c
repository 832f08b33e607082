/* SPDX-License-Identifier: MIT
 *
 * test_port_sim.c: the engine on the simulated machine: the port's own side of the system calls
 * (fds, mappings, user memory, rights, expectations), and that what the engine says is what was
 * executed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <port_sim/run.h>
#include <string.h>

#include "dummy_kernel.h"

#define MS UINT64_C(1000000)

static const struct machine_task_description one_busy = {
	.work = DUMMY_BUSY, .parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY, .uid = 1000};

static const struct tally_attr counting = {.type = TALLY_TYPE_RAW,
	.size = sizeof(struct tally_attr),
	.config = 0x08,
	.read_format = TALLY_FORMAT_TOTAL_TIME_ENABLED | TALLY_FORMAT_TOTAL_TIME_RUNNING,
	.flags = TALLY_ATTR_EXCLUDE_KERNEL};

static const struct tally_attr sampling = {.type = TALLY_TYPE_RAW,
	.size = sizeof(struct tally_attr),
	.config = 0x08,
	.sample_period = 100000,
	.sample_type = TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME |
		       TALLY_SAMPLE_IDENTIFIER,
	.read_format = TALLY_FORMAT_TOTAL_TIME_ENABLED | TALLY_FORMAT_TOTAL_TIME_RUNNING,
	.flags = TALLY_ATTR_EXCLUDE_KERNEL};

static struct operation at(uint8_t kind, uint32_t actor, uint64_t at_ns)
{
	return (struct operation){
		.kind = kind, .when = OPERATION_AT, .actor = actor, .at_ns = at_ns};
}

static struct operation open_task(
	uint32_t actor, uint64_t at_ns, const struct tally_attr *attr, uint32_t task)
{
	struct operation op = at(OPERATION_OPEN, actor, at_ns);

	op.open = (struct operation_open){.attr = attr,
		.attr_size = sizeof(*attr),
		.target = task == OPERATION_NOBODY ? OPERATION_TARGET_SELF : OPERATION_TARGET_TASK,
		.task = task,
		.cpu = -1,
		.group = OPERATION_NOBODY};
	return op;
}

static struct operation map(uint32_t actor, uint64_t at_ns, uint32_t event, uint64_t pages)
{
	struct operation op = at(OPERATION_MMAP, actor, at_ns);

	op.mmap = (struct operation_mmap){.event = event, .pages = pages, .writable = true};
	return op;
}

static struct operation on_event(uint8_t kind, uint32_t actor, uint64_t at_ns, uint32_t event)
{
	struct operation op = at(kind, actor, at_ns);

	if (kind == OPERATION_READ)
		op.read.event = event;
	else if (kind == OPERATION_DRAIN)
		op.drain.event = event;
	else
		op.event.event = event;
	return op;
}

static struct operation expect_counts(
	uint32_t actor, uint64_t at_ns, uint32_t event, uint64_t value, uint64_t time_ns)
{
	struct operation op = at(OPERATION_EXPECT, actor, at_ns);

	op.expect = (struct operation_expect){.event = event,
		.fields = OPERATION_EXPECT_VALUE | OPERATION_EXPECT_ENABLED |
			  OPERATION_EXPECT_RUNNING,
		.value = value,
		.enabled_ns = time_ns,
		.running_ns = time_ns};
	return op;
}

static struct port_sim *run_well(
	struct machine_description *d, struct operation *ops, uint32_t count)
{
	struct port_sim *port;

	d->operations = ops;
	d->operation_count = count;
	port = port_sim_create(d, NULL, NULL);
	cr_assert_not_null(port);
	cr_assert_eq(port_sim_run(port), 0, "%s", port_sim_failure(port));
	cr_assert_eq(port_sim_memory_held(port), 0);
	return port;
}

static int64_t result_of(struct port_sim *port, uint32_t k)
{
	return machine_operation_result(port_sim_machine(port), k)->result;
}

Test(port_sim, counts_what_a_task_executes)
{
	struct machine_description d = dummy_description(2);
	struct machine_task_description tasks[] = {one_busy, one_busy, one_busy};
	struct operation ops[] = {
		open_task(0, 0, &counting, OPERATION_NOBODY), open_task(0, 1 * MS, &counting, 2),
		/* task 2 shares CPU 0 with task 0: which ran first, for 4 ms each */
		expect_counts(0, 10 * MS, 0, 6 * MS, 6 * MS),
		expect_counts(0, 10 * MS, 1, 4 * MS, 4 * MS),
		on_event(OPERATION_CLOSE, 0, 10 * MS, 0), on_event(OPERATION_READ, 0, 10 * MS, 0),
		on_event(OPERATION_READ, 1, 10 * MS, 1), /* another process' fd */
	};
	struct port_sim *port;

	d.tasks = tasks;
	d.task_count = 3;
	d.end_ns = 20 * MS;
	port = run_well(&d, ops, 7);
	cr_assert_eq(result_of(port, 5), -EBADF);
	cr_assert_eq(result_of(port, 6), -EBADF);
	cr_assert_eq(port_sim_event_id(port, 0), 1);
	cr_assert_eq(port_sim_event_id(port, 7), 0);
	port_sim_destroy(port);
}

struct tape {
	uint32_t samples;
	uint64_t last_time_ns;
};

static void on_record(void *context, uint32_t event, const void *bytes, size_t size, uint64_t t_ns)
{
	struct tape *tape = context;
	const uint64_t *words = bytes;

	(void)event;
	(void)t_ns;
	cr_assert_eq(size, 8 + 8 + 8 + 8 + 8);
	cr_assert_geq(words[2], MACHINE_USER_TEXT + 256); /* in "leaf" */
	cr_assert_lt(words[2], MACHINE_USER_TEXT + 256 + 4096);
	cr_assert_gt(words[4], tape->last_time_ns);
	tape->last_time_ns = words[4];
	tape->samples++;
}

Test(port_sim, samples_lie_where_the_task_was)
{
	struct machine_description d = dummy_description(1);
	struct tape tape = {0};
	struct machine_observer observer = {.context = &tape, .record = on_record};
	struct operation ops[] = {
		open_task(0, 0, &sampling, OPERATION_NOBODY),
		map(0, 0, 0, 9),
		on_event(OPERATION_DRAIN, 0, 10 * MS, 0),
		at(OPERATION_EXPECT, 0, 15 * MS),
		on_event(OPERATION_CLOSE, 0, 16 * MS, 0),
		on_event(OPERATION_DRAIN, 0, 17 * MS, 0),
		on_event(OPERATION_MUNMAP, 0, 18 * MS, 0),
		on_event(OPERATION_DRAIN, 0, 19 * MS, 0),
	};
	struct port_sim *port;

	ops[3].expect = (struct operation_expect){.event = 0,
		.fields = OPERATION_EXPECT_SAMPLES | OPERATION_EXPECT_LOST,
		.samples = 150};
	d.tasks = &one_busy;
	d.task_count = 1;
	d.operations = ops;
	d.operation_count = 8;
	d.end_ns = 20 * MS;
	port = port_sim_create(&d, NULL, NULL);
	cr_assert(machine_observe(port_sim_machine(port), &observer));
	cr_assert_eq(port_sim_run(port), 0, "%s", port_sim_failure(port));
	cr_assert_eq(result_of(port, 2), 100 * 40);
	cr_assert_eq(result_of(port, 5), 70 * 40); /* a mapping keeps a closed event counting */
	cr_assert_eq(result_of(port, 7), -EINVAL);
	cr_assert_eq(tape.samples, 170);
	cr_assert_eq(port_sim_statistic(port, TALLY_STAT_SAMPLES), 180);
	port_sim_destroy(port);
}

Test(port_sim, fork_exec_and_exit_treat_fds_and_mappings)
{
	struct machine_description d = dummy_description(2);
	struct operation ops[] = {
		open_task(0, 0, &sampling, OPERATION_NOBODY),
		open_task(0, 0, &counting, OPERATION_NOBODY), map(0, 0, 0, 2),
		at(OPERATION_FORK, 0, 1 * MS), /* task 1 */
		on_event(OPERATION_READ, 1, 2 * MS, 0),
		on_event(OPERATION_DRAIN, 1, 2 * MS, 0), /* not copied by fork */
		at(OPERATION_EXEC, 0, 3 * MS),
		on_event(OPERATION_DRAIN, 0, 3 * MS, 0), /* gone with exec */
		on_event(OPERATION_READ, 0, 3 * MS, 1),  /* closed by exec */
		on_event(OPERATION_READ, 0, 3 * MS, 0), at(OPERATION_EXIT, 0, 4 * MS),
		expect_counts(1, 5 * MS, 1, 4 * MS, 4 * MS), /* the child holds it */
	};
	struct port_sim *port;

	ops[1].open.flags = TALLY_FLAG_FD_CLOEXEC;
	ops[3].fork.work = DUMMY_BUSY;
	ops[6].exec.work = DUMMY_BUSY;
	d.tasks = &one_busy;
	d.task_count = 1;
	d.end_ns = 10 * MS;
	port = run_well(&d, ops, 12);
	cr_assert_eq(result_of(port, 4), 24);
	cr_assert_eq(result_of(port, 5), -EINVAL);
	cr_assert_eq(result_of(port, 6), 0);
	cr_assert_eq(result_of(port, 7), -EINVAL);
	cr_assert_eq(result_of(port, 8), -EBADF);
	cr_assert_eq(result_of(port, 9), 24);
	port_sim_destroy(port);
}

Test(port_sim, bad_arguments_are_errors)
{
	struct machine_description d = dummy_description(1);
	struct machine_task_description tasks[] = {one_busy, one_busy};
	struct tally_attr bad_size = counting;
	struct operation ops[] = {
		at(OPERATION_OPEN, 0, 0),                     /* 0: no memory at the attr pointer */
		open_task(0, 0, &counting, 1),                /* 1: another user's task */
		open_task(0, 0, &bad_size, OPERATION_NOBODY), /* 2: longer than the memory there */
		open_task(0, 0, &counting, 77),               /* 3: no such task */
		open_task(0, 0, &counting, OPERATION_NOBODY), /* 4: good, event 4 */
		open_task(0, 0, &counting,
			OPERATION_NOBODY), /* 5: group fd of an event that failed */
		on_event(OPERATION_READ, 0, 1 * MS, 0),
		on_event(OPERATION_READ, 0, 1 * MS, 4), /* 7: buffer too small */
		on_event(OPERATION_READ, 0, 1 * MS, 4), /* 8: bad pointer */
		map(0, 1 * MS, 4, 4),                   /* 9: not 1 + 2^n pages */
		at(OPERATION_IOCTL, 0, 1 * MS),         /* 10: unknown command */
		at(OPERATION_IOCTL, 0, 1 * MS),         /* 11: bad pointer */
		at(OPERATION_IOCTL, 0, 1 * MS),         /* 12: the id */
		on_event(OPERATION_READ, 99, 1 * MS, 4),
		on_event(OPERATION_READ, 0, 1 * MS, 99),
	};
	static const int64_t results[] = {-EFAULT, -EACCES, -EFAULT, -ESRCH, 7, -EBADF, -EBADF,
		-ENOSPC, -EFAULT, -EINVAL, -ENOTTY, -EFAULT, 0, -ESRCH, -EBADF};
	struct port_sim *port;
	uint64_t id;

	bad_size.size = 4096;
	tasks[1].uid = 1001;
	ops[0].open.group = OPERATION_NOBODY;
	ops[5].open.group = 0;
	ops[7].read.size = 16;
	ops[8].read.fault = true;
	ops[10].ioctl = (struct operation_ioctl){.event = 4, .command = 0x12345678};
	ops[11].ioctl = (struct operation_ioctl){
		.event = 4, .command = TALLY_IOC_ID, .argument_fault = true};
	ops[12].ioctl = (struct operation_ioctl){
		.event = 4, .command = TALLY_IOC_ID, .argument_memory = true};
	d.tasks = tasks;
	d.task_count = 2;
	d.end_ns = 2 * MS;
	port = run_well(&d, ops, 15);
	for (uint32_t i = 0; i < 15; i++)
		cr_expect_eq(result_of(port, i), results[i], "%u: %ld", i, result_of(port, i));
	memcpy(&id, machine_operation_result(port_sim_machine(port), 12)->bytes, sizeof(id));
	cr_assert_eq(id, port_sim_event_id(port, 4));
	port_sim_destroy(port);
}

Test(port_sim, allocations_can_be_made_to_fail)
{
	for (uint32_t skip = 0; skip < 8; skip++) {
		struct machine_description d = dummy_description(1);
		struct operation ops[] = {
			at(OPERATION_FAIL_ALLOC, 0, 0),
			open_task(0, 0, &sampling, OPERATION_NOBODY),
			map(0, 0, 0, 3),
			open_task(0, 0, &sampling, OPERATION_NOBODY),
		};
		struct port_sim *port;

		ops[0].fail_alloc.skip = skip;
		d.tasks = &one_busy;
		d.task_count = 1;
		d.end_ns = 2 * MS;
		port = run_well(&d, ops, 4);
		cr_assert(skip != 0 || result_of(port, 1) == -ENOMEM);
		port_sim_destroy(port);
	}
}

Test(port_sim, a_wrong_expectation_fails_the_run)
{
	struct machine_description d = dummy_description(1);
	struct operation ops[] = {
		open_task(0, 0, &counting, OPERATION_NOBODY),
		expect_counts(0, 1 * MS, 0, 1 * MS + 1, 1 * MS),
	};
	struct port_sim *port;

	d.tasks = &one_busy;
	d.task_count = 1;
	d.operations = ops;
	d.operation_count = 2;
	d.end_ns = 2 * MS;
	port = port_sim_create(&d, NULL, NULL);
	cr_assert_eq(port_sim_run(port), -1);
	cr_assert(strstr(port_sim_failure(port), "value is 1000000, expected 1000001"), "%s",
		port_sim_failure(port));
	cr_assert_eq(result_of(port, 1), -EBADMSG);
	port_sim_destroy(port);
}
