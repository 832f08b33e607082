/* SPDX-License-Identifier: MIT
 *
 * perform.c: what each kind of operation does, in process context of its actor, on the actor's
 * fiber.
 *
 * Arguments come from scenarios and fuzzers: everything is checked, nothing is asserted, and what
 * makes no sense is answered with a negative errno.
 */
#include "state.h"

#include <inttypes.h>
#include <string.h>

#define READ_BUFFER_MAX (1u << 20)
#define READ_BUFFER     (1u << 16)

static const struct machine_kernel *kernel_of(const struct machine *m)
{
	return m->kernel;
}

/* The fd of event k: a number that was handed out, or -1. The kernel knows whether the actor's
 * process has it. */
static int32_t fd_of(const struct machine *m, uint32_t event)
{
	return event < m->event_count ? m->event[event].fd : -1;
}

static struct machine_task *target_of(
	struct machine *m, struct machine_task *actor, uint32_t number)
{
	struct machine_task *task = actor;

	if (number != OPERATION_NOBODY)
		task = number < m->numbered_count ? m->numbered[number] : NULL;
	return task && !task->zombie ? task : NULL;
}

/* ---- events ---- */

static int64_t perform_open(struct machine *m, const struct operation_open *open, uint32_t event)
{
	struct machine_open_call call = {.attr = open->attr,
		.attr_size = open->attr_size,
		.cpu = open->cpu,
		.group_fd = -1,
		.flags = open->flags,
		.event = event};
	int64_t result;

	switch (open->target) {
	case OPERATION_TARGET_SELF:
		call.pid = 0;
		break;
	case OPERATION_TARGET_TASK: {
		const struct machine_task *task = open->task < m->numbered_count
							  ? m->numbered[open->task]
							  : NULL;

		call.pid = task ? (int32_t)task->tid : INT32_MAX;
		break;
	}
	case OPERATION_TARGET_ALL:
		call.pid = -1;
		break;
	default:
		call.pid = open->raw_pid;
		break;
	}
	if (open->group_raw)
		call.group_fd = open->raw_group_fd;
	else if (open->group !=
		 OPERATION_NOBODY) /* of an event that was never opened: no fd has this number */
		call.group_fd = fd_of(m, open->group) >= 0 ? fd_of(m, open->group) : INT32_MAX;
	call.fd = m->next_fd++;
	result = kernel_of(m)->open(m->kernel->context, &call);
	m->event[event].fd = result >= 0 ? call.fd : -1;
	return result;
}

static int64_t perform_ioctl(struct machine *m, const struct operation_ioctl *ioctl, uint32_t index)
{
	const struct machine_kernel *k = kernel_of(m);
	int32_t fd = fd_of(m, ioctl->event);
	uint64_t argument = ioctl->argument;
	struct operation_result *result = &m->run[index].result;
	uint8_t *buffer;
	int64_t answer;

	if (ioctl->argument_fault)
		return k->ioctl_memory(k->context, fd, ioctl->command, NULL);
	if (ioctl->argument_memory) {
		buffer = operation_buffer(m, index, sizeof(argument));
		if (!buffer)
			return -ENOMEM;
		answer = k->ioctl_memory(k->context, fd, ioctl->command, &argument);
		memcpy(buffer, &argument, sizeof(argument));
		result->bytes = buffer;
		result->size = sizeof(argument);
		return answer;
	}
	if (ioctl->argument_event)
		argument = (uint64_t)(int64_t)fd_of(
			m, argument < UINT32_MAX ? (uint32_t)argument : UINT32_MAX);
	return k->ioctl(k->context, fd, ioctl->command, argument);
}

static int64_t perform_read(struct machine *m, const struct operation_read *read, uint32_t index)
{
	const struct machine_kernel *k = kernel_of(m);
	struct operation_result *result = &m->run[index].result;
	size_t size = read->size < READ_BUFFER_MAX ? read->size : READ_BUFFER_MAX;
	uint8_t *buffer;
	int64_t answer;

	if (read->zero_size)
		size = 0;
	else if (size == 0)
		size = READ_BUFFER;
	buffer = operation_buffer(m, index, size ? size : 1);
	if (!buffer)
		return -ENOMEM;
	answer = k->read(k->context, fd_of(m, read->event), buffer, size, read->fault);
	if (answer > 0 && (uint64_t)answer <= size) {
		result->bytes = buffer;
		result->size = (size_t)answer;
	}
	return answer;
}

/* ---- tasks ---- */

static int64_t perform_fork(struct machine *m, struct machine_task *actor, uint32_t index)
{
	const struct operation_fork *fork = &m->description->operations[index].fork;
	uint32_t work = fork->work == OPERATION_NOBODY ? actor->work : fork->work;
	struct machine_task *child;
	int error;

	if (work >= m->description->work_count)
		return -EINVAL;
	child = task_create(
		m, actor->description, m->run[index].task, actor, fork->thread, work, &error);
	if (!child)
		return error;
	m->numbered[child->number] = child;
	child->cpu = task_place(m, child->cpu_mask);
	tell_fork(m, actor, child);
	task_wake(child);
	return child->tid;
}

static bool has_other_threads(const struct machine *m, const struct machine_task *task)
{
	for (const struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (t != task && t->pid == task->pid && !t->zombie)
			return true;
	}
	return false;
}

static int64_t perform_exec(
	struct machine *m, struct machine_task *actor, const struct operation_exec *exec)
{
	if (actor == m->own)
		return -EPERM;
	if (exec->work >= m->description->work_count)
		return -ENOENT;
	if (has_other_threads(m, actor))
		return -EBUSY; /* Linux would kill them: name each with EXIT */
	account_begin_work(actor, exec->work);
	if (!actor->work_done && actor->sleeping)
		task_wake(actor);
	tell_exec(m, actor);
	m->kernel->task_exec(m->kernel->context, actor);
	return 0;
}

static int64_t perform_sleep(struct machine *m, struct machine_task *actor, uint64_t duration_ns)
{
	actor->sleeping = true;
	actor->wake_ns = NEVER;
	if (duration_ns != 0 && duration_ns <= MACHINE_END_MAX_NS && !actor->work_done) {
		actor->wake_ns = m->now_ns + duration_ns;
		if (actor->wake_ns < m->next_wake_ns)
			m->next_wake_ns = actor->wake_ns;
	}
	task_requeue(actor);
	return 0;
}

static int64_t move_to(
	struct machine *m, struct machine_task *actor, struct machine_task *target, uint32_t cpu)
{
	task_move(target, cpu);
	if (target == actor && target->move_to != OPERATION_NOBODY)
		queue_schedule(m); /* comes back on the other CPU */
	return 0;
}

static int64_t perform_pin(
	struct machine *m, struct machine_task *actor, const struct operation_task *args)
{
	struct machine_task *target = target_of(m, actor, args->task);
	uint64_t all = m->cpu_count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << m->cpu_count) - 1;

	if (!target)
		return -ESRCH;
	if ((args->cpu_mask & all) == 0)
		return -EINVAL;
	target->cpu_mask = args->cpu_mask & all;
	if (target->cpu_mask & m->cpu[target->cpu].bit)
		return 0;
	return move_to(m, actor, target, task_place(m, target->cpu_mask));
}

static int64_t perform_migrate(
	struct machine *m, struct machine_task *actor, const struct operation_task *args)
{
	struct machine_task *target = target_of(m, actor, args->task);

	if (!target)
		return -ESRCH;
	if (!task_cpu_usable(m, args->cpu) || !(target->cpu_mask & m->cpu[args->cpu].bit))
		return -EINVAL;
	return move_to(m, actor, target, args->cpu);
}

static int64_t perform_stop(
	struct machine *m, struct machine_task *actor, const struct operation_task *args, bool stop)
{
	struct machine_task *target = target_of(m, actor, args->task);

	if (!target)
		return -ESRCH;
	target->stopped = stop;
	task_requeue(target);
	return 0;
}

static int64_t perform_wake(
	struct machine *m, struct machine_task *actor, const struct operation_task *args)
{
	struct machine_task *target = target_of(m, actor, args->task);

	if (!target)
		return -ESRCH;
	task_wake(target);
	return 0;
}

/* ---- CPUs ---- */

/* Until it has gone on or off once more than when it was asked to. (It may be back already.) */
static void wait_for_cpu(struct machine *m, struct machine_cpu *c, uint64_t transitions)
{
	while (c->transitions == transitions) {
		machine_current(m)->waiting_cpu = c->number;
		task_block(m);
	}
}

static int64_t perform_offline(struct machine *m, struct machine_task *actor, uint32_t cpu)
{
	struct machine_cpu *c = cpu < m->cpu_count ? &m->cpu[cpu] : NULL;
	uint32_t usable = 0;
	uint64_t transitions;

	for (uint32_t i = 0; i < m->cpu_count; i++)
		usable += task_cpu_usable(m, i);
	if (!c || !task_cpu_usable(m, cpu))
		return -EINVAL;
	if (usable < 2)
		return -EBUSY;
	transitions = c->transitions;
	c->want_offline = true;
	for (struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		if (t->cpu == cpu && t != actor && !t->zombie)
			task_move(t, task_place(m, t->cpu_mask));
	}
	if (actor->cpu == cpu)
		move_to(m, actor, actor, task_place(m, actor->cpu_mask));
	c->resched = true;
	wait_for_cpu(m, c, transitions);
	machine_order_acquire(m);
	return 0;
}

static int64_t perform_online(struct machine *m, uint32_t cpu)
{
	struct machine_cpu *c = cpu < m->cpu_count ? &m->cpu[cpu] : NULL;

	if (!c || c->online || c->want_online)
		return -EINVAL;
	machine_order_release(m);
	c->want_online = true;
	wait_for_cpu(m, c, c->transitions);
	machine_order_acquire(m);
	for (struct machine_task *t = m->all_tasks; t; t = t->all_next) {
		/* They were pushed off their CPUs when the last one that their mask allows went. */
		if (!t->zombie && !(t->cpu_mask & m->cpu[t->cpu].bit) && t->cpu_mask & c->bit)
			task_move(t, cpu);
	}
	return 0;
}

/* ---- the experiment ---- */

static bool differs(uint64_t found, uint64_t expected, uint64_t tolerance)
{
	return (found > expected ? found - expected : expected - found) > tolerance;
}

static void compare(struct machine *m, uint32_t index, const char *what, bool known, uint64_t found,
	uint64_t expected, uint64_t tolerance, int64_t *result)
{
	if (known && !differs(found, expected, tolerance))
		return;
	*result = -EBADMSG;
	if (known)
		machine_note_failure(m,
			"operation %u at %" PRIu64 " ns: event %u: %s is %" PRIu64
			", expected %" PRIu64,
			index, m->now_ns, m->run[index].event, what, found, expected);
	else
		machine_note_failure(m,
			"operation %u at %" PRIu64
			" ns: event %u: %s is not known, expected %" PRIu64,
			index, m->now_ns, m->run[index].event, what, expected);
}

static void expect_result(
	struct machine *m, uint32_t index, const struct operation_expect *e, int64_t *answer)
{
	const struct operation_result *result = machine_operation_result(m, e->operation);

	if (result && result->runs != 0 && result->result == e->result)
		return;
	*answer = -EBADMSG;
	if (!result || result->runs == 0)
		machine_note_failure(m,
			"operation %u: operation %u has no result, expected %" PRId64, index,
			e->operation, e->result);
	else
		machine_note_failure(m,
			"operation %u: operation %u gave %" PRId64 ", expected %" PRId64, index,
			e->operation, result->result, e->result);
}

static int64_t perform_expect(struct machine *m, const struct operation_expect *e, uint32_t index)
{
	struct operation_counts *c = &m->run[index].result.counts;
	int64_t result = 0, error;

	*c = (struct operation_counts){0};
	if (e->fields & OPERATION_EXPECT_RESULT)
		expect_result(m, index, e, &result);
	if (!(e->fields & ~OPERATION_EXPECT_RESULT))
		return result;
	error = m->kernel->counts(m->kernel->context, fd_of(m, e->event), c);
	if (error != 0) {
		machine_note_failure(m, "operation %u: event %u cannot be read: %" PRId64, index,
			e->event, error);
		return error;
	}
	if (e->fields & OPERATION_EXPECT_VALUE)
		compare(m, index, "value", c->known & OPERATION_EXPECT_VALUE, c->value, e->value,
			e->tolerance, &result);
	if (e->fields & OPERATION_EXPECT_ENABLED)
		compare(m, index, "time enabled", c->known & OPERATION_EXPECT_ENABLED,
			c->enabled_ns, e->enabled_ns, e->tolerance_ns, &result);
	if (e->fields & OPERATION_EXPECT_RUNNING)
		compare(m, index, "time running", c->known & OPERATION_EXPECT_RUNNING,
			c->running_ns, e->running_ns, e->tolerance_ns, &result);
	if (e->fields & OPERATION_EXPECT_SAMPLES)
		compare(m, index, "samples", c->known & OPERATION_EXPECT_SAMPLES, c->samples,
			e->samples, e->tolerance_samples, &result);
	if (e->fields & OPERATION_EXPECT_LOST)
		compare(m, index, "lost", c->known & OPERATION_EXPECT_LOST, c->lost, e->lost,
			e->tolerance_samples, &result);
	if (e->fields & OPERATION_EXPECT_SIZE)
		compare(m, index, "size of read", c->known & OPERATION_EXPECT_SIZE, c->size,
			e->size, 0, &result);
	return result;
}

bool machine_allocation_fails(struct machine *m)
{
	if (!m->booted || m->ending)
		return false;
	if (m->fail_count != 0) {
		if (m->fail_skip == 0) {
			m->fail_count--;
			return true;
		}
		m->fail_skip--;
	}
	return machine_choice(m, MACHINE_CHOICE_FAULT, 2) != 0;
}

static int64_t perform_on_event(struct machine *m, const struct operation *op, uint32_t index)
{
	const struct machine_kernel *k = kernel_of(m);
	int32_t fd = fd_of(m, m->run[index].event);

	switch (op->kind) {
	case OPERATION_OPEN:
		return perform_open(m, &op->open, m->run[index].event);
	case OPERATION_IOCTL:
		return perform_ioctl(m, &op->ioctl, index);
	case OPERATION_READ:
		return perform_read(m, &op->read, index);
	case OPERATION_MMAP:
		return k->mmap(k->context, fd, op->mmap.offset, op->mmap.pages, op->mmap.writable,
			!op->mmap.private_mapping);
	case OPERATION_MUNMAP:
		return k->munmap(k->context, fd);
	case OPERATION_CLOSE:
		return k->close(k->context, fd);
	default:
		return k->drain(k->context, fd, op->drain.max_bytes);
	}
}

int64_t operation_perform(struct machine *m, struct machine_task *actor, uint32_t index)
{
	const struct operation *op = &m->description->operations[index];

	switch (op->kind) {
	case OPERATION_FORK:
		return perform_fork(m, actor, index);
	case OPERATION_EXEC:
		return perform_exec(m, actor, &op->exec);
	case OPERATION_EXIT:
		if (actor == m->own)
			return -EPERM;
		task_leave_world(actor);
		actor->exit_requested = true;
		return 0;
	case OPERATION_SLEEP:
		return perform_sleep(m, actor, op->task.duration_ns);
	case OPERATION_WAKE:
		return perform_wake(m, actor, &op->task);
	case OPERATION_STOP:
	case OPERATION_CONTINUE:
		return perform_stop(m, actor, &op->task, op->kind == OPERATION_STOP);
	case OPERATION_PIN:
		return perform_pin(m, actor, &op->task);
	case OPERATION_MIGRATE:
		return perform_migrate(m, actor, &op->task);
	case OPERATION_CPU_OFFLINE:
		return perform_offline(m, actor, op->task.cpu);
	case OPERATION_CPU_ONLINE:
		return perform_online(m, op->task.cpu);
	case OPERATION_EXPECT:
		return perform_expect(m, &op->expect, index);
	case OPERATION_FAIL_ALLOC:
		m->fail_skip = op->fail_alloc.skip;
		m->fail_count = op->fail_alloc.count ? op->fail_alloc.count : 1;
		return 0;
	case OPERATION_END:
		m->ended = true;
		return 0;
	default:
		return op->kind < OPERATION_KINDS ? perform_on_event(m, op, index) : -ENOSYS;
	}
}
