/* SPDX-License-Identifier: MIT
 *
 * assert.h: programmer errors. What comes from a user, a mapped page or hardware is checked
 * instead.
 */
#ifndef TALLY_CORE_ASSERT_H
#define TALLY_CORE_ASSERT_H

#include <tally/hal.h>

#define TALLY_ASSERT(condition)                                                                    \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0))                                             \
			hal_panic(#condition, __FILE__, __LINE__);                                 \
	} while (0)

#endif
