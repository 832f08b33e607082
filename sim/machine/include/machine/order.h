/* SPDX-License-Identifier: MIT
 *
 * order.h: what judges of memory order are told of a machine: ThreadSanitizer, or the explorer's
 * memory model.
 *
 * Fibers of different CPUs run on one thread, and the judge is told that they are as many threads,
 * without the order in which they happen to be stepped: so a plain access of one CPU that nothing
 * orders against another CPU's is reported. What a real machine orders, the machine and the port
 * order here, with machine_order_release() and machine_order_acquire() on an address that both
 * sides know: a call, a mutex, the switch on one CPU, a task that moves. The simulator's own code
 * is all one thread and not judged: the engine alone is, between machine_judged_begin() and
 * machine_judged_end(), which nest as calls between simulator and engine do.
 */
#ifndef MACHINE_ORDER_H
#define MACHINE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define MACHINE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MACHINE_TSAN 1
#endif
#endif

struct machine_order_judge {
	void (*release)(void *at);
	void (*acquire)(void *at);
	/* Memory that was just allocated: nobody has touched it. Memory that is given back: as if
	 * all of it were written. */
	void (*fresh)(const void *at, size_t size);
	void (*freed)(const void *at, size_t size);
	/* Time moves: what every CPU stored is visible to all. */
	void (*quiet)(void);
};

/* Of the run that is in progress; one at a time. */
struct machine_order {
	const struct machine_order_judge *judge; /* NULL: nobody is told */
	bool asleep;        /* what runs now belongs to no experiment: nothing is judged */
	bool judged;        /* the engine's code runs */
	uint32_t ignored;   /* how deep in the simulator's own; 0: judged */
	uint32_t cpu;       /* on this CPU */
	const void *site;   /* of the last HAL call: the address it returns to */
	const bool *masked; /* are its interrupts off? */
};
extern struct machine_order machine_order;

#ifdef MACHINE_TSAN
void machine_order_release(void *at);
void machine_order_acquire(void *at);
void machine_judged_begin(void);
void machine_judged_end(void);

static inline void machine_order_fresh(const void *at, size_t size)
{
	(void)at;
	(void)size;
}

static inline void machine_order_freed(const void *at, size_t size)
{
	(void)at;
	(void)size;
}

static inline void machine_order_quiet(void)
{
}
#else
static inline void machine_order_release(void *at)
{
	if (machine_order.judge && !machine_order.asleep)
		machine_order.judge->release(at);
}

static inline void machine_order_acquire(void *at)
{
	if (machine_order.judge && !machine_order.asleep)
		machine_order.judge->acquire(at);
}

static inline void machine_order_fresh(const void *at, size_t size)
{
	if (machine_order.judge && !machine_order.asleep)
		machine_order.judge->fresh(at, size);
}

static inline void machine_order_freed(const void *at, size_t size)
{
	if (machine_order.judge && !machine_order.asleep)
		machine_order.judge->freed(at, size);
}

static inline void machine_order_quiet(void)
{
	if (machine_order.judge && !machine_order.asleep)
		machine_order.judge->quiet();
}

static inline void machine_judged_begin(void)
{
	machine_order.judged = --machine_order.ignored == 0 && !machine_order.asleep;
}

static inline void machine_judged_end(void)
{
	machine_order.ignored++;
	machine_order.judged = false;
}
#endif

#endif
