/* SPDX-License-Identifier: MIT
 *
 * api_run.c: run what bytes decode to, with the oracle attached, and say what is wrong.
 */
#include "api_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <port_sim/run.h>

#include "api_decode.h"

static uint64_t event_id(void *context, uint32_t event)
{
	return port_sim_event_id(context, event);
}

static void say(struct api_outcome *outcome, const char *text)
{
	size_t used = strlen(outcome->text);

	outcome->failed = true;
	snprintf(outcome->text + used, sizeof(outcome->text) - used, "%s\n", text);
}

/* ---- printing ---- */

static void print_attr(const struct tally_attr *attr)
{
	printf(" type %u config 0x%" PRIx64 " flags 0x%" PRIx64 " format 0x%" PRIx64, attr->type,
		attr->config, attr->flags, attr->read_format);
	if (attr->sample_period != 0)
		printf(" period %" PRIu64 " sample 0x%" PRIx64, attr->sample_period,
			attr->sample_type);
}

static void print_arguments(const struct operation *op)
{
	switch (op->kind) {
	case OPERATION_OPEN:
		printf(" target %u task %d cpu %d group %d flags 0x%" PRIx64, op->open.target,
			(int)op->open.task, op->open.cpu, (int)op->open.group, op->open.flags);
		if (op->open.attr)
			print_attr(op->open.attr);
		break;
	case OPERATION_IOCTL:
		printf(" command 0x%x argument 0x%" PRIx64, op->ioctl.command, op->ioctl.argument);
		break;
	case OPERATION_MMAP:
		printf(" pages %" PRIu64 "%s", op->mmap.pages,
			op->mmap.writable ? "" : " read-only");
		break;
	case OPERATION_FORK:
		printf(" work %d%s", (int)op->fork.work, op->fork.thread ? " thread" : "");
		break;
	case OPERATION_EXEC:
		printf(" work %u", op->exec.work);
		break;
	case OPERATION_SLEEP:
	case OPERATION_WAKE:
	case OPERATION_STOP:
	case OPERATION_CONTINUE:
	case OPERATION_PIN:
	case OPERATION_MIGRATE:
	case OPERATION_CPU_OFFLINE:
	case OPERATION_CPU_ONLINE:
		printf(" task %d cpu %u mask 0x%" PRIx64 " for %" PRIu64, (int)op->task.task,
			op->task.cpu, op->task.cpu_mask, op->task.duration_ns);
		break;
	default:
		break;
	}
}

static void print_operation(void *context, uint32_t index, const struct operation *op,
	const struct machine_task *actor, const struct operation_result *result)
{
	struct machine *machine = context;
	uint32_t event = machine_operation_event(machine, index);

	(void)actor;
	printf("%9" PRIu64 " #%u actor %d %s", result->end_ns, index, (int)op->actor,
		operation_kind_name(op->kind));
	if (event != OPERATION_NOBODY)
		printf(" event %u", event);
	print_arguments(op);
	printf(" = %" PRId64, result->result);
	for (size_t i = 0; i + 8 <= result->size; i += 8) {
		uint64_t word;

		memcpy(&word, result->bytes + i, 8);
		printf(" %" PRIu64, word);
	}
	printf("\n");
}

static void print_begin(void *context, uint32_t index, const struct operation *op,
	const struct machine_task *actor, uint64_t t_ns)
{
	(void)context;
	printf("%9" PRIu64 " #%u by tid %u on CPU %d: %s\n", t_ns, index,
		actor ? machine_task_tid(actor) : 0, actor ? (int)machine_task_cpu(actor) : -1,
		operation_kind_name(op->kind));
}

static void print_trace(void *context, const struct machine_trace *trace)
{
	static const char *const names[] = {"placed", "left", "skipped"};

	(void)context;
	printf("%9" PRIu64 "    CPU %u: id %" PRIu64 " %s %" PRIu64 "\n", trace->t_ns, trace->cpu,
		trace->a, trace->kind < 3 ? names[trace->kind] : "?", trace->b);
}

static void print_switch(void *context, uint32_t cpu, const struct machine_task *prev,
	const struct machine_task *next, uint64_t t_ns)
{
	(void)context;
	printf("%9" PRIu64 "    CPU %u: tid %u to %u\n", t_ns, cpu,
		prev ? machine_task_tid(prev) : 0, next ? machine_task_tid(next) : 0);
}

static void print_violation(void *context, const struct oracle_violation *violation)
{
	(void)context;
	printf("!! %s\n", violation->text);
}

/* ---- a run ---- */

static void print_head(const struct api_scene *scene)
{
	const struct machine_description *d = &scene->description;

	printf("%u CPUs of %s, %s, paranoid %d\n", d->cpu_count, d->clusters[0].name,
		d->policy ? "random" : "time order", scene->paranoid);
	for (uint32_t i = 0; i < d->task_count; i++)
		printf("task %u: work %u%s%s uid %u start %" PRIu64 "%s\n", i, d->tasks[i].work,
			d->tasks[i].thread ? " thread" : "", d->tasks[i].perfmon ? " perfmon" : "",
			d->tasks[i].uid, d->tasks[i].start_ns,
			d->tasks[i].stopped ? " stopped" : "");
}

/* What the oracle counted and what the engine says it did must agree as sums. */
static void check_sums(
	const struct oracle *oracle, const struct port_sim *port, struct api_outcome *outcome)
{
	struct oracle_count count;
	uint64_t due = 0;
	uint64_t skipped = 0;
	char text[160];

	for (uint32_t k = 0; oracle_count(oracle, k, &count); k++) {
		outcome->opened += count.opened;
		outcome->samples += count.samples_seen;
		due += count.periods_due;
		skipped += count.periods_skipped;
	}
	if (port_sim_statistic(port, TALLY_STAT_SAMPLES) != due - skipped ||
		port_sim_statistic(port, TALLY_STAT_PERIODS_SKIPPED) != skipped) {
		snprintf(text, sizeof(text),
			"C4: the engine says %" PRIu64 " samples and %" PRIu64
			" skipped, due were %" PRIu64 " and %" PRIu64,
			port_sim_statistic(port, TALLY_STAT_SAMPLES),
			port_sim_statistic(port, TALLY_STAT_PERIODS_SKIPPED), due - skipped,
			skipped);
		say(outcome, text);
	}
}

static void judge(const struct oracle *oracle, const struct port_sim *port, int result,
	struct api_outcome *outcome)
{
	if (result != 0)
		say(outcome, port_sim_failure(port));
	for (uint32_t k = 0; k < 8 && oracle_violation(oracle, k); k++)
		say(outcome, oracle_violation(oracle, k)->text);
	if (result == 0)
		check_sums(oracle, port, outcome);
	outcome->tally = oracle_tally(oracle);
}

void api_run(const uint8_t *bytes, size_t size, bool print, struct api_outcome *outcome)
{
	static struct machine_pool *pool;
	struct api_scene *scene = malloc(sizeof(*scene));
	struct port_sim_options options = {0};
	struct oracle_options ears = {.event_id = event_id};
	struct oracle *oracle;
	struct port_sim *port;

	*outcome = (struct api_outcome){0};
	if (!pool)
		pool = machine_pool_create();
	if (!scene || !pool)
		abort();
	api_decode(bytes, size, scene);
	options.paranoid = &scene->paranoid;
	port = port_sim_create(&scene->description, &options, pool);
	if (!port) {
		say(outcome, machine_description_check(&scene->description));
		free(scene);
		return;
	}
	ears.context = port;
	ears.violated = print ? print_violation : NULL;
	if (print) {
		struct machine_observer observer = {.context = port_sim_machine(port),
			.operation_begin = print_begin,
			.operation_end = print_operation,
			.trace = print_trace,
			.sched_switch = print_switch};

		print_head(scene);
		machine_observe(port_sim_machine(port), &observer);
	}
	oracle = oracle_create(port_sim_machine(port), &ears);
	if (!oracle)
		abort();
	judge(oracle, port, port_sim_run(port), outcome);
	outcome->hash = machine_hash(port_sim_machine(port));
	oracle_destroy(oracle);
	port_sim_destroy(port);
	free(scene);
}

/* ---- seeds ---- */

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A record of full length per operation; the first ones mostly open, so that there is something to
 * work on. */
size_t api_bytes_of_seed(uint64_t seed, uint8_t *bytes, size_t room)
{
	uint64_t state = seed;
	size_t head = 8 + 2 * API_TASKS_MAX;
	size_t size = head + 16 * (16 + next_random(&state) % (API_OPERATIONS_MAX - 15));

	if (size > room)
		size = room;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(next_random(&state) >> 24);
	if (size > 6)
		bytes[6] = API_TASKS_MAX - 1; /* so that the operations begin where `head` says */
	for (size_t i = head; i < size; i += 16) {
		bytes[i] |= 15;
		if (i < head + 16 * 8 && i + 1 < size && (bytes[i + 1] & 3) != 0)
			bytes[i + 1] = OPERATION_OPEN;
	}
	return size;
}
