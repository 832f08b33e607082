/* SPDX-License-Identifier: MIT
 *
 * hal.c: the HAL on the simulated machine, by the contracts of tally/hal.h.
 *
 * Every function is a point at which the machine may let another CPU step, if its policy wants
 * that. Contracts are checked: a function that is called in a context that its contract does not
 * allow fails the run.
 */
#include <tally/hal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <machine/order.h>

#include "hal_scope.h"

_Static_assert(sizeof(struct hal_mutex) == sizeof(struct machine_mutex) &&
		       offsetof(struct hal_mutex, held) == offsetof(struct machine_mutex, held) &&
		       offsetof(struct hal_mutex, last) == offsetof(struct machine_mutex, last),
	"hal_port.h repeats the layout of struct machine_mutex");

static struct port_sim *running_port; /* HAL functions take no handle: see run.h */

struct port_sim *port_running(void)
{
	return running_port;
}

struct port_sim *port_set_running(struct port_sim *port)
{
	struct port_sim *was = running_port;

	running_port = port;
	return was;
}

static struct tally_task *tally_of(const struct machine_task *task)
{
	return task ? &port_task_of(task)->tally : NULL;
}

static struct machine_task *machine_task_of(const struct tally_task *task)
{
	return ((const struct port_task *)(const void *)task)->machine; /* its first member */
}

/* ---- who and when ---- */

uint32_t hal_cpu(void)
{
	HAL_SCOPE;
	return machine_cpu(machine_here());
}

uint64_t hal_clock_ns(void)
{
	HAL_SCOPE;
	return machine_now_ns(machine_here());
}

struct tally_task *hal_current(void)
{
	HAL_SCOPE;
	return tally_of(machine_current(machine_here()));
}

/* ---- interrupts, other CPUs ---- */

struct hal_irq_key hal_irq_save(void)
{
	HAL_SCOPE;
	return (struct hal_irq_key){machine_irq_save(machine_here())};
}

void hal_irq_restore(struct hal_irq_key key)
{
	HAL_SCOPE;
	machine_irq_restore(running_port->machine, key.state != 0);
}

void hal_relax(void)
{
	HAL_SCOPE;
	machine_relax(running_port->machine);
}

struct engine_call {
	void (*fn)(void *arg);
	void *arg;
};

static void call_engine(void *argument)
{
	const struct engine_call *call = argument;

	machine_judged_begin();
	call->fn(call->arg);
	machine_judged_end();
	port_synchronize(port_running());
}

int hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg)
{
	HAL_SCOPE;
	struct engine_call call = {fn, arg};

	return machine_call(running_port->machine, cpu, call_engine, &call);
}

/* ---- memory ---- */

void *hal_alloc(size_t size)
{
	HAL_SCOPE;
	struct machine *m = machine_here();

	machine_require_task_context(m, "an allocation");
	if (machine_allocation_fails(m))
		return NULL;
	return memory_alloc(&running_port->memory, size);
}

void hal_free(void *memory, size_t size)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	const char *wrong;

	machine_require_task_context(m, "freeing memory");
	if (!memory)
		return;
	wrong = memory_free(&running_port->memory, memory, size);
	if (wrong)
		machine_fail(m, "%s (%zu bytes)", wrong, size);
}

void *hal_pages_alloc(size_t count)
{
	HAL_SCOPE;
	struct machine *m = machine_here();

	machine_require_task_context(m, "an allocation of pages");
	if (machine_allocation_fails(m))
		return NULL;
	return memory_pages_alloc(&running_port->memory, count);
}

void hal_pages_free(void *pages, size_t count)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	const char *wrong;

	machine_require_task_context(m, "freeing pages");
	wrong = memory_pages_free(&running_port->memory, pages, count);
	if (wrong)
		machine_fail(m, "%s (%zu pages)", wrong, count);
}

void hal_mutex_init(struct hal_mutex *mutex)
{
	HAL_SCOPE;
	*mutex = (struct hal_mutex){0};
}

void hal_mutex_lock(struct hal_mutex *mutex)
{
	HAL_SCOPE;
	machine_mutex_lock(running_port->machine, (struct machine_mutex *)(void *)mutex);
}

void hal_mutex_unlock(struct hal_mutex *mutex)
{
	HAL_SCOPE;
	machine_mutex_unlock(running_port->machine, (struct machine_mutex *)(void *)mutex);
}

/* ---- tasks and users ---- */

struct tally_task *hal_task_find(int32_t pid)
{
	HAL_SCOPE;
	struct machine *m = machine_shared();
	struct machine_task *task;

	machine_require_task_context(m, "a look for a task");
	if (pid < 0)
		return NULL;
	task = pid == 0 ? machine_current(m) : machine_task_find(m, (uint32_t)pid);
	if (task) {
		machine_order_acquire(task);
		machine_task_get(task);
	}
	return tally_of(task);
}

void hal_task_put(struct tally_task *task)
{
	HAL_SCOPE;
	machine_require_task_context(machine_shared(), "dropping a task");
	machine_task_put(machine_task_of(task));
}

bool hal_capable(enum hal_cap cap)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	const struct machine_task *task = machine_current(m);

	machine_require_task_context(m, "a look at rights");
	if (!task)
		return true; /* the kernel itself, booting */
	return cap == HAL_CAP_PERFMON ? machine_task_described(task)->perfmon
				      : machine_task_described(task)->sys_admin;
}

bool hal_task_observable(struct tally_task *task)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	const struct machine_task *caller = machine_current(m), *target = machine_task_of(task);

	machine_require_task_context(m, "a look at rights");
	if (!caller || port_task_of(caller)->process == port_task_of(target)->process)
		return true;
	return machine_task_described(caller)->uid == machine_task_described(target)->uid ||
	       machine_task_described(caller)->perfmon || machine_task_described(caller)->sys_admin;
}

struct hal_ids hal_task_ids(const struct tally_task *task)
{
	HAL_SCOPE;
	const struct machine_task *of = machine_task_of(task);

	if (machine_task_state(of) == MACHINE_TASK_ZOMBIE)
		return (struct hal_ids){UINT32_MAX, UINT32_MAX};
	return (struct hal_ids){machine_task_pid(of), machine_task_tid(of)};
}

bool hal_user_regs(const struct tally_task *task, struct tally_regs *regs)
{
	HAL_SCOPE;
	struct machine_regs user;

	if (!machine_task_user_regs(machine_task_of(task), &user))
		return false;
	*regs = (struct tally_regs){
		.pc = user.pc, .sp = user.sp, .fp = user.fp, .lr = user.lr, .user = true};
	return true;
}

/* The bytes at a user address, if the caller has `size` of them there. */
static uint8_t *user_bytes(struct machine *m, uint64_t address, size_t size)
{
	for (struct user_range *range = running_port->user; range; range = range->next) {
		uint64_t start = user_address(range);

		if (range->task == machine_current(m) && address >= start &&
			address - start <= range->size && size <= range->size - (address - start))
			return range->bytes + (address - start);
	}
	return NULL;
}

int hal_copy_from_user(void *to, uint64_t from, size_t size)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	const uint8_t *bytes;

	machine_require_task_context(m, "a user access");
	bytes = user_bytes(m, from, size);
	if (!bytes)
		return -EFAULT;
	memcpy(to, bytes, size);
	return 0;
}

int hal_copy_to_user(uint64_t to, const void *from, size_t size)
{
	HAL_SCOPE;
	struct machine *m = machine_here();
	uint8_t *bytes;

	machine_require_task_context(m, "a user access");
	bytes = user_bytes(m, to, size);
	if (!bytes)
		return -EFAULT;
	memcpy(bytes, from, size);
	return 0;
}

/* ---- debugging ---- */

void hal_panic(const char *what, const char *file, int line)
{
	HAL_SCOPE;
	if (running_port && running_port->running)
		machine_fail(running_port->machine, "panic: %s, %s:%d", what, file, line);
	fprintf(stderr, "panic outside a run: %s, %s:%d\n", what, file, line);
	abort();
}

void hal_trace(enum hal_trace kind, uint64_t a, uint64_t b)
{
	HAL_SCOPE;
	machine_tell_trace(running_port->machine, (uint32_t)kind, a, b);
}
