/* SPDX-License-Identifier: MIT
 *
 * call.c: operations: what they change, and what their results must be.
 *
 * An operation takes effect at some instant between its begin and its end; the machine lets no time
 * pass in kernel code, so both are nearly always the same instant of the clock, and only the order
 * among operations that overlap can be open. Effects are entered at the end, when the result is
 * known. An operation that failed has no effect.
 */
#include "state.h"

#include <stdlib.h>

#define READ_BUFFER     (1u << 16) /* of a READ with size 0 (machine/operation.h: large enough) */
#define READ_BUFFER_MAX (1u << 20)

static bool changes_state(const struct operation *operation)
{
	uint32_t command = operation->ioctl.command;

	return operation->kind == OPERATION_IOCTL &&
	       (command == TALLY_IOC_ENABLE || command == TALLY_IOC_DISABLE);
}

/* A pointer is even, so as flags it asks for the event alone. */
static bool is_group_call(const struct operation *operation)
{
	if (operation->ioctl.argument_memory || operation->ioctl.argument_fault)
		return false;
	return (operation->ioctl.argument & TALLY_IOC_FLAG_GROUP) != 0;
}

static struct oracle_event *named_event(
	const struct oracle *o, uint32_t index, const struct operation *operation)
{
	uint32_t number = machine_operation_event(o->machine, index);

	if (operation->kind == OPERATION_OPEN || number >= o->event_count)
		return NULL;
	return o->numbered[number];
}

/* Has the actor's process what the operation works on? */
static bool is_held(
	const struct oracle_event *event, const struct machine_task *actor, uint8_t kind)
{
	const struct holder *holder;

	if (!event || !actor)
		return false;
	holder = event_holder(event, machine_task_pid(actor));
	if (kind == OPERATION_DRAIN || kind == OPERATION_MUNMAP)
		return holder && holder->mappings != 0;
	return holder && holder->fd;
}

/* ---- begin ---- */

static void note_overlap(struct oracle *o, struct call *call)
{
	if (o->calls_active++ == 0)
		return;
	call->overlapped = true;
	for (uint32_t i = 0; i < o->description->operation_count; i++)
		o->call[i].overlapped |= o->call[i].active;
}

static void begin_ioctl(const struct operation *operation, struct call *call)
{
	struct oracle_event *event = call->event;

	if (changes_state(operation)) {
		call->set_event = event;
		event->pending++;
		if (is_group_call(operation)) {
			call->set_leader = event->leader;
			event->leader->group_pending++;
		}
	}
	if (operation->ioctl.command != TALLY_IOC_RESET)
		return;
	call->set_leader = is_group_call(operation) ? event->leader : event;
	call->set_leader->resets_pending++;
}

void call_begin(struct oracle *o, uint32_t index, const struct operation *operation,
	const struct machine_task *actor)
{
	struct call *call = &o->call[index];
	struct answer *answer = call->answer;

	*call = (struct call){.active = true,
		.begin = ++o->sequence,
		.begin_ns = o->now_ns,
		.bursts = o->bursts,
		.answer = answer,
		.event = named_event(o, index, operation)};
	note_overlap(o, call);
	call->held = is_held(call->event, actor, operation->kind);
	if (operation->kind == OPERATION_OPEN && !operation->open.group_raw &&
		operation->open.group < o->event_count)
		call->group = o->numbered[operation->open.group];
	if (!call->held)
		return;
	if (operation->kind == OPERATION_IOCTL)
		begin_ioctl(operation, call);
	if (operation->kind == OPERATION_READ) {
		if (!call->answer)
			call->answer = oracle_grow(NULL, sizeof(*call->answer));
		answer_of(call->event, call->answer);
	}
	if (operation->kind == OPERATION_DRAIN)
		call->event->ring.draining++;
	if (operation->kind == OPERATION_MMAP || operation->kind == OPERATION_MUNMAP)
		call->event->ring.changing++;
}

/* ---- ioctl ---- */

/* Since the call began no time passed: the count then was that of now, but for kernel code that
 * took no time. */
static void reset_event(struct oracle *o, struct oracle_event *event, const struct call *call)
{
	event->base.most = event->residence->count;
	if (call->begin_ns == o->now_ns) {
		event->base.least = event->base.most;
		if (call->bursts != o->bursts) /* before the reset or after it? */
			event->base.least -= event->residence->in_bursts;
	}
	event->was_read = false;
}

static void end_reset(struct oracle *o, const struct operation *operation, struct call *call)
{
	struct oracle_event *event = call->event;

	call->set_leader->resets_pending--;
	reset_event(o, event, call);
	if (!is_group_call(operation))
		return;
	reset_event(o, event->leader, call);
	FOR_EACH_MEMBER(member, event->leader)
	reset_event(o, member, call);
}

static void end_state(
	struct oracle *o, const struct operation *operation, const struct call *call, bool done)
{
	struct oracle_event *event = call->event;
	bool on = operation->ioctl.command == TALLY_IOC_ENABLE;

	call->set_event->pending--;
	if (call->set_leader)
		call->set_leader->group_pending--;
	if (!done)
		return;
	event_set(o, event, on, call->begin);
	if (!is_group_call(operation))
		return;
	event_set(o, event->leader, on, call->begin);
	FOR_EACH_MEMBER(member, event->leader)
	event_set(o, member, on, call->begin);
	event->leader->grouped = o->sequence;
}

/* What the call must answer; 1: some error. */
static int64_t ioctl_answer(const struct operation_ioctl *ioctl)
{
	switch (ioctl->command) {
	case TALLY_IOC_ENABLE:
	case TALLY_IOC_DISABLE:
	case TALLY_IOC_RESET:
		return 0;
	case TALLY_IOC_ID:
		return ioctl->argument_memory && !ioctl->argument_fault ? 0 : -EFAULT;
	case TALLY_IOC_REFRESH:
	case TALLY_IOC_PERIOD:
	case TALLY_IOC_SET_OUTPUT:
	case TALLY_IOC_SET_FILTER:
	case TALLY_IOC_SET_BPF:
	case TALLY_IOC_PAUSE_OUTPUT:
	case TALLY_IOC_QUERY_BPF:
	case TALLY_IOC_MODIFY_ATTRIBUTES:
		return 1;
	default:
		return -ENOTTY;
	}
}

static void end_ioctl(struct oracle *o, const struct operation *operation, struct call *call,
	const struct operation_result *result)
{
	const struct operation_ioctl *ioctl = &operation->ioctl;
	struct oracle_event *event = call->event;
	int64_t expected = ioctl_answer(ioctl);
	uint64_t id;

	if (changes_state(operation))
		end_state(o, operation, call, result->result == 0);
	else if (ioctl->command == TALLY_IOC_RESET)
		end_reset(o, operation, call);
	if (ioctl->argument_event && expected == 0) { /* an fd as flags: which is the machine's */
		event->leader->unchecked = event->unchecked = true;
		FOR_EACH_MEMBER(member, event->leader)
		member->unchecked = true;
	}
	if (expected == 1 ? result->result >= 0 : result->result != expected)
		oracle_violate(o, "R2", ORACLE_NOBODY, event, (uint64_t)expected,
			(uint64_t)result->result, "ioctl 0x%x gives %" PRId64, ioctl->command,
			result->result);
	if (ioctl->command != TALLY_IOC_ID || result->result != 0 || result->size != sizeof(id))
		return;
	id = *(const uint64_t *)(const void *)result->bytes;
	if (!event->unchecked && id != event->residence->id)
		oracle_violate(o, "R1", ORACLE_NOBODY, event, event->residence->id, id,
			"ioctl ID gives %" PRIu64, id);
}

/* ---- read ---- */

static bool may_be_zero(struct oracle *o, struct oracle_event *event, const struct call *call)
{
	bool pinned = (event->attr.flags & TALLY_ATTR_PINNED) != 0;
	bool resident = event->residence->cpu != ORACLE_NOBODY;

	if (event->error || event->unchecked)
		return true;
	if (!o->concurrent || !pinned || event->leader != event || event->ended)
		return false;
	if (!call->overlapped && (resident || !event->may_error || event->on == OFF))
		return false;
	if (!resident && event->on != OFF)
		event->error = true; /* it says so itself */
	return true;
}

static void end_read(struct oracle *o, const struct operation *operation, struct call *call,
	const struct operation_result *result)
{
	struct oracle_event *event = call->event;
	const struct operation_read *read = &operation->read;
	uint32_t size = read->size != 0 ? read->size : READ_BUFFER;
	uint32_t needed = answer_size(event);
	int64_t expected = needed;

	if (read->zero_size)
		size = 0;
	if (size > READ_BUFFER_MAX)
		size = READ_BUFFER_MAX;
	if (size < needed)
		expected = -ENOSPC;
	else if (read->fault)
		expected = -EFAULT;
	if (result->result == 0 && may_be_zero(o, event, call))
		return;
	if (result->result == -ENOMEM && o->may_lack_memory)
		return;
	if (event->error && !call->overlapped && !event->unchecked)
		expected = 0;
	if (result->result != expected) {
		if (call->answer->events == answer_events(event) || !call->overlapped)
			oracle_violate(o, "R2", ORACLE_NOBODY, event, (uint64_t)expected,
				(uint64_t)result->result, "read gives %" PRId64 ", not %" PRId64,
				result->result, expected);
		return;
	}
	if (expected > 0)
		answer_judge(o, event, call->answer,
			!call->overlapped && o->bursts == call->bursts + 1, result->bytes,
			result->size);
}

/* ---- end ---- */

static void end_on_event(struct oracle *o, const struct operation *operation,
	const struct machine_task *actor, struct call *call, const struct operation_result *result)
{
	struct oracle_event *event = call->event;
	uint32_t pid = machine_task_pid(actor);

	switch (operation->kind) {
	case OPERATION_IOCTL:
		end_ioctl(o, operation, call, result);
		break;
	case OPERATION_READ:
		end_read(o, operation, call, result);
		break;
	case OPERATION_MMAP:
		event->ring.changing--;
		if (result->result >= 0)
			event_mapped(o, event, pid, &operation->mmap);
		break;
	case OPERATION_MUNMAP:
		event->ring.changing--;
		if (result->result == 0)
			event_unmapped(o, event, pid);
		break;
	case OPERATION_CLOSE:
		if (result->result == 0)
			event_fd_closed(o, event, pid);
		else if (!call->overlapped)
			oracle_violate(o, "R2", ORACLE_NOBODY, event, 0, (uint64_t)result->result,
				"close gives %" PRId64, result->result);
		break;
	case OPERATION_DRAIN:
		event->ring.draining--;
		if (result->result > 0)
			sample_drained(o, event, (uint64_t)result->result);
		break;
	default:
		break;
	}
}

static bool needs_fd(const struct operation *operation)
{
	switch (operation->kind) {
	case OPERATION_IOCTL:
	case OPERATION_READ:
	case OPERATION_MMAP:
	case OPERATION_MUNMAP:
	case OPERATION_CLOSE:
	case OPERATION_DRAIN:
		return true;
	default:
		return false;
	}
}

void call_end(struct oracle *o, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, const struct operation_result *result)
{
	struct call *call = &o->call[index];

	o->sequence++;
	if (call->held)
		end_on_event(o, operation, actor, call, result);
	else if (needs_fd(operation) && result->result >= 0 && !call->overlapped)
		oracle_violate(o, "R2", ORACLE_NOBODY, call->event, 0, (uint64_t)result->result,
			"%s on an fd that is not there gives %" PRId64,
			operation_kind_name(operation->kind), result->result);
	if (operation->kind == OPERATION_OPEN) {
		uint32_t number = machine_operation_event(o->machine, index);

		o->numbered[number] = NULL;
		if (result->result >= 0)
			event_opened(o, index, operation, actor);
	}
	if (operation->kind == OPERATION_EXEC && result->result == 0)
		life_exec(o, actor, call->begin);
	call->active = false;
	o->calls_active--;
	for (uint32_t i = 0; i < o->description->cpu_count; i++)
		o->cpu[i].judge = true;
}
