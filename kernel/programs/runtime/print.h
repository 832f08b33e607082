/* SPDX-License-Identifier: MIT
 *
 * Printing of the guest programs: a small printf onto file descriptor 1.
 *
 * Conversions: %d %i %u %x with an optional l (64 bits), %s %c %%; flags 0 and -, a width. Nothing
 * else. A call's whole text leaves in one write(2) (lines of up to 512 bytes), so that lines of
 * several processes do not mix within a line. No global state: any process and thread may call.
 */
#ifndef PROGRAMS_PRINT_H
#define PROGRAMS_PRINT_H

#include <stdarg.h>
#include <stddef.h>

#define PRINT_LINE_BYTES 512u

__attribute__((format(printf, 1, 2))) void print(const char *format, ...);

/* Formats into `line` (always ends with a zero); returns the length, cut at bytes - 1. */
size_t format_line(char *line, size_t bytes, const char *format, va_list arguments);

#endif
