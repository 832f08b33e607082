/* SPDX-License-Identifier: MIT
 *
 * hal_port.h: the types and the linkage of the HAL in the simulator, as tally/hal.h asks.
 *
 * The hot functions are linked, not inlined: each is a point at which the machine may let another
 * CPU step.
 */
#ifndef HAL_PORT_H
#define HAL_PORT_H

#include <stdbool.h>

#define HAL_HOT extern

struct machine_task;

/* Same layout as struct machine_mutex (checked in port/sim/hal.c), so that core needs no header of
 * the machine. */
struct hal_mutex {
	struct machine_task *owner;
	struct machine_task *first;
	struct machine_task *last;
	bool held;
};

#endif
