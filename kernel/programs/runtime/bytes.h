/* SPDX-License-Identifier: MIT
 *
 * Memory and text primitives of the guest programs.
 *
 * The first four are what a freestanding compiler may call on its own (ISO C11 4p6, gcc and clang
 * manuals); the rest is what argument handling needs. No allocation, no locale, no global state.
 */
#ifndef PROGRAMS_BYTES_H
#define PROGRAMS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

size_t text_length(const char *text);
bool text_equal(const char *a, const char *b);

/* Does `needle` occur in `text`? ASCII letters compare without regard to case. */
bool text_contains(const char *text, const char *needle);

/* Decimal, or hexadecimal after 0x, with an optional minus; stops at the first other character. */
int64_t text_number(const char *text);

#endif
