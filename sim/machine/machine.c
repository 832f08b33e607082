/* SPDX-License-Identifier: MIT
 *
 * machine.c: making and destroying a machine, its failures, and looking at it.
 */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void machine_broken(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: the simulated machine is broken: %s\n", file, line, what);
	abort();
}

/* ---- pool ---- */

struct machine_pool *machine_pool_create(void)
{
	struct machine_pool *pool = calloc(1, sizeof(*pool));

	if (pool)
		pool->fibers = fiber_pool_create();
	if (pool && !pool->fibers) {
		free(pool);
		return NULL;
	}
	return pool;
}

void machine_pool_destroy(struct machine_pool *pool)
{
	if (!pool)
		return;
	fiber_pool_destroy(pool->fibers);
	free(pool);
}

/* ---- making ---- */

static int make_cpus(struct machine *m)
{
	const struct machine_description *d = m->description;
	const struct pmu_cpu_config *configs[MACHINE_CPUS_MAX];

	for (uint32_t i = 0; i < d->cpu_count; i++)
		configs[i] = d->clusters[d->cluster_of[i]].pmu;
	m->model = pmu_model_create(configs, d->cpu_count, d->seed);
	m->cpu = calloc(d->cpu_count, sizeof(*m->cpu));
	if (!m->model || !m->cpu)
		return -ENOMEM;
	m->cpu_count = d->cpu_count;
	m->last = &m->cpu[0];
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		struct machine_cpu *c = &m->cpu[i];

		c->machine = m;
		c->number = i;
		c->cluster = d->cluster_of[i];
		c->bit = UINT64_C(1) << i;
		c->pmu = pmu_model_cpu(m->model, i);
		c->latency_ns = d->irq_latency_ns ? d->irq_latency_ns[i]
						  : configs[i]->irq_latency_ns;
		c->state = CPU_OFFLINE;
		c->next_stale = true;
		c->next_ns = c->ticked_ns = NEVER;
		c->irq_ledger = calloc((size_t)m->compiled.event_count + 1, sizeof(*c->irq_ledger));
		c->idle = fiber_take(m->pool->fibers, cpu_idle_main, c);
		c->fiber = c->idle;
		if (!c->irq_ledger || !c->idle)
			return -ENOMEM;
	}
	return 0;
}

static int make(struct machine *m)
{
	const struct machine_description *d = m->description;
	int error = machine_compile(&m->compiled, d);

	m->kernel_function = (struct machine_function){.name = "kernel", .size = 65536};
	m->kernel_program = (struct machine_program){
		.name = "kernel", .functions = &m->kernel_function, .function_count = 1};
	m->own_description = (struct machine_task_description){.parent = OPERATION_NOBODY,
		.cpu = OPERATION_NOBODY,
		.perfmon = true,
		.sys_admin = true};
	m->own_work = (struct machine_work){.end = MACHINE_WORK_SLEEP};
	m->tick_ns = d->tick_ns ? d->tick_ns : MACHINE_TICK_NS;
	m->next_tick_ns = m->tick_ns;
	m->end_ns = d->end_ns && d->end_ns < MACHINE_END_MAX_NS ? d->end_ns : MACHINE_END_MAX_NS;
	m->next_wake_ns = m->next_due_ns = NEVER;
	m->segment_serial = 2;
	m->next_tid = 1;
	m->next_fd = 3;
	m->hash = UINT64_C(0xcbf29ce484222325);
	m->telling = true;
	fiber_host(&m->host);
	if (!error)
		error = operation_prepare(m);
	return error ? error : make_cpus(m);
}

struct machine *machine_create(const struct machine_description *description,
	const struct machine_kernel *kernel, struct machine_pool *pool)
{
	struct machine *m;

	if (machine_description_check(description))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->description = description;
	m->kernel = kernel;
	m->pool = pool ? pool : machine_pool_create();
	m->own_pool = !pool;
	if (!m->pool || make(m) != 0) {
		machine_destroy(m);
		return NULL;
	}
	return m;
}

void machine_destroy(struct machine *m)
{
	if (!m)
		return;
	while (m->all_tasks) {
		struct machine_task *task = m->all_tasks;

		m->all_tasks = task->all_next;
		m->kernel->task_free(m->kernel->context, task);
		task_free(task);
	}
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		if (m->cpu[i].dead)
			fiber_give(m->pool->fibers, m->cpu[i].dead);
		fiber_give(m->pool->fibers, m->cpu[i].idle);
		free(m->cpu[i].irq_ledger);
	}
	operation_free(m);
	machine_compiled_free(&m->compiled);
	pmu_model_destroy(m->model);
	if (m->own_pool)
		machine_pool_destroy(m->pool);
	free(m->cpu);
	free(m->observer);
	free(m->failure);
	free(m);
}

/* ---- failing ---- */

static void note(struct machine *m, const char *format, va_list args)
{
	char line[512];
	size_t length;
	char *grown;

	vsnprintf(line, sizeof(line), format, args);
	length = strlen(line);
	grown = realloc(m->failure, m->failure_size + length + 2);
	if (!grown)
		machine_broken("no memory for a failure's text", __FILE__, __LINE__);
	m->failure = grown;
	if (m->failure_size != 0)
		m->failure[m->failure_size++] = '\n';
	memcpy(m->failure + m->failure_size, line, length + 1);
	m->failure_size += length;
}

void machine_note_failure(struct machine *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(m, format, args);
	va_end(args);
}

void machine_fail(struct machine *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(m, format, args);
	va_end(args);
	m->failed = true;
	if (!m->running) /* not on a fiber: there is nowhere to go */
		machine_broken(m->failure, __FILE__, __LINE__);
	fiber_leave(m->running->fiber, &m->host);
}

const char *machine_failure(const struct machine *m)
{
	return m->failure;
}

/* ---- looking ---- */

const struct machine_description *machine_described(const struct machine *m)
{
	return m->description;
}

uint64_t machine_now_ns(const struct machine *m)
{
	return m->now_ns;
}

uint64_t machine_hash(const struct machine *m)
{
	return m->hash;
}

uint64_t machine_steps(const struct machine *m)
{
	return m->steps;
}

const struct machine_task *machine_task(const struct machine *m, uint32_t k)
{
	if (k == OPERATION_NOBODY)
		return m->own;
	return k < m->numbered_count ? m->numbered[k] : NULL;
}

uint32_t machine_task_count_max(const struct machine *m)
{
	return m->numbered_count;
}

uint32_t machine_task_number(const struct machine_task *task)
{
	return task->number;
}

uint32_t machine_task_pid(const struct machine_task *task)
{
	return task->pid;
}

uint32_t machine_task_tid(const struct machine_task *task)
{
	return task->tid;
}

uint32_t machine_task_ppid(const struct machine_task *task)
{
	return task->ppid;
}

uint32_t machine_task_cpu(const struct machine_task *task)
{
	return task->cpu;
}

uint32_t machine_task_program(const struct machine_task *task)
{
	return task_work(task)->program;
}

const char *machine_task_comm(const struct machine_task *task)
{
	if (task == task->machine->own)
		return "machine";
	return task->machine->description->programs[machine_task_program(task)].name;
}

uint64_t machine_task_cpu_ns(const struct machine_task *task)
{
	return task->cpu_ns;
}

enum machine_task_state machine_task_state(const struct machine_task *task)
{
	if (task->zombie)
		return MACHINE_TASK_ZOMBIE;
	if (task->blocked)
		return MACHINE_TASK_BLOCKED;
	if (task->stopped)
		return MACHINE_TASK_STOPPED;
	return task->sleeping ? MACHINE_TASK_SLEEPING : MACHINE_TASK_RUNNABLE;
}

const struct machine_program *machine_kernel_program(const struct machine *m)
{
	return m->description->kernel ? m->description->kernel : &m->kernel_program;
}
