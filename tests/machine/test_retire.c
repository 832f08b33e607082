/* SPDX-License-Identifier: MIT
 *
 * test_retire.c: occurrences of PMU events: exact, however a stretch is cut and whoever counts, and
 * interrupts at the very nanosecond that an overflow makes due.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "dummy_kernel.h"

#define MS UINT64_C(1000000)

static const struct machine_rate odd_rate[] = {{0x08, 333}, {0x11, 1801}, {0x13, 1}, {0x14, 0}};
static const struct machine_rate other_rate[] = {{0x08, 777}, {0x11, 1}, {0x15, 13}};
static const struct machine_rates odd[] = {{odd_rate, 4}, {other_rate, 3}};
static const struct machine_rates kernel_rates[] = {{other_rate, 3}, {odd_rate, 4}};
static const uint32_t stack[] = {1};
static const uint32_t kernel_stack[] = {0};
static const struct machine_phase odd_phase = {stack, 1, 0, 1234567, odd};
static const struct machine_phase both_levels[] = {
	{stack, 1, 0, 1001, odd}, {kernel_stack, 1, 1, 333, kernel_rates}};
static const struct machine_work odd_works[] = {
	{0, &odd_phase, 1, 0, MACHINE_WORK_EXIT}, {0, both_levels, 2, 0, MACHINE_WORK_EXIT}};
static const struct machine_task_description odd_task = {
	.work = 0, .parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY};
static const uint32_t two_clusters[] = {0, 1};

static struct machine_description odd_description(void)
{
	static struct machine_cluster clusters[2];
	struct machine_description d = dummy_description(2);

	clusters[0] = (struct machine_cluster){"a", pmu_preset_find("h1")->cpus[0]};
	clusters[1] = (struct machine_cluster){"b", pmu_preset_find("h1")->cpus[0]};
	d.clusters = clusters;
	d.cluster_count = 2;
	d.cluster_of = two_clusters;
	d.works = odd_works;
	d.work_count = 2;
	d.tasks = &odd_task;
	d.task_count = 1;
	return d;
}

/* Programs counter 0 of this CPU for INST_RETIRED (0x08) at the levels of `filter`, from `value`,
 * with its interrupt. */
static void program(struct dummy *d, uint32_t filter, uint64_t value)
{
	struct pmu_cpu *pmu = machine_pmu(d->machine);

	pmu_cpu_write(pmu, 1, PMU_PMCR_EL0, PMU_PMCR_P | PMU_PMCR_C | PMU_PMCR_LC);
	pmu_cpu_write(pmu, 1, PMU_PMCNTENCLR_EL0, UINT32_MAX);
	pmu_cpu_write(pmu, 1, PMU_PMINTENCLR_EL1, UINT32_MAX);
	pmu_cpu_write(pmu, 1, PMU_PMOVSCLR_EL0, UINT32_MAX);
	pmu_cpu_write(pmu, 1, PMU_PMEVTYPER0_EL0, filter | 0x08);
	pmu_cpu_write(pmu, 1, PMU_PMEVCNTR0_EL0, value);
	pmu_cpu_write(pmu, 1, PMU_PMINTENSET_EL1, 1);
	pmu_cpu_write(pmu, 1, PMU_PMCNTENSET_EL0, 1);
	pmu_cpu_write(pmu, 1, PMU_PMCR_EL0, PMU_PMCR_E | PMU_PMCR_LC);
}

static int64_t read_counter(struct dummy *d, uint64_t argument)
{
	uint64_t value;
	bool masked = machine_irq_save(d->machine);

	(void)argument;
	pmu_cpu_read(machine_pmu(d->machine), 1, PMU_PMEVCNTR0_EL0, &value);
	machine_irq_restore(d->machine, masked);
	return (int64_t)value;
}

static int64_t program_now(struct dummy *d, uint64_t argument)
{
	bool masked = machine_irq_save(d->machine);

	program(d, (uint32_t)(argument >> 32), (uint32_t)argument);
	machine_irq_restore(d->machine, masked);
	return 0;
}

static const dummy_action actions[] = {read_counter, program_now};

Test(retire, is_exact_over_a_run)
{
	struct machine_description d = odd_description();
	struct dummy dummy = {.actions = actions};
	struct operation ops[] = {
		dummy_act(0, 0, 1, 0),
		dummy_act(0, 777777, 0, 0),
		dummy_act(0, 54321987, 0, 0),
	};
	struct machine *m;

	d.operations = ops;
	d.operation_count = 3;
	d.end_ns = 60 * MS;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_eq(machine_run(m), 0, "%s", machine_failure(m));
	cr_assert_eq(machine_operation_result(m, 1)->result, 777777 * 333 / 1000);
	cr_assert_eq(machine_operation_result(m, 2)->result, UINT64_C(54321987) * 333 / 1000);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 0), 0x11), 60 * MS * 1801 / 1000);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 0), 0x13), 60000);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 0), 0x14), 0);
	cr_assert_eq(machine_task_occurrences(machine_task(m, 0), 0x15), 0);
	machine_destroy(m);
}

/* The same work cut into pieces by operations, ticks of another length and a counter: nothing
 * changes. */
Test(retire, does_not_depend_on_how_time_is_cut)
{
	struct machine_description d = odd_description();
	struct operation ops[3] = {{.kind = OPERATION_MIGRATE,
		.when = OPERATION_AT,
		.actor = OPERATION_NOBODY,
		.at_ns = 20 * MS + 1,
		.task = {.task = 0, .cpu = 1}}};
	uint64_t first[3] = {0};

	d.operations = ops;
	d.end_ns = 50 * MS;
	for (uint32_t cut = 0; cut < 4; cut++) {
		struct dummy dummy = {.actions = actions};
		struct machine *m;
		const struct machine_task *task;

		ops[1] = dummy_act(0, 0, 1, cut == 3 ? 0xffffff00 : 0);
		ops[2] = dummy_act(0, 0, 0, 0);
		ops[2].every_ns = 777 + cut;
		d.operation_count = cut == 0 ? 1 : 1 + cut % 3;
		d.tick_ns = 1000003 * (cut + 1);
		m = dummy_create(&dummy, &d, NULL);
		cr_assert_eq(machine_run(m), 0, "%s", machine_failure(m));
		task = machine_task(m, 0);
		if (cut == 0) {
			first[0] = machine_task_occurrences(task, 0x08);
			first[1] = machine_task_occurrences(task, 0x11);
			first[2] = machine_task_occurrences(task, 0x15);
			cr_assert_eq(first[0], (333 * (20 * MS + 1) + 777 * (30 * MS - 1)) / 1000);
		}
		cr_assert_eq(machine_task_occurrences(task, 0x08), first[0]);
		cr_assert_eq(machine_task_occurrences(task, 0x11), first[1]);
		cr_assert_eq(machine_task_occurrences(task, 0x15), first[2]);
		machine_destroy(m);
	}
}

Test(retire, goes_to_the_exception_level_that_executes)
{
	static const uint32_t filters[] = {
		0, PMU_FILTER_P, PMU_FILTER_U, PMU_FILTER_P | PMU_FILTER_U};
	const uint64_t rounds = 13340000 / 1334;
	const uint64_t user = rounds * 1001 * 333, kernel = rounds * 333 * 777;
	const uint64_t expected[] = {(user + kernel) / 1000, user / 1000, kernel / 1000, 0};

	for (uint32_t i = 0; i < 4; i++) {
		struct machine_description d = odd_description();
		struct machine_task_description task = odd_task;
		struct dummy dummy = {.actions = actions};
		struct operation ops[] = {
			dummy_act(0, 0, 1, (uint64_t)filters[i] << 32),
			dummy_act(0, 13340000, 0, 0),
		};
		struct machine *m;
		int64_t found;

		task.work = 1;
		d.tasks = &task;
		d.operations = ops;
		d.operation_count = 2;
		d.end_ns = 14 * MS;
		m = dummy_create(&dummy, &d, NULL);
		cr_assert_eq(machine_run(m), 0, "%s", machine_failure(m));
		found = machine_operation_result(m, 1)->result;
		/* One running total over both levels, so that a level alone may be off by its share
		 * of the remainder: by less than one per piece, in sum not at all. */
		if (i == 0 || i == 3)
			cr_assert_eq((uint64_t)found, expected[i], "%u: %ld", i, found);
		else
			cr_assert(found >= (int64_t)(expected[i] - rounds) &&
				  found <= (int64_t)(expected[i] + rounds));
		machine_destroy(m);
	}
}

struct taken {
	uint64_t at_ns[8];
	uint64_t counter[8];
	uint64_t reload;
	uint32_t count;
};

static void take(struct dummy *d, const struct machine_regs *regs)
{
	struct taken *taken = d->test;
	struct pmu_cpu *pmu = machine_pmu(d->machine);
	uint64_t value;

	cr_assert_eq(regs->el, 0);
	cr_assert_geq(regs->pc, MACHINE_USER_TEXT + 256);
	pmu_cpu_read(pmu, 1, PMU_PMEVCNTR0_EL0, &value);
	pmu_cpu_write(pmu, 1, PMU_PMOVSCLR_EL0, 1);
	pmu_cpu_write(pmu, 1, PMU_PMEVCNTR0_EL0, (uint32_t)(value - taken->reload));
	if (taken->count < 8) {
		taken->at_ns[taken->count] = machine_now_ns(d->machine);
		taken->counter[taken->count] = value;
	}
	taken->count++;
}

static void check_overflows(uint32_t latency_ns, uint64_t irq_ns)
{
	struct machine_description d = odd_description();
	uint32_t latency[] = {latency_ns, latency_ns};
	struct taken taken = {.reload = 100000};
	struct dummy dummy = {.actions = actions, .on_interrupt = take, .test = &taken};
	struct operation op = dummy_act(0, 0, 1, (uint32_t)-100000 | (uint64_t)PMU_FILTER_P << 32);
	struct machine *m;

	d.irq_latency_ns = latency;
	d.irq_ns = irq_ns;
	d.irq_rates = odd;
	d.operations = &op;
	d.operation_count = 1;
	d.end_ns = 2 * MS;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_eq(machine_run(m), 0, "%s", machine_failure(m));
	cr_assert_geq(taken.count, 5);
	for (uint64_t k = 0; k < 5; k++) {
		/* The k-th overflow is at the least CPU time that holds 100000 * (k + 1)
		 * occurrences at 333 per us. */
		uint64_t due_ns = (100000 * (k + 1) * 1000 + 332) / 333;
		uint64_t late = (due_ns + latency_ns) * 333 / 1000 - 100000 * (k + 1);

		cr_assert_eq(taken.at_ns[k], due_ns + latency_ns + irq_ns * (k + 1), "%lu: %lu", k,
			taken.at_ns[k]);
		cr_assert_eq(taken.counter[k], late, "%lu: %lu", k, taken.counter[k]);
	}
	/* Time in the handler is not the task's. */
	cr_assert_eq(machine_task_cpu_ns(machine_task(m, 0)), 2 * MS - irq_ns * taken.count);
	machine_destroy(m);
}

Test(retire, overflows_interrupt_at_the_very_moment)
{
	check_overflows(0, 0);
	check_overflows(5000, 0);
	check_overflows(0, 2000);
	check_overflows(700, 1300);
}

/* A flag that is cleared while the interrupt is on its way takes it back. */
static int64_t clear_flag(struct dummy *d, uint64_t argument)
{
	bool masked = machine_irq_save(d->machine);

	(void)argument;
	pmu_cpu_write(machine_pmu(d->machine), 1, PMU_PMOVSCLR_EL0, 1);
	machine_irq_restore(d->machine, masked);
	return 0;
}

Test(retire, a_withdrawn_interrupt_is_not_taken)
{
	static const dummy_action with_clear[] = {read_counter, program_now, clear_flag};
	struct machine_description d = odd_description();
	uint32_t latency[] = {5000, 5000};
	struct dummy dummy = {.actions = with_clear};
	struct operation ops[] = {
		dummy_act(0, 0, 1, (uint32_t)-333),
		dummy_act(0, 1000 + 4999, 2, 0),
	};
	struct machine *m;

	d.irq_latency_ns = latency;
	d.operations = ops;
	d.operation_count = 2;
	d.end_ns = 1 * MS;
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_eq(machine_run(m), 0, "%s", machine_failure(m));
	cr_assert_eq(dummy.interrupts, 0);
	machine_destroy(m);
	ops[1].at_ns = 1000 + 5001;
	dummy = (struct dummy){.actions = with_clear};
	m = dummy_create(&dummy, &d, NULL);
	cr_assert_eq(machine_run(m), 0, "%s", machine_failure(m));
	cr_assert_eq(dummy.interrupts, 1);
	machine_destroy(m);
}
