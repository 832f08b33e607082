/* SPDX-License-Identifier: MIT
 *
 * explore_options.c: reading command lines and the configuration in traces (explore_options.h).
 */
#include "explore_options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_MAX 256u

static uint64_t number(const char *text, uint64_t max, const char *what, struct failure *failure)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > max)
		failure_set(failure, "%s: `%s` is no number of at most %" PRIu64, what, text, max);
	return value;
}

static void parse_bound(const char *text, struct explorer_budget *bound, struct failure *failure)
{
	char rest;
	int n = sscanf(text, "%" SCNu32 "/%" SCNu32 "/%" SCNu32 "/%" SCNu32 "%c",
		&bound->preemptions, &bound->interrupts, &bound->stale, &bound->faults, &rest);

	if (n == 3)
		bound->faults = 0;
	else if (n != 4)
		failure_set(failure,
			"--bound: `%s` is not PREEMPTIONS/INTERRUPTS/STALE or "
			"PREEMPTIONS/INTERRUPTS/STALE/FAULTS",
			text);
}

static void parse_shard(
	const char *text, struct explore_command_line *line, struct failure *failure)
{
	char rest;

	if (sscanf(text, "%" SCNu32 "/%" SCNu32 "%c", &line->shard, &line->shards, &rest) != 2 ||
		line->shard == 0 || line->shard > line->shards)
		failure_set(failure, "--shard: `%s` is not I/N with 1 <= I <= N", text);
	line->shard--;
}

static void parse_strategy(
	const char *text, struct explore_command_line *line, struct failure *failure)
{
	static const char *const names[] = {"exhaustive", "random", "pct"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			line->strategy = (enum campaign_strategy)i;
			return;
		}
	}
	failure_set(failure, "--strategy: `%s` is none of exhaustive, random, pct", text);
}

static void parse_drop(const char *text, struct explore_command_line *line, struct failure *failure)
{
	if (line->target.dropped_count == DROPPED_MAX) {
		failure_set(failure, "at most %u operations can be left out", DROPPED_MAX);
		return;
	}
	line->dropped[line->target.dropped_count++] = (uint32_t)number(
		text, UINT32_MAX - 1, "--drop", failure);
}

enum option_value {
	OPT_BOUND = 256,
	OPT_TEST,
	OPT_STRATEGY,
	OPT_RUNS,
	OPT_SEED,
	OPT_SHARD,
	OPT_SCENARIOS,
	OPT_LATE,
	OPT_EVENTS,
	OPT_TICKS,
	OPT_MUTANT,
	OPT_DROP,
	OPT_RESULT,
	OPT_ALL,
};

static const struct option long_options[] = {
	{"bound", required_argument, NULL, OPT_BOUND},
	{"test", no_argument, NULL, OPT_TEST},
	{"strategy", required_argument, NULL, OPT_STRATEGY},
	{"runs", required_argument, NULL, OPT_RUNS},
	{"seed", required_argument, NULL, OPT_SEED},
	{"jobs", required_argument, NULL, 'j'},
	{"shard", required_argument, NULL, OPT_SHARD},
	{"scenarios", required_argument, NULL, OPT_SCENARIOS},
	{"late", no_argument, NULL, OPT_LATE},
	{"events", no_argument, NULL, OPT_EVENTS},
	{"ticks", no_argument, NULL, OPT_TICKS},
	{"mutant", required_argument, NULL, OPT_MUTANT},
	{"drop", required_argument, NULL, OPT_DROP},
	{"result", required_argument, NULL, OPT_RESULT},
	{"all", no_argument, NULL, OPT_ALL},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void take_option(
	int option, char *const *argv, struct explore_command_line *line, struct failure *failure)
{
	switch (option) {
	case OPT_BOUND:
		line->has_bound = true;
		parse_bound(optarg, &line->bound, failure);
		break;
	case OPT_TEST:
		line->test_bound = true;
		break;
	case OPT_STRATEGY:
		parse_strategy(optarg, line, failure);
		break;
	case OPT_RUNS:
		line->runs = number(optarg, UINT64_MAX, "--runs", failure);
		break;
	case OPT_SEED:
		line->seed = number(optarg, UINT64_MAX, "--seed", failure);
		break;
	case 'j':
		line->jobs = (uint32_t)number(optarg, JOBS_MAX, "--jobs", failure);
		break;
	case OPT_SHARD:
		parse_shard(optarg, line, failure);
		break;
	case OPT_SCENARIOS:
		line->scenarios = optarg;
		break;
	case OPT_LATE:
		line->target.late_registers = true;
		break;
	case OPT_EVENTS:
		line->target.kernel_events = true;
		break;
	case OPT_TICKS:
		line->target.ticks = true;
		break;
	case OPT_MUTANT:
		line->target.mutant = optarg;
		break;
	case OPT_DROP:
		parse_drop(optarg, line, failure);
		break;
	case OPT_RESULT:
		line->result = optarg;
		break;
	case OPT_ALL:
		line->all = true;
		break;
	case 'q':
		line->quiet = true;
		break;
	case 'h':
		line->help = true;
		break;
	default:
		failure_set(failure, "`%s`: unknown option, or its argument is missing",
			argv[optind - 1]);
	}
}

void explore_command_line_parse(
	int argc, char **argv, struct explore_command_line *line, struct failure *failure)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int option;

	*line = (struct explore_command_line){
		.scenarios = "scenarios", .shards = 1, .jobs = cpus > 0 ? (uint32_t)cpus : 1};
	line->target.dropped = line->dropped;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "j:qh", long_options, NULL)) != -1)
		take_option(option, argv, line, failure);
	if (line->jobs == 0)
		failure_set(failure, "--jobs: at least one");
	line->first = optind;
}

void explore_config_parse(
	const char *config, struct explore_command_line *line, struct failure *failure)
{
	static char copy[EXPLORER_NAME_MAX]; /* --mutant points into it */
	char *rest, *word;

	snprintf(copy, sizeof(copy), "%s", config);
	for (word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
		if (strcmp(word, "late") == 0)
			line->target.late_registers = true;
		else if (strcmp(word, "events") == 0)
			line->target.kernel_events = true;
		else if (strcmp(word, "ticks") == 0)
			line->target.ticks = true;
		else if (strncmp(word, "drop=", 5) == 0)
			parse_drop(word + 5, line, failure);
		else if (strncmp(word, "mutant=", 7) == 0)
			line->target.mutant = word + 7;
		else if (strcmp(word + strspn(word, "0123456789"), "cpu") != 0)
			failure_set(failure, "cfg: `%s` is not known", word);
	}
}
