/* SPDX-License-Identifier: MIT
 *
 * fiber.h: stacks that can be left and come back to, all on one OS thread.
 *
 * A fiber has its own stack with an inaccessible page below. Stacks are pooled: taking one costs no
 * system call once the pool is warm. Switches are told to AddressSanitizer and ThreadSanitizer. A
 * fiber that is never switched to again is simply given back: what its frames held is gone.
 */
#ifndef MACHINE_FIBER_H
#define MACHINE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#include <machine/order.h>

struct fiber_pool;

struct fiber {
	void *sp; /* where it was left; of the callee-saved frame */
	void *stack;
	size_t stack_size;
	struct fiber *next; /* in the pool */
	void (*entry)(void *argument);
	void *argument;
	void *fake_stack; /* AddressSanitizer's */
	bool started;
	uint32_t ignored; /* machine_order.ignored while it is left */
	void *tsan;       /* ThreadSanitizer's */
};

struct fiber_pool *fiber_pool_create(void);
/* Every fiber must have been given back. */
void fiber_pool_destroy(struct fiber_pool *pool);

/* A fiber that will run entry(argument), which must not return, when first switched to. NULL: no
 * memory. */
struct fiber *fiber_take(struct fiber_pool *pool, void (*entry)(void *argument), void *argument);
/* Not the one that runs. */
void fiber_give(struct fiber_pool *pool, struct fiber *fiber);

/* Make `host` stand for the thread's own stack. */
void fiber_host(struct fiber *host);

/* Leave `from`, the one that runs, for `to`. Returns when somebody switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);
/* The same for a `from` that will never be switched to again. */
_Noreturn void fiber_leave(struct fiber *from, struct fiber *to);

#endif
