/* SPDX-License-Identifier: MIT
 *
 * bits.h: how many bits are set, without the compiler's run-time library.
 */
#ifndef TALLY_CORE_BITS_H
#define TALLY_CORE_BITS_H

#include <stdint.h>

static inline uint32_t bits_count(uint64_t word)
{
	const uint64_t every_2nd = 0x5555555555555555u;
	const uint64_t every_4th = 0x3333333333333333u;
	const uint64_t every_8th = 0x0f0f0f0f0f0f0f0fu;

	word -= (word >> 1) & every_2nd;
	word = (word & every_4th) + ((word >> 2) & every_4th);
	word = (word + (word >> 4)) & every_8th;
	return (uint32_t)((word * 0x0101010101010101u) >> 56);
}

#endif
