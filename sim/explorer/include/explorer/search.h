/* SPDX-License-Identifier: MIT
 *
 * search.h: which answers a run is given, and what comes next.
 *
 * A run asks for everything that is not determined by explorer_choose(); answer 0 is the default
 * (stay on this CPU, no interrupt, the newest value, no fault). The *step* of a choice is its
 * number in the run, from 1; its *deviation*, if the answer is not 0, is (step, kind, answer). A
 * run is named by its deviations. Each costs one from the budget of its kind:
 *
 *   - preemptions: C another CPU though this one could go on, S another task
 *   - interrupts: I a pending one is taken here, E kernel code executes, T a tick comes
 *   - stale: V a load sees an older store, H a register write takes effect later
 *   - faults: F an allocation fails
 *   - none: N which CPU goes on when the one that ran cannot
 *
 * Strategies: exhaustive, depth first, in the order that tries deviations late in a run first,
 * within a budget; random (uniform over kinds at a rate); PCT (Burckhardt et al. 2010: random
 * priorities of CPUs, d-1 points at which the running one drops to the lowest); replay of
 * deviations; bytes, from a fuzzer. One thread; nothing is global.
 */
#ifndef EXPLORER_SEARCH_H
#define EXPLORER_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/choice.h>

struct explorer_budget {
	uint32_t preemptions;
	uint32_t interrupts;
	uint32_t stale;
	uint32_t faults;
};

/* One choice of a run, as it was made. */
struct explorer_choice {
	const void *site; /* in the code, or NULL */
	uint32_t answer;
	uint16_t n;
	uint8_t kind; /* enum machine_choice_kind */
	uint8_t cpu;
};

struct explorer_deviation {
	uint32_t step;
	uint8_t kind;
	uint32_t answer;
};

struct explorer_search;

/* NULL: no memory. */
struct explorer_search *explorer_search_exhaustive(const struct explorer_budget *budget);
/* `runs` runs, number k of which depends on (seed, k) alone. */
struct explorer_search *explorer_search_random(uint64_t seed, uint64_t runs);
struct explorer_search *explorer_search_pct(uint64_t seed, uint64_t runs, uint32_t depth);
/* One run. `deviations` is copied. */
struct explorer_search *explorer_search_replay(
	const struct explorer_deviation *deviations, size_t count);
/* One run: each choice takes a byte, modulo n; 0 when they have run out. `bytes` must outlive it.
 */
struct explorer_search *explorer_search_bytes(const uint8_t *bytes, size_t size);
void explorer_search_free(struct explorer_search *search);

/* Begin the next run; false: there is none left (exhaustive: every run within the budget has been).
 */
bool explorer_search_next(struct explorer_search *search);
/* Leave out the subtrees that are not this machine's: a unit is the set of runs with the same first
 * deviation; units are numbered as they are met, and unit k belongs to shard k mod `shards`. The
 * default run belongs to no unit: every worker makes it, and shard 0 counts it. */
void explorer_search_shard(struct explorer_search *search, uint32_t shard, uint32_t shards);
/* Share units with other processes: `claimed`, zeroed and in memory that they share, has a byte per
 * unit; who sets it first explores it. Units past `size` are everybody's: make it large. */
void explorer_search_share(struct explorer_search *search, uint8_t *claimed, size_t size);

/* The run asks. n >= 1; answers 0 .. n-1. `cpu`: who asks. */
uint32_t explorer_choose(struct explorer_search *search, enum machine_choice_kind kind, uint32_t n,
	uint32_t cpu, const void *site);

/* The choices of the run so far, [count]; valid until the next one begins. Only those with n >= 2
 * are kept. */
const struct explorer_choice *explorer_choices(const struct explorer_search *search, size_t *count);
/* A hash of (kind, n, answer, cpu) of all choices of the run so far: two runs of one trace must
 * agree. */
uint64_t explorer_choices_hash(const struct explorer_search *search);
/* Exhaustive: did some run meet other choices than when its prefix was first run? (It must not.) */
bool explorer_search_diverged(const struct explorer_search *search);

/* Which budget a kind draws from: index into the four of struct explorer_budget in order; 4: free.
 */
uint32_t explorer_kind_budget(enum machine_choice_kind kind);

#endif
