/* SPDX-License-Identifier: MIT
 *
 * search.c: the answers of a run, by strategy, and which run comes next (explorer/search.h).
 *
 * Exhaustive: the choices of the last run are a stack. The next run repeats it up to the deepest
 * choice that has an untried answer within the budget, gives that answer, and defaults from there.
 * A run is a function of its answers, so the repeated part must meet the same choices again; that
 * it does is checked, by kind, n and CPU.
 */
#include <explorer/search.h>

#include <stdlib.h>
#include <string.h>

#define BUDGETS 4u

enum strategy { EXHAUSTIVE, RANDOM, PCT, REPLAY, BYTES };

struct explorer_search {
	enum strategy strategy;
	struct explorer_choice *choice; /* of the run so far */
	size_t count, room;
	uint64_t hash;
	uint64_t run; /* number of the present one, from 1 */
	uint64_t runs;

	/* exhaustive */
	uint32_t budget[BUDGETS];
	uint32_t spent[BUDGETS]; /* in the run so far */
	size_t repeated;         /* so many choices are given */
	bool diverged;
	uint32_t shard, shards;
	uint8_t *claimed; /* by some worker; NULL: there is one */
	size_t claimed_size;
	uint64_t units; /* first deviations met so far */

	/* random, PCT */
	uint64_t seed, state;
	uint32_t depth;
	uint32_t priority[64];
	uint64_t drop[16]; /* steps at which the running CPU drops */
	uint64_t longest;  /* choices in the longest run so far */

	/* replay, bytes */
	struct explorer_deviation *deviation;
	size_t deviation_count, next_deviation;
	const uint8_t *bytes;
	size_t size, used;
};

uint32_t explorer_kind_budget(enum machine_choice_kind kind)
{
	switch (kind) {
	case MACHINE_CHOICE_CPU:
	case MACHINE_CHOICE_TASK:
		return 0;
	case MACHINE_CHOICE_INTERRUPT:
	case MACHINE_CHOICE_EVENTS:
	case MACHINE_CHOICE_TICK:
		return 1;
	case MACHINE_CHOICE_VALUE:
	case MACHINE_CHOICE_HARDWARE:
		return 2;
	case MACHINE_CHOICE_FAULT:
		return 3;
	default:
		return BUDGETS;
	}
}

/* ---- life ---- */

static struct explorer_search *create(enum strategy strategy, uint64_t runs)
{
	struct explorer_search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->strategy = strategy;
	s->runs = runs;
	s->shards = 1;
	s->room = 1024;
	s->choice = malloc(s->room * sizeof(*s->choice));
	if (!s->choice) {
		free(s);
		return NULL;
	}
	return s;
}

struct explorer_search *explorer_search_exhaustive(const struct explorer_budget *budget)
{
	struct explorer_search *s = create(EXHAUSTIVE, UINT64_MAX);

	if (s) {
		s->budget[0] = budget->preemptions;
		s->budget[1] = budget->interrupts;
		s->budget[2] = budget->stale;
		s->budget[3] = budget->faults;
	}
	return s;
}

struct explorer_search *explorer_search_random(uint64_t seed, uint64_t runs)
{
	struct explorer_search *s = create(RANDOM, runs);

	if (s)
		s->seed = seed;
	return s;
}

struct explorer_search *explorer_search_pct(uint64_t seed, uint64_t runs, uint32_t depth)
{
	struct explorer_search *s = create(PCT, runs);

	if (s) {
		s->seed = seed;
		s->depth = depth < 16 ? depth : 16;
		s->longest = 256;
	}
	return s;
}

struct explorer_search *explorer_search_replay(
	const struct explorer_deviation *deviations, size_t count)
{
	struct explorer_search *s = create(REPLAY, 1);

	if (!s)
		return NULL;
	s->deviation = malloc((count + 1) * sizeof(*deviations));
	if (!s->deviation) {
		explorer_search_free(s);
		return NULL;
	}
	if (count != 0)
		memcpy(s->deviation, deviations, count * sizeof(*deviations));
	s->deviation_count = count;
	return s;
}

struct explorer_search *explorer_search_bytes(const uint8_t *bytes, size_t size)
{
	struct explorer_search *s = create(BYTES, 1);

	if (s) {
		s->bytes = bytes;
		s->size = size;
	}
	return s;
}

void explorer_search_free(struct explorer_search *s)
{
	if (!s)
		return;
	free(s->choice);
	free(s->deviation);
	free(s);
}

void explorer_search_shard(struct explorer_search *s, uint32_t shard, uint32_t shards)
{
	s->shard = shard;
	s->shards = shards;
}

void explorer_search_share(struct explorer_search *s, uint8_t *claimed, size_t size)
{
	s->claimed = claimed;
	s->claimed_size = size;
}

/* ---- the next run ---- */

static bool costs(const struct explorer_choice *choice)
{
	return choice->answer != 0 && explorer_kind_budget(choice->kind) < BUDGETS;
}

/* Is there a deviation that costs in front of choice `at`? */
static bool deviates_before(const struct explorer_search *s, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (s->choice[i].answer != 0)
			return true;
	}
	return false;
}

/* A new unit: is it for us? */
static bool take_unit(struct explorer_search *s)
{
	uint64_t unit = s->units++;

	if (unit % s->shards != s->shard)
		return false;
	if (!s->claimed || unit >= s->claimed_size)
		return true;
	return __atomic_exchange_n(&s->claimed[unit], 1, __ATOMIC_RELAXED) == 0;
}

/* May choice `at`, the last of the stack, be given its next answer? `spent` is what those before it
 * cost. */
static bool may_advance(struct explorer_search *s, size_t at)
{
	struct explorer_choice *choice = &s->choice[at];
	uint32_t budget = explorer_kind_budget(choice->kind);

	if (budget < BUDGETS && s->spent[budget] >= s->budget[budget])
		return false;
	while (choice->answer + 1u < choice->n) {
		choice->answer++;
		if ((s->shards == 1 && !s->claimed) || deviates_before(s, at) || take_unit(s))
			return true;
	}
	return false;
}

/* Shorten the stack to the deepest choice that has another answer, and give it. false: there is
 * none. */
static bool backtrack(struct explorer_search *s)
{
	while (s->count > 0) {
		size_t at = s->count - 1;

		if (costs(&s->choice[at]))
			s->spent[explorer_kind_budget(s->choice[at].kind)]--;
		if (may_advance(s, at))
			return true;
		s->count--;
	}
	return false;
}

/* PCT: random priorities, and d-1 places to drop at, over the longest run seen. */
static void draw_priorities(struct explorer_search *s)
{
	for (uint32_t i = 0; i < 64; i++)
		s->priority[i] = 16 + (uint32_t)(machine_random_next(&s->state) >> 40);
	for (uint32_t i = 0; i + 1 < s->depth; i++)
		s->drop[i] = machine_random_next(&s->state) % (s->longest + 1);
}

bool explorer_search_next(struct explorer_search *s)
{
	if (s->run >= s->runs)
		return false;
	if (s->count > s->longest)
		s->longest = s->count;
	if (s->strategy == EXHAUSTIVE && s->run != 0 && !backtrack(s)) {
		s->runs = s->run;
		return false;
	}
	s->run++;
	s->state = s->seed ^ s->run * UINT64_C(0xd1342543de82ef95);
	s->repeated = s->strategy == EXHAUSTIVE ? s->count : 0;
	s->count = 0;
	s->hash = UINT64_C(0xcbf29ce484222325);
	s->next_deviation = 0;
	s->used = 0;
	memset(s->spent, 0, sizeof(s->spent));
	if (s->strategy == PCT)
		draw_priorities(s);
	return true;
}

/* ---- a choice ---- */

static uint32_t answer_randomly(
	struct explorer_search *s, enum machine_choice_kind kind, uint32_t n)
{
	/* in 1/256 of asking: a few of each in a run of some hundred choices */
	static const uint8_t rate[MACHINE_CHOICE_KINDS] = {[MACHINE_CHOICE_CPU] = 16,
		[MACHINE_CHOICE_NEXT] = 128,
		[MACHINE_CHOICE_TASK] = 32,
		[MACHINE_CHOICE_INTERRUPT] = 48,
		[MACHINE_CHOICE_VALUE] = 32,
		[MACHINE_CHOICE_EVENTS] = 8,
		[MACHINE_CHOICE_HARDWARE] = 64,
		[MACHINE_CHOICE_TICK] = 2};
	uint64_t value = machine_random_next(&s->state);

	if ((value & 0xff) >= rate[kind])
		return 0;
	return 1 + (uint32_t)((value >> 8) % (n - 1));
}

/* The CPUs that can run are not named in a choice: answer k is the k-th after `cpu`. So priorities
 * go by answer. */
static uint32_t answer_by_priority(
	struct explorer_search *s, enum machine_choice_kind kind, uint32_t n, uint32_t cpu)
{
	uint32_t best = 0;

	if (kind != MACHINE_CHOICE_CPU && kind != MACHINE_CHOICE_NEXT)
		return answer_randomly(s, kind, n);
	for (uint32_t i = 0; i + 1 < s->depth; i++) {
		if (s->drop[i] == s->count + 1)
			s->priority[cpu % 64] = i;
	}
	for (uint32_t k = 1; k < n; k++) {
		if (s->priority[(cpu + k) % 64] > s->priority[(cpu + best) % 64])
			best = k;
	}
	return best;
}

static uint32_t answer_replaying(struct explorer_search *s, enum machine_choice_kind kind)
{
	const struct explorer_deviation *next = &s->deviation[s->next_deviation];

	if (s->next_deviation == s->deviation_count || next->step != s->count + 1 ||
		next->kind != kind)
		return 0;
	s->next_deviation++;
	return next->answer;
}

static uint32_t answer(
	struct explorer_search *s, enum machine_choice_kind kind, uint32_t n, uint32_t cpu)
{
	switch (s->strategy) {
	case RANDOM:
		return answer_randomly(s, kind, n);
	case PCT:
		return answer_by_priority(s, kind, n, cpu);
	case REPLAY:
		return answer_replaying(s, kind);
	case BYTES:
		return s->used < s->size ? s->bytes[s->used++] : 0;
	default:
		return 0;
	}
}

/* The choice that this one must be again: false when it is another. */
static bool repeats(
	const struct explorer_choice *was, enum machine_choice_kind kind, uint32_t n, uint32_t cpu)
{
	return was->kind == kind && was->n == n && was->cpu == cpu;
}

static bool make_room(struct explorer_search *s)
{
	struct explorer_choice *grown;

	if (s->count < s->room)
		return true;
	grown = realloc(s->choice, 2 * s->room * sizeof(*grown));
	if (!grown)
		return false;
	s->choice = grown;
	s->room *= 2;
	return true;
}

uint32_t explorer_choose(struct explorer_search *s, enum machine_choice_kind kind, uint32_t n,
	uint32_t cpu, const void *site)
{
	struct explorer_choice *choice;
	uint32_t budget = explorer_kind_budget(kind), chosen;

	if (n < 2 || !make_room(s))
		return 0;
	if (n > UINT16_MAX)
		n = UINT16_MAX;
	choice = &s->choice[s->count];
	if (s->count < s->repeated && repeats(choice, kind, n, cpu)) {
		chosen = choice->answer;
	} else {
		if (s->count < s->repeated) {
			s->diverged = true;
			s->repeated = s->count;
		}
		chosen = answer(s, kind, n, cpu);
		if (chosen >= n)
			chosen = s->strategy == BYTES ? chosen % n : n - 1;
	}
	*choice = (struct explorer_choice){.site = site,
		.answer = chosen,
		.n = (uint16_t)n,
		.kind = (uint8_t)kind,
		.cpu = (uint8_t)cpu};
	s->count++;
	if (chosen != 0 && budget < BUDGETS)
		s->spent[budget]++;
	s->hash = (s->hash ^ ((uint64_t)kind << 48 | (uint64_t)n << 32 | (uint64_t)cpu << 24 |
				     chosen)) *
		  UINT64_C(0x100000001b3);
	return chosen;
}

/* ---- looking ---- */

const struct explorer_choice *explorer_choices(const struct explorer_search *s, size_t *count)
{
	*count = s->count;
	return s->choice;
}

uint64_t explorer_choices_hash(const struct explorer_search *s)
{
	return s->hash;
}

bool explorer_search_diverged(const struct explorer_search *s)
{
	return s->diverged;
}
