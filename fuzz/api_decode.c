/* SPDX-License-Identifier: MIT
 *
 * api_decode.c: bytes to a description. Numbers come from tables rather than from raw bytes: what
 * is near an edge of the engine (2^31, 2^32, 2^63, groups as wide as the PMU) is tried far more
 * often than chance would, and a run stays short enough for thousands a second.
 */
#include "api_decode.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The bytes of one record; past its end everything is 0. */
struct cursor {
	const uint8_t *bytes;
	size_t size;
	size_t at;
};

static uint8_t take(struct cursor *cursor)
{
	return cursor->at < cursor->size ? cursor->bytes[cursor->at++] : 0;
}

static uint32_t choose(struct cursor *cursor, uint32_t n)
{
	return take(cursor) % n;
}

static const char *const machines[] = {"h1", "h2", "bl", "rk3588", "wide", "h2", "bl", "h1"};

/* type, config, least sample period that keeps a run short */
static const struct {
	uint32_t type;
	uint64_t config;
	uint64_t period;
} kinds[] = {
	{TALLY_TYPE_HARDWARE, TALLY_HW_CPU_CYCLES, 20011},
	{TALLY_TYPE_HARDWARE, TALLY_HW_INSTRUCTIONS, 20011},
	{TALLY_TYPE_HARDWARE, TALLY_HW_CACHE_REFERENCES, 1u << 25},
	{TALLY_TYPE_HARDWARE, TALLY_HW_CACHE_MISSES, 5003},
	{TALLY_TYPE_HARDWARE, TALLY_HW_BRANCH_INSTRUCTIONS, 5003},
	{TALLY_TYPE_HARDWARE, TALLY_HW_BRANCH_MISSES, 1009},
	{TALLY_TYPE_RAW, 0x11, 20011},
	{TALLY_TYPE_RAW, 0x08, 20011},
	{TALLY_TYPE_RAW, 0x23, 1009},
	{TALLY_TYPE_HW_CACHE, 0x000001, 10007},
	{TALLY_TYPE_DYNAMIC, 0x13, 20011},
	{TALLY_TYPE_DYNAMIC + 1, 0x08, 20011},
	{TALLY_TYPE_DYNAMIC + 2, 0x11, 20011},
	{TALLY_TYPE_HARDWARE, TALLY_HW_CPU_CYCLES, 20011},
	{TALLY_TYPE_HARDWARE, TALLY_HW_INSTRUCTIONS, 20011},
	{TALLY_TYPE_RAW, 0xbeef, 20011},
};

static const uint64_t large_periods[] = {(UINT64_C(1) << 31) - 1, UINT64_C(1) << 31,
	(UINT64_C(1) << 32) - 1, (UINT64_C(1) << 32) + 1, (UINT64_C(1) << 63) - 1, 3000000};

static const uint64_t pauses_ns[] = {0, 0, 0, 1, 137001, 1000000, 4000000, 9300017, 21000013,
	2000000, 500009, 12000000, 0, 333, 6100003, 40000};

static const uint64_t arguments[] = {0, 1, UINT64_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
	UINT64_C(1) << 31, UINT64_C(1) << 63, 2};

static const uint32_t commands[] = {TALLY_IOC_ENABLE, TALLY_IOC_DISABLE, TALLY_IOC_RESET,
	TALLY_IOC_ENABLE, TALLY_IOC_DISABLE, TALLY_IOC_ID, TALLY_IOC_REFRESH, 0x2499};

/* The k-th event that was opened so far. */
static uint32_t choose_event(struct cursor *cursor, const struct api_scene *scene)
{
	return scene->opens == 0 ? take(cursor) : choose(cursor, scene->opens);
}

static uint32_t choose_task(struct cursor *cursor, const struct api_scene *scene)
{
	return choose(cursor, scene->description.task_count + scene->forks);
}

/* ---- operations ---- */

static void decode_attr(struct cursor *cursor, struct tally_attr *attr)
{
	uint32_t kind = choose(cursor, COUNT_OF(kinds));
	uint8_t flags = take(cursor);
	uint8_t format = take(cursor);
	uint8_t sampling = take(cursor);
	uint8_t sample = take(cursor);

	*attr = (struct tally_attr){.type = kinds[kind].type,
		.size = sizeof(*attr),
		.config = kinds[kind].config,
		.read_format = format & 0x1f};
	attr->flags |= (flags & 3) == 3 ? TALLY_ATTR_DISABLED : 0;
	attr->flags |= (flags & 0xc) == 0xc ? TALLY_ATTR_PINNED : 0;
	attr->flags |= (flags & 0x70) == 0x70 ? TALLY_ATTR_EXCLUSIVE : 0;
	attr->flags |= (flags & 0xc0) == 0x40 ? TALLY_ATTR_EXCLUDE_KERNEL : 0;
	attr->flags |= (flags & 0xc0) == 0x80 ? TALLY_ATTR_EXCLUDE_USER : 0;
	attr->flags |= (flags & 0xc3) == 0xc3 ? TALLY_ATTR_ENABLE_ON_EXEC : 0;
	attr->flags |= (format & 0xe0) == 0xe0 ? TALLY_ATTR_EXCLUDE_HV : 0;
	if (sampling < 128)
		return;
	attr->sample_period = sampling < 240 ? kinds[kind].period + sampling * 37u
					     : large_periods[sampling % COUNT_OF(large_periods)];
	attr->sample_type = TALLY_SAMPLE_IP | TALLY_SAMPLE_TIME;
	attr->sample_type |= sample & 1 ? TALLY_SAMPLE_TID : 0;
	attr->sample_type |= sample & 2 ? TALLY_SAMPLE_READ : 0;
	attr->sample_type |= sample & 4 ? TALLY_SAMPLE_ID | TALLY_SAMPLE_STREAM_ID : 0;
	attr->sample_type |= sample & 8 ? TALLY_SAMPLE_CPU : 0;
	attr->sample_type |= sample & 16 ? TALLY_SAMPLE_PERIOD : 0;
	attr->sample_type |= sample & 32 ? TALLY_SAMPLE_IDENTIFIER : 0;
	attr->flags |= sample & 64 ? TALLY_ATTR_SAMPLE_ID_ALL : 0;
	if (sample & 128)
		attr->sample_type &= ~TALLY_SAMPLE_TIME;
}

/* What groups refuse would hide the rest: mostly, a member is made to suit its leader. */
static void suit_group(
	const struct api_scene *scene, struct operation *operation, struct tally_attr *attr)
{
	struct operation_open *open = &operation->open;
	const struct operation *leader;

	for (leader = scene->operation; leader < operation; leader++) {
		if (leader->kind == OPERATION_OPEN &&
			leader->open.attr == &scene->attr[open->group])
			break;
	}
	if (leader->open.group < open->group) /* a member: join its group */
		open->group = leader->open.group;
	open->target = leader->open.target;
	open->task = leader->open.task;
	open->cpu = leader->open.cpu;
	operation->actor = leader->actor;
	attr->flags &= ~(TALLY_ATTR_PINNED | TALLY_ATTR_EXCLUSIVE);
	if (scene->attr[open->group].type > TALLY_TYPE_DYNAMIC) {
		attr->type = scene->attr[open->group].type; /* one PMU per group */
		attr->config &= 0x1f;
	} else if (attr->type > TALLY_TYPE_DYNAMIC) {
		attr->type = TALLY_TYPE_DYNAMIC;
	}
}

static void decode_open(struct cursor *cursor, struct api_scene *scene, struct operation *operation)
{
	struct tally_attr *attr = &scene->attr[scene->opens];
	uint8_t where = take(cursor);
	uint8_t cpu;
	uint8_t group;
	uint8_t flags;
	struct operation_open *open = &operation->open;

	open->target = where & 1 || operation->actor == OPERATION_NOBODY ? OPERATION_TARGET_TASK
									 : OPERATION_TARGET_SELF;
	if ((where & 7) == 7)
		open->target = OPERATION_TARGET_ALL;
	open->task = choose_task(cursor, scene);
	cpu = take(cursor);
	open->cpu = (where & 0x30) != 0 && open->target != OPERATION_TARGET_ALL
			    ? -1
			    : (int32_t)(cpu % scene->description.cpu_count);
	if (cpu == 255)
		open->cpu = (int32_t)scene->description.cpu_count * (where >> 7) - 1;
	group = take(cursor);
	open->group = OPERATION_NOBODY;
	if (scene->opens != 0 && group >= 100)
		open->group = group < 200 ? scene->opens - 1 : group % scene->opens;
	flags = take(cursor);
	open->flags = (flags & 0xf0) == 0xf0 ? flags & 9u : 0;
	decode_attr(cursor, attr);
	if (attr->type >= TALLY_TYPE_DYNAMIC && scene->description.cluster_count == 1)
		attr->type = TALLY_TYPE_DYNAMIC;
	if (open->group < scene->opens && group < 250)
		suit_group(scene, operation, attr);
	open->attr = attr;
	open->attr_size = sizeof(*attr);
	scene->opens++;
}

/* Calls on an event are mostly made by who opened it: others have no fd. */
static void act_as_opener(
	const struct api_scene *scene, struct operation *operation, uint32_t event)
{
	for (const struct operation *open = scene->operation; open < operation; open++) {
		if (open->kind == OPERATION_OPEN && open->open.attr == &scene->attr[event])
			operation->actor = open->actor;
	}
}

/* A sampling event is mapped at once, mostly. */
static void map_sampling(struct api_scene *scene, const struct operation *open, uint8_t how)
{
	struct operation *operation = &scene->operation[scene->description.operation_count];

	if (((const struct tally_attr *)open->open.attr)->sample_period == 0 || how % 8 == 7 ||
		scene->description.operation_count == API_OPERATIONS_MAX)
		return;
	*operation = (struct operation){.kind = OPERATION_MMAP,
		.when = OPERATION_AT,
		.at_ns = open->at_ns,
		.actor = open->actor};
	operation->mmap.event = scene->opens - 1;
	operation->mmap.pages = 1 + (1u << how % 4);
	operation->mmap.writable = true;
	scene->description.operation_count++;
}

static void decode_on_event(
	struct cursor *cursor, struct api_scene *scene, struct operation *operation)
{
	uint32_t event = choose_event(cursor, scene);
	uint8_t how = take(cursor);

	if (how < 230 && event < scene->opens)
		act_as_opener(scene, operation, event);

	switch (operation->kind) {
	case OPERATION_IOCTL:
		operation->ioctl.event = event;
		operation->ioctl.command = commands[how % COUNT_OF(commands)];
		operation->ioctl.argument = arguments[take(cursor) % COUNT_OF(arguments)];
		operation->ioctl.argument_memory = operation->ioctl.command == TALLY_IOC_ID;
		break;
	case OPERATION_READ:
		operation->read.event = event;
		operation->read.size = how >= 224 ? how - 224u : 0;
		operation->read.fault = how == 223;
		operation->read.zero_size = how == 222;
		break;
	case OPERATION_MMAP:
		operation->mmap.event = event;
		operation->mmap.pages = how % 8 == 7 ? 4 : 1 + (how % 8 == 6 ? 0 : 1u << how % 4);
		operation->mmap.writable = how < 240;
		break;
	case OPERATION_DRAIN:
		operation->drain.event = event;
		operation->drain.max_bytes = how < 128 ? 0 : how * 8u;
		break;
	default:
		operation->event.event = event;
		break;
	}
}

static void decode_on_task(
	struct cursor *cursor, struct api_scene *scene, struct operation *operation)
{
	uint32_t cpus = scene->description.cpu_count;
	uint8_t what = take(cursor);

	switch (operation->kind) {
	case OPERATION_FORK:
		operation->fork.work = what >= 128 ? OPERATION_NOBODY : what % api_work_count;
		operation->fork.thread = take(cursor) & 1;
		scene->forks++;
		break;
	case OPERATION_EXEC:
		operation->exec.work = what % api_work_count;
		break;
	case OPERATION_EXIT:
		break;
	default:
		operation->task.task = operation->actor == OPERATION_NOBODY
					       ? what % (scene->description.task_count +
								scene->forks)
					       : OPERATION_NOBODY;
		operation->task.cpu = what % cpus;
		operation->task.cpu_mask = (UINT64_C(1) << cpus) - 1;
		if (what & 0x80)
			operation->task.cpu_mask &= (uint64_t)what | (uint64_t)1 << what % cpus;
		operation->task.duration_ns = 1 + 17001u * (uint64_t)what;
		break;
	}
}

/* Weights: calls on events are most. */
static const uint8_t operation_kinds[] = {OPERATION_OPEN, OPERATION_OPEN, OPERATION_OPEN,
	OPERATION_OPEN, OPERATION_READ, OPERATION_READ, OPERATION_READ, OPERATION_IOCTL,
	OPERATION_IOCTL, OPERATION_IOCTL, OPERATION_MMAP, OPERATION_MMAP, OPERATION_DRAIN,
	OPERATION_DRAIN, OPERATION_CLOSE, OPERATION_MUNMAP, OPERATION_FORK, OPERATION_EXEC,
	OPERATION_EXIT, OPERATION_SLEEP, OPERATION_WAKE, OPERATION_STOP, OPERATION_CONTINUE,
	OPERATION_PIN, OPERATION_MIGRATE, OPERATION_MIGRATE, OPERATION_CPU_OFFLINE,
	OPERATION_CPU_ONLINE, OPERATION_FAIL_ALLOC, OPERATION_IOCTL, OPERATION_READ,
	OPERATION_OPEN};

static void decode_operation(
	struct cursor *cursor, struct api_scene *scene, struct operation *operation)
{
	uint8_t kind = take(cursor);
	uint8_t actor = take(cursor);

	*operation = (struct operation){.when = OPERATION_AT};
	operation->kind = operation_kinds[kind % COUNT_OF(operation_kinds)];
	scene->now_ns += pauses_ns[take(cursor) % COUNT_OF(pauses_ns)];
	operation->at_ns = scene->now_ns;
	operation->actor = actor < 160 ? OPERATION_NOBODY
				       : actor % (scene->description.task_count + scene->forks);
	switch (operation->kind) {
	case OPERATION_OPEN:
		decode_open(cursor, scene, operation);
		break;
	case OPERATION_IOCTL:
	case OPERATION_READ:
	case OPERATION_MMAP:
	case OPERATION_MUNMAP:
	case OPERATION_CLOSE:
	case OPERATION_DRAIN:
		decode_on_event(cursor, scene, operation);
		break;
	case OPERATION_FAIL_ALLOC:
		operation->fail_alloc.skip = take(cursor) % 4;
		operation->fail_alloc.count = 1;
		break;
	default:
		decode_on_task(cursor, scene, operation);
		break;
	}
}

/* ---- machine and tasks ---- */

static void decode_machine(struct cursor *cursor, struct api_scene *scene)
{
	struct machine_description *d = &scene->description;
	const struct pmu_preset *preset = pmu_preset_find(
		machines[choose(cursor, COUNT_OF(machines))]);
	uint8_t policy = take(cursor);
	uint64_t seed = take(cursor) | (uint64_t)take(cursor) << 8;

	d->cpu_count = preset->cpu_count;
	d->cluster_of = scene->cluster_of;
	d->clusters = scene->cluster;
	for (uint32_t i = 0; i < preset->cpu_count; i++) {
		if (i == 0 || preset->cpus[i] != preset->cpus[i - 1])
			scene->cluster[d->cluster_count++] = (struct machine_cluster){
				.name = preset->cpus[i]->name, .pmu = preset->cpus[i]};
		scene->cluster_of[i] = d->cluster_count - 1;
	}
	d->seed = seed;
	if (policy >= 128) {
		machine_random_policy_init(&scene->policy, &scene->random, seed);
		d->policy = &scene->policy;
	}
	scene->paranoid = (policy & 3) == 3 ? 2 : -1;
	/* not with overlapping calls: these then take time, and too much of what they did is open
	 */
	if (policy < 128 && (policy & 0x60) == 0x60) {
		d->irq_ns = 1 + 10 * (uint64_t)take(cursor);
		d->irq_rates = api_irq_rates;
	} else {
		(void)take(cursor);
	}
	(void)take(cursor);
}

static void decode_tasks(struct cursor *cursor, struct api_scene *scene)
{
	struct machine_description *d = &scene->description;

	d->programs = api_programs;
	d->program_count = api_program_count;
	d->works = api_works;
	d->work_count = api_work_count;
	d->tasks = scene->task;
	d->task_count = 1 + choose(cursor, API_TASKS_MAX);
	(void)take(cursor);
	for (uint32_t i = 0; i < d->task_count; i++) {
		uint8_t work = take(cursor);
		uint8_t how = take(cursor);

		scene->task[i] = (struct machine_task_description){.work = work % api_work_count,
			.parent = OPERATION_NOBODY,
			.cpu = OPERATION_NOBODY,
			.perfmon = (how & 1) == 0,
			.start_ns = how & 2 ? 1000003 : 0,
			.stopped = (how & 12) == 12,
			.uid = how >> 7};
		if (i > 0 && (how & 0x30) == 0x30) {
			scene->task[i].parent = i - 1;
			scene->task[i].thread = true;
		}
	}
}

void api_decode(const uint8_t *bytes, size_t size, struct api_scene *scene)
{
	struct machine_description *d = &scene->description;
	struct cursor cursor = {bytes, size, 0};

	*scene = (struct api_scene){0};
	decode_machine(&cursor, scene);
	decode_tasks(&cursor, scene);
	d->operations = scene->operation;
	while (cursor.at < cursor.size && d->operation_count < API_OPERATIONS_MAX) {
		uint8_t length = take(&cursor);
		struct cursor record = {cursor.bytes + cursor.at, length % 16, 0};

		if (record.size > cursor.size - cursor.at)
			record.size = cursor.size - cursor.at;
		cursor.at += record.size;
		decode_operation(&record, scene, &scene->operation[d->operation_count]);
		d->operation_count++;
		if (scene->operation[d->operation_count - 1].kind == OPERATION_OPEN)
			map_sampling(scene, &scene->operation[d->operation_count - 1], length >> 4);
	}
	d->end_ns = scene->now_ns + 10000019;
}
