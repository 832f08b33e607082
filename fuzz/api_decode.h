/* SPDX-License-Identifier: MIT
 *
 * api_decode.h: what the bytes of a run decode to. See api_run.h.
 */
#ifndef FUZZ_API_DECODE_H
#define FUZZ_API_DECODE_H

#include <machine/machine.h>
#include <tally/abi.h>

#include "api_run.h"

/* A decoded run, with everything its description points to. */
struct api_scene {
	struct machine_description description;
	uint32_t cluster_of[MACHINE_CPUS_MAX];
	struct machine_cluster cluster[MACHINE_CLUSTERS_MAX];
	struct machine_task_description task[API_TASKS_MAX];
	struct operation operation[API_OPERATIONS_MAX];
	struct tally_attr attr[API_OPERATIONS_MAX];
	struct machine_policy policy;
	struct machine_random_policy random;
	int32_t paranoid;
	uint32_t opens; /* decoded so far */
	uint32_t forks;
	uint64_t now_ns; /* when the next operation is due */
};

void api_decode(const uint8_t *bytes, size_t size, struct api_scene *scene);

/* The programs and works that all runs share (api_works.c). */
extern const struct machine_program api_programs[];
extern const uint32_t api_program_count;
extern const struct machine_work api_works[];
extern const uint32_t api_work_count;
extern const struct machine_rates api_irq_rates[]; /* of the handlers of PMU interrupts */

#endif
