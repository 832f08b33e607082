/* SPDX-License-Identifier: MIT
 *
 * event.c: which events there are, whose, in which groups, who keeps them alive, and whether they
 * are on.
 *
 * Rules (perf_event_open(2), Linux 6.1): an event lives while some process has its fd or a mapping
 * of it; fork copies fds, not mappings; exec closes close-on-exec fds and all mappings; the end of
 * a process closes everything. The members of a closed leader become singles. Task exit ends the
 * task's events, a CPU going off ends its own, both for good.
 */
#include "state.h"

#include <stdlib.h>
#include <string.h>

/* ---- tasks ---- */

struct task *task_find(struct oracle *o, uint32_t tid)
{
	for (uint32_t i = 0; i < o->task_count; i++) {
		if (o->tasks[i].tid == tid)
			return &o->tasks[i];
	}
	return NULL;
}

struct task *task_meet(struct oracle *o, const struct machine_task *task)
{
	struct task *added = task_find(o, machine_task_tid(task));

	if (added)
		return added;
	if (o->task_count == o->task_room) {
		o->task_room = o->task_room ? 2 * o->task_room : 64;
		o->tasks = oracle_grow(o->tasks, o->task_room * sizeof(*o->tasks));
	}
	added = &o->tasks[o->task_count++];
	*added = (struct task){.tid = machine_task_tid(task),
		.pid = machine_task_pid(task),
		.program = machine_task_program(task)};
	return added;
}

/* ---- holders ---- */

struct holder *event_holder(const struct oracle_event *event, uint32_t pid)
{
	for (uint32_t i = 0; i < event->holders; i++) {
		if (event->holder[i].pid == pid)
			return &event->holder[i];
	}
	return NULL;
}

static struct holder *add_holder(struct oracle_event *event, uint32_t pid)
{
	struct holder *holder = event_holder(event, pid);

	if (holder)
		return holder;
	event->holder = oracle_grow(event->holder, (event->holders + 1) * sizeof(*holder));
	holder = &event->holder[event->holders++];
	*holder = (struct holder){.pid = pid};
	return holder;
}

static uint32_t mappings_of(const struct oracle_event *event)
{
	uint32_t mappings = 0;

	for (uint32_t i = 0; i < event->holders; i++)
		mappings += event->holder[i].mappings;
	return mappings;
}

/* ---- on and off ---- */

void event_set(struct oracle *o, struct oracle_event *event, bool on, uint64_t begin)
{
	enum on wanted = on ? ON : OFF;

	if (event->ended || event->closed || (!on && event->error))
		return; /* an error stands until ENABLE */
	if (event->on != wanted)
		event->waited_ticks = 0;
	/* a call that overlapped set it otherwise: who was first? */
	if (event->set > begin && event->on != wanted)
		wanted = MAYBE;
	if (on && event->error) {
		event->error = false; /* it is tried again */
		event->waited_ticks = 0;
	}
	event->on = wanted;
	event->set = o->sequence;
}

static void end_event(struct oracle_event *event)
{
	event->ended = true;
	event->error = false;
	event->on = OFF;
}

/* ---- groups ---- */

static void join(
	struct oracle *o, struct oracle_event *event, struct oracle_event *leader, uint64_t begin)
{
	struct oracle_event **end = &leader->members;

	while (*end)
		end = &(*end)->next_in_group;
	*end = event;
	event->leader = leader;
	leader->member_count++;
	leader->order_unsure |= leader->joined > begin;
	leader->joined = o->sequence;
	if (leader->grouped > begin || leader->group_pending) {
		event->on = MAYBE; /* did the group's call find it there? */
		leader->order_unsure = true;
	}
}

static void leave_group(struct oracle *o, struct oracle_event *event)
{
	struct oracle_event *leader = event->leader;
	struct oracle_event **at = &leader->members;

	while (*at != event)
		at = &(*at)->next_in_group;
	*at = event->next_in_group;
	event->next_in_group = NULL;
	event->leader = event;
	leader->member_count--;
	leader->joined = o->sequence;
}

static void disband(struct oracle *o, struct oracle_event *leader)
{
	while (leader->members) {
		struct oracle_event *member = leader->members;

		leave_group(o, member);
		member->waited_ticks = 0;
		if (leader->group_pending && !member->ended)
			member->on = MAYBE;
	}
}

static void close_event(struct oracle *o, struct oracle_event *event)
{
	if (event->closed)
		return;
	if (event->leader != event)
		leave_group(o, event);
	disband(o, event);
	event->closed = true;
	event->error = false;
	if (event->residence && event->residence->cpu != ORACLE_NOBODY && o->calls_active <= 1)
		oracle_violate(o, "L2", event->residence->cpu, event, 0, event->residence->slot,
			"closed, and still in counter %u", event->residence->slot);
}

static void drop_if_last(struct oracle *o, struct oracle_event *event)
{
	for (uint32_t i = 0; i < event->holders; i++) {
		if (event->holder[i].fd || event->holder[i].mappings)
			return;
	}
	close_event(o, event);
}

void event_fd_closed(struct oracle *o, struct oracle_event *event, uint32_t pid)
{
	struct holder *holder = event_holder(event, pid);

	if (holder)
		holder->fd = false;
	drop_if_last(o, event);
}

void event_mapped(struct oracle *o, struct oracle_event *event, uint32_t pid,
	const struct operation_mmap *mmap)
{
	(void)o;
	if (mappings_of(event) == 0)
		sample_ring_new(event, mmap);
	add_holder(event, pid)->mappings++;
}

void event_unmapped(struct oracle *o, struct oracle_event *event, uint32_t pid)
{
	struct holder *holder = event_holder(event, pid);

	if (!holder || holder->mappings == 0)
		return;
	holder->mappings--;
	if (mappings_of(event) == 0)
		sample_ring_gone(event);
	drop_if_last(o, event);
}

/* ---- open ---- */

static void copy_attr(struct tally_attr *attr, const struct operation_open *open)
{
	uint32_t size = open->attr_size;

	*attr = (struct tally_attr){0};
	if (!open->attr)
		return;
	memcpy(attr, open->attr, size < sizeof(*attr) ? size : sizeof(*attr));
	size = attr->size == 0 ? TALLY_ATTR_SIZE_VER0 : attr->size;
	if (size < sizeof(*attr))
		memset((uint8_t *)attr + size, 0, sizeof(*attr) - size);
}

static uint32_t target_of(
	struct oracle *o, const struct operation_open *open, const struct machine_task *actor)
{
	const struct machine_task *task = actor;

	if (open->target == OPERATION_TARGET_ALL ||
		(open->target >= OPERATION_TARGET_RAW && open->raw_pid == -1))
		return ORACLE_TASK_NONE;
	if (open->target == OPERATION_TARGET_TASK)
		task = machine_task(o->machine, open->task);
	else if (open->target != OPERATION_TARGET_SELF && open->raw_pid != 0)
		return (uint32_t)open->raw_pid;
	return task ? machine_task_tid(task) : ORACLE_TASK_NONE;
}

/* What the engine did for this id before the open returned. */
static void settle_in(struct oracle *o, struct oracle_event *event, const struct call *call)
{
	uint64_t id = 0;

	if (o->options.event_id)
		id = o->options.event_id(o->options.context, event->number);
	if (id == 0) {
		event->unchecked = true;
		event->residence = oracle_allocate(sizeof(*event->residence));
		event->residence->cpu = ORACLE_NOBODY;
		return;
	}
	event->residence = residence_of(o, id);
	if (event->residence->event)
		oracle_violate(o, "L4", ORACLE_NOBODY, event, 0, id,
			"id %" PRIu64 " is that of another event", id);
	event->residence->event = event;
	event->since = event->residence->count; /* its first period began when it was linked */
	if (event->residence->running_ns != 0 || o->now_ns != call->begin_ns)
		event->unchecked = true; /* time passed before it was known */
	if (event->residence->cpu != ORACLE_NOBODY && event->on == MAYBE)
		event->on = ON;
}

void event_opened(struct oracle *o, uint32_t index, const struct operation *operation,
	const struct machine_task *actor)
{
	const struct operation_open *open = &operation->open;
	struct oracle_event *event = oracle_allocate(sizeof(*event));
	struct oracle_event *group = NULL;
	const struct call *call = &o->call[index];
	const struct task *target;
	uint64_t begin = call->begin;

	event->number = machine_operation_event(o->machine, index);
	copy_attr(&event->attr, open);
	event->cpu = open->cpu;
	event->tid = target_of(o, open, actor);
	event->cloexec = (open->flags & TALLY_FLAG_FD_CLOEXEC) != 0;
	event->leader = event;
	event->on = (event->attr.flags & TALLY_ATTR_DISABLED) != 0 ? OFF : ON;
	event->on_exec = (event->attr.flags & TALLY_ATTR_ENABLE_ON_EXEC) != 0;
	event->set = o->sequence;
	event->next = o->events;
	o->events = event;
	o->numbered[event->number] = event;
	add_holder(event, machine_task_pid(actor))->fd = true;
	if (open->group_raw) {
		event->unchecked = open->raw_group_fd != -1;
	} else if (open->group < o->event_count && (open->flags & TALLY_FLAG_FD_NO_GROUP) == 0) {
		group = call->group; /* as that number stood when the call began */
		if (group && !group->closed)
			join(o, event, group, begin);
	}
	target = task_find(o, event->tid);
	if (target && target->executed > begin && event->on_exec)
		event->on = MAYBE;
	settle_in(o, event, call);
	if ((target && target->exited) ||
		(event->tid == ORACLE_TASK_NONE &&
			(!o->cpu[event->cpu].online || o->cpu[event->cpu].went_off > begin)))
		end_event(event);
}

void event_free(struct oracle_event *event)
{
	sample_ring_gone(event);
	free(event->holder);
	free(event);
}

/* ---- processes and CPUs ---- */

void life_fork(
	struct oracle *o, const struct machine_task *parent, const struct machine_task *child)
{
	uint32_t child_pid = machine_task_pid(child);

	task_meet(o, child);
	if (!parent || machine_task_pid(parent) == child_pid)
		return;
	for (struct oracle_event *event = o->events; event; event = event->next) {
		const struct holder *holder = event_holder(event, machine_task_pid(parent));

		if (!event->closed && holder && holder->fd)
			add_holder(event, child_pid)->fd = true;
	}
}

static void release_all(struct oracle *o, uint32_t pid, bool exec)
{
	for (struct oracle_event *event = o->events; event; event = event->next) {
		struct holder *holder = event->closed ? NULL : event_holder(event, pid);

		if (!holder)
			continue;
		if (!exec || event->cloexec)
			holder->fd = false;
		if (holder->mappings != 0) {
			holder->mappings = 0;
			if (mappings_of(event) == 0)
				sample_ring_gone(event);
		}
		drop_if_last(o, event);
	}
}

void life_exec(struct oracle *o, const struct machine_task *machine_task, uint64_t begin)
{
	struct task *task = task_meet(o, machine_task);

	task->executed = o->sequence;
	task->program = machine_task_program(machine_task);
	for (struct oracle_event *event = o->events; event; event = event->next) {
		if (event->tid != task->tid || event->closed || event->ended || !event->on_exec)
			continue;
		if (event->on != ON || event->error)
			event_set(o, event, true, begin);
		event->on_exec = false;
	}
	release_all(o, task->pid, true);
}

void life_exit(struct oracle *o, const struct machine_task *machine_task)
{
	struct task *task = task_meet(o, machine_task);
	bool last = true;

	task->exited = true;
	for (struct oracle_event *event = o->events; event; event = event->next) {
		if (event->tid == task->tid && !event->closed)
			end_event(event);
	}
	for (uint32_t i = 0; i < o->task_count; i++)
		last = last && (o->tasks[i].pid != task->pid || o->tasks[i].exited);
	if (last)
		release_all(o, task->pid, false);
}

void life_cpu(struct oracle *o, uint32_t index, bool online)
{
	struct cpu *cpu = &o->cpu[index];

	cpu->online = online;
	cpu->judge = true;
	if (online) {
		o->clusters_seen |= 1u << cpu->cluster;
		return;
	}
	cpu->went_off = o->sequence;
	cpu->interrupted = false;
	for (struct oracle_event *event = o->events; event; event = event->next) {
		if (event->tid == ORACLE_TASK_NONE && (uint32_t)event->cpu == index &&
			!event->closed)
			end_event(event);
	}
}
