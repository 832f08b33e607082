/* SPDX-License-Identifier: MIT
 *
 * memory.h: the four functions that a freestanding compiler may call anyway; the port's C library
 * or kernel has them.
 */
#ifndef TALLY_CORE_MEMORY_H
#define TALLY_CORE_MEMORY_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

#endif
