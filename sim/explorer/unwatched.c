/* SPDX-License-Identifier: MIT
 *
 * unwatched.c: watch.h without instrumentation, for builds in which a sanitizer has the compiler's
 * hooks: points are the calls of the HAL, and the sanitizer judges the accesses. There are no
 * plans: they live by instrumented code.
 */
#include <explorer/plans.h>
#include <explorer/watch.h>

#include <stdlib.h>

void explorer_watch(const struct explorer_vehicle *vehicle, uint32_t cpus)
{
	(void)vehicle;
	(void)cpus;
}

int explorer_sites_init(void)
{
	return 0;
}

void explorer_sites_learn(bool on)
{
	(void)on;
}

uint32_t explorer_sites_promote(void)
{
	return 0;
}

uint64_t explorer_sites_hash(void)
{
	return 0;
}

uint32_t explorer_sites_shared(void)
{
	return 0;
}

const struct explorer_plan *explorer_plan_get(unsigned int index)
{
	(void)index;
	return NULL;
}

const struct explorer_plan *explorer_plan_find(const char *name)
{
	(void)name;
	return NULL;
}

struct explorer_threads *explorer_threads_create(const struct explorer_plan *plan)
{
	(void)plan;
	return NULL;
}

void explorer_threads_destroy(struct explorer_threads *threads)
{
	(void)threads;
}

const char *explorer_threads_run(struct explorer_threads *threads, struct explorer_search *search)
{
	(void)threads;
	(void)search;
	abort(); /* there are no plans */
}

const char *explorer_threads_tell(struct explorer_threads *threads, struct explorer_search *search,
	void (*step)(void *context, const struct explorer_access *access), void *context)
{
	(void)step;
	(void)context;
	return explorer_threads_run(threads, search);
}
