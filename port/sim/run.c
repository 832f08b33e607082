/* SPDX-License-Identifier: MIT
 *
 * run.c: making, running and destroying a run (port_sim/run.h), and the engine's hooks as the
 * machine calls them.
 */
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "port.h"

/* ---- hooks ---- */

static int boot(void *context, struct machine *machine)
{
	struct port_sim *port = context;
	int error;

	port->machine = machine;
	machine_judged_begin();
	error = tally_init(&port->engine, &port->config);
	machine_judged_end();
	return error;
}

static void halt(void *context)
{
	struct port_sim *port = context;

	if (port->files)
		machine_fail(port->machine, "event %u is still open after every task has exited",
			port->files->number);
	machine_judged_begin();
	tally_fini(&port->engine);
	machine_judged_end();
	if (port->memory.blocks || port->memory.pages)
		machine_fail(port->machine, "leak: the engine has not given back %zu bytes",
			port->memory.held);
}

/* At the end of a hook. The check looks at what the hook left, in the simulator's name. */
static void check(struct port_sim *port)
{
	machine_judged_end();
	if (port->explored)
		port_synchronize(port);
	port->checking = true;
	if (!port->without_checks && !machine_order.asleep)
		tally_check(&port->engine);
	port->checking = false;
	machine_judged_begin();
}

static void cpu_online(void *context)
{
	machine_judged_begin();
	tally_cpu_online(&((struct port_sim *)context)->engine);
	check(context);
	machine_judged_end();
}

static void cpu_offline(void *context)
{
	machine_judged_begin();
	tally_cpu_offline(&((struct port_sim *)context)->engine);
	port_synchronize(context);
	machine_judged_end();
}

static struct tally_task *tally_of(const struct machine_task *task)
{
	return task ? &port_task_of(task)->tally : NULL;
}

static void sched_switch(void *context, struct machine_task *prev, struct machine_task *next)
{
	machine_judged_begin();
	port_sched_switch(&((struct port_sim *)context)->engine, tally_of(prev), tally_of(next));
	check(context);
	machine_judged_end();
}

static void tick(void *context)
{
	machine_judged_begin();
	tally_tick(&((struct port_sim *)context)->engine);
	check(context);
	machine_judged_end();
}

static void pmu_interrupt(void *context, const struct machine_regs *regs)
{
	struct tally_regs stopped = {.pc = regs->pc,
		.sp = regs->sp,
		.fp = regs->fp,
		.lr = regs->lr,
		.user = regs->el == 0};

	machine_judged_begin();
	tally_pmu_interrupt(&((struct port_sim *)context)->engine, &stopped);
	check(context);
	machine_judged_end();
}

static int task_init(
	void *context, struct machine_task *task, struct machine_task *parent, bool thread)
{
	struct port_sim *port = context;
	struct port_task *state = port_task_of(task);
	struct process *of_parent = parent ? port_task_of(parent)->process : NULL;

	state->machine = task;
	state->process = thread ? of_parent : process_create(port, of_parent);
	if (!state->process)
		return -ENOMEM;
	state->process->threads++;
	machine_judged_begin();
	tally_task_init(&state->tally);
	machine_judged_end();
	return 0;
}

static void task_exec(void *context, struct machine_task *task)
{
	struct port_sim *port = context;
	struct port_task *state = port_task_of(task);

	process_exec(port, state->process);
	machine_judged_begin();
	tally_task_exec(&port->engine, &state->tally);
	machine_judged_end();
}

/* As Linux' do_exit(): memory, then files, then events. */
static void task_exit(void *context, struct machine_task *task)
{
	struct port_sim *port = context;
	struct port_task *state = port_task_of(task);

	process_leave(port, state->process);
	machine_judged_begin();
	tally_task_exit(&port->engine, &state->tally);
	machine_judged_end();
}

static void task_free(void *context, struct machine_task *task)
{
	(void)context; /* processes are freed together */
	(void)task;
}

static void take_statistics(void *context, uint64_t t_ns)
{
	struct port_sim *port = context;

	(void)t_ns;
	for (uint32_t i = 0; i <= TALLY_STAT_SAMPLES; i++)
		port->statistic[i] = tally_statistic(&port->engine, (enum tally_statistic)i);
}

/* ---- life ---- */

static void configure(struct port_sim *port, const struct machine_description *d,
	const struct port_sim_options *options)
{
	for (uint32_t k = 0; k < d->cluster_count; k++) {
		const char *name = tally_pmu_name(d->clusters[k].pmu->midr);

		port->cluster[k].name = name ? name : d->clusters[k].name;
		for (uint32_t j = 0; j < k; j++) { /* two clusters of one kind of CPU */
			if (strcmp(port->cluster[j].name, port->cluster[k].name) == 0)
				port->cluster[k].name = d->clusters[k].name;
		}
	}
	port->without_checks = options->without_checks;
	port->explored = d->policy != NULL && d->policy->explored;
	memcpy(port->cluster_of, d->cluster_of, d->cpu_count * sizeof(port->cluster_of[0]));
	port->config = (struct tally_config){.cpus = d->cpu_count,
		.clusters = d->cluster_count,
		.cluster = port->cluster,
		.cluster_of = port->cluster_of,
		.all_name = "armv8_pmuv3",
		.pmu_irq = !options->without_pmu_irq,
		.paranoid = options->paranoid ? *options->paranoid : 2,
		.max_sample_rate = options->max_sample_rate ? options->max_sample_rate : 100000};
}

struct port_sim *port_sim_create(const struct machine_description *description,
	const struct port_sim_options *options, struct machine_pool *pool)
{
	static const struct port_sim_options defaults;
	struct port_sim *port = calloc(1, sizeof(*port));
	struct machine_observer observer = {.context = port, .end = take_statistics};

	if (!port)
		return NULL;
	port->description = description;
	port->kernel = (struct machine_kernel){.context = port,
		.task_size = sizeof(struct port_task),
		.boot = boot,
		.halt = halt,
		.cpu_online = cpu_online,
		.cpu_offline = cpu_offline,
		.sched_switch = sched_switch,
		.tick = tick,
		.pmu_interrupt = pmu_interrupt,
		.task_init = task_init,
		.task_exec = task_exec,
		.task_exit = task_exit,
		.task_free = task_free};
	syscall_fill(&port->kernel);
	port->machine = machine_create(description, &port->kernel, pool);
	port->event_id = calloc((size_t)description->operation_count + 1, sizeof(*port->event_id));
	port->scratch = malloc(SCRATCH_SIZE);
	port->late = calloc(description->cpu_count, sizeof(*port->late));
	if (!port->late || !port->machine || !port->scratch || !port->event_id ||
		!machine_observe(port->machine, &observer)) {
		port_sim_destroy(port);
		return NULL;
	}
	configure(port, description, options ? options : &defaults);
	return port;
}

void port_sim_destroy(struct port_sim *port)
{
	if (!port)
		return;
	machine_destroy(port->machine);
	process_free_all(port);
	while (port->user) { /* of calls that a failure cut short */
		struct user_range *range = port->user;

		port->user = range->next;
		free(range);
	}
	memory_drop(&port->memory);
	free(port->scratch);
	free(port->late);
	free(port->event_id);
	free(port);
}

struct machine *port_sim_machine(struct port_sim *port)
{
	return port->machine;
}

int port_sim_run(struct port_sim *port)
{
	struct port_sim *was = port_set_running(port);
	int result;

	port->running = true;
	result = machine_run(port->machine);
	port->running = false;
	port_set_running(was);
	return result;
}

const char *port_sim_failure(const struct port_sim *port)
{
	return machine_failure(port->machine);
}

uint64_t port_sim_event_id(const struct port_sim *port, uint32_t event)
{
	return event < machine_event_count(port->machine) ? port->event_id[event] : 0;
}

const struct tally_engine *port_sim_engine(const struct port_sim *port)
{
	return port->running ? &port->engine : NULL;
}

uint64_t port_sim_statistic(const struct port_sim *port, enum tally_statistic which)
{
	return which <= TALLY_STAT_SAMPLES ? port->statistic[which] : 0;
}

size_t port_sim_memory_held(const struct port_sim *port)
{
	return port->memory.held;
}

size_t port_sim_memory_peak(const struct port_sim *port)
{
	return port->memory.peak;
}
