/* SPDX-License-Identifier: MIT
 *
 * string.h: the part of <string.h> that the kernel, the engine and libfdt link against, and
 * formatted text.
 */
#ifndef KERNEL_STRING_H
#define KERNEL_STRING_H

#include <stdarg.h>

#include <kernel/types.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
unsigned long strtoul(const char *s, char **end, int base);

/* Copy at most size - 1 bytes of `from` and a 0; true when all of it fitted. */
bool string_copy(char *to, const char *from, size_t size);

/* Conversions: d i u x p s c %, with 0, -, width (or *), precision of s (or .*), and l, ll, z.
 * Always ends in 0 when size > 0; returns the length that the whole text has. */
int format_args(char *to, size_t size, const char *format, va_list args);
int format(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
