/* SPDX-License-Identifier: MIT
 *
 * fuzz_attr.c: raw bytes as perf_event_attr and arguments of perf_event_open, on a small simulated
 * machine, against the judge (libFuzzer). The oracle listens, so a failed open that changed
 * something is found too. Replay one input: fuzz_attr_replay FILE; with TALLY_FUZZ_PRINT set it
 * says which rule decided.
 *
 * Input: 8 bytes of arguments, then the attr, exclusive-ored over a sound one when the arguments
 * say so: else nearly every input would end at the first check.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oracle/oracle.h>
#include <port_sim/run.h>

#include "fuzz_target.h"
#include "judge.h"

#define HEAD           8u
#define ATTR_BYTES     4224u
#define COUNT_OF(a)    (sizeof(a) / sizeof((a)[0]))
#define OPENER         0u /* task numbers; the first thread has the rights of the input */
#define ROOT           1u /* a thread of the same process, with all rights */
#define STRANGER       2u
#define OPERATIONS_MAX 16u

/* What stands before the open under test: how many events are opened, and which is group_fd. */
enum group_kind {
	GROUP_NONE,
	GROUP_BAD,
	GROUP_OF_OPENER,
	GROUP_MEMBER,
	GROUP_OF_CPU,
	GROUP_FULL,
	GROUP_OF_STRANGER,
	GROUP_OF_CLUSTER,
	GROUP_KINDS,
};

struct trial {
	uint8_t attr[ATTR_BYTES];
	struct machine_description description;
	struct machine_task_description task[3];
	uint32_t cluster_of[MACHINE_CPUS_MAX];
	struct machine_cluster cluster[JUDGE_CLUSTERS_MAX];
	const struct pmu_cpu_config *pmu[JUDGE_CLUSTERS_MAX];
	struct operation operation[OPERATIONS_MAX];
	struct tally_attr leader_attr;
	struct judge_leader leader;
	struct judge_call call;
	uint32_t group_event; /* OPERATION_NOBODY: none */
};

static const struct machine_function functions[] = {{"main", 256}};
static const struct machine_program programs[] = {{"worker", functions, 1}};
static const struct machine_rate rate[] = {{0x11, 1000}, {0x08, 700}};
static const struct machine_rates rates[] = {{rate, 2}, {rate, 2}};
static const uint32_t stack[] = {0};
static const struct machine_phase phases[] = {{stack, 1, 0, 1000000, rates}};
static const struct machine_work works[] = {{.phases = phases, .phase_count = 1}};

/* ---- the machine ---- */

static void set_machine(struct trial *t, uint8_t choice)
{
	static const char *const names[] = {"h2", "bl", "rk3588", "wide"};
	const struct pmu_preset *preset = pmu_preset_find(names[choice % COUNT_OF(names)]);
	struct machine_description *d = &t->description;

	d->cpu_count = preset->cpu_count;
	d->cluster_of = t->cluster_of;
	d->clusters = t->cluster;
	for (uint32_t i = 0; i < preset->cpu_count; i++) {
		if (i == 0 || preset->cpus[i] != preset->cpus[i - 1]) {
			t->pmu[d->cluster_count] = preset->cpus[i];
			t->cluster[d->cluster_count++] = (struct machine_cluster){
				.name = preset->cpus[i]->name, .pmu = preset->cpus[i]};
		}
		t->cluster_of[i] = d->cluster_count - 1;
	}
	d->offline_mask = (choice & 0x30) == 0x30 ? UINT64_C(2) : 0;
	d->programs = programs;
	d->program_count = 1;
	d->works = works;
	d->work_count = 1;
	d->tasks = t->task;
	d->task_count = 3;
	d->operations = t->operation;
	d->end_ns = 3000000;
}

static void set_tasks(struct trial *t, uint8_t rights)
{
	t->task[OPENER] = (struct machine_task_description){.parent = OPERATION_NOBODY,
		.cpu = OPERATION_NOBODY,
		.perfmon = (rights & 0x10) != 0,
		.sys_admin = (rights & 0x60) == 0x60};
	t->task[ROOT] = (struct machine_task_description){.parent = OPENER,
		.thread = true,
		.cpu = OPERATION_NOBODY,
		.perfmon = true,
		.sys_admin = true};
	t->task[STRANGER] = (struct machine_task_description){
		.parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY, .uid = 1};
	t->call.perfmon = t->task[OPENER].perfmon;
	t->call.sys_admin = t->task[OPENER].sys_admin;
	t->call.paranoid = (int32_t)(rights % 6) - 1;
	t->call.max_sample_rate = 100000;
	t->call.cpus = t->description.cpu_count;
	t->call.online_mask = ~t->description.offline_mask;
	t->call.cluster_of = t->cluster_of;
	t->call.clusters = t->description.cluster_count;
	t->call.pmu = t->pmu;
}

/* ---- operations ---- */

static struct operation *add(struct trial *t, uint8_t kind, uint32_t actor)
{
	struct operation *operation = &t->operation[t->description.operation_count++];

	*operation = (struct operation){.kind = kind, .actor = actor};
	return operation;
}

static void add_leader(struct trial *t, uint32_t task, int32_t cpu, uint32_t group)
{
	struct operation *operation = add(t, OPERATION_OPEN, ROOT);

	operation->open = (struct operation_open){.attr = &t->leader_attr,
		.attr_size = sizeof(t->leader_attr),
		.target = task == OPERATION_NOBODY ? OPERATION_TARGET_ALL : OPERATION_TARGET_TASK,
		.task = task,
		.cpu = cpu,
		.group = group};
}

static void set_group(struct trial *t, uint8_t choice)
{
	enum group_kind kind = choice % GROUP_KINDS;
	uint32_t task = kind == GROUP_OF_CPU        ? OPERATION_NOBODY
			: kind == GROUP_OF_STRANGER ? STRANGER
						    : OPENER;
	int32_t cpu = kind == GROUP_OF_CPU || choice >= 240 ? 0 : -1;
	uint32_t events = kind == GROUP_FULL ? 4 + (choice >> 3 & 3) : kind == GROUP_MEMBER ? 2 : 1;
	uint32_t most = t->pmu[t->description.cluster_count - 1]->counter_count;

	t->group_event = OPERATION_NOBODY;
	if (kind == GROUP_NONE || kind == GROUP_BAD) {
		t->call.group_bad = kind == GROUP_BAD;
		return;
	}
	t->leader_attr = (struct tally_attr){.type = TALLY_TYPE_HARDWARE,
		.size = sizeof(t->leader_attr),
		.config = TALLY_HW_INSTRUCTIONS,
		.read_format = choice & 0x40 ? TALLY_FORMAT_GROUP : 0};
	if (kind == GROUP_OF_CLUSTER && t->description.cluster_count > 1) {
		t->leader_attr.type = TALLY_TYPE_DYNAMIC + 1;
		t->leader_attr.config = 0x08;
	}
	events = events < most ? events : most;
	for (uint32_t i = 0; i < events; i++)
		add_leader(t, task, cpu, i == 0 ? OPERATION_NOBODY : 0);
	t->group_event = kind == GROUP_MEMBER ? 1 : 0;
	t->leader = (struct judge_leader){.flags = t->leader_attr.flags,
		.read_format = t->leader_attr.read_format,
		.cpu = cpu,
		.task = task == OPERATION_NOBODY ? 0 : 1 + task,
		.pmu = judge_pmu(&t->call, t->leader_attr.type, t->leader_attr.config),
		.is_member = kind == GROUP_MEMBER,
		.events = events,
		.type = t->leader_attr.type,
		.config = t->leader_attr.config};
	t->call.leader = &t->leader;
}

static void set_target(struct trial *t, struct operation_open *open, uint8_t choice)
{
	switch (choice % 8) {
	case 0:
	case 1:
		open->target = OPERATION_TARGET_SELF;
		t->call.target = JUDGE_SELF;
		t->call.task = 1 + OPENER;
		break;
	case 2:
		open->target = OPERATION_TARGET_TASK;
		open->task = ROOT;
		t->call.target = JUDGE_SELF;
		t->call.task = 1 + ROOT;
		break;
	case 3:
	case 4:
		open->target = OPERATION_TARGET_TASK;
		open->task = STRANGER;
		t->call.target = JUDGE_STRANGER;
		t->call.task = 1 + STRANGER;
		break;
	case 5:
		open->target = OPERATION_TARGET_RAW;
		open->raw_pid = choice & 0x80 ? -(int32_t)choice : INT32_MAX - choice;
		t->call.target = JUDGE_NO_TASK;
		break;
	default:
		open->target = OPERATION_TARGET_ALL;
		t->call.target = JUDGE_ALL;
		break;
	}
}

static int32_t cpu_of(uint8_t choice, uint32_t cpus)
{
	static const int32_t odd[] = {-2, INT32_MIN, INT32_MAX, 64};

	if (choice < 100)
		return -1;
	if (choice < 240)
		return (int32_t)(choice % cpus);
	return choice < 244 ? (int32_t)cpus : odd[choice % COUNT_OF(odd)];
}

/* The open under test. Returns its operation number. */
static uint32_t set_open(struct trial *t, const uint8_t *head)
{
	uint32_t index = t->description.operation_count;
	struct operation_open *open = &add(t, OPERATION_OPEN, OPENER)->open;

	open->attr = t->attr;
	open->attr_size = head[6] < 200 ? ATTR_BYTES : head[6] - 200u;
	if (head[6] == 255)
		open->attr = NULL;
	set_target(t, open, head[1]);
	open->cpu = cpu_of(head[2], t->description.cpu_count);
	open->flags = head[4] < 128 ? 0 : head[4] & 15u;
	if (head[4] >= 250)
		open->flags |= UINT64_C(1) << (head[4] == 255 ? 63 : 4 + head[4] % 5);
	open->group = t->group_event;
	open->group_raw = t->call.group_bad;
	open->raw_group_fd = head[3] & 0x80 ? -2 : 9999;
	t->call.attr = t->attr;
	t->call.readable = open->attr ? open->attr_size : 0;
	t->call.cpu = open->cpu;
	t->call.flags = open->flags;
	return index;
}

static void set_attr(struct trial *t, uint8_t choice, const uint8_t *bytes, size_t size)
{
	struct tally_attr base = {.type = TALLY_TYPE_HARDWARE,
		.size = TALLY_ATTR_SIZE_VER7,
		.config = TALLY_HW_INSTRUCTIONS,
		.flags = TALLY_ATTR_EXCLUDE_KERNEL};

	memset(t->attr, 0, sizeof(t->attr));
	if (choice & 1)
		memcpy(t->attr, &base, sizeof(base));
	for (size_t i = 0; i < size && i < sizeof(t->attr); i++)
		t->attr[i] ^= bytes[i];
	memcpy(&base, t->attr, sizeof(base));
	if (base.sample_period != 0 && base.sample_period < 10000)
		t->attr[offsetof(struct tally_attr, sample_period) + 2] |= 1; /* runs stay short */
}

/* ---- a trial ---- */

static uint64_t event_id(void *context, uint32_t event)
{
	return port_sim_event_id(context, event);
}

static void object(
	const struct trial *t, const char *what, int64_t expected, int64_t found, const char *why)
{
	fprintf(stderr,
		"%s: judge says %" PRId64 " (%s), engine %" PRId64
		"; target %d cpu %d flags 0x%" PRIx64 " paranoid %d perfmon %d admin %d\n",
		what, expected, why, found, (int)t->call.target, t->call.cpu, t->call.flags,
		t->call.paranoid, t->call.perfmon, t->call.sys_admin);
	abort();
}

static void run_trial(struct trial *t, uint32_t open)
{
	static struct machine_pool *pool;
	struct port_sim_options options = {.paranoid = &t->call.paranoid};
	struct oracle_options ears = {.event_id = event_id};
	struct port_sim *port;
	struct oracle *oracle;
	const char *why;
	int expected = judge_open(&t->call, &why);
	int64_t found;

	if (!pool)
		pool = machine_pool_create();
	port = port_sim_create(&t->description, &options, pool);
	if (!port)
		abort();
	ears.context = port;
	oracle = oracle_create(port_sim_machine(port), &ears);
	if (!oracle)
		abort();
	if (port_sim_run(port) != 0) {
		fprintf(stderr, "%s\n", port_sim_failure(port));
		abort();
	}
	for (uint32_t i = 0; i < open; i++) {
		found = machine_operation_result(port_sim_machine(port), i)->result;
		if (found < 0)
			object(t, "the leader", 0, found, "it opens");
	}
	found = machine_operation_result(port_sim_machine(port), open)->result;
	if (getenv("TALLY_FUZZ_PRINT"))
		printf("%d: %s\n", expected, why);
	if ((found < 0 ? found : 0) != expected)
		object(t, "open", expected, found, why);
	if (oracle_violation_count(oracle) != 0) {
		fprintf(stderr, "%s\n", oracle_violation(oracle, 0)->text);
		abort();
	}
	oracle_destroy(oracle);
	port_sim_destroy(port);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct trial *t;
	uint8_t head[HEAD] = {0};
	uint32_t open;

	t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	memcpy(head, bytes, size < HEAD ? size : HEAD);
	set_machine(t, head[5]);
	set_tasks(t, head[0]);
	set_group(t, head[3]);
	if (size > HEAD)
		set_attr(t, head[7], bytes + HEAD, size - HEAD);
	else
		set_attr(t, head[7], NULL, 0);
	open = set_open(t, head);
	run_trial(t, open);
	free(t);
	return 0;
}
