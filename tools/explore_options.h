/* SPDX-License-Identifier: MIT
 *
 * explore_options.h: the command lines of `tally explore`, `tally replay` and `tally shrink`.
 */
#ifndef TALLY_TOOLS_EXPLORE_OPTIONS_H
#define TALLY_TOOLS_EXPLORE_OPTIONS_H

#include "explore_campaign.h"

#define DROPPED_MAX 32u

struct explore_command_line {
	const char *scenarios; /* the folder that names are relative to */
	struct explore_options target;
	uint32_t dropped[DROPPED_MAX];
	enum campaign_strategy strategy;
	bool has_bound, test_bound;
	struct explorer_budget bound;
	uint64_t runs;
	uint64_t seed;
	uint32_t jobs;
	uint32_t shard, shards;
	const char *result; /* a file to append the outcome to, as one line */
	bool quiet, all, help;
	int first; /* of the arguments that are no options */
};

/* Anything wrong is in *failure. */
void explore_command_line_parse(
	int argc, char **argv, struct explore_command_line *line, struct failure *failure);

/* The part cfg=... of a trace, into target options. */
void explore_config_parse(
	const char *config, struct explore_command_line *line, struct failure *failure);

#endif
