/* SPDX-License-Identifier: MIT
 *
 * fiber.c: the pool of stacks and the switch between them (fiber.h).
 *
 * The switch itself is fiber_switch.S; here are the frame that a new stack starts from and what
 * sanitizers want to know. AddressSanitizer keeps shadow for each stack: a fiber that was abandoned
 * in mid-call leaves it poisoned, so it is cleared when the stack is taken again.
 */
#include <machine/fiber.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MACHINE_TSAN
#include <sanitizer/tsan_interface.h>

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

void machine_order_release(void *at)
{
	__tsan_release(at);
}

void machine_order_acquire(void *at)
{
	__tsan_acquire(at);
}

void machine_judged_begin(void)
{
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void machine_judged_end(void)
{
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
#endif

/* ---- who is judged (machine/order.h) ---- */

struct machine_order machine_order;

#ifndef MACHINE_TSAN
static void leave_judgement(struct fiber *from)
{
	from->ignored = machine_order.ignored;
}

static void resume_judgement(const struct fiber *self)
{
	machine_order.ignored = self->ignored;
	machine_order.judged = self->ignored == 0 && !machine_order.asleep;
}
#else
static void leave_judgement(struct fiber *from)
{
	(void)from;
}

static void resume_judgement(const struct fiber *self)
{
	(void)self;
}
#endif

/* Around a switch TSan takes this code for the other fiber's: it must not judge it. */
#ifdef MACHINE_TSAN
#define UNJUDGED __attribute__((no_sanitize("thread")))
#else
#define UNJUDGED
#endif

#define GUARD_SIZE 4096u
#if defined(FIBER_ASAN) || defined(MACHINE_TSAN)
#define STACK_SIZE (256u * 1024)
#else
#define STACK_SIZE (64u * 1024)
#endif

struct fiber_pool {
	struct fiber *free;
	size_t lent;
};

void fiber_swap(void **save_sp, void *load_sp);
void fiber_start(void);

struct fiber_pool *fiber_pool_create(void)
{
	return calloc(1, sizeof(struct fiber_pool));
}

static void destroy(struct fiber *fiber)
{
	munmap((char *)fiber->stack - GUARD_SIZE, GUARD_SIZE + STACK_SIZE);
	free(fiber);
}

void fiber_pool_destroy(struct fiber_pool *pool)
{
	if (!pool)
		return;
	while (pool->free) {
		struct fiber *fiber = pool->free;

		pool->free = fiber->next;
		destroy(fiber);
	}
	free(pool);
}

static struct fiber *create(void)
{
	struct fiber *fiber = calloc(1, sizeof(*fiber));
	char *map;

	if (!fiber)
		return NULL;
	map = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED) {
		free(fiber);
		return NULL;
	}
	if (mprotect(map, GUARD_SIZE, PROT_NONE) != 0) {
		munmap(map, GUARD_SIZE + STACK_SIZE);
		free(fiber);
		return NULL;
	}
	fiber->stack = map + GUARD_SIZE;
	fiber->stack_size = STACK_SIZE;
	return fiber;
}

/* After a switch, on the stack that came to run: tell AddressSanitizer, and learn where `from` has
 * its stack. */
UNJUDGED static void arrived(struct fiber *self, struct fiber *from)
{
#ifdef FIBER_ASAN
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
	if (from && !from->stack) { /* the thread's own stack */
		from->stack = (void *)(uintptr_t)bottom;
		from->stack_size = size;
	}
#else
	(void)self;
	(void)from;
#endif
}

/* The first C code on a new stack. */
_Noreturn void fiber_first(struct fiber *self);
UNJUDGED _Noreturn void fiber_first(struct fiber *self)
{
	arrived(self, self->next);
	resume_judgement(self);
	machine_judged_end(); /* the simulator's code, to begin with */
	self->next = NULL;
	self->started = true;
	machine_order_acquire(self->stack); /* what ran on it before is over */
	self->entry(self->argument);
	abort(); /* an entry never returns */
}

/* The frame that fiber_swap() pops: callee-saved registers, zero but for the fiber in the one
 * that fiber_start reads, then the address to return to. */
static void prepare(struct fiber *fiber)
{
	uint64_t *top = (uint64_t *)(void *)((char *)fiber->stack + STACK_SIZE);

#if defined(__x86_64__)
	/* fiber_start is entered by `ret` and calls: rsp must then be a multiple of 16. */
	top -= 2;
	*--top = (uint64_t)(uintptr_t)fiber_start;
	top -= 6;
	memset(top, 0, 6 * sizeof(*top));
	top[4] = (uint64_t)(uintptr_t)fiber; /* rbx */
#else
	top -= 20;
	memset(top, 0, 20 * sizeof(*top));
	top[0] = (uint64_t)(uintptr_t)fiber;        /* x19 */
	top[11] = (uint64_t)(uintptr_t)fiber_start; /* x30 */
#endif
	fiber->sp = top;
}

struct fiber *fiber_take(struct fiber_pool *pool, void (*entry)(void *argument), void *argument)
{
	struct fiber *fiber = pool->free;

	if (fiber)
		pool->free = fiber->next;
	else
		fiber = create();
	if (!fiber)
		return NULL;
	fiber->next = NULL;
	fiber->entry = entry;
	fiber->argument = argument;
	fiber->fake_stack = NULL;
	fiber->started = false;
	fiber->ignored = 0;
#ifdef FIBER_ASAN
	__asan_unpoison_memory_region(fiber->stack, fiber->stack_size);
#endif
#ifdef MACHINE_TSAN
	fiber->tsan = __tsan_create_fiber(0);
#endif
	prepare(fiber);
	pool->lent++;
	return fiber;
}

#ifdef MACHINE_TSAN
/* A thread of TSan's must not end while its accesses are not judged: put that straight in its name.
 */
UNJUDGED static void end_tsan_thread(struct fiber *fiber)
{
	void *self = __tsan_get_current_fiber();

	if (fiber->started) {
		__tsan_switch_to_fiber(fiber->tsan, __tsan_switch_to_fiber_no_sync);
		machine_judged_begin();
		machine_order_release(fiber->stack); /* partner: the next fiber's start on it */
		__tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
	}
	__tsan_destroy_fiber(fiber->tsan);
	fiber->tsan = NULL;
}
#endif

void fiber_give(struct fiber_pool *pool, struct fiber *fiber)
{
	if (!fiber)
		return;
#ifdef MACHINE_TSAN
	end_tsan_thread(fiber);
#else
	machine_order_release(fiber->stack);        /* partner: the next fiber's start on it */
#endif
	fiber->next = pool->free;
	pool->free = fiber;
	pool->lent--;
}

void fiber_host(struct fiber *host)
{
	memset(host, 0, sizeof(*host));
#ifdef MACHINE_TSAN
	host->tsan = __tsan_get_current_fiber();
#endif
}

UNJUDGED void fiber_switch(struct fiber *from, struct fiber *to)
{
	if (to->entry)
		to->next = from; /* read by fiber_first() when `to` has never run */
#ifdef FIBER_ASAN
	__sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#ifdef MACHINE_TSAN
	__tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
	leave_judgement(from);
	fiber_swap(&from->sp, to->sp);
	arrived(from, NULL);
	resume_judgement(from);
}

UNJUDGED _Noreturn void fiber_leave(struct fiber *from, struct fiber *to)
{
#ifdef FIBER_ASAN
	__sanitizer_start_switch_fiber(NULL, to->stack, to->stack_size);
#endif
#ifdef MACHINE_TSAN
	__tsan_switch_to_fiber(to->tsan, __tsan_switch_to_fiber_no_sync);
#endif
	fiber_swap(&from->sp, to->sp);
	abort();
}
