/* SPDX-License-Identifier: MIT
 *
 * printk.h: what the kernel says on the console, and how it stops.
 */
#ifndef KERNEL_PRINTK_H
#define KERNEL_PRINTK_H

#include <kernel/types.h>

struct trap_frame;

/* One line or part of one on the console. Any context. */
void printk(const char *text, ...) __attribute__((format(printf, 1, 2)));

/* A broken invariant: print it with registers and backtrace, stop the other CPUs, power off. Any
 * context. */
_Noreturn void panic(const char *text, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void panic_at(const struct trap_frame *frame, const char *text, ...)
	__attribute__((format(printf, 2, 3)));

/* Raw text to the UART, under the console lock; "\n" becomes "\r\n". Any context. */
void console_put(const char *text, size_t n);

#define KASSERT(condition)                                                                         \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0))                                             \
			panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #condition);      \
	} while (0)

#endif
