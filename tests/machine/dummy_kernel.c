/* SPDX-License-Identifier: MIT
 *
 * dummy_kernel.c: see dummy_kernel.h.
 */
#include "dummy_kernel.h"

#include <errno.h>

static int boot(void *context, struct machine *machine)
{
	struct dummy *d = context;

	d->machine = machine;
	d->boots++;
	return 0;
}

static void halt(void *context)
{
	((struct dummy *)context)->halts++;
}

static void cpu_online(void *context)
{
	struct dummy *d = context;

	d->onlines++;
	if (d->on_online)
		d->on_online(d);
}

static void cpu_offline(void *context)
{
	((struct dummy *)context)->offlines++;
}

static void sched_switch(void *context, struct machine_task *prev, struct machine_task *next)
{
	struct dummy *d = context;

	d->switches++;
	if (d->on_switch)
		d->on_switch(d, prev, next);
}

static void tick(void *context)
{
	struct dummy *d = context;

	d->ticks++;
	if (d->on_tick)
		d->on_tick(d);
}

static void pmu_interrupt(void *context, const struct machine_regs *regs)
{
	struct dummy *d = context;

	d->interrupts++;
	if (d->on_interrupt)
		d->on_interrupt(d, regs);
	else
		pmu_cpu_write(machine_pmu(d->machine), 1, PMU_PMINTENCLR_EL1, UINT32_MAX);
}

static int task_init(
	void *context, struct machine_task *task, struct machine_task *parent, bool thread)
{
	(void)task;
	(void)parent;
	(void)thread;
	((struct dummy *)context)->inits++;
	return 0;
}

static void task_exec(void *context, struct machine_task *task)
{
	(void)task;
	((struct dummy *)context)->execs++;
}

static void task_exit(void *context, struct machine_task *task)
{
	(void)task;
	((struct dummy *)context)->exits++;
}

static void task_free(void *context, struct machine_task *task)
{
	(void)task;
	((struct dummy *)context)->frees++;
}

static int64_t no_open(void *context, const struct machine_open_call *call)
{
	(void)context;
	(void)call;
	return -ENOSYS;
}

static int64_t act(void *context, int32_t fd, uint32_t command, uint64_t argument)
{
	struct dummy *d = context;

	(void)fd;
	return d->actions[command](d, argument);
}

static int64_t no_ioctl_memory(void *context, int32_t fd, uint32_t command, uint64_t *memory)
{
	(void)context;
	(void)fd;
	(void)command;
	return memory ? -ENOSYS : -EFAULT;
}

static int64_t no_read(void *context, int32_t fd, void *buffer, size_t size, bool fault)
{
	(void)context;
	(void)fd;
	(void)buffer;
	(void)size;
	return fault ? -EFAULT : -EBADF;
}

static int64_t no_mmap(
	void *context, int32_t fd, uint64_t offset, uint64_t pages, bool writable, bool shared)
{
	(void)context;
	(void)fd;
	(void)offset;
	(void)pages;
	(void)writable;
	(void)shared;
	return -EBADF;
}

static int64_t bad_fd(void *context, int32_t fd)
{
	(void)context;
	(void)fd;
	return -EBADF;
}

static int64_t no_drain(void *context, int32_t fd, uint32_t max_bytes)
{
	(void)max_bytes;
	return bad_fd(context, fd);
}

static int64_t no_counts(void *context, int32_t fd, struct operation_counts *counts)
{
	(void)counts;
	return bad_fd(context, fd);
}

struct machine *dummy_create(struct dummy *dummy, const struct machine_description *description,
	struct machine_pool *pool)
{
	dummy->kernel = (struct machine_kernel){.context = dummy,
		.task_size = 16,
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
		.task_free = task_free,
		.open = no_open,
		.ioctl = act,
		.ioctl_memory = no_ioctl_memory,
		.read = no_read,
		.mmap = no_mmap,
		.munmap = bad_fd,
		.close = bad_fd,
		.drain = no_drain,
		.counts = no_counts};
	return machine_create(description, &dummy->kernel, pool);
}

struct operation dummy_act(uint32_t actor, uint64_t at_ns, uint32_t action, uint64_t argument)
{
	return (struct operation){.kind = OPERATION_IOCTL,
		.when = OPERATION_AT,
		.actor = actor,
		.at_ns = at_ns,
		.ioctl = {.event = OPERATION_NOBODY, .command = action, .argument = argument}};
}

static const struct machine_function functions[] = {{"main", 256}, {"leaf", 4096}};
static const struct machine_program programs[] = {{"prog", functions, 2}};
static const struct machine_rate fast_rate[] = {{0x08, 1000}, {0x11, 1000}};
static const struct machine_rate slow_rate[] = {{0x08, 3}, {0x11, 1000}};
static const struct machine_rates fast = {fast_rate, 2};
static const struct machine_rates slow = {slow_rate, 2};
static const uint32_t stack[] = {0, 1};
static const struct machine_phase busy_phase = {stack, 2, 0, 1000000, &fast};
static const struct machine_phase short_phase = {stack, 2, 0, 10000000, &fast};
static const struct machine_phase two_phases[] = {
	{stack, 2, 0, 3000000, &fast}, {stack, 1, 0, 7000, &slow}};

const struct machine_work dummy_works[4] = {
	[DUMMY_BUSY] = {0, &busy_phase, 1, 0, MACHINE_WORK_EXIT},
	[DUMMY_SHORT] = {0, &short_phase, 1, 1, MACHINE_WORK_EXIT},
	[DUMMY_SLEEPER] = {0, NULL, 0, 0, MACHINE_WORK_SLEEP},
	[DUMMY_TWO_PHASES] = {0, two_phases, 2, 2, MACHINE_WORK_SLEEP},
};

struct machine_description dummy_description(uint32_t cpus)
{
	static const uint32_t cluster_of[4];
	static struct machine_cluster cluster;

	cluster = (struct machine_cluster){"one", pmu_preset_find("h1")->cpus[0]};
	return (struct machine_description){.cpu_count = cpus,
		.cluster_of = cluster_of,
		.cluster_count = 1,
		.clusters = &cluster,
		.seed = 1,
		.programs = programs,
		.program_count = 1,
		.works = dummy_works,
		.work_count = 4,
		.end_ns = 100000000};
}
