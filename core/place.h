/* SPDX-License-Identifier: MIT
 *
 * place.h: who holds which slot of a CPU.
 */
#ifndef TALLY_CORE_PLACE_H
#define TALLY_CORE_PLACE_H

#include "context.h"

/* Decide anew who counts on this CPU, and move only what changes place. Clocks are up to date. IRQs
 * off, on that CPU. */
void tally_place(struct tally_cpu *cpu);

/* `ctx` was just loaded, or, NULL, something unloaded. Let the slots that it had when it was last
 * loaded count again if nothing has changed since; else place anew. IRQs off, on that CPU. */
void tally_place_loaded(struct tally_cpu *cpu, struct tally_context *ctx);

/* Forget the placement of a context whose counters are stopped. owner. */
void tally_place_forget(struct tally_context *ctx);

/* Who waits long enough in loaded time gets a turn when it is loaded, should it never see a tick.
 */
#define TALLY_TURN_NS UINT64_C(4000000)

/* The groups of `ctx` that hold slots go behind those that wait. owner. rotate.c */
void tally_turn(struct tally_context *ctx);

#endif
