/* SPDX-License-Identifier: MIT
 *
 * litmus.c: the classical questions to a memory model, as plans.
 *
 * Names are those of the literature (Maranget, Sarkar, Sewell: A Tutorial Introduction to the ARM
 * and POWER Relaxed Memory Models, 2012). A plan's check objects to the outcomes that C11 forbids;
 * those that must be seen, and those that an architecture has but the model does not, are in
 * tests/explorer/test_litmus.c. Plans that leave something out are wrong on purpose.
 */
#include <explorer/plans.h>

#include <stdio.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan" /* fences: the sanitizer's runtime has none, ours has */
#endif

#define RLX __ATOMIC_RELAXED
#define ACQ __ATOMIC_ACQUIRE
#define REL __ATOMIC_RELEASE
#define SEQ __ATOMIC_SEQ_CST

#define LOAD(at, order)         __atomic_load_n(&w->at, (order))
#define STORE(at, value, order) __atomic_store_n(&w->at, (value), (order))
#define FENCE(order)            __atomic_thread_fence(order)

/* A CPU's function: its statements on the world `w`. */
#define CPU(name, ...)                                                                             \
	static void name(void *of)                                                                 \
	{                                                                                          \
		struct explorer_litmus_world *w = of;                                              \
                                                                                                   \
		__VA_ARGS__                                                                        \
	}

/* SB, store buffering. */
CPU(sb_0, STORE(x, 1, RLX); w->r[0] = LOAD(y, RLX);)
CPU(sb_1, STORE(y, 1, RLX); w->r[1] = LOAD(x, RLX);)
CPU(sb_fence_0, STORE(x, 1, RLX); FENCE(SEQ); w->r[0] = LOAD(y, RLX);)
CPU(sb_fence_1, STORE(y, 1, RLX); FENCE(SEQ); w->r[1] = LOAD(x, RLX);)
CPU(sb_seq_0, STORE(x, 1, SEQ); w->r[0] = LOAD(y, SEQ);)
CPU(sb_seq_1, STORE(y, 1, SEQ); w->r[1] = LOAD(x, SEQ);)
CPU(sb_update_0, __atomic_add_fetch(&w->x, 1, SEQ); w->r[0] = LOAD(y, RLX);)
CPU(sb_update_1, __atomic_add_fetch(&w->y, 1, SEQ); w->r[1] = LOAD(x, RLX);)
/* a seq_cst fence on one side, seq_cst accesses on the other */
CPU(sb_mixed_1, STORE(y, 1, SEQ); w->r[1] = LOAD(x, SEQ);)

/* MP, message passing. */
CPU(mp_write, STORE(x, 1, RLX); STORE(y, 1, RLX);)
CPU(mp_write_release, STORE(x, 1, RLX); STORE(y, 1, REL);)
CPU(mp_write_fence, STORE(x, 1, RLX); FENCE(REL); STORE(y, 1, RLX);)
CPU(mp_read, w->r[0] = LOAD(y, RLX); w->r[1] = LOAD(x, RLX);)
CPU(mp_read_acquire, w->r[0] = LOAD(y, ACQ); w->r[1] = LOAD(x, RLX);)
CPU(mp_read_fence, w->r[0] = LOAD(y, RLX); FENCE(ACQ); w->r[1] = LOAD(x, RLX);)

/* MP of plain data. */
CPU(data_write_release, w->data = 1; STORE(y, 1, REL);)
CPU(data_write_relaxed, w->data = 1; STORE(y, 1, RLX);)
CPU(data_read_acquire, w->r[0] = LOAD(y, ACQ); if (w->r[0] != 0) w->r[1] = w->data;)
CPU(data_read_relaxed, w->r[0] = LOAD(y, RLX); if (w->r[0] != 0) w->r[1] = w->data;)

/* Coherence of one location. */
CPU(co_write_1, STORE(x, 1, RLX);)
CPU(co_write_2, STORE(x, 2, RLX);)
CPU(co_write_both, STORE(x, 1, RLX); STORE(x, 2, RLX);)
CPU(co_read_both, w->r[0] = LOAD(x, RLX); w->r[1] = LOAD(x, RLX);)
CPU(co_read_write, w->r[0] = LOAD(x, RLX); STORE(x, 2, RLX);)
CPU(co_write_read, STORE(x, 1, RLX); w->r[0] = LOAD(x, RLX);)

/* IRIW, independent reads of independent writes. */
CPU(iriw_x, STORE(x, 1, REL);)
CPU(iriw_y, STORE(y, 1, REL);)
CPU(iriw_xy, w->r[0] = LOAD(x, ACQ); w->r[1] = LOAD(y, ACQ);)
CPU(iriw_yx, w->r[2] = LOAD(y, ACQ); w->r[3] = LOAD(x, ACQ);)
CPU(iriw_seq_x, STORE(x, 1, SEQ);)
CPU(iriw_seq_y, STORE(y, 1, SEQ);)
CPU(iriw_seq_xy, w->r[0] = LOAD(x, SEQ); w->r[1] = LOAD(y, SEQ);)
CPU(iriw_seq_yx, w->r[2] = LOAD(y, SEQ); w->r[3] = LOAD(x, SEQ);)

/* LB, load buffering; 2+2W; S; R. */
CPU(lb_0, w->r[0] = LOAD(x, RLX); STORE(y, 1, RLX);)
CPU(lb_1, w->r[1] = LOAD(y, RLX); STORE(x, 1, RLX);)
CPU(ww_0, STORE(x, 1, RLX); STORE(y, 2, RLX);)
CPU(ww_1, STORE(y, 1, RLX); STORE(x, 2, RLX);)
CPU(s_0, STORE(x, 2, RLX); STORE(y, 1, REL);)
CPU(s_1, w->r[0] = LOAD(y, ACQ); STORE(x, 1, RLX);)
CPU(r_0, STORE(x, 1, RLX); STORE(y, 1, RLX);)
CPU(r_1, STORE(y, 2, RLX); w->r[0] = LOAD(x, RLX);)
CPU(r_fence_0, STORE(x, 1, RLX); FENCE(SEQ); STORE(y, 1, RLX);)
CPU(r_fence_1, STORE(y, 2, RLX); FENCE(SEQ); w->r[0] = LOAD(x, RLX);)

/* WRC, write to read causality: release and acquire are cumulative. */
CPU(wrc_0, STORE(x, 1, RLX);)
CPU(wrc_1, w->r[0] = LOAD(x, RLX); STORE(y, 1, REL);)
CPU(wrc_2, w->r[1] = LOAD(y, ACQ); w->r[2] = LOAD(x, RLX);)

/* A sequence lock `z` over x and y. r0: valid; r1, r2: what was read, if it is. */
static void seqlock_write(struct explorer_litmus_world *w, bool fenced)
{
	STORE(z, 1, RLX);
	if (fenced)
		FENCE(REL);
	STORE(x, 1, RLX);
	STORE(y, 1, RLX);
	STORE(z, 2, REL);
}

static void seqlock_read(struct explorer_litmus_world *w, bool fenced)
{
	uint64_t before = LOAD(z, ACQ), x = LOAD(x, RLX), y = LOAD(y, RLX);

	if (fenced)
		FENCE(ACQ);
	if (LOAD(z, RLX) != before || before % 2 != 0)
		return;
	w->r[0] = 1;
	w->r[1] = x;
	w->r[2] = y;
}

CPU(seqlock_0, seqlock_write(w, true);)
CPU(seqlock_1, seqlock_read(w, true);)
CPU(seqlock_bad_0, seqlock_write(w, false);)
CPU(seqlock_bad_1, seqlock_read(w, false);)

/* An owner word around plain data. */
static uint64_t own(struct explorer_litmus_world *w, int order)
{
	uint64_t expected = 0, value;

	while (!__atomic_compare_exchange_n(&w->x, &expected, 1, false, ACQ, RLX)) {
		explorer_threads_relax();
		expected = 0;
	}
	value = ++w->data;
	STORE(x, 0, order);
	return value;
}

CPU(owner_0, w->r[0] = own(w, REL);)
CPU(owner_1, w->r[1] = own(w, REL);)
CPU(owner_relaxed_0, w->r[0] = own(w, RLX);)
CPU(owner_relaxed_1, w->r[1] = own(w, RLX);)

/* A release sequence: 0 releases, 1 updates without any order, 2 acquires the update. */
CPU(sequence_0, w->data = 1; STORE(x, 1, REL);)
CPU(sequence_1, uint64_t expected = 1;
	__atomic_compare_exchange_n(&w->x, &expected, 2, false, RLX, RLX);)
CPU(sequence_store_1, if (LOAD(x, RLX) == 1) STORE(x, 2, RLX);)
CPU(sequence_2, w->r[0] = LOAD(x, ACQ); if (w->r[0] == 2) w->r[1] = w->data;)

/* Who comes first makes the data, under a lock that the others do not take. */
static uint64_t once(struct explorer_litmus_world *w, int load, int store)
{
	if (LOAD(x, load) == 0) {
		uint64_t expected = 0;

		while (!__atomic_compare_exchange_n(&w->y, &expected, 1, false, ACQ, RLX)) {
			explorer_threads_relax();
			expected = 0;
		}
		if (LOAD(x, RLX) == 0) {
			w->data = 7;
			STORE(x, 1, store);
		}
		STORE(y, 0, REL);
	}
	return w->data;
}

CPU(once_0, w->r[0] = once(w, ACQ, REL);)
CPU(once_1, w->r[1] = once(w, ACQ, REL);)
CPU(once_relaxed_0, w->r[0] = once(w, RLX, REL);)
CPU(once_relaxed_1, w->r[1] = once(w, RLX, REL);)

/* ---- the table ---- */

#define FORBIDDEN_MAX 8u
#define X             EXPLORER_LITMUS_X
#define Y             EXPLORER_LITMUS_Y

enum litmus_id {
	SB,
	SB_FENCES,
	SB_SEQ,
	SB_UPDATES,
	SB_MIXED,
	MP,
	MP_RELEASE_ACQUIRE,
	MP_FENCES,
	MP_RELEASE,
	MP_ACQUIRE,
	MP_DATA,
	MP_DATA_RELEASE,
	MP_DATA_ACQUIRE,
	CORR,
	COWW,
	CORW,
	COWR,
	IRIW,
	IRIW_SEQ,
	LB,
	WW,
	S,
	R,
	R_FENCES,
	WRC,
	SEQLOCK,
	SEQLOCK_WRITER,
	SEQLOCK_READER,
	OWNER,
	OWNER_RELAXED,
	SEQUENCE,
	SEQUENCE_STORE,
	ONCE,
	ONCE_RELAXED,
	LITMUS_COUNT,
};

/* Digits as explorer_litmus_outcome() has them; ended by NONE. */
#define NONE UINT32_MAX
static const uint32_t forbidden[LITMUS_COUNT][FORBIDDEN_MAX] = {
	[SB] = {NONE},
	[SB_FENCES] = {0, NONE},
	[SB_SEQ] = {0, NONE},
	[SB_UPDATES] = {NONE},
	[SB_MIXED] = {0, NONE},
	[MP] = {NONE},
	[MP_RELEASE_ACQUIRE] = {10, NONE},
	[MP_FENCES] = {10, NONE},
	[MP_RELEASE] = {NONE},
	[MP_ACQUIRE] = {NONE},
	[MP_DATA] = {10, NONE},
	[MP_DATA_RELEASE] = {10, NONE},
	[MP_DATA_ACQUIRE] = {10, NONE},
	[CORR] = {10, NONE},
	[COWW] = {10, 20, 21, NONE},
	[CORW] = {11, 21, 22, NONE},
	[COWR] = {1, 2, 21, NONE},
	[IRIW] = {NONE},
	[IRIW_SEQ] = {1010, NONE},
	[LB] = {NONE},
	[WW] = {NONE},
	[S] = {12, NONE},
	[R] = {NONE},
	[R_FENCES] = {2, NONE},
	[WRC] = {110, NONE},
	[SEQLOCK] = {101, 110, NONE},
	[SEQLOCK_WRITER] = {101, 110, NONE},
	[SEQLOCK_READER] = {101, 110, NONE},
	[OWNER] = {11, 22, NONE},
	[OWNER_RELAXED] = {11, 22, NONE},
	[SEQUENCE] = {20, NONE},
	[SEQUENCE_STORE] = {20, NONE},
	[ONCE] = {0, 70, 7, NONE},
	[ONCE_RELAXED] = {0, 70, 7, NONE},
};

static const struct explorer_litmus litmus[LITMUS_COUNT];

static const char *judge(enum litmus_id id, const void *of)
{
	static char text[64];
	uint32_t outcome = explorer_litmus_outcome(&litmus[id], of);

	for (const uint32_t *f = forbidden[id]; *f != NONE; f++) {
		if (*f != outcome)
			continue;
		snprintf(text, sizeof(text), "litmus: outcome %u is forbidden",
			(unsigned int)outcome);
		return text;
	}
	return NULL;
}

#define CHECK(id)                                                                                  \
	static const char *check_##id(const void *of)                                              \
	{                                                                                          \
		return judge(id, of);                                                              \
	}

CHECK(SB)
CHECK(SB_FENCES)
CHECK(SB_SEQ)
CHECK(SB_UPDATES)
CHECK(SB_MIXED)
CHECK(MP)
CHECK(MP_RELEASE_ACQUIRE)
CHECK(MP_FENCES)
CHECK(MP_RELEASE)
CHECK(MP_ACQUIRE)
CHECK(MP_DATA)
CHECK(MP_DATA_RELEASE)
CHECK(MP_DATA_ACQUIRE)
CHECK(CORR)
CHECK(COWW)
CHECK(CORW)
CHECK(COWR)
CHECK(IRIW)
CHECK(IRIW_SEQ)
CHECK(LB)
CHECK(WW)
CHECK(S)
CHECK(R)
CHECK(R_FENCES)
CHECK(WRC)
CHECK(SEQLOCK)
CHECK(SEQLOCK_WRITER)
CHECK(SEQLOCK_READER)
CHECK(OWNER)
CHECK(OWNER_RELAXED)
CHECK(SEQUENCE)
CHECK(SEQUENCE_STORE)
CHECK(ONCE)
CHECK(ONCE_RELAXED)

/* id, name, registers, finals, number of CPUs, their functions */
#define PLAN(id, called, register_count, final_bits, cpu_count, ...)                               \
	[id] = {.plan = {.name = "litmus/" called,                                                 \
			.world_size = sizeof(struct explorer_litmus_world),                        \
			.cpus = (cpu_count),                                                       \
			.run = {__VA_ARGS__},                                                      \
			.check = check_##id},                                                      \
		.registers = (register_count),                                                     \
		.finals = (final_bits)}

static const struct explorer_litmus litmus[LITMUS_COUNT] = {
	PLAN(SB, "sb", 2, 0, 2, sb_0, sb_1),
	PLAN(SB_FENCES, "sb-fences", 2, 0, 2, sb_fence_0, sb_fence_1),
	PLAN(SB_SEQ, "sb-seq", 2, 0, 2, sb_seq_0, sb_seq_1),
	PLAN(SB_UPDATES, "sb-updates", 2, 0, 2, sb_update_0, sb_update_1),
	PLAN(SB_MIXED, "sb-mixed", 2, 0, 2, sb_fence_0, sb_mixed_1),
	PLAN(MP, "mp", 2, 0, 2, mp_write, mp_read),
	PLAN(MP_RELEASE_ACQUIRE, "mp-release-acquire", 2, 0, 2, mp_write_release, mp_read_acquire),
	PLAN(MP_FENCES, "mp-fences", 2, 0, 2, mp_write_fence, mp_read_fence),
	PLAN(MP_RELEASE, "mp-release", 2, 0, 2, mp_write_release, mp_read),
	PLAN(MP_ACQUIRE, "mp-acquire", 2, 0, 2, mp_write, mp_read_acquire),
	PLAN(MP_DATA, "mp-data", 2, 0, 2, data_write_release, data_read_acquire),
	PLAN(MP_DATA_RELEASE, "mp-data-release", 2, 0, 2, data_write_release, data_read_relaxed),
	PLAN(MP_DATA_ACQUIRE, "mp-data-acquire", 2, 0, 2, data_write_relaxed, data_read_acquire),
	PLAN(CORR, "corr", 2, 0, 2, co_write_1, co_read_both),
	PLAN(COWW, "coww", 2, 0, 2, co_write_both, co_read_both),
	PLAN(CORW, "corw", 1, X, 2, co_read_write, co_write_1),
	PLAN(COWR, "cowr", 1, X, 2, co_write_read, co_write_2),
	PLAN(IRIW, "iriw", 4, 0, 4, iriw_x, iriw_y, iriw_xy, iriw_yx),
	PLAN(IRIW_SEQ, "iriw-seq", 4, 0, 4, iriw_seq_x, iriw_seq_y, iriw_seq_xy, iriw_seq_yx),
	PLAN(LB, "lb", 2, 0, 2, lb_0, lb_1),
	PLAN(WW, "2+2w", 0, X | Y, 2, ww_0, ww_1),
	PLAN(S, "s", 1, X, 2, s_0, s_1),
	PLAN(R, "r", 1, Y, 2, r_0, r_1),
	PLAN(R_FENCES, "r-fences", 1, Y, 2, r_fence_0, r_fence_1),
	PLAN(WRC, "wrc", 3, 0, 3, wrc_0, wrc_1, wrc_2),
	PLAN(SEQLOCK, "seqlock", 3, 0, 2, seqlock_0, seqlock_1),
	PLAN(SEQLOCK_WRITER, "seqlock-writer-unfenced", 3, 0, 2, seqlock_bad_0, seqlock_1),
	PLAN(SEQLOCK_READER, "seqlock-reader-unfenced", 3, 0, 2, seqlock_0, seqlock_bad_1),
	PLAN(OWNER, "owner", 2, 0, 2, owner_0, owner_1),
	PLAN(OWNER_RELAXED, "owner-relaxed", 2, 0, 2, owner_relaxed_0, owner_relaxed_1),
	PLAN(SEQUENCE, "release-sequence", 2, 0, 3, sequence_0, sequence_1, sequence_2),
	PLAN(SEQUENCE_STORE, "release-sequence-broken", 2, 0, 3, sequence_0, sequence_store_1,
		sequence_2),
	PLAN(ONCE, "once", 2, 0, 2, once_0, once_1),
	PLAN(ONCE_RELAXED, "once-relaxed", 2, 0, 2, once_relaxed_0, once_relaxed_1),
};

const struct explorer_litmus *explorer_litmus_get(uint32_t index)
{
	return index < LITMUS_COUNT ? &litmus[index] : NULL;
}

uint32_t explorer_litmus_outcome(const struct explorer_litmus *of, const void *in)
{
	const struct explorer_litmus_world *w = in;
	uint64_t outcome = 0;

	for (uint32_t i = 0; i < of->registers; i++)
		outcome = 10 * outcome + w->r[i];
	if (of->finals & X)
		outcome = 10 * outcome + w->x;
	if (of->finals & Y)
		outcome = 10 * outcome + w->y;
	return (uint32_t)outcome;
}
