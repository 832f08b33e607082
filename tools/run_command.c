/* SPDX-License-Identifier: MIT
 *
 * run_command.c: `tally run`: reads a scenario, runs it, reports, and writes perf.data on demand.
 *
 * Everything that the user can get wrong is found before the machine is made: the command line, the
 * file, and events that cannot share a perf.data. Nothing is written then.
 */
#include "run_command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oracle/oracle.h>
#include <port_sim/run.h>

#include "failure.h"
#include "recording.h"
#include "report.h"
#include "scenario.h"

enum exit_status {
	EXIT_RIGHT = 0,
	EXIT_FAULT = 1,
	EXIT_BAD_INPUT = 2,
};

static const char usage[] =
	"usage: tally run SCENARIO [--seed N] [-o FILE] [--quiet]\n"
	"\n"
	"Runs the experiment that SCENARIO (YAML) describes on the simulated machine, and compares "
	"every\n"
	"count, time and sample with what the oracle says it must be; tolerance 0.\n"
	"\n"
	"  --seed N    reset state of the machine's PMUs, in place of the scenario's `seed`\n"
	"  -o FILE     write FILE for `perf report -i FILE` and `perf script -i FILE`, and the "
	"programs'\n"
	"              ELF files in the folder `programs` beside it\n"
	"  --quiet     print nothing but what differs\n"
	"\n"
	"exit status: 0 all equal, 1 a difference or a failed run, 2 wrong usage or scenario\n";

struct run_options {
	const char *scenario;
	const char *output;
	uint64_t seed;
	bool has_seed;
	bool quiet;
	bool help;
};

static void parse_seed(const char *text, struct run_options *options, struct failure *failure)
{
	char *end;

	errno = 0;
	options->seed = strtoull(text, &end, 0);
	options->has_seed = true;
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
		failure_set(failure, "--seed: `%s` is no number of at most 64 bits", text);
}

static void parse_options(
	int argc, char **argv, struct run_options *options, struct failure *failure)
{
	static const struct option long_options[] = {
		{"seed", required_argument, NULL, 's'},
		{"output", required_argument, NULL, 'o'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "o:qh", long_options, NULL)) != -1) {
		switch (option) {
		case 's':
			parse_seed(optarg, options, failure);
			break;
		case 'o':
			options->output = optarg;
			break;
		case 'q':
			options->quiet = true;
			break;
		case 'h':
			options->help = true;
			break;
		default:
			failure_set(failure, "`%s`: unknown option, or its argument is missing",
				argv[optind - 1]);
		}
	}
	if (optind + 1 == argc)
		options->scenario = argv[optind];
	else if (!options->help)
		failure_set(failure, "expected one scenario file");
}

/* What a run consists of, for setting up and tearing down. */
struct experiment {
	struct scenario scenario;
	struct recording *recording;
	struct port_sim *port;
	struct oracle *oracle;
	struct report report;
};

static uint64_t event_id(void *context, uint32_t event)
{
	const struct experiment *experiment = context;

	return port_sim_event_id(experiment->port, event);
}

static void experiment_prepare(
	struct experiment *experiment, const struct run_options *options, struct failure *failure)
{
	struct oracle_options oracle_options = {.context = experiment, .event_id = event_id};
	const struct port_sim_options port_options = {.paranoid = &experiment->scenario.paranoid};
	struct machine_observer observer;
	struct machine *machine;

	if (!scenario_load(&experiment->scenario, options->scenario, failure))
		return;
	if (options->has_seed)
		experiment->scenario.machine.seed = options->seed;
	experiment->recording = recording_create(
		&experiment->scenario, options->output != NULL, failure);
	if (experiment->recording == NULL)
		return;
	experiment->port = port_sim_create(&experiment->scenario.machine, &port_options, NULL);
	if (experiment->port == NULL) {
		failure_set(failure, "out of memory");
		return;
	}
	machine = port_sim_machine(experiment->port);
	experiment->oracle = oracle_create(machine, &oracle_options);
	experiment->report = (struct report){
		.scenario = &experiment->scenario,
		.recording = experiment->recording,
		.oracle = experiment->oracle,
		.port = experiment->port,
	};
	recording_observer(experiment->recording, &observer);
	if (experiment->oracle == NULL || !machine_observe(machine, &observer))
		failure_set(failure, "out of memory");
	report_observer(&experiment->report, &observer);
	if (!failure->failed && !machine_observe(machine, &observer))
		failure_set(failure, "out of memory");
}

static void experiment_end(struct experiment *experiment)
{
	oracle_destroy(experiment->oracle);
	if (experiment->port != NULL)
		port_sim_destroy(experiment->port);
	recording_destroy(experiment->recording);
	scenario_free(&experiment->scenario);
}

static enum exit_status experiment_run(struct experiment *experiment,
	const struct run_options *options, int argc, char **argv, struct failure *failure)
{
	bool run_failed = port_sim_run(experiment->port) != 0;
	bool right;

	if (!options->quiet)
		report_print(&experiment->report);
	right = report_verdict(&experiment->report, run_failed, options->quiet);
	if (options->output != NULL)
		recording_write(experiment->recording, experiment->port, options->output,
			(const char *const *)argv, (size_t)argc, failure);
	return right ? EXIT_RIGHT : EXIT_FAULT;
}

int run_command(int argc, char **argv)
{
	struct run_options options = {0};
	struct failure failure = {0};
	struct experiment experiment = {0};
	enum exit_status status = EXIT_BAD_INPUT;

	parse_options(argc - 1, argv + 1, &options, &failure);
	if (!failure.failed && options.help) {
		fputs(usage, stdout);
		return EXIT_RIGHT;
	}
	if (failure.failed) {
		fprintf(stderr, "tally run: %s\n\n%s", failure.text, usage);
		return EXIT_BAD_INPUT;
	}
	experiment_prepare(&experiment, &options, &failure);
	if (!failure.failed)
		status = experiment_run(&experiment, &options, argc, argv, &failure);
	experiment_end(&experiment);
	if (failure.failed) {
		fprintf(stderr, "tally run: %s\n", failure.text);
		return status == EXIT_BAD_INPUT ? EXIT_BAD_INPUT : EXIT_FAULT;
	}
	return (int)status;
}
