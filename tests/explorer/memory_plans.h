/* SPDX-License-Identifier: MIT
 *
 * memory_plans.h: small plans for test_memory.c, compiled with the compiler's instrumentation.
 */
#ifndef TEST_MEMORY_PLANS_H
#define TEST_MEMORY_PLANS_H

#include <explorer/threads.h>

#define FAR_BYTES (8u << 20)

struct memory_fields {
	uint8_t a, b;
	uint16_t c;
	uint32_t d;
};

struct memory_world {
	_Alignas(64) uint64_t x;
	_Alignas(64) uint64_t y;
	_Alignas(64) struct memory_fields fields;
	_Alignas(64) uint8_t bytes[64]; /* plain */
	_Alignas(64) uint8_t copy[64];
	_Alignas(64) uint64_t data; /* plain */
	_Alignas(64) uint64_t r[4];
};

extern uint8_t far[4 * FAR_BYTES];

/* 1, 2, 4 and 8 bytes: all that the updates of one location give, folded into one number. */
uint64_t updates_of_size(uint32_t size, void *at);

/* What a simulator does between two pieces of the engine's code: in test_memory.c, because it must
 * not be instrumented. */
void outside_freed(const void *at, size_t size);
void outside_fresh(const void *at, size_t size);
void outside_release(void *at);
void outside_acquire(void *at);
void outside_quiet(void);
void outside_write(uint64_t *at, uint64_t value);

/* Names say what CPU 0, 1, ... do, and which of it is judged. */
extern const struct explorer_plan plan_fields_apart, plan_fields_same, plan_fields_overlap,
	plan_read_atomic_store, plan_read_atomic_load, plan_read_failed_exchange,
	plan_write_after_two_reads, plan_write_after_one_read, plan_copy, plan_fill, plan_compare,
	plan_freed, plan_freed_untouched, plan_freed_fresh, plan_freed_unordered, plan_freed_atomic,
	plan_machine_order, plan_quiet, plan_mixed_sizes, plan_foreign_write, plan_plain_reset,
	plan_history, plan_spin, plan_interrupt_plain, plan_interrupt_atomic, plan_interrupt_none,
	plan_deadlock, plan_deadlock_one, plan_livelock, plan_counting, plan_wait, plan_updates,
	plan_values, plan_far, plan_unaligned, plan_endless, plan_fields_split,
	plan_write_atomic_load, plan_freed_location, plan_write_after_release,
	plan_exchange_acquires, plan_exchange_relaxed, plan_wait_either, plan_far_same;

#endif
