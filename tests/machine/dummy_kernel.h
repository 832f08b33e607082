/* SPDX-License-Identifier: MIT
 *
 * dummy_kernel.h: the smallest kernel that the machine can run, for tests of the machine alone.
 *
 * Its one system call is ioctl: `command` picks one of the test's actions, which then runs in
 * process context of the actor. The hooks only count; a test that wants more sets the on_*
 * pointers.
 */
#ifndef DUMMY_KERNEL_H
#define DUMMY_KERNEL_H

#include <machine/kernel.h>

struct dummy;

typedef int64_t (*dummy_action)(struct dummy *dummy, uint64_t argument);

struct dummy {
	struct machine *machine;
	const dummy_action *actions; /* by ioctl command */
	void *test;                  /* the test's own */
	uint32_t boots, halts, onlines, offlines, ticks, switches, interrupts, inits, execs, exits,
		frees;
	void (*on_online)(struct dummy *dummy);
	void (*on_interrupt)(struct dummy *dummy, const struct machine_regs *regs);
	void (*on_switch)(
		struct dummy *dummy, struct machine_task *prev, struct machine_task *next);
	void (*on_tick)(struct dummy *dummy);
	struct machine_kernel kernel; /* filled by dummy_create() */
};

/* The machine for `description` with `dummy` (zeroed but for what the test set) as its kernel. */
struct machine *dummy_create(struct dummy *dummy, const struct machine_description *description,
	struct machine_pool *pool);

/* An operation that runs action `action` in task `actor` at `at_ns`. */
struct operation dummy_act(uint32_t actor, uint64_t at_ns, uint32_t action, uint64_t argument);

/* A machine of `cpus` (up to 4) CPUs of one kind with one program "prog" of functions "main" and
 * "leaf", and one work: `busy` for ever, INST_RETIRED 1000 and CPU_CYCLES 1000 per microsecond.
 * Static and shared: copy to change. */
extern const struct machine_work dummy_works[4];
struct machine_description dummy_description(uint32_t cpus);
#define DUMMY_BUSY       0u /* for ever */
#define DUMMY_SHORT      1u /* 10 ms, then exits */
#define DUMMY_SLEEPER    2u /* nothing */
#define DUMMY_TWO_PHASES 3u /* 3 ms at 1000 and 7 us at 3 INST per us, twice, then sleeps */

#endif
