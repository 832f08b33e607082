/* SPDX-License-Identifier: MIT
 *
 * Loops with a known number of instructions (loop.S).
 *
 * measured_loop(fd, rounds, argument) calls ioctl ENABLE on fd, runs `rounds` >= 1 rounds, and
 * calls ioctl DISABLE, with nothing of the compiler's in between; it gives 0, or the calls' errors
 * or-ed. loop_measured_insns() is the number of user instructions that the event must have seen.
 */
#ifndef PROGRAMS_LOOP_H
#define PROGRAMS_LOOP_H

#include "task.h"

#include <stdbool.h>
#include <stdint.h>

#define LOOP_BODY_INSNS 3u

extern const uint32_t measured_loop_begin[], measured_loop_body[], measured_loop_body_end[];
extern const uint32_t measured_loop_end[];
extern const uint32_t plain_loop_body[], plain_loop_body_end[];

long measured_loop(int fd, uint64_t rounds, unsigned long ioctl_argument);
void plain_loop(uint64_t rounds);

/* Instructions at EL0 between the two calls: the straight stretch once, the body once per round. */
static inline uint64_t loop_measured_insns(uint64_t rounds)
{
	uint64_t straight = (uint64_t)(measured_loop_end - measured_loop_begin) - LOOP_BODY_INSNS;

	return straight + rounds * LOOP_BODY_INSNS;
}

/* A child's life: the plain loop until it is killed. */
static inline _Noreturn void loop_forever(void)
{
	for (;;) {
		plain_loop(1000);
		cpu_yield();
	}
}

static inline bool loop_measured_holds(uint64_t address)
{
	return address >= (uintptr_t)measured_loop_begin && address < (uintptr_t)measured_loop_end;
}

static inline bool loop_measured_body_holds(uint64_t address)
{
	return address >= (uintptr_t)measured_loop_body &&
	       address < (uintptr_t)measured_loop_body_end;
}

#endif
