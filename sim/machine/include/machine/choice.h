/* SPDX-License-Identifier: MIT
 *
 * choice.h: everything that is not determined goes through one function.
 *
 * machine_choice(machine, kind, n) answers 0 .. n-1. Answer 0 is always the default: stay on this
 * CPU, leave the interrupt for later, run the head of the queue, no fault. A policy object answers;
 * "time order" (no policy) answers 0 to everything and is not asked at HAL calls. A run is a
 * function of the description and the policy's answers.
 */
#ifndef MACHINE_CHOICE_H
#define MACHINE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

struct machine;

enum machine_choice_kind {
	/* C: which CPU steps next; 0: the one that runs, else the next by number */
	MACHINE_CHOICE_CPU,
	MACHINE_CHOICE_NEXT, /* N: which CPU goes on when the one that ran cannot; 0: the next by
				number */
	MACHINE_CHOICE_TASK, /* S: which runnable task a CPU takes; 0: the head of its queue */
	/* I: a pending interrupt is 0: left for now, 1: taken here */
	MACHINE_CHOICE_INTERRUPT,
	MACHINE_CHOICE_VALUE,  /* V: which visible store a load returns; 0: the newest */
	MACHINE_CHOICE_EVENTS, /* E: how many PMU events retire before the next step; 0: none */
	/* H: a PMU register write takes effect 0: at once, 1: at the barrier */
	MACHINE_CHOICE_HARDWARE,
	MACHINE_CHOICE_FAULT, /* F: an allocation or a user access 0: succeeds, 1: fails */
	MACHINE_CHOICE_TICK,  /* T: a tick 0: when it is due, 1: now */
	MACHINE_CHOICE_KINDS,
};

struct machine_policy {
	void *context;
	/* n >= 2. Answers of n and above are taken as n-1. */
	uint32_t (*choose)(void *context, const struct machine *machine,
		enum machine_choice_kind kind, uint32_t n);
	/* ask CPU and INTERRUPT at every HAL call, not only where the code must wait */
	bool points;
	/* operations that are due together start together, not one after the other */
	bool concurrent;
	/* for the explorer: HAL calls that no other CPU can see ask for interrupts alone;
	 * operations of an instant compete with its interrupts */
	bool explored;
	bool ticks;          /* a tick may come at any point (T) */
	bool kernel_events;  /* kernel code executes irq_rates at PMU accesses (E) */
	uint64_t from_ns;    /* explored: nothing is asked before */
	uint64_t until_ns;   /* ... nor from here on */
	bool late_registers; /* PMU register writes may take effect late (H) */
};

/* "Random by seed": splitmix64; per kind a rate in 1/65536 of answering other than 0, then uniform
 * over the rest. */
struct machine_random_policy {
	uint64_t state;
	uint32_t rate[MACHINE_CHOICE_KINDS];
};

/* Fills both; `random` must outlive `policy`. Rates start as: CPU 1/8, TASK 1/16, INTERRUPT 1/4,
 * FAULT 0, others 0. */
void machine_random_policy_init(
	struct machine_policy *policy, struct machine_random_policy *random, uint64_t seed);

uint32_t machine_choice(struct machine *machine, enum machine_choice_kind kind, uint32_t n);

/* The generator behind it: 64 random bits. */
uint64_t machine_random_next(uint64_t *state);

/* The letter of the kind in traces. */
char machine_choice_letter(enum machine_choice_kind kind);

#endif
