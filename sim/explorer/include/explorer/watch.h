/* SPDX-License-Identifier: MIT
 *
 * watch.h: what instrumented code does to memory, seen access by access.
 *
 * The engine, compiled with -fsanitize=thread and linked with hooks.c in place of the sanitizer's
 * runtime, calls a hook before every plain access, atomic and fence. While a vehicle is set and the
 * engine's code runs (machine/order.h), the hook makes the access a point, asks which store a load
 * sees, performs it, and judges it:
 *
 *   - An atomic that more than one CPU uses is a *shared* point: others may step and interrupts be
 * taken before it. Relaxed read-modify-writes whose order nothing depends on (statistics) are none.
 *   - A plain access with interrupts on, to memory that handlers touch too, is a *local* point:
 * interrupts only.
 *   - Every other plain access is no point: that plain accesses of different CPUs are ordered by
 * synchronisation is checked on every run (FastTrack epochs, reads too), and then their order can
 * be seen by nobody.
 *
 * Which class a site (an address in the code) has is learned, and kept from run to run. One run at
 * a time per process.
 */
#ifndef EXPLORER_WATCH_H
#define EXPLORER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/choice.h>

#define EXPLORER_CPUS_MAX 8u

enum explorer_access_kind {
	EXPLORER_READ,
	EXPLORER_WRITE,
	EXPLORER_UPDATE, /* an atomic read-modify-write */
	EXPLORER_FENCE,
};

struct explorer_access {
	const void *site; /* the return address in the instrumented code */
	const void *address;
	uint64_t value; /* read, or written; of an update: the value after it */
	uint32_t size;
	uint8_t kind;
	uint8_t order; /* __ATOMIC_*, when `atomic` */
	bool atomic;
	bool stale; /* a load that did not see the newest store */
};

/* What carries the instrumented code: a simulated machine, or bare threads (threads.h). */
struct explorer_vehicle {
	void *context;
	/* Before the access: let others step. May return on another CPU: machine_order.cpu says. */
	void (*point)(void *context, const struct explorer_access *access, bool shared);
	/* Answers 0 .. n-1, n >= 2; 0 is the default. */
	uint32_t (*choose)(
		void *context, enum machine_choice_kind kind, uint32_t n, const void *site);
	/* After the access, `value` filled in; NULL: nobody wants to know. */
	void (*step)(void *context, const struct explorer_access *access);
	/* A law is broken: `text` begins with its name. Does not return. */
	void (*fail)(void *context, const char *text);
};

/* A new run on `cpus` CPUs begins; NULL: it has ended. Forgets all of memory's history, not the
 * classes of sites. */
void explorer_watch(const struct explorer_vehicle *vehicle, uint32_t cpus);

/* ---- classes of sites, kept in memory that is shared with processes forked later ---- */

/* Forget all. 0, or -ENOMEM. */
int explorer_sites_init(void);
/* While `on`, what is learned takes effect at once; else it is noted for explorer_sites_promote().
 */
void explorer_sites_learn(bool on);
/* Let what was noted take effect. Returns how many sites changed class. */
uint32_t explorer_sites_promote(void);
/* Of all (site, class) pairs in effect, by offset in the program: equal in every process of one
 * binary. */
uint64_t explorer_sites_hash(void);
uint32_t explorer_sites_shared(void);

#endif
