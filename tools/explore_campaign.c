/* SPDX-License-Identifier: MIT
 *
 * explore_campaign.c: a campaign over processes (explore_campaign.h).
 *
 * Workers are forked from here, so that they have the same addresses, and share a page of counters,
 * the classes of sites and the units that have been claimed. The parent waits and shows progress.
 *
 * An exhaustive campaign is made of passes. In a pass the classes of sites stand still, or the
 * choices of a run would depend on the runs before it; what is learned takes effect after the pass,
 * and then all is explored again. It is done when a pass has learned nothing.
 */
#include "explore_campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbols.h"

#define REPEAT_EVERY 64u /* runs: this one is run again, and must be the same */
#define UNITS_MAX    (1u << 22)
#define SHOW_EVERY   10   /* seconds, of progress */
#define LEARNING     200u /* random runs in front of the first pass */

struct shared {
	atomic_uint_fast64_t runs;
	atomic_uint_fast64_t choices;
	atomic_bool default_run; /* somebody has counted it */
	atomic_bool stop;
	atomic_bool found; /* the first to set it fills in what follows */
	bool unrepeatable;
	char wrong[640];
	struct explorer_trace trace;
	uint8_t claimed[UNITS_MAX];
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- a worker ---- */

static void report_found(const struct campaign *campaign, struct shared *shared,
	const struct explorer_search *search, const char *wrong, bool unrepeatable)
{
	if (atomic_exchange(&shared->found, true))
		return;
	shared->unrepeatable = unrepeatable;
	snprintf(shared->wrong, sizeof(shared->wrong), "%s", wrong);
	explore_target_describe(campaign->target, &shared->trace);
	if (!explorer_trace_take(&shared->trace, search, symbol_name))
		snprintf(shared->wrong, sizeof(shared->wrong),
			"%s (with more deviations than a trace can hold)", wrong);
	atomic_store(&shared->stop, true);
}

/* Run the run of `search` once more, from its deviations; false: it was another. */
static bool repeats(const struct campaign *campaign, const struct explorer_search *search)
{
	uint64_t choices = explorer_choices_hash(search),
		 hash = explore_target_hash(campaign->target);
	struct explorer_search *again;
	struct explorer_trace trace;
	bool same = true;

	if (!explorer_trace_take(&trace, search, NULL))
		return true; /* too long for a trace: a random run */
	again = explorer_search_replay(trace.deviation, trace.count);
	if (again != NULL && explorer_search_next(again))
		same = explore_target_run(campaign->target, again, NULL) == NULL &&
		       explorer_choices_hash(again) == choices &&
		       explore_target_hash(campaign->target) == hash;
	explorer_search_free(again);
	return same;
}

static bool count_run(const struct campaign *campaign, struct shared *shared, uint64_t number,
	const struct explorer_search *search)
{
	uint64_t before;
	size_t choices;

	/* the default run is every worker's first */
	if (campaign->strategy == CAMPAIGN_EXHAUSTIVE && number == 0 &&
		(campaign->shard != 0 || atomic_exchange(&shared->default_run, true)))
		return true;
	explorer_choices(search, &choices);
	before = atomic_fetch_add(&shared->runs, 1);
	atomic_fetch_add(&shared->choices, choices);
	return campaign->runs_max == 0 || before + 1 < campaign->runs_max;
}

static void work(
	const struct campaign *campaign, struct shared *shared, struct explorer_search *search)
{
	for (uint64_t number = 0;
		!interrupted && !atomic_load(&shared->stop) && explorer_search_next(search);
		number++) {
		const char *wrong = explore_target_run(campaign->target, search, NULL);

		if (wrong != NULL) {
			report_found(campaign, shared, search, wrong, false);
			(void)count_run(campaign, shared, number, search);
			return;
		}
		if (!count_run(campaign, shared, number, search))
			atomic_store(&shared->stop, true);
		if (explorer_search_diverged(search)) {
			report_found(campaign, shared, search,
				"a run met other choices than the one that it repeats", true);
			return;
		}
		if (number % REPEAT_EVERY == 0 && !repeats(campaign, search))
			report_found(campaign, shared, search,
				"the same run, run twice, was not the same", true);
	}
}

static struct explorer_search *search_of(
	const struct campaign *campaign, struct shared *shared, uint32_t worker)
{
	uint64_t seed = campaign->seed + worker * UINT64_C(0x9e3779b97f4a7c15);
	struct explorer_search *search;

	switch (campaign->strategy) {
	case CAMPAIGN_RANDOM:
		return explorer_search_random(seed, UINT64_MAX);
	case CAMPAIGN_PCT:
		return explorer_search_pct(seed, UINT64_MAX, 3);
	default:
		search = explorer_search_exhaustive(&campaign->bound);
		if (search != NULL) {
			explorer_search_shard(search, campaign->shard, campaign->shards);
			explorer_search_share(search, shared->claimed, UNITS_MAX);
		}
		return search;
	}
}

static int work_here(const struct campaign *campaign, struct shared *shared, uint32_t worker)
{
	struct explorer_search *search = search_of(campaign, shared, worker);

	if (search == NULL)
		return 1;
	work(campaign, shared, search);
	explorer_search_free(search);
	return 0;
}

/* ---- the parent ---- */

static void show_progress(
	const struct campaign *campaign, const struct shared *shared, double began)
{
	uint64_t runs = atomic_load(&shared->runs);
	double seconds = now_seconds() - began;
	struct explorer_trace name;

	explore_target_describe(campaign->target, &name);
	fprintf(stderr,
		"%s: %" PRIu64 " runs, %.0f a second, budget %" PRIu32 "/%" PRIu32 "/%" PRIu32
		", %" PRIu32 " shared points\n",
		name.scenario, runs, seconds > 0 ? (double)runs / seconds : 0,
		campaign->bound.preemptions, campaign->bound.interrupts, campaign->bound.stale,
		explorer_sites_shared());
}

/* Waits for the workers; false: one died. */
static bool wait_for(
	const struct campaign *campaign, struct shared *shared, const pid_t *pid, double began)
{
	double shown = now_seconds();
	bool right = true;

	for (uint32_t k = 0; k < campaign->jobs;) {
		int status;
		pid_t done = waitpid(pid[k], &status, WNOHANG);

		if (done == pid[k]) {
			right &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
			if (!right)
				atomic_store(&shared->stop, true);
			k++;
			continue;
		}
		if (interrupted)
			atomic_store(&shared->stop, true);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		if (campaign->progress && now_seconds() - shown >= SHOW_EVERY) {
			show_progress(campaign, shared, began);
			shown = now_seconds();
		}
	}
	return right;
}

static bool run_workers(const struct campaign *campaign, struct shared *shared, double began)
{
	pid_t *pid;
	bool right;

	if (campaign->jobs == 1 && !campaign->progress)
		return work_here(campaign, shared, 0) == 0; /* easier to debug and to measure */
	pid = calloc(campaign->jobs, sizeof(*pid));
	right = pid != NULL;
	fflush(NULL);
	for (uint32_t k = 0; right && k < campaign->jobs; k++) {
		pid[k] = fork();
		if (pid[k] == 0)
			_exit(work_here(campaign, shared, k));
		right = pid[k] > 0;
	}
	right = right && wait_for(campaign, shared, pid, began);
	free(pid);
	return right;
}

/* Random runs find most of the shared points, so that few passes are wasted. */
bool campaign_learn(struct explore_target *target)
{
	struct explorer_search *search = explorer_search_random(1, LEARNING);

	if (search == NULL || explorer_sites_init() != 0) {
		explorer_search_free(search);
		return false;
	}
	explorer_sites_learn(true);
	while (!interrupted && explorer_search_next(search)) {
		if (explore_target_run(target, search, NULL) != NULL)
			break; /* the passes will find it, with fewer deviations */
	}
	explorer_search_free(search);
	explorer_sites_learn(false);
	return true;
}

static void take_result(const struct shared *shared, bool right, struct campaign_result *result)
{
	result->runs = atomic_load(&shared->runs);
	result->choices = atomic_load(&shared->choices);
	if (!right) {
		result->end = CAMPAIGN_BROKEN;
		snprintf(result->wrong, sizeof(result->wrong), "a worker process died");
	} else if (atomic_load(&shared->found)) {
		result->end = shared->unrepeatable ? CAMPAIGN_BROKEN : CAMPAIGN_FOUND;
		memcpy(result->wrong, shared->wrong, sizeof(result->wrong));
		result->trace = shared->trace;
	} else {
		result->end = interrupted || atomic_load(&shared->stop) ? CAMPAIGN_STOPPED
									: CAMPAIGN_DONE;
	}
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void campaign_run(const struct campaign *campaign, struct campaign_result *result)
{
	double began = now_seconds();
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool right;

	memset(result, 0, sizeof(*result));
	catch_signals();
	if (shared == MAP_FAILED || !campaign_learn(campaign->target)) {
		result->end = CAMPAIGN_BROKEN;
		snprintf(result->wrong, sizeof(result->wrong), "out of memory");
		return;
	}
	do {
		if (madvise(shared, sizeof(*shared), MADV_REMOVE) != 0)
			memset(shared, 0, sizeof(*shared));
		result->passes++;
		right = run_workers(campaign, shared, began);
		take_result(shared, right, result);
	} while (result->end == CAMPAIGN_DONE && explorer_sites_promote() != 0);
	result->sites = explorer_sites_shared();
	result->sites_hash = explorer_sites_hash();
	result->seconds = now_seconds() - began;
	munmap(shared, sizeof(*shared));
}
