/* SPDX-License-Identifier: MIT
 *
 * threads.h: the small vehicle: straight-line code on a few CPUs, without a machine around it.
 *
 * For litmus tests and for parts of the engine that need no kernel (the ring). A plan has one
 * function per CPU, each on a fiber of its own, and may have one interrupt handler per CPU that is
 * taken at most once, at any point of that CPU's function, its end included. All code of a plan
 * must be instrumented; setup and check are not judged.
 */
#ifndef EXPLORER_THREADS_H
#define EXPLORER_THREADS_H

#include <explorer/search.h>
#include <explorer/watch.h>

struct explorer_plan {
	const char *name;
	size_t world_size; /* of what the functions are given, zeroed for each run */
	uint32_t cpus;
	void (*setup)(void *world);
	void (*run[EXPLORER_CPUS_MAX])(void *world);
	void (*interrupt[EXPLORER_CPUS_MAX])(void *world);
	/* At rest. NULL: right; else what is wrong, beginning with the name of a law. */
	const char *(*check)(const void *world);
};

struct explorer_threads;

/* `plan` must outlive it. NULL: no memory. */
struct explorer_threads *explorer_threads_create(const struct explorer_plan *plan);
void explorer_threads_destroy(struct explorer_threads *threads);

/* One run under `search` (explorer_search_next() was called). NULL: right; else what is wrong,
 * valid until the next. */
const char *explorer_threads_run(struct explorer_threads *threads, struct explorer_search *search);
/* The same, telling `step` every access. */
const char *explorer_threads_tell(struct explorer_threads *threads, struct explorer_search *search,
	void (*step)(void *context, const struct explorer_access *access), void *context);
/* The world of the last run: outcomes of litmus tests. */
const void *explorer_threads_world(const struct explorer_threads *threads);

/* From code of a plan: wait for another CPU to store something (a spin loop's body). All waiting:
 * deadlock. */
void explorer_threads_relax(void);

#endif
