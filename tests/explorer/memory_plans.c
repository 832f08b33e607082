/* SPDX-License-Identifier: MIT
 *
 * memory_plans.c: small plans for test_memory.c (memory_plans.h).
 */
#include "memory_plans.h"

#include <string.h>

#define RLX __ATOMIC_RELAXED
#define ACQ __ATOMIC_ACQUIRE
#define REL __ATOMIC_RELEASE

#define LOAD(at, order)         __atomic_load_n(&w->at, (order))
#define STORE(at, value, order) __atomic_store_n(&w->at, (value), (order))

/* The compiler must not join the accesses on its two sides. */
#define KEEP __asm__ volatile("" ::: "memory")

#define CPU(name, ...)                                                                             \
	static void name(void *of)                                                                 \
	{                                                                                          \
		struct memory_world *w = of;                                                       \
                                                                                                   \
		__VA_ARGS__                                                                        \
	}

#define PLAN(called, cpu_count, ...)                                                               \
	const struct explorer_plan plan_##called = {.name = #called,                               \
		.world_size = sizeof(struct memory_world),                                         \
		.cpus = (cpu_count),                                                               \
		.run = {__VA_ARGS__}};

/* ---- bytes of a granule ---- */

CPU(write_a_c, w->fields.a = 1; w->fields.c = 1;)
CPU(write_b_d, w->fields.b = 1; w->fields.d = 1;)
CPU(read_a_c, w->r[0] = w->fields.a + w->fields.c;)
PLAN(fields_apart, 2, write_a_c, write_b_d)
PLAN(fields_same, 2, read_a_c, write_a_c)

CPU(read_whole, uint64_t whole; memcpy(&whole, &w->fields, sizeof(whole)); w->r[0] = whole;)
PLAN(fields_overlap, 2, write_b_d, read_whole)

/* one byte of what was written whole has another past than the rest */
CPU(write_whole_read_d, memset(&w->fields, 0, sizeof(w->fields)); STORE(x, 1, REL);
	w->r[0] = w->fields.d;)
CPU(acquire_write_a, if (LOAD(x, ACQ) == 1) w->fields.a = 1;)
PLAN(fields_split, 2, write_whole_read_d, acquire_write_a)

/* ---- plain and atomic ---- */

CPU(store_x, STORE(x, 1, REL);)
CPU(load_x, w->r[1] = LOAD(x, ACQ);)
CPU(read_x, w->r[0] = w->x;)
CPU(exchange_fails, uint64_t expected = 9;
	w->r[1] = __atomic_compare_exchange_n(&w->x, &expected, 1, false, ACQ, RLX);)
PLAN(read_atomic_store, 2, read_x, store_x)
PLAN(read_atomic_load, 2, read_x, load_x)
CPU(write_x, w->x = 1;)
PLAN(write_atomic_load, 2, load_x, write_x)
PLAN(read_failed_exchange, 2, read_x, exchange_fails)

/* ---- reads of several CPUs ---- */

CPU(read_release_x, w->r[0] = w->data; STORE(x, 1, REL);)
CPU(read_release_y, w->r[1] = w->data; STORE(y, 1, REL);)
CPU(write_after_both, if (LOAD(x, ACQ) != 0 && LOAD(y, ACQ) != 0) w->data = 1;)
CPU(write_after_x, if (LOAD(x, ACQ) != 0 && LOAD(y, RLX) != 0) w->data = 1;)
PLAN(write_after_two_reads, 3, read_release_x, read_release_y, write_after_both)
PLAN(write_after_one_read, 3, read_release_x, read_release_y, write_after_x)

/* ---- releases and acquires ---- */

CPU(release_then_write, STORE(x, 1, REL); w->data = 1;)
CPU(acquire_read, if (LOAD(x, ACQ) != 0) w->r[0] = w->data;)
CPU(write_then_release, w->data = 1; STORE(x, 1, REL);)
CPU(exchange_read, if (__atomic_exchange_n(&w->x, 2, __ATOMIC_ACQ_REL) == 1) w->r[0] = w->data;)
CPU(exchange_relaxed_read, if (__atomic_exchange_n(&w->x, 2, RLX) == 1) w->r[0] = w->data;)
PLAN(write_after_release, 2, release_then_write, acquire_read)
PLAN(exchange_acquires, 2, write_then_release, exchange_read)
PLAN(exchange_relaxed, 2, write_then_release, exchange_relaxed_read)

/* ---- ranges ---- */

CPU(copy_bytes, memcpy(w->copy + 3, w->bytes + 3, 40);)
CPU(fill_bytes, memset(w->bytes, 7, 30);)
CPU(compare_bytes, w->r[0] = (uint64_t)memcmp(w->bytes, w->copy, 50);)
CPU(write_byte_20, w->bytes[20] = 1;)
CPU(write_byte_45, w->bytes[45] = 1;)
CPU(write_bytes_2_and_43, w->bytes[2] = 1; w->bytes[43] = 1; w->copy[2] = 1; w->copy[43] = 1;)
PLAN(copy, 2, copy_bytes, write_bytes_2_and_43)
PLAN(fill, 2, fill_bytes, write_byte_20)
PLAN(compare, 2, compare_bytes, write_byte_45)

/* ---- memory that comes and goes ---- */

CPU(use_after_free, w->data = 1; outside_freed(&w->data, 8); w->r[0] = w->data;)
CPU(use_untouched, outside_freed(w->bytes, 64); w->bytes[63] = 1;)
CPU(use_fresh, w->data = 1; outside_freed(&w->data, 8); outside_fresh(&w->data, 8);
	w->r[0] = w->data;)
CPU(free_data, outside_freed(&w->data, 8);)
CPU(write_data, w->data = 1;)
CPU(free_x, outside_freed(&w->x, 8);)
PLAN(freed, 1, use_after_free)
PLAN(freed_untouched, 1, use_untouched)
PLAN(freed_fresh, 1, use_fresh)
PLAN(freed_unordered, 2, write_data, free_data)
PLAN(freed_atomic, 2, store_x, free_x)

/* atomics of what was there before are not judged */
CPU(store_and_renew, STORE(x, 1, RLX); outside_fresh(&w->x, 8); STORE(y, 1, RLX);)
CPU(use_renewed, uint32_t *half = (uint32_t *)(void *)&w->x; if (LOAD(y, RLX) == 0) return;
	__atomic_store_n(half, 2, RLX); KEEP; *half = 3;)
PLAN(freed_location, 2, store_and_renew, use_renewed)

/* ---- the machine's order ---- */

CPU(write_and_release, w->data = 1; STORE(x, 1, RLX); outside_release(&w->y); STORE(x, 2, RLX);)
CPU(acquire_and_read, if (LOAD(x, RLX) != 2) return; outside_acquire(&w->y); w->r[0] = w->data;)
PLAN(machine_order, 2, write_and_release, acquire_and_read)

CPU(write_then_store, w->data = 1; STORE(x, 1, RLX);)
CPU(quiet_and_read, if (LOAD(x, RLX) == 0) return; outside_quiet(); w->r[0] = w->data;)
PLAN(quiet, 2, write_then_store, quiet_and_read)

/* ---- locations ---- */

CPU(mixed_sizes, uint32_t *half = (uint32_t *)(void *)&w->x;
	STORE(x, UINT64_C(0x1111111122222222), RLX); w->r[0] = __atomic_load_n(half, RLX);
	__atomic_store_n(half, 0x33333333u, RLX); w->r[1] = LOAD(x, RLX);
	__atomic_store_n(half + 1, 0x44444444u, RLX); w->r[2] = LOAD(x, RLX);)
PLAN(mixed_sizes, 1, mixed_sizes)

CPU(foreign_write, STORE(x, 1, RLX); outside_write(&w->x, 5); w->r[0] = LOAD(x, RLX);)
PLAN(foreign_write, 1, foreign_write)

/* once it is written plainly, what was there before cannot be seen any more */
CPU(plain_reset, w->x = 1; STORE(y, 1, REL); STORE(x, 2, RLX);)
CPU(load_after_reset, if (LOAD(y, ACQ) == 1) w->r[0] = LOAD(x, RLX); else w->r[0] = 9;)
PLAN(plain_reset, 2, plain_reset, load_after_reset)

CPU(store_many, for (uint64_t i = 1; i <= 12; i++) STORE(x, i, RLX);)
CPU(load_one, w->r[0] = LOAD(x, RLX);)
PLAN(history, 2, store_many, load_one)

/* no relax() in the second loop: the model alone ends it */
CPU(store_x_y, STORE(x, 1, RLX); STORE(y, 1, RLX);)
CPU(spin, while (LOAD(y, RLX) == 0) explorer_threads_relax(); while (LOAD(x, RLX) == 0) w->r[0]++;)
/* but nothing ends this one */
CPU(spin_on_data, while (LOAD(data, RLX) == 0) w->r[0]++;)
PLAN(endless, 1, spin_on_data)
PLAN(spin, 2, store_x_y, spin)

/* ---- interrupts ---- */

CPU(write_twice, w->data = 1; KEEP; w->y = 1; KEEP; w->data = 2;)
CPU(handler_reads, w->r[0] = 1 + w->data;)
CPU(store_twice, STORE(x, 1, RLX); STORE(x, 2, RLX);)
CPU(handler_loads, w->r[0] = 1 + LOAD(x, RLX);)
const struct explorer_plan plan_interrupt_plain = {.name = "interrupt_plain",
	.world_size = sizeof(struct memory_world),
	.cpus = 1,
	.run = {write_twice},
	.interrupt = {handler_reads}};
const struct explorer_plan plan_interrupt_atomic = {.name = "interrupt_atomic",
	.world_size = sizeof(struct memory_world),
	.cpus = 1,
	.run = {store_twice},
	.interrupt = {handler_loads}};
/* what the handler does not touch is no point */
const struct explorer_plan plan_interrupt_none = {.name = "interrupt_none",
	.world_size = sizeof(struct memory_world),
	.cpus = 1,
	.run = {write_data},
	.interrupt = {handler_loads}};

/* ---- waiting ---- */

CPU(wait_x, while (LOAD(x, ACQ) == 0) explorer_threads_relax(); w->r[0] = w->data;)
CPU(wait_y, while (LOAD(y, ACQ) == 0) explorer_threads_relax();)
CPU(wait_either, while (LOAD(x, ACQ) == 0 && LOAD(y, ACQ) == 0) explorer_threads_relax();)
CPU(write_and_store, w->data = 7; STORE(x, 1, REL);)
CPU(store_for_ever, for (;;) STORE(x, 0, RLX);)
CPU(end_at_once, (void)w;)
PLAN(wait, 2, wait_x, write_and_store)
CPU(store_y_x, STORE(y, 0, RLX); STORE(x, 1, RLX);)
PLAN(wait_either, 2, wait_either, store_y_x)
PLAN(deadlock, 2, wait_x, wait_y)
PLAN(deadlock_one, 2, end_at_once, wait_x)
PLAN(livelock, 2, wait_x, store_for_ever)

/* ---- counting, values ---- */

CPU(count, __atomic_add_fetch(&w->x, 1, RLX); __atomic_sub_fetch(&w->y, 1, RLX);)
PLAN(counting, 2, count, count)

#define FOLD(value) (folded = folded * 31 + (uint64_t)(value))
#define UPDATES(type)                                                                              \
	static uint64_t updates_##type(type *at)                                                   \
	{                                                                                          \
		uint64_t folded = 0;                                                               \
		type expected = 1;                                                                 \
                                                                                                   \
		__atomic_store_n(at, (type)-3, RLX);                                               \
		FOLD(__atomic_load_n(at, RLX));                                                    \
		FOLD(__atomic_fetch_add(at, (type)5, RLX));                                        \
		FOLD(__atomic_fetch_sub(at, (type)7, RLX));                                        \
		FOLD(__atomic_fetch_and(at, (type)0xf0, RLX));                                     \
		FOLD(__atomic_fetch_or(at, (type)0x3c, RLX));                                      \
		FOLD(__atomic_fetch_xor(at, (type)0x55, RLX));                                     \
		FOLD(__atomic_fetch_nand(at, (type)0x0f, RLX));                                    \
		FOLD(__atomic_exchange_n(at, (type)2, RLX));                                       \
		FOLD(__atomic_compare_exchange_n(at, &expected, (type)9, false, RLX, RLX));        \
		FOLD(expected);                                                                    \
		FOLD(__atomic_compare_exchange_n(at, &expected, (type)9, true, RLX, RLX));         \
		FOLD(*at);                                                                         \
		return folded;                                                                     \
	}

UPDATES(uint8_t)
UPDATES(uint16_t)
UPDATES(uint32_t)
UPDATES(uint64_t)

uint64_t updates_of_size(uint32_t size, void *at)
{
	switch (size) {
	case 1:
		return updates_uint8_t(at);
	case 2:
		return updates_uint16_t(at);
	case 4:
		return updates_uint32_t(at);
	default:
		return updates_uint64_t(at);
	}
}

CPU(update_all, w->r[0] = updates_of_size(1, &w->x); w->r[1] = updates_of_size(2, &w->y);
	w->r[2] = updates_of_size(4, &w->fields); w->r[3] = updates_of_size(8, &w->data);)
PLAN(updates, 1, update_all)

CPU(show_values, w->data = 3; KEEP; w->r[0] = w->data; STORE(x, 4, REL);
	w->r[2] = __atomic_fetch_add(&w->x, 5, ACQ);)
PLAN(values, 2, show_values, load_x)

/* ---- the shadow ---- */

uint8_t far[4 * FAR_BYTES]; /* not static: its stores must not be dropped */

CPU(write_far, (void)w; far[0] = 1; far[2 * FAR_BYTES] = 1;)
CPU(write_farther, (void)w; far[FAR_BYTES] = 1; far[3 * FAR_BYTES] = far[FAR_BYTES];)
CPU(write_far_and_first, (void)w; far[FAR_BYTES] = 1; far[0] = 1;)
PLAN(far, 2, write_far, write_farther)
PLAN(far_same, 2, write_far, write_far_and_first)

struct packed {
	uint8_t byte;
	uint32_t word;
} __attribute__((packed));

CPU(write_unaligned, ((struct packed *)(void *)(w->bytes + 5))->word = 1;)
CPU(write_bytes_5_and_10, w->bytes[5] = 1; w->bytes[10] = 1; w->bytes[8] = 1;)
PLAN(unaligned, 2, write_unaligned, write_bytes_5_and_10)
