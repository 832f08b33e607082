/* SPDX-License-Identifier: MIT
 *
 * tell.c: what observers are told, and the rolling hash of it (machine/observer.h).
 *
 * The hash covers everything but changes of PMU registers, whoever listens, so that it is a
 * function of the run alone.
 */
#include "state.h"

#include <stdlib.h>

#define TELL(m, callback, ...)                                                                     \
	do {                                                                                       \
		for (uint32_t k_ = 0; k_ < (m)->observer_count; k_++) {                            \
			if ((m)->observer[k_].callback)                                            \
				(m)->observer[k_].callback(                                        \
					(m)->observer[k_].context, __VA_ARGS__);                   \
		}                                                                                  \
	} while (0)

enum told {
	TOLD_RETIRE = 1,
	TOLD_SWITCH,
	TOLD_PMU_INTERRUPT,
	TOLD_TICK,
	TOLD_BEGIN,
	TOLD_END,
	TOLD_RECORD,
	TOLD_TRACE,
	TOLD_FORK,
	TOLD_EXEC,
	TOLD_EXIT,
	TOLD_CPU,
	TOLD_RUN_END,
};

static void mix(struct machine *m, uint64_t value)
{
	m->hash = (m->hash ^ value) * UINT64_C(0x100000001b3);
	m->hash ^= m->hash >> 29;
}

static void mix_event(struct machine *m, enum told what, uint64_t a, uint64_t b)
{
	mix(m, (uint64_t)what << 56 ^ m->now_ns);
	mix(m, a);
	mix(m, b);
}

static uint64_t tid_of(const struct machine_task *task)
{
	return task ? task->tid : 0;
}

bool machine_observe(struct machine *m, const struct machine_observer *observer)
{
	size_t count = (size_t)m->observer_count + 1;
	struct machine_observer *grown = realloc(m->observer, count * sizeof(*grown));

	MACHINE_ASSERT(!m->ran);
	if (!grown)
		return false;
	m->observer = grown;
	m->observer[m->observer_count++] = *observer;
	m->retire_told |= observer->retire != NULL;
	return true;
}

void tell_retire(struct machine_cpu *c, const struct machine_retire *retire)
{
	struct machine *m = c->machine;

	if (!m->telling)
		return;
	mix_event(m, TOLD_RETIRE, retire->t0_ns, tid_of(retire->task) << 8 | retire->el);
	if (m->retire_told)
		TELL(m, retire, retire);
}

void tell_switch(
	struct machine_cpu *c, const struct machine_task *prev, const struct machine_task *next)
{
	struct machine *m = c->machine;

	if (!m->telling)
		return;
	mix_event(m, TOLD_SWITCH, c->number, tid_of(prev) << 32 | tid_of(next));
	TELL(m, sched_switch, c->number, prev, next, m->now_ns);
}

void tell_pmu_interrupt(struct machine_cpu *c, const struct machine_regs *regs)
{
	struct machine *m = c->machine;

	if (!m->telling)
		return;
	mix_event(m, TOLD_PMU_INTERRUPT, c->number, regs->pc);
	TELL(m, pmu_interrupt, c->number, regs->pc, regs->el, m->now_ns);
}

void tell_tick(struct machine_cpu *c)
{
	struct machine *m = c->machine;

	if (!m->telling)
		return;
	mix_event(m, TOLD_TICK, c->number, 0);
	TELL(m, tick, c->number, m->now_ns);
}

void tell_operation_begin(struct machine *m, uint32_t index, const struct machine_task *actor)
{
	if (!m->telling)
		return;
	account_all(m);
	mix_event(m, TOLD_BEGIN, index, tid_of(actor));
	TELL(m, operation_begin, index, &m->description->operations[index], actor, m->now_ns);
}

void tell_operation_end(struct machine *m, uint32_t index, const struct machine_task *actor)
{
	const struct operation_result *result = &m->run[index].result;

	if (!m->telling)
		return;
	account_all(m);
	mix_event(m, TOLD_END, index, (uint64_t)result->result);
	for (size_t i = 0; i < result->size; i++)
		mix(m, result->bytes[i]);
	TELL(m, operation_end, index, &m->description->operations[index], actor, result);
}

void machine_tell_record(struct machine *m, uint32_t event, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	if (!m->telling)
		return;
	mix_event(m, TOLD_RECORD, event, size);
	for (size_t i = 0; i < size; i++)
		mix(m, byte[i]);
	TELL(m, record, event, bytes, size, m->now_ns);
}

void machine_tell_trace(struct machine *m, uint32_t kind, uint64_t a, uint64_t b)
{
	struct machine_cpu *c = m->running;
	struct machine_trace trace = {
		.cpu = c ? c->number : 0, .kind = kind, .a = a, .b = b, .t_ns = m->now_ns};

	if (!m->telling)
		return;
	mix_event(m, TOLD_TRACE, (uint64_t)trace.cpu << 32 | kind, a ^ b << 32);
	TELL(m, trace, &trace);
}

void tell_fork(
	struct machine *m, const struct machine_task *parent, const struct machine_task *child)
{
	if (!m->telling)
		return;
	mix_event(m, TOLD_FORK, tid_of(parent), tid_of(child));
	TELL(m, task_fork, parent, child, m->now_ns);
}

void tell_exec(struct machine *m, const struct machine_task *task)
{
	if (!m->telling)
		return;
	mix_event(m, TOLD_EXEC, tid_of(task), task->work);
	TELL(m, task_exec, task, m->now_ns);
}

void tell_exit(struct machine *m, const struct machine_task *task)
{
	if (!m->telling)
		return;
	mix_event(m, TOLD_EXIT, tid_of(task), 0);
	TELL(m, task_exit, task, m->now_ns);
}

void tell_cpu(struct machine_cpu *c, bool online)
{
	struct machine *m = c->machine;

	if (!m->telling)
		return;
	mix_event(m, TOLD_CPU, c->number, online);
	TELL(m, cpu_state, c->number, online, m->now_ns);
}

void tell_end(struct machine *m)
{
	account_all(m);
	mix_event(m, TOLD_RUN_END, m->steps, 0);
	TELL(m, end, m->now_ns);
	m->telling = false;
}

static void pmu_changed(void *context, const struct pmu_change *change)
{
	struct machine *m = context;

	if (m->telling)
		TELL(m, pmu_change, change);
}

static uint64_t pmu_now_ns(void *context, unsigned int cpu)
{
	(void)cpu;
	return ((struct machine *)context)->now_ns;
}

void tell_pmu_changes(struct machine *m)
{
	struct pmu_observer observer = {.context = m, .now_ns = pmu_now_ns, .changed = pmu_changed};

	for (uint32_t k = 0; k < m->observer_count; k++) {
		if (m->observer[k].pmu_change) {
			pmu_model_observe(m->model, &observer);
			return;
		}
	}
}
