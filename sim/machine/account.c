/* SPDX-License-Identifier: MIT
 *
 * account.c: what CPUs execute as time passes, and when something will happen because of it.
 *
 * A task computes in segments: stretches with one set of rates (a phase on a cluster). Its ledger
 * holds, per PMU event and in thousandths, what happened before the segment; the total at `ns` into
 * it is ledger + rate * ns, exact in 64 bits (MACHINE_RATE_MAX * MACHINE_END_MAX_NS < 2^63). A
 * counter is told differences of total / 1000, so it does not matter how a segment is cut, nor
 * whether anybody counts. Only events that some counter of the CPU counts now are looked at; the
 * rest is folded into the ledger when the segment ends.
 *
 * A CPU is accounted lazily: up to `accounted_ns`, by whoever is about to step it, switch it or
 * look at it. Before any kernel code runs on a CPU it has been accounted, so register accesses find
 * their counters up to date.
 */
#include "state.h"

#define IRQ_SERIAL        1 /* of the rates in interrupts; tasks' segments are numbered from 2 */
#define KERNEL_EVENTS_MAX 1000000u /* no stretch of kernel code is longer */
#define KERNEL_CODE_NS    1000u    /* a piece of kernel code that overflows nothing */

/* What a CPU executes now. */
struct activity {
	const uint64_t *ledger;
	const struct compiled_rates *rates;
	uint64_t done_ns;
	uint64_t left_ns;
	uint64_t serial;
	uint8_t el;
};

static const struct machine_phase *phase_of(const struct machine_task *task)
{
	return &task_work(task)->phases[task->phase];
}

/* false: nothing (idle, off, or in kernel code, which takes no time). */
static bool find_activity(const struct machine_cpu *c, struct activity *a)
{
	const struct machine_task *task = c->current;

	if (c->state == CPU_IRQ) {
		const struct compiled_rates *irq = c->machine->compiled.irq;

		if (!irq)
			return false;
		*a = (struct activity){.ledger = c->irq_ledger,
			.rates = &irq[c->cluster],
			.done_ns = c->irq_segment_ns,
			.left_ns = c->irq_left_ns,
			.serial = IRQ_SERIAL,
			.el = 1};
		return true;
	}
	if (c->state != CPU_COMPUTE || !task || task->work_done)
		return false;
	*a = (struct activity){.ledger = task->ledger,
		.rates = task->rates,
		.done_ns = task->segment_ns,
		.left_ns = task->phase_left_ns,
		.serial = task->segment_serial,
		.el = phase_of(task)->el};
	return true;
}

static const struct compiled_rate *find_rate(const struct compiled_rates *rates, uint16_t event)
{
	for (uint32_t i = 0; i < rates->count; i++) {
		if (rates->rate[i].event == event)
			return &rates->rate[i];
	}
	return NULL;
}

/* Bring c->demand up to date: the counted events that the activity has. */
static void refresh_demand(struct machine_cpu *c, const struct activity *a)
{
	uint64_t generation = pmu_cpu_generation(c->pmu);
	uint16_t events[PMU_COUNTERS_MAX];
	unsigned int n;

	if (c->demand_serial == a->serial && c->demand_generation == generation)
		return;
	c->demand_serial = a->serial;
	c->demand_generation = generation;
	c->demand_count = 0;
	n = pmu_cpu_demand(c->pmu, a->el, events);
	for (unsigned int i = 0; i < n; i++) {
		const struct compiled_rate *rate = find_rate(a->rates, events[i]);

		if (rate && rate->per_us != 0) {
			c->demand[c->demand_count++] = (struct demand){
				.event = rate->event, .slot = rate->slot, .per_us = rate->per_us};
		}
	}
}

static uint64_t total_milli(const uint64_t *ledger, uint16_t slot, uint32_t per_us, uint64_t ns)
{
	return ledger[slot] + per_us * ns;
}

static uint64_t occurrences(
	const uint64_t *ledger, uint16_t slot, uint32_t per_us, uint64_t from_ns, uint64_t to_ns)
{
	return total_milli(ledger, slot, per_us, to_ns) / 1000 -
	       total_milli(ledger, slot, per_us, from_ns) / 1000;
}

uint64_t machine_retire_count(const struct machine_retire *retire, uint16_t event)
{
	const struct compiled_rate *rate = find_rate(retire->rates, event);

	if (!rate)
		return 0;
	return occurrences(retire->ledger, rate->slot, rate->per_us, retire->from_ns,
		retire->from_ns + retire->span_ns);
}

/* The least dt so that `count` (not 0) more occurrences have happened after it. */
static uint64_t ns_until(
	const uint64_t *ledger, uint16_t slot, uint32_t per_us, uint64_t done_ns, uint64_t count)
{
	uint64_t milli = total_milli(ledger, slot, per_us, done_ns);
	uint64_t wanted;

	if (count > (UINT64_C(1) << 53) || per_us == 0)
		return NEVER; /* more than any run can hold: 2^53 * 1000 > RATE_MAX * END_MAX_NS */
	wanted = (milli / 1000 + count) * 1000 - milli;
	return (wanted + per_us - 1) / per_us;
}

/* ---- segments ---- */

static void fold(uint64_t *ledger, const struct compiled_rates *rates, uint64_t ns)
{
	for (uint32_t i = 0; i < rates->count; i++)
		ledger[rates->rate[i].slot] += rates->rate[i].per_us * ns;
}

static void close_segment(struct machine_task *task)
{
	if (task->rates && task->segment_ns != 0)
		fold(task->ledger, task->rates, task->segment_ns);
	task->segment_ns = 0;
	task->rates = NULL;
}

void account_open_segment(struct machine_task *task, uint32_t cluster)
{
	struct machine *m = task->machine;

	if (task->rates && task->segment_cluster == cluster)
		return;
	close_segment(task);
	task->segment_cluster = cluster;
	if (task->work_done)
		return;
	task->rates = &m->compiled.work[task->work]
			       .phase[task->phase * m->description->cluster_count + cluster];
	task->segment_serial = ++m->segment_serial;
}

void account_begin_work(struct machine_task *task, uint32_t work)
{
	const struct machine_work *w;

	close_segment(task);
	task->work = work;
	w = task_work(task);
	task->phase = 0;
	task->rounds_left = w->repeat;
	task->work_done = w->phase_count == 0;
	task->phase_left_ns = task->work_done ? 0 : w->phases[0].duration_ns;
	account_open_segment(task, task->segment_cluster);
}

static void next_phase(struct machine_task *task)
{
	const struct machine_work *w = task_work(task);
	uint32_t cluster = task->segment_cluster;

	if (task->phase + 1 < w->phase_count) {
		task->phase++;
	} else if (w->repeat != 0 && --task->rounds_left == 0) {
		task->work_done = true;
	} else if (w->phase_count == 1) {
		/* The same rates go on: no new segment, so that a counter's view of it stays valid.
		 */
		task->phase_left_ns = w->phases[0].duration_ns;
		return;
	} else {
		task->phase = 0;
	}
	close_segment(task);
	if (!task->work_done)
		task->phase_left_ns = w->phases[task->phase].duration_ns;
	account_open_segment(task, cluster);
}

/* ---- a CPU ---- */

static void pass_time(struct machine_cpu *c, uint64_t dt_ns)
{
	struct machine_task *task = c->current;

	if (c->state == CPU_IRQ) {
		MACHINE_ASSERT(dt_ns <= c->irq_left_ns);
		c->irq_left_ns -= dt_ns;
		c->irq_segment_ns += dt_ns;
		return;
	}
	MACHINE_ASSERT(dt_ns <= task->phase_left_ns);
	task->segment_ns += dt_ns;
	task->phase_left_ns -= dt_ns;
	task->cpu_ns += dt_ns;
	if (task->phase_left_ns == 0) {
		next_phase(task);
		c->next_stale = true;
	}
}

/* Tell the counters what the activity does in its next `span_ns`. */
static void retire(struct machine_cpu *c, const struct activity *a, uint64_t span_ns)
{
	refresh_demand(c, a);
	for (uint32_t i = 0; i < c->demand_count; i++) {
		const struct demand *d = &c->demand[i];
		uint64_t n = occurrences(
			a->ledger, d->slot, d->per_us, a->done_ns, a->done_ns + span_ns);

		if (n != 0)
			pmu_cpu_retire(c->pmu, a->el, d->event, n);
	}
}

void account_cpu(struct machine_cpu *c)
{
	struct machine *m = c->machine;
	uint64_t t0_ns = c->accounted_ns, dt_ns = m->now_ns - t0_ns;
	struct activity a;

	if (dt_ns == 0)
		return;
	c->accounted_ns = m->now_ns;
	if (m->now_ns >= c->next_ns)
		c->next_stale = true;
	if (!find_activity(c, &a)) {
		if (c->state == CPU_IRQ)
			pass_time(c, dt_ns);
		return;
	}
	retire(c, &a, dt_ns);
	tell_retire(c, &(struct machine_retire){.machine = m,
			       .task = c->current,
			       .cpu = c->number,
			       .el = a.el,
			       .interrupt = c->state == CPU_IRQ,
			       .t0_ns = t0_ns,
			       .t1_ns = m->now_ns,
			       .ledger = a.ledger,
			       .rates = a.rates,
			       .from_ns = a.done_ns,
			       .span_ns = dt_ns});
	pass_time(c, dt_ns);
	account_look_at_line(c);
}

void account_all(struct machine *m)
{
	for (uint32_t i = 0; i < m->cpu_count; i++)
		account_cpu(&m->cpu[i]);
}

void account_look_at_line(struct machine_cpu *c)
{
	bool line = c->online && pmu_cpu_line(c->pmu);

	if (line && !c->line)
		c->line_rise_ns = c->machine->now_ns;
	if (line != c->line)
		c->next_stale = true;
	c->line = line;
}

uint64_t account_pmu_due_ns(const struct machine_cpu *c)
{
	return c->line ? c->line_rise_ns + c->latency_ns : NEVER;
}

uint64_t account_next(struct machine_cpu *c)
{
	struct machine *m = c->machine;
	uint64_t next_ns = NEVER, left_ns = NEVER, due_ns;
	struct activity a;

	if (!c->next_stale)
		return c->next_ns;
	MACHINE_ASSERT(c->accounted_ns == m->now_ns);
	if (c->state == CPU_IRQ)
		left_ns = c->irq_left_ns;
	if (find_activity(c, &a)) {
		left_ns = a.left_ns;
		refresh_demand(c, &a);
		/* A line that is high already cannot rise: then overflows change nothing. */
		for (uint32_t i = 0; i < c->demand_count && !c->line; i++) {
			const struct demand *d = &c->demand[i];
			uint64_t count = pmu_cpu_until_interrupt(c->pmu, a.el, d->event);
			uint64_t ns = count == NEVER ? NEVER
						     : ns_until(a.ledger, d->slot, d->per_us,
							       a.done_ns, count ? count : 1);

			if (ns < left_ns)
				left_ns = ns;
		}
		due_ns = operation_count_ns(c);
		if (due_ns < left_ns)
			left_ns = due_ns;
	}
	if (left_ns != NEVER)
		next_ns = m->now_ns + left_ns;
	due_ns = account_pmu_due_ns(c);
	if (due_ns > m->now_ns &&
		due_ns < next_ns) /* else it waits for being unmasked, not for time */
		next_ns = due_ns;
	c->next_ns = next_ns;
	c->next_stale = false;
	return next_ns;
}

/* ---- kernel code ---- */

/* How long kernel code runs until what demand k counts overflows; NEVER: not soon. */
static uint64_t until_overflow(const struct machine_cpu *c, const struct activity *a, uint32_t k)
{
	const struct demand *d = &c->demand[k];
	uint64_t count = pmu_cpu_until_interrupt(c->pmu, a->el, d->event);

	if (count == NEVER || count == 0 || count > KERNEL_EVENTS_MAX)
		return NEVER;
	return ns_until(a->ledger, d->slot, d->per_us, a->done_ns, count);
}

static void execute(struct machine_cpu *c)
{
	struct machine *m = c->machine;
	struct activity a = {.ledger = c->irq_ledger,
		.rates = &m->compiled.irq[c->cluster],
		.done_ns = c->irq_segment_ns,
		.serial = IRQ_SERIAL,
		.el = 1};
	uint64_t span_ns[PMU_COUNTERS_MAX + 2];
	uint32_t n = 2, answer;

	refresh_demand(c, &a);
	if (c->demand_count == 0)
		return; /* nobody counts it */
	span_ns[1] = KERNEL_CODE_NS;
	for (uint32_t k = 0; k < c->demand_count; k++) {
		span_ns[n] = until_overflow(c, &a, k);
		n += span_ns[n] != NEVER;
	}
	answer = machine_choice(m, MACHINE_CHOICE_EVENTS, n);
	if (answer == 0)
		return;
	retire(c, &a, span_ns[answer]);
	tell_retire(c, &(struct machine_retire){.machine = m,
			       .task = c->current,
			       .cpu = c->number,
			       .el = 1,
			       .interrupt = true,
			       .t0_ns = m->now_ns,
			       .t1_ns = m->now_ns,
			       .ledger = a.ledger,
			       .rates = a.rates,
			       .from_ns = a.done_ns,
			       .span_ns = span_ns[answer]});
	c->irq_segment_ns += span_ns[answer];
	c->next_stale = true; /* what overflows next, and when */
	account_look_at_line(c);
}

void machine_execute(struct machine *m)
{
	struct machine_cpu *c = cpu_running(m);

	if (machine_explored(m) && m->description->policy->kernel_events && m->compiled.irq &&
		!pmu_cpu_line(c->pmu))
		execute(c);
}

/* ---- looking ---- */

uint64_t machine_task_occurrences(const struct machine_task *task, uint16_t event)
{
	int slot = machine_slot(&task->machine->compiled, event);
	const struct compiled_rate *rate = task->rates ? find_rate(task->rates, event) : NULL;

	if (slot < 0)
		return 0;
	return total_milli(
		       task->ledger, (uint16_t)slot, rate ? rate->per_us : 0, task->segment_ns) /
	       1000;
}

uint64_t account_until_count(const struct machine_task *task, uint16_t event, uint64_t count)
{
	const struct compiled_rate *rate = task->rates ? find_rate(task->rates, event) : NULL;
	uint64_t have = machine_task_occurrences(task, event);

	if (have >= count)
		return 0;
	if (!rate)
		return NEVER;
	return ns_until(task->ledger, rate->slot, rate->per_us, task->segment_ns, count - have);
}

/* Low-discrepancy walk: successive positions, and positions at any fixed distance, spread evenly
 * over the function (multiples of the golden ratio, modulo 1). */
static uint64_t pc_in(uint64_t start, uint32_t size, uint64_t position_ns)
{
	uint64_t fraction = (position_ns * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	return start + 4 * ((fraction * (size / 4)) >> 32);
}

void account_regs(const struct machine_task *task, struct machine_regs *regs)
{
	const struct machine_work *work = task_work(task);
	const struct machine_program *program;
	const struct machine_phase *phase;
	uint32_t function, depth;
	uint64_t start;

	*regs = (struct machine_regs){.pc = MACHINE_USER_TEXT};
	if (work->phase_count == 0)
		return;
	phase = phase_of(task);
	program = &task->machine->description->programs[work->program];
	if (phase->el == 1)
		program = machine_kernel_program(task->machine);
	depth = phase->depth;
	function = phase->stack[depth - 1];
	start = machine_function_address(program, function, phase->el == 1);
	regs->pc = pc_in(
		start, program->functions[function].size, phase->duration_ns - task->phase_left_ns);
	regs->el = phase->el;
	regs->sp = UINT64_C(0x7ffffff000) - depth * UINT64_C(64);
	regs->fp = regs->sp + 16;
	if (depth > 1) { /* the call lies in the middle of the caller */
		function = phase->stack[depth - 2];
		regs->lr = machine_function_address(program, function, phase->el == 1) +
			   (program->functions[function].size / 2 & ~UINT32_C(3));
	}
}
