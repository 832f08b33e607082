/* SPDX-License-Identifier: MIT
 *
 * hooks.c: the functions that gcc and clang call for instrumented code, in place of the sanitizer's
 * runtime (explorer/watch.h).
 *
 * The names and what they do are the compilers' (gcc/sanitizer.def; LLVM's
 * Transforms/Instrumentation/ThreadSanitizer.cpp). The hook of a plain access is called in front of
 * it; the hook of an atomic performs it. Atomics of 16 bytes and what only C++ needs are left out
 * on purpose: code that has them does not link.
 *
 * This file and what it calls must not be instrumented itself.
 */
#include <string.h>

#include "memory.h"

#define SITE __builtin_return_address(0)

/* Is the engine's code running, and does anybody watch? */
static inline bool watched(void)
{
	return machine_order.judged && explorer_memory.vehicle != NULL;
}

static __attribute__((noinline)) void plain_closely(
	const void *address, uint32_t size, bool write, const void *site)
{
	if (explorer_memory.vehicle == NULL)
		return;
	if (!explorer_memory.quick || !memory_masked())
		memory_plain(address, size, write, site);
	else
		shadow_access_masked(address, size, write, site);
}

/* Most accesses end here: after a handful of comparisons. */
static inline __attribute__((always_inline)) void plain(
	const void *address, uint32_t size, bool write, const void *site)
{
	if (!machine_order.judged)
		return;
	if (explorer_memory.quick && memory_masked() &&
		shadow_is_repeated(address, size, write, machine_order.cpu))
		return;
	plain_closely(address, size, write, site);
}

static inline void range(const void *address, size_t size, bool write, const void *site)
{
	if (watched() && size != 0)
		memory_plain(address, size, write, site);
}

/* ---- functions ---- */

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* ---- plain accesses ---- */

#define PLAIN(size)                                                                                \
	void __tsan_read##size(void *at);                                                          \
	void __tsan_read##size(void *at)                                                           \
	{                                                                                          \
		plain(at, size, false, SITE);                                                      \
	}                                                                                          \
	void __tsan_write##size(void *at);                                                         \
	void __tsan_write##size(void *at)                                                          \
	{                                                                                          \
		plain(at, size, true, SITE);                                                       \
	}

#define UNALIGNED(size)                                                                            \
	void __tsan_unaligned_read##size(const void *at);                                          \
	void __tsan_unaligned_read##size(const void *at)                                           \
	{                                                                                          \
		range(at, size, false, SITE);                                                      \
	}                                                                                          \
	void __tsan_unaligned_write##size(void *at);                                               \
	void __tsan_unaligned_write##size(void *at)                                                \
	{                                                                                          \
		range(at, size, true, SITE);                                                       \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

void __tsan_read16(void *at);
void __tsan_read16(void *at)
{
	range(at, 16, false, SITE);
}

void __tsan_write16(void *at);
void __tsan_write16(void *at)
{
	range(at, 16, true, SITE);
}

void __tsan_read_range(void *at, size_t size);
void __tsan_read_range(void *at, size_t size)
{
	range(at, size, false, SITE);
}

void __tsan_write_range(void *at, size_t size);
void __tsan_write_range(void *at, size_t size)
{
	range(at, size, true, SITE);
}

/* ---- memory.h's functions of the engine: renamed calls, and those of newer clangs ---- */

#define COPY(name, how, restricted)                                                                \
	void *name(void *restricted to, const void *restricted from, size_t size);                 \
	void *name(void *restricted to, const void *restricted from, size_t size)                  \
	{                                                                                          \
		range(from, size, false, SITE);                                                    \
		range(to, size, true, SITE);                                                       \
		return how(to, from, size);                                                        \
	}

#define FILL(name)                                                                                 \
	void *name(void *to, int value, size_t size);                                              \
	void *name(void *to, int value, size_t size)                                               \
	{                                                                                          \
		range(to, size, true, SITE);                                                       \
		return memset(to, value, size);                                                    \
	}

COPY(explorer_memcpy, memcpy, restrict)
COPY(__tsan_memcpy, memcpy, restrict)
COPY(explorer_memmove, memmove, )
COPY(__tsan_memmove, memmove, )
FILL(explorer_memset)
FILL(__tsan_memset)

int explorer_memcmp(const void *a, const void *b, size_t size)
{
	range(a, size, false, SITE);
	range(b, size, false, SITE);
	return memcmp(a, b, size);
}

/* ---- atomics ---- */

/* Flags above the order are the host's hints. */
#define ORDER(order) ((order)&7)

#define UPDATE(bits, name, what)                                                                   \
	uint##bits##_t __tsan_atomic##bits##_##name(                                               \
		volatile uint##bits##_t *at, uint##bits##_t operand, int order);                   \
	uint##bits##_t __tsan_atomic##bits##_##name(                                               \
		volatile uint##bits##_t *at, uint##bits##_t operand, int order)                    \
	{                                                                                          \
		uint##bits##_t before;                                                             \
                                                                                                   \
		if (watched())                                                                     \
			return (uint##bits##_t)memory_update(                                      \
				at, bits / 8, what, operand, ORDER(order), SITE);                  \
		before = *at;                                                                      \
		*at = (uint##bits##_t)memory_updated(what, bits / 8, before, operand);             \
		return before;                                                                     \
	}

/* gcc asks for what strong and weak tell, clang for the value before; none fails for no reason. */
#define EXCHANGE_IF(bits, name)                                                                    \
	int __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t *expected,    \
		uint##bits##_t desired, int order, int failure);                                   \
	int __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t *expected,    \
		uint##bits##_t desired, int order, int failure)                                    \
	{                                                                                          \
		uint##bits##_t before = exchange_if_##bits(                                        \
			at, *expected, desired, order, failure, SITE);                             \
                                                                                                   \
		if (before == *expected)                                                           \
			return 1;                                                                  \
		*expected = before;                                                                \
		return 0;                                                                          \
	}

#define ATOMIC(bits)                                                                               \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order);   \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order)    \
	{                                                                                          \
		if (watched())                                                                     \
			return (uint##bits##_t)memory_load(at, bits / 8, ORDER(order), SITE);      \
		return *at;                                                                        \
	}                                                                                          \
	void __tsan_atomic##bits##_store(                                                          \
		volatile uint##bits##_t *at, uint##bits##_t value, int order);                     \
	void __tsan_atomic##bits##_store(                                                          \
		volatile uint##bits##_t *at, uint##bits##_t value, int order)                      \
	{                                                                                          \
		if (watched())                                                                     \
			memory_store(at, bits / 8, value, ORDER(order), SITE);                     \
		else                                                                               \
			*at = value;                                                               \
	}                                                                                          \
	UPDATE(bits, exchange, MEMORY_EXCHANGE)                                                    \
	UPDATE(bits, fetch_add, MEMORY_ADD)                                                        \
	UPDATE(bits, fetch_sub, MEMORY_SUB)                                                        \
	UPDATE(bits, fetch_and, MEMORY_AND)                                                        \
	UPDATE(bits, fetch_or, MEMORY_OR)                                                          \
	UPDATE(bits, fetch_xor, MEMORY_XOR)                                                        \
	UPDATE(bits, fetch_nand, MEMORY_NAND)                                                      \
	static uint##bits##_t exchange_if_##bits(volatile uint##bits##_t *at,                      \
		uint##bits##_t expected, uint##bits##_t desired, int order, int failure,           \
		const void *site)                                                                  \
	{                                                                                          \
		uint##bits##_t before;                                                             \
                                                                                                   \
		if (watched())                                                                     \
			return (uint##bits##_t)memory_exchange_if(at, bits / 8, expected, desired, \
				ORDER(order), ORDER(failure), site);                               \
		before = *at;                                                                      \
		if (before == expected)                                                            \
			*at = desired;                                                             \
		return before;                                                                     \
	}                                                                                          \
	EXCHANGE_IF(bits, compare_exchange_strong)                                                 \
	EXCHANGE_IF(bits, compare_exchange_weak)                                                   \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *at,     \
		uint##bits##_t expected, uint##bits##_t desired, int order, int failure);          \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *at,     \
		uint##bits##_t expected, uint##bits##_t desired, int order, int failure)           \
	{                                                                                          \
		return exchange_if_##bits(at, expected, desired, order, failure, SITE);            \
	}

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	if (watched())
		memory_fence(ORDER(order), SITE);
}

/* Orders a CPU with its own handlers, and that it always is here. */
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
