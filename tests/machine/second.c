/* SPDX-License-Identifier: MIT
 *
 * second.c: one simulated second of a busy machine: 8 CPUs in two clusters, 64 tasks with 24 PMU
 * events each, 24 of them measured, six on each CPU's counters. For counting host instructions: at
 * most 100 million under callgrind.
 */
#include <port_sim/run.h>
#include <stdio.h>
#include <string.h>

#define TASKS  64u
#define RATES  24u
#define EVENTS 24u

/* false: a read did not give its 8 bytes. */
static bool print_counts(const struct machine *machine)
{
	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct operation_result *r = machine_operation_result(machine, EVENTS + i);
		uint64_t value = 0;

		if (r->result != 8)
			return false;
		memcpy(&value, r->bytes, sizeof(value));
		printf("event %u: %llu\n", i, (unsigned long long)value);
	}
	return true;
}

int main(void)
{
	static const uint32_t cluster_of[8] = {0, 0, 0, 0, 1, 1, 1, 1};
	static const uint32_t stack[] = {0, 1};
	static const struct machine_function functions[] = {{"main", 256}, {"work", 1024}};
	static const struct machine_program program = {"busy", functions, 2};
	static struct machine_rate little[RATES], big[RATES];
	static struct machine_task_description tasks[TASKS];
	static struct operation operations[2 * EVENTS];
	static struct tally_attr attrs[EVENTS];
	const struct pmu_preset *preset = pmu_preset_find("rk3588");
	struct machine_cluster clusters[] = {{"little", preset->cpus[0]}, {"big", preset->cpus[4]}};
	struct machine_rates rates[] = {{little, RATES}, {big, RATES}};
	struct machine_phase phases[] = {
		{stack, 2, 0, 3000000, rates}, {stack, 1, 0, 1000000, rates}};
	struct machine_work work = {0, phases, 2, 0, MACHINE_WORK_EXIT};
	struct machine_description d = {.cpu_count = 8,
		.cluster_of = cluster_of,
		.cluster_count = 2,
		.clusters = clusters,
		.seed = 1,
		.programs = &program,
		.program_count = 1,
		.works = &work,
		.work_count = 1,
		.tasks = tasks,
		.task_count = TASKS,
		.operations = operations,
		.operation_count = 2 * EVENTS,
		.end_ns = 1000000000};
	struct port_sim *port;

	for (uint32_t i = 0; i < RATES; i++) {
		little[i] = (struct machine_rate){(uint16_t)i, 10 + 97 * i};
		big[i] = (struct machine_rate){(uint16_t)i, 20 + 131 * i};
	}
	for (uint32_t i = 0; i < TASKS; i++)
		tasks[i] = (struct machine_task_description){
			.parent = OPERATION_NOBODY, .cpu = i % 8, .perfmon = true};
	for (uint32_t i = 0; i < EVENTS; i++) {
		/* three on each CPU: CYCLES, INST_RETIRED and L1D_CACHE_REFILL of the task that
		 * begins there */
		static const uint16_t numbers[] = {0x11, 0x08, 0x03};

		attrs[i] = (struct tally_attr){
			.type = TALLY_TYPE_RAW, .size = sizeof(attrs[i]), .config = numbers[i / 8]};
		operations[i] = (struct operation){.kind = OPERATION_OPEN,
			.actor = i,
			.open = {.attr = &attrs[i],
				.attr_size = sizeof(attrs[i]),
				.target = i % 16 < 8 ? OPERATION_TARGET_ALL : OPERATION_TARGET_SELF,
				.cpu = i % 16 < 8 ? (int32_t)(i % 8) : -1,
				.group = OPERATION_NOBODY}};
		operations[EVENTS + i] = (struct operation){.kind = OPERATION_READ,
			.when = OPERATION_AT,
			.at_ns = 999999999,
			.actor = i,
			.read = {.event = i}};
	}
	port = port_sim_create(&d, NULL, NULL);
	if (!port || port_sim_run(port) != 0) {
		fprintf(stderr, "%s\n", port ? port_sim_failure(port) : "no machine");
		return 1;
	}
	if (!print_counts(port_sim_machine(port)))
		return 1;
	printf("steps: %llu\n", (unsigned long long)machine_steps(port_sim_machine(port)));
	port_sim_destroy(port);
	return 0;
}
