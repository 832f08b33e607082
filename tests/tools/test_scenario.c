/* SPDX-License-Identifier: MIT
 *
 * test_scenario.c: what scenario files decode to, field by field.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

#define HEAD "machine: bl\nend: 10ms\nseed: 9\n"
#define PROGRAMS                                                                                   \
	"programs:\n"                                                                              \
	"  loop: {main: 256, spin: 1k}\n"                                                          \
	"  kernel: {svc: 64, copy: 128}\n"
#define WORKS                                                                                      \
	"works:\n"                                                                                 \
	"  run:\n"                                                                                 \
	"    program: loop\n"                                                                      \
	"    repeat: forever\n"                                                                    \
	"    phases:\n"                                                                            \
	"      - {stack: [main, spin], for: 2ms, rates: {cpu_cycles: 1000, 0x8: 500}}\n"           \
	"      - {stack: [copy], el: 1, for: 10us,\n"                                              \
	"         rates: {pmu-l: {cpu_cycles: 7}, pmu-b: {br_retired: 8, cpu_cycles: 9}}}\n"       \
	"  rest: {program: loop, then: sleep}\n"
#define TASKS                                                                                      \
	"tasks:\n"                                                                                 \
	"  - {name: P, work: rest, uid: 5, capabilities: [perfmon]}\n"                             \
	"  - {name: T, work: run, parent: P, cpus: [0, 2-3], cpu: 2, stopped: true, start: 1us}\n" \
	"  - {name: many, work: run, copies: 3, thread: true, parent: T}\n"
#define ALL HEAD PROGRAMS WORKS TASKS

/* The scenario of `text`; it must be sound. */
static struct scenario load(const char *text)
{
	char path[32] = "/tmp/test_scenario_XXXXXX";
	struct failure failure = {0};
	struct scenario scenario;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	cr_assert(scenario_load(&scenario, path, &failure), "%s", failure.text);
	unlink(path);
	return scenario;
}

/* Operation number k of the scenario. */
static const struct operation *operation_of(const struct scenario *scenario, uint32_t k)
{
	cr_assert_lt(k, scenario->machine.operation_count);
	return &scenario->machine.operations[k];
}

Test(scenario, machine_and_works)
{
	struct scenario scenario = load(ALL);
	const struct machine_description *machine = &scenario.machine;
	const struct machine_work *work = &machine->works[0];

	cr_expect_eq(machine->cpu_count, 4);
	cr_expect_eq(machine->cluster_count, 2);
	cr_expect_eq(machine->cluster_of[1], 0);
	cr_expect_eq(machine->cluster_of[2], 1);
	cr_expect_eq(machine->seed, 9);
	cr_expect_eq(scenario.end_ns, 10000000);
	cr_assert_eq(machine->program_count, 1);
	cr_expect_eq(machine->programs[0].functions[1].size, 1000);
	cr_assert_not_null(machine->kernel);
	cr_expect_str_eq(machine->kernel->functions[1].name, "copy");
	cr_assert_eq(machine->work_count, 2);
	cr_expect_eq(work->repeat, 0);
	cr_expect_eq(work->end, MACHINE_WORK_EXIT);
	cr_assert_eq(work->phase_count, 2);
	cr_expect_eq(work->phases[0].depth, 2);
	cr_expect_eq(work->phases[0].stack[1], 1);
	cr_expect_eq(work->phases[0].duration_ns, 2000000);
	for (uint32_t cluster = 0; cluster < 2; cluster++) {
		cr_assert_eq(work->phases[0].rates[cluster].count, 2);
		cr_expect_eq(work->phases[0].rates[cluster].rate[1].event, 8);
		cr_expect_eq(work->phases[0].rates[cluster].rate[1].per_us, 500);
	}
	cr_expect_eq(work->phases[1].el, 1);
	cr_expect_eq(work->phases[1].stack[0], 1);
	cr_expect_eq(work->phases[1].rates[0].count, 1);
	cr_assert_eq(work->phases[1].rates[1].count, 2);
	cr_expect_eq(work->phases[1].rates[1].rate[0].event, 0x21);
	cr_expect_eq(machine->works[1].end, MACHINE_WORK_SLEEP);
	cr_expect_eq(machine->works[1].repeat, 1);
	scenario_free(&scenario);
}

Test(scenario, tasks)
{
	struct scenario scenario = load(ALL);
	const struct machine_task_description *task = scenario.machine.tasks;

	cr_assert_eq(scenario.machine.task_count, 5);
	cr_expect_eq(task[0].parent, OPERATION_NOBODY);
	cr_expect_eq(task[0].uid, 5);
	cr_expect(task[0].perfmon);
	cr_expect_not(task[0].sys_admin);
	cr_expect_eq(task[0].cpu, OPERATION_NOBODY);
	cr_expect(task[1].perfmon && task[1].sys_admin, "user 0 may all");
	cr_expect_eq(task[1].parent, 0);
	cr_expect_eq(task[1].cpu_mask, 0xd);
	cr_expect_eq(task[1].cpu, 2);
	cr_expect(task[1].stopped);
	cr_expect_eq(task[1].start_ns, 1000);
	cr_expect(task[4].thread);
	cr_expect_str_eq(scenario_task_name(&scenario, 4), "many.2");
	cr_expect_str_eq(scenario_task_name(&scenario, OPERATION_NOBODY), "root");
	scenario_free(&scenario);
}

Test(scenario, attr)
{
	struct scenario scenario = load(ALL "events:\n"
					    "  - {name: e, task: T, cpu: 1, type: hw_cache, "
					    "config: [dtlb, read, miss], sample_freq: 99,\n"
					    "     sample_type: [ip, tid], read_format: [group, "
					    "lost], disabled: 1, exclude_kernel: true,\n"
					    "     precise_ip: 2, clockid: 4, wakeup_watermark: 4k, "
					    "sample_max_stack: 17, config2: 0x1_0000_0000}\n"
					    "  - {name: f, task: self, by: P, type: pmu-b, config: "
					    "l2d_cache, sample_period: 5, size: 72,\n"
					    "     flags: [fd_cloexec], only_on: 3}\n");
	const struct tally_attr *attr = &scenario.events[0].attr;

	cr_expect_eq(attr->type, TALLY_TYPE_HW_CACHE);
	cr_expect_eq(attr->config, 3 | 0 << 8 | 1 << 16);
	cr_expect_eq(attr->size, 128);
	cr_expect_eq(attr->sample_period, 99);
	cr_expect_eq(attr->sample_type, TALLY_SAMPLE_IP | TALLY_SAMPLE_TID);
	cr_expect_eq(attr->read_format, TALLY_FORMAT_GROUP | TALLY_FORMAT_LOST);
	cr_expect_eq(attr->flags, TALLY_ATTR_FREQ | TALLY_ATTR_DISABLED |
					  TALLY_ATTR_EXCLUDE_KERNEL | (UINT64_C(2) << 15) |
					  TALLY_ATTR_USE_CLOCKID | TALLY_ATTR_WATERMARK);
	cr_expect_eq(attr->clockid, 4);
	cr_expect_eq(attr->wakeup_events, 4000);
	cr_expect_eq(attr->sample_max_stack, 17);
	cr_expect_eq(attr->config1, 0);
	cr_expect_eq(attr->config2, UINT64_C(0x100000000));
	cr_expect_eq(scenario.events[0].cpu, 1);
	cr_expect_eq(scenario.events[0].task, 1);

	attr = &scenario.events[1].attr;
	cr_expect_eq(attr->type, TALLY_TYPE_DYNAMIC + 2, "all CPUs, pmu-l, pmu-b");
	cr_expect_eq(attr->config, UINT64_C(3) << 32 | 0x16);
	cr_expect_eq(attr->sample_period, 5);
	cr_expect_eq(attr->size, 72);
	cr_expect_eq(operation_of(&scenario, 1)->open.target, OPERATION_TARGET_SELF);
	cr_expect_eq(operation_of(&scenario, 1)->open.flags, TALLY_FLAG_FD_CLOEXEC);
	cr_expect_eq(operation_of(&scenario, 1)->actor, 0);
	scenario_free(&scenario);
}

Test(scenario, events_are_numbered_as_they_are_opened)
{
	struct scenario scenario = load(
		ALL "events:\n"
		    "  - {name: late, open: later, task: T, type: hardware, config: cycles, "
		    "result: EINVAL}\n"
		    "  - {name: lead, task: many, type: hardware, config: cycles}\n"
		    "  - {name: follow, group: lead, task: many, type: hardware, config: cycles}\n"
		    "  - {name: wide, cpus: [1, 3], type: hardware, config: cycles, ring: {pages: "
		    "4, read_every: 1ms}}\n"
		    "operations:\n"
		    "  - {at: 1ms, open: late}\n"
		    "  - {disable: follow, group: true, label: off}\n"
		    "  - {after: off, delay: 1us, reset: wide@cpu1}\n"
		    "expect:\n"
		    "  wide: {value: 3}\n"
		    "  wide@cpu3: {value: 4}\n");
	const struct scenario_event *event = scenario.events;
	const struct operation *operation;

	cr_assert_eq(scenario.event_count, 9);
	cr_expect_str_eq(event[1].name, "lead@many.1");
	cr_expect_str_eq(event[1].declared, "lead");
	cr_expect_eq(event[4].leader, 1);
	cr_expect_eq(event[4].task, 3);
	cr_expect_str_eq(event[7].name, "wide@cpu3");
	cr_expect_eq(event[7].cpu, 3);
	cr_expect_str_eq(event[8].name, "late");
	cr_expect(event[8].must_fail);

	/* 6 OPENs, 2 of OPEN and MMAP, then the operations of the file */
	operation = operation_of(&scenario, 4);
	cr_expect_eq(operation->kind, OPERATION_OPEN);
	cr_expect_eq(operation->open.group, 1);
	operation = operation_of(&scenario, 9);
	cr_expect_eq(operation->kind, OPERATION_MMAP);
	cr_expect_eq(operation->mmap.event, 7);
	cr_expect_eq(operation->mmap.pages, 5);
	operation = operation_of(&scenario, 10);
	cr_expect_eq(operation->kind, OPERATION_OPEN);
	cr_expect_eq(operation->when, OPERATION_AT);
	cr_expect_eq(operation->at_ns, 1000000);
	operation = operation_of(&scenario, 11);
	cr_expect_eq(operation->kind, OPERATION_EXPECT);
	cr_expect_eq(operation->expect.operation, 10);
	cr_expect_eq(operation->expect.result, -EINVAL);
	operation = operation_of(&scenario, 14);
	cr_expect_eq(operation->kind, OPERATION_IOCTL);
	cr_expect_eq(operation->ioctl.event, 5);
	cr_expect_eq(operation->ioctl.command, TALLY_IOC_DISABLE);
	cr_expect_eq(operation->ioctl.argument, TALLY_IOC_FLAG_GROUP);
	operation = operation_of(&scenario, 15);
	cr_expect_eq(operation->when, OPERATION_AFTER);
	cr_expect_eq(operation->after, 14);
	cr_expect_eq(operation->at_ns, 1000);
	cr_expect_eq(operation->ioctl.event, 6);

	cr_expect_eq(event[8].final, OPERATION_NOBODY, "it is not open at the end");
	cr_expect_eq(operation_of(&scenario, event[6].final)->expect.value, 3);
	cr_expect_eq(operation_of(&scenario, event[7].final)->expect.value, 4);
	cr_expect_eq(operation_of(&scenario, event[7].final)->at_ns, scenario.end_ns);
	cr_expect_eq(operation_of(&scenario, event[0].final)->expect.tolerance, UINT64_MAX);
	cr_expect_eq(
		operation_of(&scenario, scenario.machine.operation_count - 1)->kind, OPERATION_END);
	scenario_free(&scenario);
}

Test(scenario, operations)
{
	struct scenario scenario = load(
		ALL "events: [{name: e, task: T, by: P, type: hardware, config: cycles}]\n"
		    "operations:\n"
		    "  - {fork: C, by: T, work: rest, thread: true}\n"
		    "  - {exec: C, work: run}\n"
		    "  - {sleep: T, for: 3us, count: {task: C, event: inst_retired, reaches: 1M}}\n"
		    "  - {pin: C, cpus: 1}\n"
		    "  - {migrate: C, cpu: 1, at: 2ms, every: 1ms, times: 4}\n"
		    "  - {offline: 3, result: 0}\n"
		    "  - {period: e, to: 77}\n"
		    "  - {set_output: e, to: none}\n"
		    "  - {read: e, size: 0, result: ENOSPC}\n"
		    "  - {fail_alloc: 2, skip: 5}\n"
		    "  - {expect: e, running: 5us, tolerance_time: 1us, samples: 3}\n"
		    "  - {close: e, by: T}\n");
	const struct operation *operation;

	operation = operation_of(&scenario, 1);
	cr_expect_eq(operation->kind, OPERATION_FORK);
	cr_expect_eq(operation->actor, 1);
	cr_expect_eq(operation->fork.work, 1);
	cr_expect(operation->fork.thread);
	operation = operation_of(&scenario, 2);
	cr_expect_eq(
		operation->actor, 5, "the first child comes behind the tasks of the description");
	cr_expect_eq(operation->exec.work, 0);
	operation = operation_of(&scenario, 3);
	cr_expect_eq(operation->when, OPERATION_AT_COUNT);
	cr_expect_eq(operation->count_task, 5);
	cr_expect_eq(operation->count_event, 8);
	cr_expect_eq(operation->count, 1000000);
	cr_expect_eq(operation->task.duration_ns, 3000);
	operation = operation_of(&scenario, 4);
	cr_expect_eq(operation->task.task, 5);
	cr_expect_eq(operation->task.cpu_mask, 2);
	operation = operation_of(&scenario, 5);
	cr_expect_eq(operation->every_ns, 1000000);
	cr_expect_eq(operation->times, 4);
	cr_expect_eq(operation_of(&scenario, 6)->task.cpu, 3);
	operation = operation_of(&scenario, 8);
	cr_expect_eq(operation->ioctl.command, TALLY_IOC_PERIOD);
	cr_expect(operation->ioctl.argument_memory);
	cr_expect_eq(operation->ioctl.argument, 77);
	cr_expect_eq(operation_of(&scenario, 9)->ioctl.argument, UINT64_MAX);
	operation = operation_of(&scenario, 10);
	cr_expect(operation->read.zero_size);
	cr_expect_eq(operation->actor, 0, "the opener");
	cr_expect_eq(operation_of(&scenario, 11)->expect.result, -ENOSPC);
	cr_expect_eq(operation_of(&scenario, 12)->fail_alloc.count, 2);
	cr_expect_eq(operation_of(&scenario, 12)->fail_alloc.skip, 5);
	operation = operation_of(&scenario, 13);
	cr_expect_eq(operation->expect.fields, OPERATION_EXPECT_RUNNING | OPERATION_EXPECT_SAMPLES);
	cr_expect_eq(operation->expect.running_ns, 5000);
	cr_expect_eq(operation->expect.tolerance_ns, 1000);
	cr_expect_eq(operation_of(&scenario, 14)->actor, 1);
	cr_expect(scenario.events[0].closed);
	cr_expect_eq(scenario.events[0].final, OPERATION_NOBODY);
	scenario_free(&scenario);
}

Test(scenario, clusters_of_its_own)
{
	struct scenario scenario = load("machine:\n"
					"  irq_latency: [1us, 2us, 3us]\n"
					"  irq_time: 2us\n"
					"  irq_rates: {cpu_cycles: 10}\n"
					"  tick: 1ms\n"
					"  offline: 1-2\n"
					"  clusters:\n"
					"    - {name: tiny, like: cortex-a55, cpus: 1, counters: "
					"1, events: [cpu_cycles, br_retired, 0x200, 0xc0]}\n"
					"    - {like: cortex-a76, cpus: 2}\n"
					"end: 1ms\n");
	const struct machine_description *machine = &scenario.machine;
	const struct pmu_cpu_config *tiny = machine->clusters[0].pmu;

	cr_expect_eq(machine->cpu_count, 3);
	cr_expect_eq(machine->cluster_of[2], 1);
	cr_expect_str_eq(machine->clusters[0].name, "tiny");
	cr_expect_str_eq(machine->clusters[1].name, "cortex-a76");
	cr_expect_eq(tiny->counter_count, 1);
	cr_expect(pmu_cpu_has_event(tiny, 0x11));
	cr_expect(pmu_cpu_has_event(tiny, 0x21));
	cr_expect(pmu_cpu_has_event(tiny, 0xc0));
	cr_expect(pmu_cpu_has_event(tiny, 0x200));
	cr_expect_not(pmu_cpu_has_event(tiny, 0x08));
	cr_expect_eq(machine->irq_latency_ns[2], 3000);
	cr_expect_eq(machine->irq_ns, 2000);
	cr_expect_eq(machine->irq_rates[1].rate[0].per_us, 10);
	cr_expect_eq(machine->tick_ns, 1000000);
	cr_expect_eq(machine->offline_mask, 6);
	scenario_free(&scenario);
}

#define RACE                                                                                       \
	ALL "events:\n"                                                                            \
	    "  - {name: L, task: T, by: P, type: hardware, config: cycles}\n"                      \
	    "  - {name: m, task: T, by: P, group: L, type: hardware, config: cycles, "             \
	    "sample_period: 9}\n"                                                                  \
	    "  - {name: n, task: T, by: P, type: hardware, config: cycles, open: later, "          \
	    "result: any, ring: {pages: 2}}\n"                                                     \
	    "operations:\n"                                                                        \
	    "  - {at: 1ms, fork: C, by: T}\n"                                                      \
	    "  - {at: 1ms, open: n, by: P}\n"                                                      \
	    "  - {disable: m, label: off}\n"                                                       \
	    "  - {after: off, close: m}\n"                                                         \
	    "  - {after: off, delay: 1ns, reset: m}\n"                                             \
	    "  - {at: 2ms, close: L}\n"

Test(scenario, what_the_explorer_is_told)
{
	struct scenario scenario = load(
		RACE "explore:\n"
		     "  at: 1ms\n"
		     "  bound: 3/2/1/4\n"
		     "  test: 1/0/1\n"
		     "  late_registers: true\n"
		     "  covers:\n"
		     "    - fork+sched_in x open+mmap, other, counting\n"
		     "    - sched_out x close event, same, sampling member\n");
	const struct scenario_explore *explore = &scenario.explore;
	const struct scenario_cell *cell = explore->covers;

	cr_expect(explore->present);
	cr_expect_eq(explore->at_ns, 1000000);
	cr_expect_eq(explore->bound.preemptions, 3);
	cr_expect_eq(explore->bound.interrupts, 2);
	cr_expect_eq(explore->bound.stale, 1);
	cr_expect_eq(explore->bound.faults, 4);
	cr_expect_eq(explore->test.preemptions, 1);
	cr_expect_eq(explore->test.interrupts, 0);
	cr_expect_eq(explore->test.stale, 1);
	cr_expect_eq(explore->test.faults, 0);
	cr_expect(explore->late_registers);
	cr_expect_not(explore->kernel_events);
	cr_expect_not(explore->ticks);
	cr_assert_eq(explore->cover_count, 5, "2 hooks x 2 calls, and 1");
	cr_expect_eq(cell[0].hook, RACE_SCHED_IN);
	cr_expect_eq(cell[0].call, RACE_OPEN);
	cr_expect_not(cell[0].same_cpu);
	cr_expect_eq(cell[0].roles, RACE_COUNTING);
	cr_expect_eq(cell[1].call, RACE_MMAP);
	cr_expect_eq(cell[3].hook, RACE_FORK);
	cr_expect_eq(cell[4].hook, RACE_SCHED_OUT);
	cr_expect_eq(cell[4].call, RACE_CLOSE_EVENT);
	cr_expect(cell[4].same_cpu);
	cr_expect_eq(cell[4].roles, RACE_SAMPLING | RACE_MEMBER);
	scenario_free(&scenario);
}

Test(scenario, a_bound_is_also_that_of_tests_and_may_stand_alone)
{
	struct scenario scenario = load(RACE "explore: {at: 1ms, bound: 2/1/0}\n");
	struct scenario without = load(ALL);

	cr_expect_eq(scenario.explore.test.preemptions, 2);
	cr_expect_eq(scenario.explore.test.interrupts, 1);
	cr_expect_eq(scenario.explore.cover_count, 0);
	cr_expect_not(without.explore.present);
	scenario_free(&scenario);
	scenario_free(&without);
}

Test(scenario, an_event_that_may_not_open_is_not_expected_at_the_end)
{
	struct scenario scenario = load(RACE);

	cr_assert_eq(scenario.event_count, 3);
	cr_expect(scenario.events[2].may_fail);
	cr_expect_not(scenario.events[2].must_fail);
	cr_expect_eq(scenario.events[2].final, OPERATION_NOBODY);
	/* 2 OPENs, FORK, OPEN and its MMAP, with no expectation of what it gives */
	cr_expect_eq(operation_of(&scenario, 3)->kind, OPERATION_OPEN);
	cr_expect_eq(operation_of(&scenario, 4)->kind, OPERATION_MMAP);
	cr_expect_eq(operation_of(&scenario, 5)->kind, OPERATION_IOCTL);
	scenario_free(&scenario);
}
