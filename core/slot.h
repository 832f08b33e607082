/* SPDX-License-Identifier: MIT
 *
 * slot.h: the counters of one CPU.
 *
 * A slot is one physical counter: event counter n is slot n, the cycle counter is slot 31, which is
 * also its bit in the PMU's mask registers (Arm ARM, PMCNTENSET_EL0). A pool belongs to its CPU:
 * only code on it with IRQs off touches it. A slot remembers register values, never events: which
 * event holds it is known to the context that claimed it.
 *
 * Invariants, whenever IRQs are on: counting and interrupt masks equal `used`; a slot outside
 * `used` is stopped, its overflow flag is clear, and `value` is what its counter reads; the PMU is
 * on exactly while `used` is not empty.
 */
#ifndef TALLY_CORE_SLOT_H
#define TALLY_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#define TALLY_SLOTS      32u
#define TALLY_SLOT_CYCLE 31u
#define TALLY_SLOT_NONE  (-1)

#define TALLY_SLOT_BIT(slot)    (UINT32_C(1) << (slot))
#define TALLY_SLOT_CYCLE_MASK   TALLY_SLOT_BIT(TALLY_SLOT_CYCLE)
#define TALLY_SLOT_EVENT_MASK   (TALLY_SLOT_CYCLE_MASK - 1)
#define TALLY_SLOT_TYPE_UNKNOWN (~UINT64_C(0))

/* Visit the slots in `mask`, lowest first. */
#define TALLY_BITS_FOR_EACH(slot, mask)                                                            \
	for (uint32_t left_##slot = (mask),                                                        \
		      slot = left_##slot ? (uint32_t)__builtin_ctz(left_##slot) : 0;               \
		left_##slot; left_##slot &= left_##slot - 1,                                       \
		      slot = left_##slot ? (uint32_t)__builtin_ctz(left_##slot) : 0)

struct tally_slot {
	uint64_t type;  /* what its type or filter register holds, or TALLY_SLOT_TYPE_UNKNOWN */
	uint64_t value; /* what its counter reads, while it is stopped */
};

struct tally_slot_pool {
	uint32_t present;   /* counters that this CPU has */
	uint32_t narrow;    /* those of 32 bits; the others have 64 */
	uint32_t used;      /* claimed by the contexts loaded here */
	uint32_t counting;  /* PMCNTENSET as last written */
	uint32_t interrupt; /* PMINTENSET as last written */
	bool on;            /* PMCR.E as last written */
	bool unsettled;     /* a type or counter was written since the last barrier */
	uint64_t control;   /* PMCR without E, P, C */
	struct tally_slot slot[TALLY_SLOTS];
};

/* Events from wrap to wrap: 2^32, or 0 for 2^64. */
static inline uint64_t slot_lap(const struct tally_slot_pool *pool, uint32_t slot)
{
	return (uint64_t)((pool->narrow >> slot) & 1) << 32;
}

/* Events between two readings of a counter with this lap, at most one lap and a wrap apart.
 * `wrapped`: its overflow flag was set since. A counter that reads less than it stood has wrapped
 * whatever the flag says. */
static inline uint64_t slot_delta(uint64_t lap, uint64_t stood, uint64_t now, bool wrapped)
{
	uint64_t delta = now - stood;

	if (wrapped || now < stood)
		delta += lap;
	return delta;
}

/* Can `needed` events, `cycles` of them CPU cycles, all have a counter among `present`? The cycle
 * counter serves one cycles event. */
bool tally_slots_fit(uint32_t present, uint32_t needed, uint32_t cycles);

/* The slots in `free` that an event may have: for cycles the cycle counter alone while it is free,
 * so that event counters are left to those who need one. */
uint32_t tally_slots_for(uint32_t free, bool cycles);

#endif
