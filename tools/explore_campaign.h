/* SPDX-License-Identifier: MIT
 *
 * explore_campaign.h: many runs of one target, on several processes, until the budget is exhausted,
 * something is found, or it is told to stop.
 */
#ifndef TALLY_TOOLS_EXPLORE_CAMPAIGN_H
#define TALLY_TOOLS_EXPLORE_CAMPAIGN_H

#include "explore_target.h"

enum campaign_strategy {
	CAMPAIGN_EXHAUSTIVE,
	CAMPAIGN_RANDOM,
	CAMPAIGN_PCT,
};

struct campaign {
	struct explore_target *target;
	enum campaign_strategy strategy;
	struct explorer_budget bound; /* exhaustive */
	uint64_t seed;                /* random, PCT */
	uint64_t runs_max;            /* 0: no limit, for exhaustive ones */
	uint32_t jobs;
	uint32_t shard, shards; /* exhaustive: this machine's part */
	bool progress;          /* on stderr, now and then */
};

enum campaign_end {
	CAMPAIGN_DONE,    /* every run there is has been */
	CAMPAIGN_FOUND,   /* a run failed: `trace`, `wrong` */
	CAMPAIGN_STOPPED, /* by a signal, or runs_max */
	CAMPAIGN_BROKEN,  /* a worker died, or a run was not repeatable: `wrong` */
};

struct campaign_result {
	enum campaign_end end;
	uint64_t runs;
	uint64_t choices; /* in all runs */
	double seconds;
	uint32_t sites;  /* shared points in the code */
	uint32_t passes; /* until no new site was learned */
	uint64_t sites_hash;
	char wrong[640];
	struct explorer_trace trace;
};

/* Learn the classes of sites of a target from nothing, always in the same way: a trace counts its
 * steps under these classes. false: no memory. */
bool campaign_learn(struct explore_target *target);

/* Runs the campaign; SIGINT and SIGTERM end it cleanly. */
void campaign_run(const struct campaign *campaign, struct campaign_result *result);

#endif
