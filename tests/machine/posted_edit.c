/* SPDX-License-Identifier: MIT
 *
 * posted_edit.c: events of a task are opened and closed on CPU 1 while CPU 2 migrates the task
 * between CPUs 0 and 2, under random schedules. Many of the edits meet the context elsewhere than
 * they looked, are posted, and run by whoever takes the context next; then the event must be out of
 * its reach when the editor is answered. The freed memory is poisoned, and under ThreadSanitizer a
 * touch that nothing orders before the free is reported.
 *
 * posted_edit FIRST COUNT
 */
#include <inttypes.h>
#include <port_sim/run.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS  40u
#define STEP_NS UINT64_C(100000)

static const uint32_t stack[] = {0};
static const struct machine_function functions[] = {{"main", 256}};
static const struct machine_program program = {"busy", functions, 1};
static const struct machine_rate rate[] = {{0x11, 1000}, {0x08, 1000}};
static const struct machine_rates rates[] = {{rate, 2}};
static const struct machine_phase phases[] = {{stack, 1, 0, 3000000, rates}};
static const struct machine_work works[] = {
	{0, phases, 1, 0, MACHINE_WORK_EXIT}, {0, NULL, 0, 0, MACHINE_WORK_SLEEP}};
static const uint32_t cluster_of[] = {0, 0, 0};
static const struct tally_attr attr = {
	.type = TALLY_TYPE_RAW, .size = sizeof(struct tally_attr), .config = 0x08};
static const struct machine_task_description tasks[] = {
	{.work = 0, .parent = OPERATION_NOBODY, .cpu = 0},
	{.work = 1, .parent = OPERATION_NOBODY, .cpu = 1, .cpu_mask = 2},
	{.work = 1, .parent = OPERATION_NOBODY, .cpu = 2, .cpu_mask = 4},
};

static void fill_round(struct operation op[4], uint32_t round)
{
	uint64_t open_ns = (round + 1) * STEP_NS;
	uint64_t close_ns = open_ns + STEP_NS / 2;

	op[0] = (struct operation){.kind = OPERATION_OPEN,
		.when = OPERATION_AT,
		.actor = 1,
		.at_ns = open_ns,
		.open = {.attr = &attr,
			.attr_size = sizeof(attr),
			.target = OPERATION_TARGET_TASK,
			.task = 0,
			.cpu = -1,
			.group = OPERATION_NOBODY}};
	op[1] = (struct operation){.kind = OPERATION_CLOSE,
		.when = OPERATION_AT,
		.actor = 1,
		.at_ns = close_ns,
		.event = {.event = round}};
	for (uint32_t i = 2; i < 4; i++)
		op[i] = (struct operation){.kind = OPERATION_MIGRATE,
			.when = OPERATION_AT,
			.actor = 2,
			.at_ns = close_ns,
			.task = {.task = 0, .cpu = (round + i) % 2 == 0 ? 0 : 2}};
}

static bool run_seed(struct machine_description *description, uint64_t seed)
{
	static const int32_t paranoid = -1;
	const struct port_sim_options options = {.paranoid = &paranoid};
	struct machine_random_policy random;
	struct machine_policy policy;
	struct port_sim *port;
	bool passed;

	machine_random_policy_init(&policy, &random, seed);
	random.rate[MACHINE_CHOICE_CPU] = 65536 / 3;
	description->policy = &policy;
	port = port_sim_create(description, &options, NULL);
	if (!port) {
		printf("%s\n", machine_description_check(description));
		return false;
	}
	passed = port_sim_run(port) == 0;
	if (!passed)
		printf("seed %" PRIu64 ": %s\n", seed, port_sim_failure(port));
	port_sim_destroy(port);
	return passed;
}

int main(int argc, char **argv)
{
	static struct operation operations[4 * ROUNDS];
	const struct machine_cluster cluster = {"h", pmu_preset_find("h1")->cpus[0]};
	struct machine_description description = {.cpu_count = 3,
		.cluster_of = cluster_of,
		.cluster_count = 1,
		.clusters = &cluster,
		.programs = &program,
		.program_count = 1,
		.works = works,
		.work_count = 2,
		.tasks = tasks,
		.task_count = 3,
		.operations = operations,
		.operation_count = 4 * ROUNDS,
		.end_ns = STEP_NS * (ROUNDS + 2)};
	uint64_t first = argc == 3 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t count = argc == 3 ? strtoull(argv[2], NULL, 10) : 300;
	uint64_t failed = 0;

	for (uint32_t round = 0; round < ROUNDS; round++)
		fill_round(&operations[4 * round], round);
	for (uint64_t seed = first; seed < first + count; seed++)
		failed += !run_seed(&description, seed);
	printf("%" PRIu64 " of %" PRIu64 " runs failed\n", failed, count);
	return failed != 0;
}
