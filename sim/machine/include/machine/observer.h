/* SPDX-License-Identifier: MIT
 *
 * observer.h: what a simulated machine tells of a run.
 *
 * Any number of observers can be attached before the run; each callback may be NULL. They are
 * called on whatever stack the machine is on, take no simulated time, and must not call back into
 * the machine but through the accessors of machine.h and machine_retire_count().
 *
 * Order: what a CPU did is told before anything that follows it on that CPU (a switch, an
 * interrupt, a trace, a change of its PMU); before an operation begins, after it ended and at the
 * end of the run, what every CPU did up to that moment has been told. So an observer sees all
 * retirement that an operation's result can depend on. Two CPUs may otherwise be told out of step.
 */
#ifndef MACHINE_OBSERVER_H
#define MACHINE_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <machine/operation.h>
#include <pmu_model/pmu_model.h>

struct machine;
struct machine_task;

/* A stretch in which a CPU executed instructions: [t0_ns, t1_ns). Idle retires nothing and is not
 * told. */
struct machine_retire {
	const struct machine *machine;
	const struct machine_task *task; /* current; NULL for idle (only in interrupts) */
	uint32_t cpu;
	uint8_t el;     /* 0 or 1 */
	bool interrupt; /* time spent in an interrupt handler, not by the task */
	uint64_t t0_ns;
	uint64_t t1_ns;
	/* for machine_retire_count() */
	const uint64_t *ledger;
	const void *rates;
	uint64_t from_ns;
	/* how long it executed: t1_ns - t0_ns, or more where kernel code executes in no time */
	uint64_t span_ns;
};

/* How many times PMU event `event` occurred in the stretch, exactly: what the counters that count
 * it were told. */
uint64_t machine_retire_count(const struct machine_retire *retire, uint16_t event);

/* What the engine traces (the numbers are the port's). */
struct machine_trace {
	uint32_t cpu;
	uint32_t kind;
	uint64_t a;
	uint64_t b;
	uint64_t t_ns;
};

struct machine_observer {
	void *context;

	void (*retire)(void *context, const struct machine_retire *retire);
	/* NULL: idle. Told before the kernel's own hook is called. */
	void (*sched_switch)(void *context, uint32_t cpu, const struct machine_task *prev,
		const struct machine_task *next, uint64_t t_ns);
	void (*pmu_interrupt)(void *context, uint32_t cpu, uint64_t pc, uint8_t el, uint64_t t_ns);
	void (*tick)(void *context, uint32_t cpu, uint64_t t_ns);

	/* `index` is the operation's number; `event` the number of the event that it makes or
	 * names, else NOBODY. */
	void (*operation_begin)(void *context, uint32_t index, const struct operation *operation,
		const struct machine_task *actor, uint64_t t_ns);
	void (*operation_end)(void *context, uint32_t index, const struct operation *operation,
		const struct machine_task *actor, const struct operation_result *result);

	/* A whole record that a DRAIN took out of the ring of event `event`, contiguous. */
	void (*record)(
		void *context, uint32_t event, const void *bytes, size_t size, uint64_t t_ns);

	void (*trace)(void *context, const struct machine_trace *trace);

	void (*task_fork)(void *context, const struct machine_task *parent,
		const struct machine_task *child,
		uint64_t t_ns); /* parent NULL: a task of the description, at time 0 */
	void (*task_exec)(void *context, const struct machine_task *task, uint64_t t_ns);
	void (*task_exit)(void *context, const struct machine_task *task, uint64_t t_ns);
	void (*cpu_state)(void *context, uint32_t cpu, bool online, uint64_t t_ns);

	/* From the PMU model: a counter's configuration or value changed other than by counting. */
	void (*pmu_change)(void *context, const struct pmu_change *change);

	/* The last callback: before the tasks are torn down and the CPUs go off (that is told to
	 * nobody). */
	void (*end)(void *context, uint64_t t_ns);
};

#endif
