/* SPDX-License-Identifier: MIT
 *
 * order.h: what ThreadSanitizer is told of a machine.
 *
 * Fibers of different CPUs run on one thread, and TSan is told that they are as many threads,
 * without the order in which they happen to be stepped: so a plain access of one CPU that nothing
 * orders against another CPU's is reported, on every run that has both. What a real machine orders,
 * the machine and the port order here, with machine_order_release() and machine_order_acquire() on
 * an address that both sides know: a call, a mutex, the switch on one CPU, a task that moves. The
 * simulator's own code is all one thread and not judged: the engine alone is, between
 * machine_judged_begin() and machine_judged_end(), which nest as calls between simulator and engine
 * do. Without TSan all of this is nothing.
 */
#ifndef MACHINE_ORDER_H
#define MACHINE_ORDER_H

#if defined(__SANITIZE_THREAD__)
#define MACHINE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MACHINE_TSAN 1
#endif
#endif

#ifdef MACHINE_TSAN
void machine_order_release(void *at);
void machine_order_acquire(void *at);
void machine_judged_begin(void);
void machine_judged_end(void);
#else
static inline void machine_order_release(void *at)
{
	(void)at;
}

static inline void machine_order_acquire(void *at)
{
	(void)at;
}

static inline void machine_judged_begin(void)
{
}

static inline void machine_judged_end(void)
{
}
#endif

#endif
