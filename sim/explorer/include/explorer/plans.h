/* SPDX-License-Identifier: MIT
 *
 * plans.h: the plans that there are (threads.h): litmus tests of the memory model, and the ring.
 *
 * A plan's name is what the command line calls it: "litmus/sb", "ring".
 */
#ifndef EXPLORER_PLANS_H
#define EXPLORER_PLANS_H

#include <explorer/threads.h>

/* NULL: there is none. */
const struct explorer_plan *explorer_plan_find(const char *name);
const struct explorer_plan *explorer_plan_get(uint32_t index);

/* A writer of three records in a ring that has no room for all, and a reader that makes some. */
extern const struct explorer_plan explorer_plan_ring;

/* ---- litmus tests ---- */

/* What they all play with. The registers are the result, each written by one CPU. */
struct explorer_litmus_world {
	_Alignas(64) uint64_t x;
	_Alignas(64) uint64_t y;
	_Alignas(64) uint64_t z;
	_Alignas(64) uint64_t data; /* plain */
	_Alignas(64) uint64_t r[4];
};

#define EXPLORER_LITMUS_X 1u
#define EXPLORER_LITMUS_Y 2u

/* An outcome is a number: a decimal digit for each of the first `registers`, then for what x and y
 * hold at the end, as far as `finals` has their bits. The plan's check says that an outcome is
 * forbidden; what must be seen is for a test to say. */
struct explorer_litmus {
	struct explorer_plan plan;
	uint32_t registers;
	uint32_t finals; /* EXPLORER_LITMUS_* */
};

/* NULL past the last. */
const struct explorer_litmus *explorer_litmus_get(uint32_t index);
uint32_t explorer_litmus_outcome(const struct explorer_litmus *litmus, const void *world);

#endif
