/* SPDX-License-Identifier: MIT
 *
 * compile.c: from the description to tables that the accounting can walk.
 *
 * Judges a description, and gives each distinct PMU event number of its rates one place ("slot") in
 * every ledger, so that a total is found without a search. Runs once, when a machine is made.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

static const char *check_rates(const struct machine_rates *rates, uint32_t clusters)
{
	for (uint32_t k = 0; k < clusters; k++) {
		for (uint32_t i = 0; i < rates[k].count; i++) {
			if (rates[k].rate[i].per_us > MACHINE_RATE_MAX)
				return "a rate is above MACHINE_RATE_MAX";
			for (uint32_t j = 0; j < i; j++) {
				if (rates[k].rate[j].event == rates[k].rate[i].event)
					return "an event has two rates in one phase";
			}
		}
	}
	return NULL;
}

static const char *check_phase(const struct machine_phase *phase,
	const struct machine_program *program, const struct machine_program *kernel,
	uint32_t clusters)
{
	uint32_t functions = program->function_count;

	if (phase->el > 1)
		return "a phase's exception level is neither 0 nor 1";
	if (phase->el == 1)
		functions = kernel ? kernel->function_count : 1;
	if (phase->depth == 0 || phase->depth > MACHINE_STACK_MAX)
		return "a phase's call stack is empty or too deep";
	for (uint32_t i = 0; i < phase->depth; i++) {
		if (phase->stack[i] >= functions)
			return "a call stack names a function that its program lacks";
	}
	if (phase->duration_ns == 0 || phase->duration_ns > MACHINE_END_MAX_NS)
		return "a phase's duration is 0 or too long";
	return check_rates(phase->rates, clusters);
}

static const char *check_program(const struct machine_program *program)
{
	for (uint32_t i = 0; i < program->function_count; i++) {
		uint32_t size = program->functions[i].size;

		if (size < 4 || size % 4 != 0)
			return "a function's size is not a positive multiple of 4";
	}
	return NULL;
}

static const char *check_machine(const struct machine_description *d)
{
	if (d->cpu_count == 0 || d->cpu_count > MACHINE_CPUS_MAX)
		return "the number of CPUs is out of range";
	if (d->cluster_count == 0 || d->cluster_count > MACHINE_CLUSTERS_MAX)
		return "the number of clusters is out of range";
	if (d->offline_mask & 1)
		return "CPU 0 must be on at the start";
	if (d->tick_ns != 0 && d->tick_ns < 1000)
		return "the tick is shorter than a microsecond";
	for (uint32_t i = 0; i < d->cpu_count; i++) {
		if (d->cluster_of[i] >= d->cluster_count)
			return "a CPU names a cluster that does not exist";
	}
	for (uint32_t i = 0; i < d->cluster_count; i++) {
		if (!d->clusters[i].name || !d->clusters[i].pmu ||
			!pmu_cpu_config_valid(d->clusters[i].pmu))
			return "a cluster has no name or no sound PMU";
	}
	return d->irq_rates ? check_rates(d->irq_rates, d->cluster_count) : NULL;
}

static const char *check_work(const struct machine_description *d, const struct machine_work *work)
{
	const char *wrong = NULL;

	if (work->program >= d->program_count)
		return "a work names a program that does not exist";
	if (work->end > MACHINE_WORK_SLEEP)
		return "a work ends in an unknown way";
	for (uint32_t p = 0; p < work->phase_count && !wrong; p++)
		wrong = check_phase(
			&work->phases[p], &d->programs[work->program], d->kernel, d->cluster_count);
	return wrong;
}

const char *machine_description_check(const struct machine_description *d)
{
	const char *wrong = check_machine(d);

	for (uint32_t i = 0; i < d->program_count && !wrong; i++)
		wrong = check_program(&d->programs[i]);
	if (d->kernel && !wrong)
		wrong = d->kernel->function_count ? check_program(d->kernel)
						  : "the kernel program has no function";
	for (uint32_t i = 0; i < d->work_count && !wrong; i++)
		wrong = check_work(d, &d->works[i]);
	for (uint32_t i = 0; i < d->task_count && !wrong; i++) {
		if (d->tasks[i].work >= d->work_count)
			wrong = "a task names a work that does not exist";
		else if (d->tasks[i].parent != OPERATION_NOBODY && d->tasks[i].parent >= i)
			wrong = "a task's parent does not come before it";
		else if (d->tasks[i].thread && d->tasks[i].parent == OPERATION_NOBODY)
			wrong = "a thread has no parent";
		else if (d->tasks[i].cpu != OPERATION_NOBODY && d->tasks[i].cpu >= d->cpu_count)
			wrong = "a task begins on a CPU that does not exist";
	}
	return wrong;
}

static int compare_events(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

struct totals {
	size_t rates; /* struct compiled_rates */
	size_t rate;  /* struct compiled_rate */
};

static struct totals count_all(const struct machine_description *d)
{
	struct totals total = {0, 0};

	for (uint32_t w = 0; w < d->work_count; w++) {
		for (uint32_t p = 0; p < d->works[w].phase_count; p++) {
			for (uint32_t k = 0; k < d->cluster_count; k++)
				total.rate += d->works[w].phases[p].rates[k].count;
		}
		total.rates += (size_t)d->works[w].phase_count * d->cluster_count;
	}
	for (uint32_t k = 0; k < d->cluster_count && d->irq_rates; k++) {
		total.rate += d->irq_rates[k].count;
		total.rates++;
	}
	return total;
}

/* Copies rates; slots are filled in when all events are known. */
static void copy_rates(struct compiled *c, const struct machine_rates *from, uint32_t clusters,
	size_t *rates, size_t *rate)
{
	for (uint32_t k = 0; k < clusters; k++) {
		c->rates[*rates] = (struct compiled_rates){
			.rate = &c->rate[*rate], .count = from[k].count};
		(*rates)++;
		for (uint32_t i = 0; i < from[k].count; i++) {
			c->event[*rate] = from[k].rate[i].event;
			c->rate[(*rate)++] = (struct compiled_rate){
				.event = from[k].rate[i].event, .per_us = from[k].rate[i].per_us};
		}
	}
}

int machine_compile(struct compiled *c, const struct machine_description *d)
{
	struct totals total = count_all(d);
	size_t rates = 0, rate = 0;

	c->event = calloc(total.rate + 1, sizeof(*c->event));
	c->rate = calloc(total.rate + 1, sizeof(*c->rate));
	c->rates = calloc(total.rates + 1, sizeof(*c->rates));
	c->work = calloc((size_t)d->work_count + 1, sizeof(*c->work));
	if (!c->event || !c->rate || !c->rates || !c->work)
		return -ENOMEM;
	for (uint32_t w = 0; w < d->work_count; w++) {
		c->work[w].phase = &c->rates[rates];
		for (uint32_t p = 0; p < d->works[w].phase_count; p++)
			copy_rates(c, d->works[w].phases[p].rates, d->cluster_count, &rates, &rate);
	}
	if (d->irq_rates) {
		c->irq = &c->rates[rates];
		copy_rates(c, d->irq_rates, d->cluster_count, &rates, &rate);
	}
	MACHINE_ASSERT(rates == total.rates && rate == total.rate);
	qsort(c->event, rate, sizeof(*c->event), compare_events);
	for (size_t i = 0; i < rate; i++) {
		if (c->event_count == 0 || c->event[c->event_count - 1] != c->event[i])
			c->event[c->event_count++] = c->event[i];
	}
	for (size_t i = 0; i < rate; i++)
		c->rate[i].slot = (uint16_t)machine_slot(c, c->rate[i].event);
	return 0;
}

void machine_compiled_free(struct compiled *c)
{
	free(c->event);
	free(c->rate);
	free(c->rates);
	free(c->work);
}

int machine_slot(const struct compiled *c, uint16_t event)
{
	uint32_t low = 0, high = c->event_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (c->event[middle] < event)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->event_count && c->event[low] == event ? (int)low : -1;
}

uint64_t machine_function_address(
	const struct machine_program *program, uint32_t function, bool kernel)
{
	uint64_t address = kernel ? MACHINE_KERNEL_TEXT : MACHINE_USER_TEXT;

	if (function >= program->function_count)
		return 0;
	for (uint32_t i = 0; i < function; i++)
		address += (program->functions[i].size + UINT64_C(15)) & ~UINT64_C(15);
	return address;
}
