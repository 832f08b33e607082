/* SPDX-License-Identifier: MIT
 *
 * types.h: integer names of the kernel and the few macros that every file uses.
 *
 * u8..u64 and s8..s64 are the kernel's own spelling of <stdint.h>. Sizes and addresses are u64 (one
 * size of machine).
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define CPUS_MAX 16u

#define ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define ALIGN_DOWN(x, a)                ((x) & ~((u64)(a)-1))
#define ALIGN_UP(x, a)                  ALIGN_DOWN((x) + ((u64)(a)-1), a)
#define BIT(n)                          (1ull << (n))
#define MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define MAX(a, b)                       ((a) > (b) ? (a) : (b))

#define NSEC_PER_SEC 1000000000ull

#endif
