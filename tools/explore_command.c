/* SPDX-License-Identifier: MIT
 *
 * explore_command.c: what `tally explore`, `tally replay` and `tally shrink` do and say.
 */
#include "explore_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore_options.h"
#include "step_table.h"
#include "symbols.h"

#define TRACE_TEXT_MAX 4096u

enum exit_status {
	EXIT_RIGHT = 0,
	EXIT_FOUND = 1,
	EXIT_BAD_INPUT = 2,
	EXIT_STOPPED = 3,
};

static const char explore_usage[] =
	"usage: tally explore NAME... [options]\n"
	"\n"
	"Runs a scenario (a file, or a name below scenarios/) or a plan (ring, litmus/...) in "
	"every way that it\n"
	"can happen within a budget, and judges each run. Says how many there were, or prints the "
	"one that\n"
	"went wrong as a line of text that `tally replay` and `tally shrink` take.\n"
	"\n"
	"  --bound P/I/S[/F]  the budget: preemptions, interrupts, stale reads, failing "
	"allocations (the\n"
	"                     scenario's own `bound`, or 1/1/1)\n"
	"  --test             the scenario's smaller budget for test runs\n"
	"  --strategy S       exhaustive, random or pct; the last two with\n"
	"  --runs N           so many runs (100000), and\n"
	"  --seed N           from this seed\n"
	"  -j N               worker processes (one per CPU)\n"
	"  --shard I/N        the I-th of N parts of the runs, for several machines\n"
	"  --result FILE      append the outcome to FILE, one line, for scripts\n"
	"  --late             register writes may take effect late\n"
	"  --events           kernel code executes the scenario's irq_rates\n"
	"  --ticks            a tick may come at any point\n"
	"  --drop K           leave out operation K\n"
	"  --scenarios DIR    where names are looked up (scenarios)\n"
	"  --quiet            print nothing but what is found\n"
	"\n"
	"exit status: 0 nothing found, 1 something found, 2 wrong usage or input, 3 stopped before "
	"the end\n";

static const char replay_usage[] =
	"usage: tally replay 'TRACE' [--all] [--scenarios DIR] [--quiet]\n"
	"\n"
	"Runs the one run that TRACE names and prints the steps around its deviations (--all: "
	"every step).\n"
	"exit status: 0 the run is right, 1 it is wrong, 2 wrong usage or a stale trace\n";

static const char shrink_usage[] =
	"usage: tally shrink 'TRACE' [--scenarios DIR]\n"
	"\n"
	"Prints a trace with fewer and earlier deviations, and fewer operations, that breaks the "
	"same law.\n"
	"exit status: 0 printed, 2 wrong usage, a stale trace, or a run that is right\n";

static int refuse(const char *command, const struct failure *failure, const char *usage)
{
	fprintf(stderr, "tally %s: %s\n", command, failure->text);
	if (usage != NULL)
		fprintf(stderr, "\n%s", usage);
	return EXIT_BAD_INPUT;
}

/* ---- shrinking ---- */

struct shrink {
	struct explore_target *target;
	char law[16];
};

static bool fails_alike(void *context, const struct explorer_deviation *deviations, size_t count)
{
	struct shrink *shrink = context;
	struct explorer_search *search = explorer_search_replay(deviations, count);
	const char *wrong = NULL;
	char law[16] = "";

	if (search != NULL && explorer_search_next(search))
		wrong = explore_target_run(shrink->target, search, NULL);
	if (wrong != NULL)
		explore_law(wrong, law);
	explorer_search_free(search);
	return wrong != NULL && strcmp(law, shrink->law) == 0;
}

/* Run the trace as it is; fills in the sites. NULL: it is right. */
static const char *run_trace(struct explore_target *target, struct explorer_trace *trace)
{
	struct explorer_search *search = explorer_search_replay(trace->deviation, trace->count);
	const char *wrong = "out of memory";

	if (search != NULL && explorer_search_next(search)) {
		wrong = explore_target_run(target, search, NULL);
		explorer_trace_take(trace, search, symbol_name);
	}
	explorer_search_free(search);
	return wrong;
}

static void shrink_trace(
	struct explore_target *target, struct explorer_trace *trace, const char *wrong)
{
	struct shrink shrink = {.target = target};
	const struct explorer_shrinker shrinker = {.context = &shrink, .fails = fails_alike};

	explore_law(wrong, shrink.law);
	(void)explorer_shrink(&shrinker, trace->deviation, &trace->count);
}

/* Does the trace break the same law in a process that knows no more than a replay will? Points that
 * were learned on the way may have counted; then look again without them. */
static void confirm(struct explore_target *target, const struct explorer_budget *bound,
	struct campaign_result *result)
{
	struct shrink shrink = {.target = target};
	struct explorer_search *search;
	char law[16];

	explore_law(result->wrong, shrink.law);
	if (!campaign_learn(target) ||
		fails_alike(&shrink, result->trace.deviation, result->trace.count))
		return;
	search = explorer_search_exhaustive(bound);
	while (search != NULL && explorer_search_next(search)) {
		const char *wrong = explore_target_run(target, search, NULL);

		if (wrong == NULL)
			continue;
		explore_law(wrong, law);
		if (strcmp(law, shrink.law) == 0) {
			(void)explorer_trace_take(&result->trace, search, symbol_name);
			break;
		}
	}
	explorer_search_free(search);
}

/* ---- telling ---- */

static void print_trace(const struct explorer_trace *trace)
{
	char text[TRACE_TEXT_MAX];

	if (explorer_trace_format(trace, text, sizeof(text)))
		printf("%s\n", text);
}

static void print_plural(uint32_t n, const char *what)
{
	printf("%" PRIu32 " %s%s", n, what, n == 1 ? "" : "s");
}

static void print_statement(const struct campaign *campaign, const struct explorer_trace *name,
	const struct campaign_result *result)
{
	const struct explorer_budget *bound = &campaign->bound;

	printf("%s: ", name->scenario);
	if (campaign->strategy != CAMPAIGN_EXHAUSTIVE) {
		printf("%" PRIu64 " %s runs from seed %" PRIu64, result->runs,
			campaign->strategy == CAMPAIGN_PCT ? "PCT" : "random", campaign->seed);
	} else {
		printf("%s %" PRIu64 " runs within ",
			result->end == CAMPAIGN_DONE ? "all" : "stopped after", result->runs);
		print_plural(bound->preemptions, "preemption");
		printf(", ");
		print_plural(bound->interrupts, "interrupt");
		printf(", ");
		print_plural(bound->stale, "stale read");
		if (bound->faults != 0) {
			printf(", ");
			print_plural(bound->faults, "fault");
		}
		if (campaign->shards > 1)
			printf(" (shard %" PRIu32 " of %" PRIu32 ")", campaign->shard + 1,
				campaign->shards);
	}
	printf(": no violation\n    %s, core %s, %" PRIu32 " shared points, %" PRIu32
	       " passes, %" PRIu64 " choices a run, %.0f runs a second\n",
		name->config, name->core, result->sites, result->passes,
		result->runs != 0 ? result->choices / result->runs : 0,
		result->seconds > 0 ? (double)result->runs / result->seconds : 0);
	fflush(stdout);
}

/* For scripts/explore-all, which merges shards. */
static void append_result(const char *path, const struct campaign *campaign,
	const struct explorer_trace *name, const struct campaign_result *result,
	struct failure *failure)
{
	static const char *const ends[] = {"all", "FOUND", "stopped", "BROKEN"};
	FILE *file = fopen(path, "a");

	if (file == NULL ||
		fprintf(file,
			"%s %s %" PRIu32 "/%" PRIu32 "/%" PRIu32 "/%" PRIu32 " %" PRIu32 "/%" PRIu32
			" %s %016" PRIx64 " %" PRIu64 " %s %.1f\n",
			name->scenario, name->config, campaign->bound.preemptions,
			campaign->bound.interrupts, campaign->bound.stale, campaign->bound.faults,
			campaign->shard + 1, campaign->shards, name->core, result->sites_hash,
			result->runs, ends[result->end], result->seconds) < 0)
		failure_set(failure, "%s: cannot be written", path);
	if (file != NULL && fclose(file) != 0)
		failure_set(failure, "%s: cannot be written", path);
}

/* A run went wrong: shrink it, and say everything. */
static void tell_found(struct explore_target *target, const struct explorer_budget *bound,
	struct campaign_result *result, bool quiet)
{
	char wrong[640], law[16];

	confirm(target, bound, result);
	shrink_trace(target, &result->trace, result->wrong);
	snprintf(wrong, sizeof(wrong), "%s", result->wrong);
	(void)run_trace(target, &result->trace);
	explore_target_describe(target, &result->trace);
	explore_law(wrong, law);
	printf("%s: FOUND after %" PRIu64 " runs, %s: %s\n\n", result->trace.scenario, result->runs,
		law, wrong);
	print_trace(&result->trace);
	printf("\nreplay it with:\n    tally replay '");
	fflush(stdout);
	{
		char text[TRACE_TEXT_MAX];

		if (explorer_trace_format(&result->trace, text, sizeof(text)))
			printf("%s'\n\n", text);
	}
	if (!quiet)
		(void)step_table_print(target, &result->trace, false);
	fflush(stdout);
}

/* ---- explore ---- */

/* Budgets grow: what few deviations can break is found with few. */
static enum exit_status explore_within(
	struct campaign *campaign, const struct explore_command_line *line, struct failure *failure)
{
	struct campaign_result result;
	struct explorer_budget last = campaign->bound;
	struct explorer_trace name;
	bool small_first = campaign->strategy == CAMPAIGN_EXHAUSTIVE && campaign->shards == 1 &&
			   campaign->runs_max == 0 &&
			   (last.preemptions > 1 || last.interrupts > 1 || last.stale > 1);

	if (small_first) {
		campaign->bound = (struct explorer_budget){
			last.preemptions != 0, last.interrupts != 0, last.stale != 0, last.faults};
		campaign_run(campaign, &result);
		campaign->bound = last;
	}
	if (!small_first || result.end == CAMPAIGN_DONE)
		campaign_run(campaign, &result);
	explore_target_describe(campaign->target, &name);
	if (line->result != NULL)
		append_result(line->result, campaign, &name, &result, failure);
	switch (result.end) {
	case CAMPAIGN_FOUND:
		tell_found(campaign->target, &campaign->bound, &result, line->quiet);
		return EXIT_FOUND;
	case CAMPAIGN_BROKEN:
		printf("%s: BROKEN: %s\n", name.scenario, result.wrong);
		explore_target_describe(campaign->target, &result.trace);
		print_trace(&result.trace);
		return EXIT_FOUND;
	case CAMPAIGN_STOPPED:
		print_statement(campaign, &name, &result);
		return campaign->strategy == CAMPAIGN_EXHAUSTIVE ? EXIT_STOPPED : EXIT_RIGHT;
	default:
		if (!line->quiet)
			print_statement(campaign, &name, &result);
		return EXIT_RIGHT;
	}
}

static enum exit_status explore_one(
	const char *name, const struct explore_command_line *line, struct failure *failure)
{
	struct explore_target *target = explore_target_open(
		name, line->scenarios, &line->target, failure);
	struct explorer_budget bound = {1, 1, 1, 0}, test = bound;
	enum exit_status status;
	struct campaign campaign = {.target = target,
		.strategy = line->strategy,
		.seed = line->seed,
		.runs_max = line->runs,
		.jobs = line->jobs,
		.shard = line->shard,
		.shards = line->shards,
		.progress = !line->quiet};

	if (target == NULL)
		return EXIT_BAD_INPUT;
	(void)explore_target_bound(target, &bound, &test);
	campaign.bound = line->has_bound ? line->bound : line->test_bound ? test : bound;
	if (line->strategy != CAMPAIGN_EXHAUSTIVE && line->runs == 0)
		campaign.runs_max = 100000;
	status = explore_within(&campaign, line, failure);
	explore_target_close(target);
	return status;
}

int explore_command(int argc, char **argv)
{
	struct explore_command_line line;
	struct failure failure = {0};
	enum exit_status worst = EXIT_RIGHT;

	explore_command_line_parse(argc - 1, argv + 1, &line, &failure);
	if (!failure.failed && line.help) {
		fputs(explore_usage, stdout);
		return EXIT_RIGHT;
	}
	if (!failure.failed && line.first == argc - 1)
		failure_set(&failure, "expected what is to be explored");
	if (failure.failed)
		return refuse("explore", &failure, explore_usage);
	for (int i = line.first + 1; i < argc && !failure.failed; i++) {
		enum exit_status status = explore_one(argv[i], &line, &failure);

		if (status != EXIT_RIGHT && worst != EXIT_FOUND)
			worst = status;
	}
	if (failure.failed)
		return refuse("explore", &failure, NULL);
	return (int)worst;
}

/* ---- replay, shrink ---- */

/* The trace may have been cut into words by the shell. */
static void join_words(char **words, int count, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < count && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", i == 0 ? "" : " ", words[i]);
}

/* The target and the trace that the command line names. */
static struct explore_target *open_trace(int argc, char **argv, struct explore_command_line *line,
	struct explorer_trace *trace, struct failure *failure)
{
	char text[TRACE_TEXT_MAX];
	const char *wrong;

	join_words(argv + line->first + 1, argc - line->first - 1, text, sizeof(text));
	wrong = explorer_trace_parse(trace, text);
	if (wrong != NULL)
		failure_set(failure, "`%s`: %s", text, wrong);
	else
		explore_config_parse(trace->config, line, failure);
	if (failure->failed)
		return NULL;
	return explore_target_open(trace->scenario, line->scenarios, &line->target, failure);
}

/* Is the trace of this engine and at these sites? */
static void check_fresh(
	struct explore_target *target, const struct explorer_trace *trace, struct failure *failure)
{
	struct explorer_search *search = explorer_search_replay(trace->deviation, trace->count);
	struct explorer_trace now;
	const char *stale;

	if (search == NULL || !explorer_search_next(search)) {
		failure_set(failure, "out of memory");
		return;
	}
	(void)explore_target_run(target, search, NULL);
	stale = explorer_trace_stale(trace, search, symbol_name);
	explore_target_describe(target, &now);
	if (stale != NULL)
		failure_set(failure, "stale trace: %s%s%s", stale,
			strcmp(now.core, trace->core) != 0 ? "; it is of core " : "",
			strcmp(now.core, trace->core) != 0 ? trace->core : "");
	explorer_search_free(search);
}

int replay_command(int argc, char **argv)
{
	struct explore_command_line line;
	struct failure failure = {0};
	struct explorer_trace trace;
	struct explore_target *target = NULL;
	char law[16] = "";
	const char *wrong = NULL;

	explore_command_line_parse(argc - 1, argv + 1, &line, &failure);
	if (!failure.failed && line.help) {
		fputs(replay_usage, stdout);
		return EXIT_RIGHT;
	}
	if (!failure.failed)
		target = open_trace(argc, argv, &line, &trace, &failure);
	if (failure.failed)
		return refuse("replay", &failure, replay_usage);
	if (!campaign_learn(target))
		failure_set(&failure, "out of memory");
	check_fresh(target, &trace, &failure);
	if (!failure.failed) {
		wrong = line.quiet ? run_trace(target, &trace)
				   : step_table_print(target, &trace, line.all);
		if (wrong != NULL)
			explore_law(wrong, law);
		printf("%s: %s%s%s\n", trace.scenario, law, wrong != NULL ? ": " : "",
			wrong != NULL ? wrong : "nothing wrong");
	}
	explore_target_close(target);
	if (failure.failed)
		return refuse("replay", &failure, NULL);
	return wrong != NULL ? EXIT_FOUND : EXIT_RIGHT;
}

/* Leave out operations, one after the other, as long as the law stays broken. */
static void drop_operations(struct explore_target **target, struct explore_command_line *line,
	struct explorer_trace *trace, const char *law)
{
	struct failure failure = {0};

	for (uint32_t k = explore_target_operations(*target); k-- > 0;) {
		struct shrink shrink = {0};

		if (line->target.dropped_count == DROPPED_MAX)
			return;
		line->dropped[line->target.dropped_count++] = k;
		shrink.target = explore_target_open(
			trace->scenario, line->scenarios, &line->target, &failure);
		snprintf(shrink.law, sizeof(shrink.law), "%s", law);
		if (shrink.target != NULL && fails_alike(&shrink, trace->deviation, trace->count)) {
			explore_target_close(*target);
			*target = shrink.target;
			continue;
		}
		explore_target_close(shrink.target);
		line->target.dropped_count--;
	}
}

int shrink_command(int argc, char **argv)
{
	struct explore_command_line line;
	struct failure failure = {0};
	struct explorer_trace trace;
	struct explore_target *target = NULL;
	char law[16] = "";
	const char *wrong;

	explore_command_line_parse(argc - 1, argv + 1, &line, &failure);
	if (!failure.failed && line.help) {
		fputs(shrink_usage, stdout);
		return EXIT_RIGHT;
	}
	if (!failure.failed)
		target = open_trace(argc, argv, &line, &trace, &failure);
	if (failure.failed)
		return refuse("shrink", &failure, shrink_usage);
	if (!campaign_learn(target))
		failure_set(&failure, "out of memory");
	check_fresh(target, &trace, &failure);
	if (!failure.failed) {
		wrong = run_trace(target, &trace);
		if (wrong == NULL)
			failure_set(&failure, "the run is right: there is nothing to shrink");
		else
			explore_law(wrong, law);
	}
	if (!failure.failed) {
		shrink_trace(target, &trace, law);
		drop_operations(&target, &line, &trace, law);
		(void)campaign_learn(target);
		(void)run_trace(target, &trace);
		explore_target_describe(target, &trace);
		print_trace(&trace);
	}
	explore_target_close(target);
	return failure.failed ? refuse("shrink", &failure, NULL) : EXIT_RIGHT;
}
