/* SPDX-License-Identifier: MIT
 *
 * gate.c: the one piece of the engine that its header has inline, out of line: so that it is built
 * as the engine is built, and an instrumented engine has an instrumented gate.
 */
#include <tally/tally.h>

#include "gate.h"

void port_sched_switch(
	struct tally_engine *engine, struct tally_task *prev, struct tally_task *next)
{
	tally_sched_switch(engine, prev, next);
}
