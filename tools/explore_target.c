/* SPDX-License-Identifier: MIT
 *
 * explore_target.c: finding what is to be explored, and running it once (explore_target.h).
 *
 * A run of a scenario is a whole machine, made, run and destroyed: nothing of one run is left for
 * the next but the pool of stacks and the classes of sites.
 */
#include "explore_target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <explorer/plans.h>
#include <explorer/threads.h>
#include <machine/kernel.h>
#include <machine/order.h>
#include <oracle/oracle.h>
#include <port_sim/run.h>

#include "core_hash.h"
#include "mutant.h"
#include "report.h"
#include "scenario.h"
#include "symbols.h"

#define SUFFIX ".yaml"

struct explore_target {
	char name[EXPLORER_NAME_MAX];
	char path[512];
	struct explore_options options;
	char wrong[640];
	uint64_t hash;

	/* a plan */
	const struct explorer_plan *plan;
	struct explorer_threads *threads;

	/* or a scenario */
	struct scenario scenario;
	struct operation *operations; /* of the description below */
	struct machine_description description;
	struct machine_policy policy;
	struct machine_pool *pool;

	/* the run in progress */
	struct explorer_search *search;
	struct port_sim *port;
	const struct explore_eyes *eyes;
	struct explorer_vehicle vehicle;
};

/* ---- finding it ---- */

/* "scenarios/races/x.yaml" is "races/x"; what lies elsewhere keeps its path. */
static void name_of_path(char name[EXPLORER_NAME_MAX], const char *path, const char *scenarios)
{
	size_t prefix = strlen(scenarios), length;

	if (strncmp(path, scenarios, prefix) == 0 && path[prefix] == '/')
		path += prefix + 1;
	length = strlen(path);
	if (length > strlen(SUFFIX) && strcmp(path + length - strlen(SUFFIX), SUFFIX) == 0)
		length -= strlen(SUFFIX);
	snprintf(name, EXPLORER_NAME_MAX, "%.*s", (int)length, path);
}

static bool find_path(const char *name, const char *scenarios, char *path, size_t size)
{
	snprintf(path, size, "%s", name);
	if (access(path, R_OK) == 0)
		return true;
	snprintf(
		path, size, "%s%s", name, SUFFIX); /* as a trace names a file that lies elsewhere */
	if (access(path, R_OK) == 0)
		return true;
	snprintf(path, size, "%s/%s%s", scenarios, name, SUFFIX);
	return access(path, R_OK) == 0;
}

/* The operations that are left out become such that the machine knows none of their kind. */
static bool copy_operations(struct explore_target *target)
{
	const struct machine_description *d = &target->scenario.machine;
	uint32_t count = d->operation_count;

	target->operations = malloc((count + 1) * sizeof(*target->operations));
	if (target->operations == NULL)
		return false;
	if (count != 0)
		memcpy(target->operations, d->operations, count * sizeof(*target->operations));
	for (uint32_t i = 0; i < target->options.dropped_count; i++) {
		if (target->options.dropped[i] < count)
			target->operations[target->options.dropped[i]].kind = OPERATION_KINDS;
	}
	return true;
}

static uint32_t choose(
	void *context, const struct machine *machine, enum machine_choice_kind kind, uint32_t n)
{
	struct explore_target *target = context;

	(void)machine;
	return explorer_choose(target->search, kind, n, machine_order.cpu, machine_order.site);
}

static void open_scenario(struct explore_target *target, const char *path, struct failure *failure)
{
	const struct explore_options *options = &target->options;
	const struct scenario_explore *explore = &target->scenario.explore;

	if (!scenario_load(&target->scenario, path, failure))
		return;
	if (target->scenario.machine.cpu_count > EXPLORER_CPUS_MAX) {
		failure_set(
			failure, "%s: the explorer takes at most %u CPUs", path, EXPLORER_CPUS_MAX);
		return;
	}
	target->pool = machine_pool_create();
	if (target->pool == NULL || !copy_operations(target)) {
		failure_set(failure, "out of memory");
		return;
	}
	target->policy = (struct machine_policy){.context = target,
		.choose = choose,
		.points = true,
		.concurrent = true,
		.explored = true,
		.from_ns = explore->at_ns,
		.until_ns = target->scenario.end_ns, /* there the last words are said */
		.ticks = options->ticks || explore->ticks,
		.kernel_events = options->kernel_events || explore->kernel_events,
		.late_registers = options->late_registers || explore->late_registers};
	target->description = target->scenario.machine;
	target->description.operations = target->operations;
	target->description.policy = &target->policy;
}

struct explore_target *explore_target_open(const char *name, const char *scenarios,
	const struct explore_options *options, struct failure *failure)
{
	struct explore_target *target = calloc(1, sizeof(*target));

	if (target == NULL) {
		failure_set(failure, "out of memory");
		return NULL;
	}
	target->options = *options;
	target->plan = explorer_plan_find(name);
	if (!mutant_choose(options->mutant)) {
		failure_set(failure, "there is no mutant `%s` in this program", options->mutant);
	} else if (target->plan != NULL) {
		snprintf(target->name, sizeof(target->name), "%s", name);
		target->threads = explorer_threads_create(target->plan);
		if (target->threads == NULL)
			failure_set(failure, "out of memory");
	} else if (find_path(name, scenarios, target->path, sizeof(target->path))) {
		name_of_path(target->name, target->path, scenarios);
		open_scenario(target, target->path, failure);
	} else {
		failure_set(failure, "`%s` is no plan, no file, and no scenario below %s: %s", name,
			scenarios, strerror(errno));
	}
	if (!failure->failed)
		return target;
	explore_target_close(target);
	return NULL;
}

void explore_target_close(struct explore_target *target)
{
	if (target == NULL)
		return;
	explorer_threads_destroy(target->threads);
	machine_pool_destroy(target->pool);
	scenario_free(&target->scenario);
	free(target->operations);
	free(target);
}

/* ---- looking ---- */

static void append(char *text, const char *piece)
{
	size_t length = strlen(text);

	snprintf(text + length, EXPLORER_NAME_MAX - length, "%s", piece);
}

void explore_target_describe(const struct explore_target *target, struct explorer_trace *trace)
{
	const struct explore_options *options = &target->options;
	uint32_t cpus = target->plan != NULL ? target->plan->cpus : target->description.cpu_count;
	char piece[EXPLORER_NAME_MAX];

	snprintf(trace->scenario, sizeof(trace->scenario), "%s", target->name);
	snprintf(trace->core, sizeof(trace->core), "%s", CORE_HASH);
	snprintf(trace->config, sizeof(trace->config), "%" PRIu32 "cpu", cpus);
	if (options->late_registers)
		append(trace->config, ",late");
	if (options->kernel_events)
		append(trace->config, ",events");
	if (options->ticks)
		append(trace->config, ",ticks");
	for (uint32_t i = 0; i < options->dropped_count; i++) {
		snprintf(piece, sizeof(piece), ",drop=%" PRIu32, options->dropped[i]);
		append(trace->config, piece);
	}
	if (options->mutant != NULL) {
		append(trace->config, ",mutant=");
		append(trace->config, options->mutant);
	}
}

uint32_t explore_target_operations(const struct explore_target *target)
{
	return target->description.operation_count;
}

static struct explorer_budget budget_of(const struct scenario_budget *budget)
{
	return (struct explorer_budget){
		budget->preemptions, budget->interrupts, budget->stale, budget->faults};
}

bool explore_target_bound(const struct explore_target *target, struct explorer_budget *bound,
	struct explorer_budget *test)
{
	const struct scenario_explore *explore = &target->scenario.explore;

	if (target->plan != NULL) {
		*bound = *test = (struct explorer_budget){2, 2, 2, 0};
		return true;
	}
	if (!explore->present)
		return false;
	*bound = budget_of(&explore->bound);
	*test = budget_of(&explore->test);
	return true;
}

uint64_t explore_target_hash(const struct explore_target *target)
{
	return target->hash;
}

void explore_law(const char *wrong, char law[16])
{
	/* what does not begin with the law's name */
	static const struct {
		const char *piece;
		const char *law;
	} known[] = {{"the oracle: value", "C1"}, {"the oracle: time", "T1"},
		{"the oracle: number", "B3"}, {"panic: ", "assert"}, {"leak: ", "L1"},
		{"is still open after", "L1"}, {"expected ", "expect"}, {"operation ", "expect"},
		{"cannot be read", "expect"}, {"does not open", "expect"},
		{" in an interrupt handler", "K1"}, {" in a hook", "K1"},
		{" with interrupts o", "K1"}, {"a record of ", "B2"}, {"its ring holds", "B1"}};
	size_t length;

	if (strncmp(wrong, "law ", 4) == 0)
		wrong += 4;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *at = strstr(wrong, known[i].piece);

		if (at != NULL && !(wrong[0] >= 'A' && wrong[0] <= 'Z' && wrong[1] <= '9')) {
			snprintf(law, 16, "%s", known[i].law);
			return;
		}
	}
	length = strcspn(wrong, " :,");
	snprintf(law, 16, "%.*s", (int)(length < 15 ? length : 15), wrong);
}

/* ---- a run ---- */

static void point(void *context, const struct explorer_access *access, bool shared)
{
	struct explore_target *target = context;
	struct machine *machine = port_sim_machine(target->port);

	machine_order.site = access->site;
	machine_judged_end();
	if (shared)
		machine_point(machine);
	else
		machine_point_local(machine);
	machine_judged_begin();
}

static uint32_t choose_value(
	void *context, enum machine_choice_kind kind, uint32_t n, const void *site)
{
	struct explore_target *target = context;

	machine_order.site = site;
	return machine_choice(port_sim_machine(target->port), kind, n);
}

static _Noreturn void fail(void *context, const char *text)
{
	struct explore_target *target = context;

	machine_fail(port_sim_machine(target->port), "%s", text);
}

static void step(void *context, const struct explorer_access *access)
{
	const struct explore_eyes *eyes = ((struct explore_target *)context)->eyes;

	eyes->access(eyes->context, access);
}

static uint64_t event_id(void *context, uint32_t event)
{
	return port_sim_event_id(((const struct explore_target *)context)->port, event);
}

/* What is wrong with the run that has just ended, or NULL. */
static const char *judge(struct explore_target *target, struct oracle *oracle, bool failed)
{
	struct report report = {
		.scenario = &target->scenario, .oracle = oracle, .port = target->port};

	if (failed && target->options.dropped_count != 0)
		/* expectations may hang on what was left out: the rules alone count */
		snprintf(
			target->wrong, sizeof(target->wrong), "%s", port_sim_failure(target->port));
	else if (!report_first_complaint(&report, failed, target->wrong, sizeof(target->wrong)))
		return NULL;
	return target->wrong;
}

static const char *run_scenario(struct explore_target *target, const struct explore_eyes *eyes)
{
	struct oracle_options oracle_options = {.context = target, .event_id = event_id};
	const struct port_sim_options port_options = {.paranoid = &target->scenario.paranoid};
	const char *wrong = "out of memory";
	struct oracle *oracle = NULL;
	bool failed;

	target->port = port_sim_create(&target->description, &port_options, target->pool);
	if (target->port == NULL)
		return wrong;
	oracle = oracle_create(port_sim_machine(target->port), &oracle_options);
	if (oracle != NULL &&
		(eyes == NULL || eyes->observer == NULL ||
			machine_observe(port_sim_machine(target->port), eyes->observer))) {
		explorer_watch(&target->vehicle, target->description.cpu_count);
		failed = port_sim_run(target->port) != 0;
		explorer_watch(NULL, 0);
		target->hash = machine_hash(port_sim_machine(target->port));
		wrong = judge(target, oracle, failed);
	}
	oracle_destroy(oracle);
	port_sim_destroy(target->port);
	target->port = NULL;
	return wrong;
}

/* Sites are told as addresses, from stacks that are too small for more: put names there. */
static void name_sites(char *text, size_t size)
{
	char *at = text;

	while ((at = strstr(at, "0x")) != NULL) {
		char *end, rest[640];
		const void *site = (const void *)(uintptr_t)strtoull(at, &end, 16);

		if (symbol_name(site) == NULL) {
			at += 2;
			continue;
		}
		snprintf(rest, sizeof(rest), "%s", end);
		snprintf(at, size - (size_t)(at - text), "%s%s", symbol_place(site), rest);
	}
}

static const char *run_plan(struct explore_target *target, const struct explore_eyes *eyes)
{
	const char *wrong;

	if (eyes == NULL || eyes->access == NULL)
		wrong = explorer_threads_run(target->threads, target->search);
	else
		wrong = explorer_threads_tell(
			target->threads, target->search, eyes->access, eyes->context);
	if (wrong == NULL)
		return NULL;
	snprintf(target->wrong, sizeof(target->wrong), "%s", wrong);
	return target->wrong;
}

const char *explore_target_run(struct explore_target *target, struct explorer_search *search,
	const struct explore_eyes *eyes)
{
	const char *wrong;

	target->search = search;
	target->eyes = eyes;
	target->vehicle = (struct explorer_vehicle){.context = target,
		.point = point,
		.choose = choose_value,
		.step = eyes != NULL && eyes->access != NULL ? step : NULL,
		.fail = fail};
	wrong = target->plan != NULL ? run_plan(target, eyes) : run_scenario(target, eyes);
	if (wrong == target->wrong)
		name_sites(target->wrong, sizeof(target->wrong));
	return wrong;
}
