/* SPDX-License-Identifier: MIT
 *
 * gate.h: the switch hook, called out of line.
 */
#ifndef PORT_SIM_GATE_H
#define PORT_SIM_GATE_H

struct tally_engine;
struct tally_task;

/* tally_sched_switch(), hook. */
void port_sched_switch(
	struct tally_engine *engine, struct tally_task *prev, struct tally_task *next);

#endif
