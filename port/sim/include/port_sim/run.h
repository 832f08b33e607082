/* SPDX-License-Identifier: MIT
 *
 * run.h: one run of the engine on a simulated machine.
 *
 * Ties a struct machine to a struct tally_engine: fd tables, user memory, rights and the HAL. A run
 * is created from a description, observed, run once, looked at and destroyed. HAL functions take no
 * handle, so one run at a time is "the one that runs": port_sim_run() makes it so and puts back
 * what was there before. At the end of a run everything that the engine allocated must have come
 * back (the run fails otherwise); freed memory is poisoned.
 */
#ifndef PORT_SIM_RUN_H
#define PORT_SIM_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/machine.h>
#include <tally/tally.h>

struct port_sim;

/* Zeroes mean the default in brackets. */
struct port_sim_options {
	const int32_t *paranoid;  /* perf_event_paranoid [NULL: 2] */
	uint32_t max_sample_rate; /* per second [100000] */
	bool without_checks;  /* leave out tally_check() after hooks: the observers judge alone */
	bool without_pmu_irq; /* the overflow interrupt is not wired */
};

/* NULL: no memory, or the description is not sound (machine_description_check()). `options` and
 * `pool` may be NULL. */
struct port_sim *port_sim_create(const struct machine_description *description,
	const struct port_sim_options *options, struct machine_pool *pool);
void port_sim_destroy(struct port_sim *port);

/* For machine_observe() before the run and for all accessors. */
struct machine *port_sim_machine(struct port_sim *port);

/* 0, or -1: port_sim_failure() says why. */
int port_sim_run(struct port_sim *port);
const char *port_sim_failure(const struct port_sim *port);

/* The engine's id of event k (PERF_EVENT_IOC_ID), 0: it was never opened. Stays known after close.
 */
uint64_t port_sim_event_id(const struct port_sim *port, uint32_t event);

/* The engine, for statistics. Only while the run lasts (observers), NULL otherwise. */
const struct tally_engine *port_sim_engine(const struct port_sim *port);

/* Statistics as they stood at the end of the run, before the tasks were torn down. */
uint64_t port_sim_statistic(const struct port_sim *port, enum tally_statistic which);

/* Memory that the engine holds, and held at most, in bytes (pages included). */
size_t port_sim_memory_held(const struct port_sim *port);
size_t port_sim_memory_peak(const struct port_sim *port);

#endif
