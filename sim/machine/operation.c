/* SPDX-License-Identifier: MIT
 *
 * operation.c: when operations are due, and giving them to their actors.
 *
 * Each operation waits until its moment, is then put into its actor's list (its state is DUE), and
 * is performed on the actor's fiber (RUNNING, then FINISHED, or WAITING again if it repeats). In
 * time order the next one starts only when none is in flight, so the list order is the order of
 * effects at one instant.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

static const struct operation *operation_of(const struct machine *m, uint32_t index)
{
	return &m->description->operations[index];
}

static uint32_t named_event(const struct operation *op)
{
	switch (op->kind) {
	case OPERATION_IOCTL:
		return op->ioctl.event;
	case OPERATION_READ:
		return op->read.event;
	case OPERATION_MMAP:
		return op->mmap.event;
	case OPERATION_DRAIN:
		return op->drain.event;
	case OPERATION_MUNMAP:
	case OPERATION_CLOSE:
		return op->event.event;
	case OPERATION_EXPECT:
		return op->expect.event;
	default:
		return OPERATION_NOBODY;
	}
}

static void name_operation(struct machine *m, uint32_t i, uint32_t *forks)
{
	const struct operation *op = operation_of(m, i);
	struct operation_run *run = &m->run[i];

	run->event = named_event(op);
	run->task = run->due_next = OPERATION_NOBODY;
	run->due_ns = op->when == OPERATION_AT ? op->at_ns : NEVER;
	if (op->kind == OPERATION_OPEN) {
		run->event = m->event_count++;
		m->event[run->event] = (struct event_name){.operation = i, .fd = -1};
	} else if (op->kind == OPERATION_FORK) {
		run->task = m->description->task_count + (*forks)++;
	}
	if (op->when == OPERATION_AT_COUNT)
		m->count_triggers++;
	if (op->every_ns == 0)
		m->unfinished++;
}

int operation_prepare(struct machine *m)
{
	uint32_t count = m->description->operation_count, forks = 0;

	m->run = calloc((size_t)count + 1, sizeof(*m->run));
	m->event = calloc((size_t)count + 1, sizeof(*m->event));
	if (!m->run || !m->event)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		name_operation(m, i, &forks);
	for (uint32_t i = 0; i < count; i++) {
		if (m->run[i].event >= m->event_count)
			m->run[i].event = OPERATION_NOBODY;
	}
	m->numbered_count = m->description->task_count + forks;
	m->numbered = calloc((size_t)m->numbered_count + 1, sizeof(*m->numbered));
	m->look_for_due = true;
	return m->numbered ? 0 : -ENOMEM;
}

void operation_free(struct machine *m)
{
	for (uint32_t i = 0; m->run && i < m->description->operation_count; i++)
		free(m->run[i].buffer);
	free(m->run);
	free(m->event);
	free(m->numbered);
}

/* ---- when ---- */

static bool count_reached(const struct machine *m, const struct operation *op)
{
	const struct machine_task *task = op->count_task < m->numbered_count
						  ? m->numbered[op->count_task]
						  : NULL;

	return task && machine_task_occurrences(task, op->count_event) >= op->count;
}

uint64_t operation_count_ns(struct machine_cpu *c)
{
	const struct machine *m = c->machine;
	uint64_t least_ns = NEVER;

	if (m->count_triggers == 0 || !c->current)
		return NEVER;
	for (uint32_t i = m->first_waiting; i < m->description->operation_count; i++) {
		const struct operation *op = operation_of(m, i);
		uint64_t ns;

		if (op->when != OPERATION_AT_COUNT || m->run[i].starts != 0 ||
			op->count_task != c->current->number)
			continue;
		ns = account_until_count(c->current, op->count_event, op->count);
		if (ns != 0 && ns < least_ns)
			least_ns = ns;
	}
	return least_ns;
}

/* Is it due? Sets due_ns where that is known. */
static bool is_due(struct machine *m, uint32_t i)
{
	const struct operation *op = operation_of(m, i);
	struct operation_run *run = &m->run[i];

	if (run->starts != 0 || op->when == OPERATION_AT)
		return run->due_ns <= m->now_ns;
	switch (op->when) {
	case OPERATION_NEXT:
		return i == 0 || m->run[i - 1].result.runs != 0;
	case OPERATION_AFTER:
		if (op->after >= m->description->operation_count)
			return true; /* refused when it starts */
		if (m->run[op->after].result.runs != 0 && run->due_ns == NEVER)
			run->due_ns = m->run[op->after].result.end_ns + op->at_ns;
		return run->due_ns <= m->now_ns;
	case OPERATION_AT_COUNT:
		return op->count_task >= m->numbered_count || count_reached(m, op);
	default:
		return true; /* refused when it starts */
	}
}

static bool is_malformed(const struct machine *m, const struct operation *op)
{
	return op->when >= OPERATION_WHENS ||
	       (op->when == OPERATION_AFTER && op->after >= m->description->operation_count) ||
	       (op->when == OPERATION_AT_COUNT && op->count_task >= m->numbered_count);
}

/* ---- life of one ---- */

static void finish(struct machine *m, uint32_t i, struct machine_task *actor, int64_t result)
{
	const struct operation *op = operation_of(m, i);
	struct operation_run *run = &m->run[i];

	run->result.result = result;
	run->result.end_ns = m->now_ns;
	run->result.runs++;
	run->result.state = OPERATION_FINISHED;
	if (op->every_ns == 0)
		m->unfinished--;
	else if (op->times == 0 || run->starts < op->times)
		run->result.state = OPERATION_WAITING;
	m->look_for_due = true;
	tell_operation_end(m, i, actor);
}

static void refuse(struct machine *m, uint32_t i, int64_t error)
{
	m->run[i].result.begin_ns = m->now_ns;
	tell_operation_begin(m, i, NULL);
	finish(m, i, NULL, error);
}

static void start(struct machine *m, uint32_t i)
{
	const struct operation *op = operation_of(m, i);
	struct operation_run *run = &m->run[i];
	struct machine_task *actor = m->own;

	run->starts++;
	run->due_ns = op->every_ns ? m->now_ns + op->every_ns : NEVER;
	if (op->actor != OPERATION_NOBODY)
		actor = op->actor < m->numbered_count ? m->numbered[op->actor] : NULL;
	if (is_malformed(m, op) || !actor || actor->zombie || actor->exit_requested) {
		refuse(m, i, is_malformed(m, op) ? -EINVAL : -ESRCH);
		return;
	}
	run->result.state = OPERATION_DUE;
	run->due_next = OPERATION_NOBODY;
	if (actor->due_last != OPERATION_NOBODY)
		m->run[actor->due_last].due_next = i;
	else
		actor->due_first = i;
	actor->due_last = i;
	m->in_flight++;
	task_make_urgent(actor);
}

bool operation_start_due(struct machine *m)
{
	bool concurrent = m->description->policy && m->description->policy->concurrent,
	     started = false;
	uint32_t count = m->description->operation_count;

	if (!m->look_for_due && m->now_ns < m->next_due_ns && m->count_triggers == 0)
		return false;
	if (m->in_flight != 0 && !concurrent)
		return false;
	if (m->count_triggers != 0)
		account_all(m);
	m->look_for_due = false;
	m->next_due_ns = NEVER;
	while (m->first_waiting < count &&
		m->run[m->first_waiting].result.state != OPERATION_WAITING &&
		operation_of(m, m->first_waiting)->every_ns == 0)
		m->first_waiting++;
	for (uint32_t i = m->first_waiting; i < count; i++) {
		struct operation_run *run = &m->run[i];

		if (run->result.state != OPERATION_WAITING)
			continue;
		if (is_due(m, i)) {
			start(m, i);
			started = true;
			m->look_for_due =
				true; /* look at the rest, and at what comes next, again */
			if (!concurrent)
				return true;
		}
		if (run->due_ns < m->next_due_ns)
			m->next_due_ns = run->due_ns;
	}
	return started;
}

uint64_t operation_next_ns(const struct machine *m)
{
	return m->next_due_ns;
}

static uint32_t take_due(struct machine_task *task)
{
	struct machine *m = task->machine;
	uint32_t i = task->due_first;

	task->due_first = m->run[i].due_next;
	if (task->due_first == OPERATION_NOBODY)
		task->due_last = OPERATION_NOBODY;
	return i;
}

void operation_perform_due(struct machine_task *task)
{
	struct machine *m = task->machine;

	while (task->due_first != OPERATION_NOBODY && !task->exit_requested) {
		uint32_t i = take_due(task);
		struct operation_run *run = &m->run[i];
		int64_t result;

		run->result.state = OPERATION_RUNNING;
		run->result.begin_ns = m->now_ns;
		run->result.bytes = NULL;
		run->result.size = 0;
		task->performing = true;
		tell_operation_begin(m, i, task);
		result = operation_perform(m, task, i);
		m->in_flight--;
		finish(m, i, task, result);
		task->performing = false;
	}
}

void operation_refuse_due(struct machine_task *task)
{
	struct machine *m = task->machine;

	while (task->due_first != OPERATION_NOBODY) {
		uint32_t i = take_due(task);

		m->in_flight--;
		refuse(m, i, -ESRCH);
	}
}

uint8_t *operation_buffer(struct machine *m, uint32_t index, size_t size)
{
	struct operation_run *run = &m->run[index];

	if (run->buffer_size < size) {
		uint8_t *grown = realloc(run->buffer, size);

		if (!grown)
			return NULL;
		run->buffer = grown;
		run->buffer_size = size;
	}
	return run->buffer;
}

const struct operation_result *machine_operation_result(const struct machine *m, uint32_t k)
{
	return k < m->description->operation_count ? &m->run[k].result : NULL;
}

uint32_t machine_operation_event(const struct machine *m, uint32_t k)
{
	return k < m->description->operation_count ? m->run[k].event : OPERATION_NOBODY;
}

uint32_t machine_event_operation(const struct machine *m, uint32_t k)
{
	return k < m->event_count ? m->event[k].operation : OPERATION_NOBODY;
}

uint32_t machine_event_count(const struct machine *m)
{
	return m->event_count;
}

const char *operation_kind_name(unsigned int kind)
{
	static const char *const names[OPERATION_KINDS] = {"open", "ioctl", "read", "mmap",
		"munmap", "close", "drain", "fork", "exec", "exit", "sleep", "wake", "stop",
		"continue", "pin", "migrate", "cpu-offline", "cpu-online", "expect", "fail-alloc",
		"end"};

	return kind < OPERATION_KINDS ? names[kind] : NULL;
}
