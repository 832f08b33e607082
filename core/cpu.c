/* SPDX-License-Identifier: MIT
 *
 * cpu.c: life of the engine and of its CPUs, and the switch hooks' way in.
 *
 * All state hangs off one struct tally_engine; there are no globals. A CPU belongs to itself: after
 * init only code on it, with IRQs off, touches its struct tally_cpu, but for `online`.
 */
#include <tally/tally.h>

#include "assert.h"
#include "atomic.h"
#include "context.h"
#include "count.h"
#include "errno.h"
#include "pmu.h"

static bool config_is_possible(const struct tally_config *config)
{
	if (config->cpus == 0 || config->clusters == 0 || config->clusters > config->cpus)
		return false;
	for (uint32_t i = 0; i < config->cpus; i++)
		if (config->cluster_of[i] >= config->clusters)
			return false;
	return true;
}

int tally_init(struct tally_engine *e, const struct tally_config *config)
{
	int error;

	if (!config_is_possible(config))
		return -TALLY_EINVAL;
	e->config = config;
	e->paranoid = config->paranoid;
	e->max_sample_rate = config->max_sample_rate;
	error = tally_pmus_init(e);
	if (error != 0)
		return error;
	e->cpu = hal_alloc(config->cpus * sizeof(*e->cpu));
	if (e->cpu == NULL) {
		tally_fini(e);
		return -TALLY_ENOMEM;
	}
	for (uint32_t i = 0; i < config->cpus; i++) {
		struct tally_cpu *cpu = &e->cpu[i];

		cpu->engine = e;
		cpu->index = i;
		cpu->cluster = config->cluster_of[i];
		cpu->own = tally_context_new(e, NULL, (int32_t)i);
		if (cpu->own == NULL) {
			tally_fini(e);
			return -TALLY_ENOMEM;
		}
	}
	return 0;
}

void tally_fini(struct tally_engine *e)
{
	TALLY_ASSERT(atomic_load_relaxed(&e->gate) == 0);
	if (e->cpu != NULL) {
		for (uint32_t i = 0; i < e->config->cpus; i++)
			if (e->cpu[i].own != NULL)
				tally_context_put(e->cpu[i].own);
		hal_free(e->cpu, e->config->cpus * sizeof(*e->cpu));
		e->cpu = NULL;
	}
	tally_pmus_fini(e);
}

uint64_t tally_statistic(const struct tally_engine *e, enum tally_statistic which)
{
	return atomic_load_relaxed(&e->statistic[which]);
}

void tally_cpu_online(struct tally_engine *e)
{
	struct tally_cpu *cpu = cpu_here(e);
	struct pmuv3_probe probe;

	TALLY_ASSERT(cpu->online == 0 && cpu->loaded == NULL && !cpu->own_loaded);
	pmuv3_online(&cpu->pool, &probe);
	cpu->for_task = cpu->pool.present;
	tally_pmu_probed(e, cpu->cluster, &probe);
	/* release, partner: the acquire of who chooses CPUs to call */
	atomic_store_release(&cpu->online, 1u);
}

void tally_cpu_offline(struct tally_engine *e)
{
	struct tally_cpu *cpu = cpu_here(e);

	TALLY_ASSERT(cpu->online != 0);
	tally_context_cpu_down(cpu);
	atomic_store_release(&cpu->online, 0u);
}

void tally_sched_switch_loaded(
	struct tally_engine *e, struct tally_task *prev, struct tally_task *next)
{
	struct tally_context *ctx = NULL;

	(void)prev; /* what is loaded here is given back, whoever ran */
	if (next != NULL)
		/* acquire, partner: the release in join() */
		ctx = atomic_load_acquire(&next->ctx);
	if (ctx == TALLY_TOMBSTONE)
		ctx = NULL;
	tally_context_switch(cpu_here(e), ctx);
}

bool tally_pmu_interrupt(struct tally_engine *e, const struct tally_regs *regs)
{
	if (tally_slices_overflow(cpu_here(e), regs))
		return true;
	atomic_add_relaxed(&e->statistic[TALLY_STAT_IRQ_SPURIOUS], 1u);
	return false;
}
