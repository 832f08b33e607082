/* SPDX-License-Identifier: MIT
 *
 * random_runs.c: random lists of operations on the engine, in time order and with a random
 * schedule.
 *
 *   machine_random_runs FROM TO    seeds FROM .. TO-1
 *
 * Each seed makes a description (two clusters, four CPUs, tasks, up to 40 operations of every kind,
 * also malformed ones), and is run twice: neither run may fail (broken rule, deadlock, leak, ring
 * that does not parse), and the two must be the same. Odd seeds run with a random policy, so that
 * calls, switches and interrupts meet at every point. A plain program, so that it runs under
 * ThreadSanitizer too.
 */
#include <port_sim/run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS_MAX 40u
#define TASKS          4u

static const uint32_t stack[] = {0, 1};
static const struct machine_function functions[] = {{"main", 256}, {"work", 1024}};
static const struct machine_program program = {"busy", functions, 2};
static const struct machine_rate rate[] = {
	{0x11, 1800}, {0x08, 1000}, {0x03, 17}, {0x04, 333}, {0x10, 5}, {0x12, 100}};
static const struct machine_rates rates[] = {{rate, 6}, {rate, 5}};
static const struct machine_phase phases[] = {
	{stack, 2, 0, 3000000, rates}, {stack, 1, 0, 1000001, rates}};
static const struct machine_work works[] = {
	{0, phases, 2, 0, MACHINE_WORK_EXIT},
	{0, phases, 2, 3, MACHINE_WORK_EXIT},
	{0, phases, 1, 2, MACHINE_WORK_SLEEP},
	{0, NULL, 0, 0, MACHINE_WORK_SLEEP},
};
static const uint32_t cluster_of[] = {0, 0, 1, 1};

struct dice {
	uint64_t state;
};

/* splitmix64 */
static uint64_t roll(struct dice *d)
{
	uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint32_t below(struct dice *d, uint32_t n)
{
	return (uint32_t)(roll(d) % n);
}

static bool one_in(struct dice *d, uint32_t n)
{
	return below(d, n) == 0;
}

struct scene {
	struct machine_cluster clusters[2];
	struct machine_task_description tasks[TASKS];
	struct operation operations[OPERATIONS_MAX];
	struct tally_attr attrs[OPERATIONS_MAX];
	uint32_t latency_ns[4];
	struct machine_random_policy random;
	struct machine_policy policy;
	struct machine_description description;
};

static void make_attr(struct dice *d, struct tally_attr *attr)
{
	static const uint64_t flags[] = {
		TALLY_ATTR_PINNED, TALLY_ATTR_EXCLUSIVE, TALLY_ATTR_ENABLE_ON_EXEC};

	attr->type = one_in(d, 10) ? below(d, 12) : TALLY_TYPE_RAW;
	attr->size = sizeof(*attr);
	attr->config = rate[below(d, 6)].event;
	attr->flags = one_in(d, 2) ? TALLY_ATTR_DISABLED : 0;
	attr->flags |= one_in(d, 3) ? 0 : TALLY_ATTR_EXCLUDE_KERNEL;
	attr->flags |= one_in(d, 3) ? flags[below(d, 3)] : 0;
	attr->read_format = below(d, 32);
	if (one_in(d, 3)) {
		attr->sample_period = 2000 + (one_in(d, 4) ? 0 : below(d, 200000));
		attr->sample_type = TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME |
				    TALLY_SAMPLE_IDENTIFIER;
		attr->sample_type |= one_in(d, 2) ? TALLY_SAMPLE_READ : 0;
	}
	if (one_in(d, 20))
		((uint8_t *)attr)[below(d, sizeof(*attr))] = (uint8_t)roll(d);
}

static void make_open(struct dice *d, struct operation_open *open, struct tally_attr *attr)
{
	make_attr(d, attr);
	open->attr = one_in(d, 20) ? NULL : attr;
	open->attr_size = one_in(d, 10) ? below(d, sizeof(*attr)) : sizeof(*attr);
	open->target = one_in(d, 3) ? (uint8_t)below(d, 4) : OPERATION_TARGET_TASK;
	open->task = below(d, 7);
	open->raw_pid = (int32_t)roll(d);
	open->cpu = one_in(d, 3) ? (int32_t)below(d, 5) : -1;
	open->group = one_in(d, 3) ? below(d, 6) : OPERATION_NOBODY;
	open->flags = one_in(d, 8) ? roll(d) & TALLY_FLAG_ALL : 0;
}

static void make_ioctl(struct dice *d, struct operation_ioctl *ioctl)
{
	static const uint32_t commands[] = {TALLY_IOC_ENABLE, TALLY_IOC_DISABLE, TALLY_IOC_RESET,
		TALLY_IOC_ID, TALLY_IOC_PERIOD, 0, TALLY_IOC_SET_OUTPUT};

	ioctl->command = commands[below(d, 7)];
	ioctl->argument = below(d, 3);
	ioctl->argument_memory = ioctl->command == TALLY_IOC_ID;
}

static void make_arguments(struct dice *d, struct operation *op, struct tally_attr *attr)
{
	uint32_t event = one_in(d, 12) ? OPERATION_NOBODY : below(d, 8);

	switch (op->kind) {
	case OPERATION_OPEN:
		make_open(d, &op->open, attr);
		break;
	case OPERATION_IOCTL:
		op->ioctl.event = event;
		make_ioctl(d, &op->ioctl);
		break;
	case OPERATION_READ:
		op->read = (struct operation_read){.event = event,
			.size = one_in(d, 4) ? below(d, 100) : 0,
			.fault = one_in(d, 10)};
		break;
	case OPERATION_MMAP:
		op->mmap = (struct operation_mmap){.event = event,
			.pages = one_in(d, 5) ? roll(d) : 1 + (UINT64_C(1) << below(d, 3)),
			.writable = !one_in(d, 4),
			.private_mapping = one_in(d, 10)};
		break;
	case OPERATION_DRAIN:
		op->drain = (struct operation_drain){event, one_in(d, 2) ? below(d, 1000) : 0};
		break;
	case OPERATION_MUNMAP:
	case OPERATION_CLOSE:
		op->event.event = event;
		break;
	case OPERATION_FORK:
		op->fork = (struct operation_fork){
			one_in(d, 3) ? OPERATION_NOBODY : below(d, 5), one_in(d, 3)};
		break;
	case OPERATION_EXEC:
		op->exec.work = below(d, 5);
		break;
	case OPERATION_FAIL_ALLOC:
		op->fail_alloc = (struct operation_fail_alloc){below(d, 4), below(d, 3)};
		break;
	default:
		op->task = (struct operation_task){
			.task = one_in(d, 3) ? OPERATION_NOBODY : below(d, 6),
			.cpu = below(d, 5),
			.cpu_mask = below(d, 32),
			.duration_ns = below(d, 5000000)};
		break;
	}
}

static void make_operation(struct dice *d, struct scene *scene, uint32_t i, uint32_t count)
{
	struct operation *op = &scene->operations[i];

	op->kind = (uint8_t)below(d, OPERATION_KINDS + 1);
	if (i < 3 || one_in(d, 3))
		op->kind = OPERATION_OPEN;
	if (op->kind == OPERATION_EXPECT || op->kind == OPERATION_END)
		op->kind = OPERATION_READ;
	op->actor = one_in(d, 8) ? OPERATION_NOBODY : below(d, 6);
	op->when = OPERATION_NEXT;
	if (one_in(d, 3))
		op->when = (uint8_t)below(d, one_in(d, 10) ? 256 : OPERATION_WHENS);
	op->at_ns = op->when == OPERATION_AFTER ? below(d, 1000000)
						: UINT64_C(500000) * below(d, 40);
	op->after = below(d, count + 1);
	op->count_task = below(d, 6);
	op->count_event = rate[below(d, 6)].event;
	op->count = below(d, 20000000);
	if (one_in(d, 10)) {
		op->every_ns = 1 + below(d, 3000000);
		op->times = below(d, 6);
	}
	make_arguments(d, op, &scene->attrs[i]);
}

static void make_scene(struct scene *scene, uint64_t seed)
{
	const struct pmu_preset *preset = pmu_preset_find("bl");
	struct dice d = {seed};
	uint32_t count = 5 + below(&d, OPERATIONS_MAX - 5);

	memset(scene, 0, sizeof(*scene));
	scene->clusters[0] = (struct machine_cluster){"little", preset->cpus[0]};
	scene->clusters[1] = (struct machine_cluster){"big", preset->cpus[2]};
	for (uint32_t i = 0; i < TASKS; i++)
		scene->tasks[i] = (struct machine_task_description){.work = below(&d, 4),
			.parent = OPERATION_NOBODY,
			.cpu = OPERATION_NOBODY,
			.perfmon = !one_in(&d, 4),
			.uid = below(&d, 2)};
	for (uint32_t i = 0; i < count; i++)
		make_operation(&d, scene, i, count);
	for (uint32_t i = 0; i < 4; i++)
		scene->latency_ns[i] = below(&d, 3) * below(&d, 20000);
	machine_random_policy_init(&scene->policy, &scene->random, seed);
	if (seed % 5 == 0)
		scene->random.rate[MACHINE_CHOICE_FAULT] = 3000;
	scene->description = (struct machine_description){.cpu_count = 4,
		.cluster_of = cluster_of,
		.cluster_count = 2,
		.clusters = scene->clusters,
		.irq_latency_ns = scene->latency_ns,
		.offline_mask = one_in(&d, 4) ? 8 : 0,
		.seed = seed,
		.irq_ns = below(&d, 3) * 1000,
		.irq_rates = rates,
		.programs = &program,
		.program_count = 1,
		.works = works,
		.work_count = 4,
		.tasks = scene->tasks,
		.task_count = TASKS,
		.operations = scene->operations,
		.operation_count = count,
		.end_ns = 20000000,
		.policy = seed % 2 ? &scene->policy : NULL};
}

/* The run's hash; exits on a failure. */
static uint64_t run(uint64_t seed, struct machine_pool *pool)
{
	static struct scene scene;
	struct port_sim *port;
	uint64_t hash;

	make_scene(&scene, seed);
	port = port_sim_create(&scene.description, NULL, pool);
	if (!port || port_sim_run(port) != 0) {
		fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed,
			port ? port_sim_failure(port)
			     : machine_description_check(&scene.description));
		exit(1);
	}
	hash = machine_hash(port_sim_machine(port));
	port_sim_destroy(port);
	return hash;
}

int main(int argc, char **argv)
{
	uint64_t from = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	uint64_t to = argc > 2 ? strtoull(argv[2], NULL, 0) : from + 1;
	struct machine_pool *pool = machine_pool_create();
	uint64_t all = 0;

	for (uint64_t seed = from; seed < to; seed++) {
		uint64_t hash = run(seed, pool);

		if (run(seed, pool) != hash) {
			fprintf(stderr, "seed %llu: two runs differ\n", (unsigned long long)seed);
			return 1;
		}
		all = (all ^ hash) * UINT64_C(0x100000001b3);
	}
	machine_pool_destroy(pool);
	printf("%llu runs of each, hash %016llx\n", (unsigned long long)(to - from),
		(unsigned long long)all);
	return 0;
}
