/* SPDX-License-Identifier: MIT
 *
 * event.c: states, times and values of events; their control by ioctl; their end.
 *
 * A leader that is off gates its members: they stay on, idle, and their times stand. Every change
 * of state is an edit, so when a call returns the hardware has followed.
 */
#include "event.h"

#include "assert.h"
#include "atomic.h"
#include "count.h"
#include "errno.h"
#include "group.h"
#include "pmuv3.h"
#include "pmuv3_events.h"
#include "spin.h"

int tally_event_number(const struct tally_event *event, uint32_t cluster)
{
	const struct pmuv3_probe *probe = tally_pmu_probe(event->engine, cluster);

	if (probe == NULL || !pmu_spans(event->pmu, cluster))
		return -TALLY_ENOENT;
	return pmuv3_event_number(probe->pmceid, event->attr.type, event->attr.config);
}

uint64_t tally_event_id(const struct tally_event *event)
{
	return event->id;
}

/* ---- states and times ---- */

void tally_event_set_state(struct tally_event *event, enum tally_state state)
{
	struct tally_context *ctx = event->ctx;

	TALLY_ASSERT(event->state != TALLY_ENDED);
	event->state = state;
	if (state == TALLY_ENDED) {
		TALLY_ASSERT(ctx->live > 0);
		ctx->live--;
	}
	ctx->dirty = true;
}

static void follow(struct tally_event *event, bool timed)
{
	uint64_t clock_ns = event->ctx->clock_ns;

	if (event->timed && !timed)
		event->enabled_ns += clock_ns - event->enabled_from_ns;
	if (!event->timed && timed)
		event->enabled_from_ns = clock_ns;
	event->timed = timed;
}

/* Pinned groups stand by age, however often they were off: in front of the first that is younger.
 */
static struct tally_list *pinned_place(const struct tally_event *leader)
{
	struct tally_list *head = &leader->ctx->pinned;
	struct tally_list *node = head->next;

	while (node != head && TALLY_CONTAINER(node, struct tally_event, link)->id < leader->id)
		node = node->next;
	return node;
}

void tally_group_follow(struct tally_event *leader)
{
	struct tally_context *ctx = leader->ctx;
	bool on = leader->state == TALLY_ON;

	TALLY_ASSERT(event_is_leader(leader));
	if (on != leader->listed || list_empty(&leader->link)) {
		bool pinned = (leader->attr.flags & TALLY_ATTR_PINNED) != 0;

		list_unlink(&leader->link);
		list_append(!on      ? &ctx->idle
			    : pinned ? pinned_place(leader)
				     : &ctx->flexible,
			&leader->link);
		leader->listed = on;
	}
	follow(leader, on);
	TALLY_MEMBERS_FOR_EACH(member, leader)
	follow(member, on && member->state == TALLY_ON);
}

struct tally_reading tally_event_reading(
	const struct tally_event *event, const struct tally_cpu *cpu)
{
	uint64_t clock_ns = event->ctx->clock_ns;
	bool placed = event->slot != TALLY_SLOT_NONE;
	struct tally_reading reading = {
		.value = event->count - event->base,
		.enabled_ns = event->enabled_ns +
			      (event->timed ? clock_ns - event->enabled_from_ns : 0),
		.running_ns = event->running_ns + (placed ? clock_ns - event->running_from_ns : 0),
	};

	if (placed && cpu != NULL)
		reading.value += tally_slice_live(cpu, event);
	return reading;
}

/* ---- control ---- */

enum control {
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_RESET,
	CONTROL_EXEC, /* what enable_on_exec asks for */
};

struct control_edit {
	struct tally_edit edit;
	struct tally_event *event; /* NULL: every event of the context */
	enum control control;
	bool group;
};

static void control_event(
	struct tally_event *event, const struct tally_cpu *cpu, enum control control)
{
	struct tally_reading reading;

	if (event->state == TALLY_ENDED && control != CONTROL_RESET)
		return;
	switch (control) {
	case CONTROL_ENABLE:
		if (event->state != TALLY_ON)
			tally_event_set_state(event, TALLY_ON);
		break;
	case CONTROL_DISABLE:
		if (event->state == TALLY_ON) /* an error stands until ENABLE */
			tally_event_set_state(event, TALLY_OFF);
		break;
	case CONTROL_RESET:
		reading = tally_event_reading(event, cpu);
		event->base += reading.value;
		break;
	case CONTROL_EXEC:
		if (event->on_exec && event->state != TALLY_ON)
			tally_event_set_state(event, TALLY_ON);
		event->on_exec = false;
		break;
	}
}

static void control_group(
	struct tally_event *leader, const struct tally_cpu *cpu, enum control control)
{
	control_event(leader, cpu, control);
	TALLY_MEMBERS_FOR_EACH(member, leader)
	control_event(member, cpu, control);
	tally_group_follow(leader);
}

static void control_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	struct control_edit *control = TALLY_CONTAINER(edit, struct control_edit, edit);

	(void)ctx;
	if (cpu != NULL && cpu->pool.on && control->control == CONTROL_RESET)
		pmuv3_pause(&cpu->pool);
	if (control->group) {
		control_group(control->event->leader, cpu, control->control);
	} else {
		control_event(control->event, cpu, control->control);
		tally_group_follow(control->event->leader);
	}
	if (cpu != NULL && cpu->pool.on && control->control == CONTROL_RESET)
		pmuv3_resume(&cpu->pool);
}

static int64_t control(struct tally_event *event, enum control what, uint64_t arg)
{
	struct control_edit edit = {
		.event = event, .control = what, .group = (arg & TALLY_IOC_FLAG_GROUP) != 0};

	hal_mutex_lock(&event->ctx->mutex);
	tally_context_edit(event->ctx, &edit.edit, control_fn);
	hal_mutex_unlock(&event->ctx->mutex);
	return 0;
}

int64_t tally_event_ioctl(struct tally_event *event, uint32_t cmd, uint64_t arg)
{
	switch (cmd) {
	case TALLY_IOC_ENABLE:
		return control(event, CONTROL_ENABLE, arg);
	case TALLY_IOC_DISABLE:
		return control(event, CONTROL_DISABLE, arg);
	case TALLY_IOC_RESET:
		return control(event, CONTROL_RESET, arg);
	case TALLY_IOC_ID:
		return hal_copy_to_user(arg, &event->id, sizeof(event->id)) == 0 ? 0
										 : -TALLY_EFAULT;
	case TALLY_IOC_REFRESH:
	case TALLY_IOC_PERIOD:
	case TALLY_IOC_SET_OUTPUT:
	case TALLY_IOC_SET_FILTER:
	case TALLY_IOC_SET_BPF:
	case TALLY_IOC_PAUSE_OUTPUT:
	case TALLY_IOC_QUERY_BPF:
	case TALLY_IOC_MODIFY_ATTRIBUTES:
		return -TALLY_EOPNOTSUPP; /* docs/abi.md */
	default:
		return -TALLY_ENOTTY;
	}
}

/* ---- exec and exit of the task ---- */

/* The context of the caller with a reference, or NULL. `leave`: it is exiting and gives up its own.
 */
static struct tally_context *context_of_caller(
	struct tally_engine *e, struct tally_task *task, bool leave)
{
	struct hal_irq_key key = spin_lock(&e->tasks);
	struct tally_context *ctx = task->ctx;

	if (ctx == TALLY_TOMBSTONE)
		ctx = NULL;
	if (leave)
		atomic_store_release(&task->ctx, TALLY_TOMBSTONE);
	else if (ctx != NULL)
		ctx->refs++;
	spin_unlock(&e->tasks, key);
	return ctx;
}

static void exec_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	struct tally_list *lists[] = {&ctx->pinned, &ctx->flexible, &ctx->idle};

	(void)edit;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (struct tally_list *node = lists[i]->next, *next; node != lists[i];
			node = next) {
			next = node->next;
			control_group(
				TALLY_CONTAINER(node, struct tally_event, link), cpu, CONTROL_EXEC);
		}
	}
}

void tally_task_init(struct tally_task *task)
{
	task->ctx = NULL;
}

void tally_task_exec(struct tally_engine *e, struct tally_task *task)
{
	struct tally_context *ctx = context_of_caller(e, task, false);
	struct tally_edit edit;

	if (ctx == NULL)
		return;
	hal_mutex_lock(&ctx->mutex);
	tally_context_edit(ctx, &edit, exec_fn);
	hal_mutex_unlock(&ctx->mutex);
	tally_context_put(ctx);
}

static void exit_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	(void)cpu;
	(void)edit;
	tally_context_end_all(ctx);
}

void tally_task_exit(struct tally_engine *e, struct tally_task *task)
{
	struct tally_context *ctx = context_of_caller(e, task, true);
	struct tally_edit edit;

	if (ctx == NULL)
		return;
	hal_mutex_lock(&ctx->mutex);
	ctx->exited = true;
	tally_context_edit(ctx, &edit, exit_fn);
	hal_mutex_unlock(&ctx->mutex);
	tally_context_put(ctx);
}

/* ---- the ring ---- */

struct ring_edit {
	struct tally_edit edit;
	struct tally_event *event;
	struct tally_ring *ring;
};

static void ring_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	struct ring_edit *change = TALLY_CONTAINER(edit, struct ring_edit, edit);

	(void)ctx;
	(void)cpu;
	change->event->ring = change->ring;
}

static void set_ring(struct tally_event *event, struct tally_ring *ring)
{
	struct ring_edit change = {.event = event, .ring = ring};

	tally_context_edit(event->ctx, &change.edit, ring_fn);
}

static int map(struct tally_event *event, uint64_t pages, bool writable, struct tally_ring **result)
{
	struct tally_ring *ring = event->ring;

	if (ring != NULL && ring->pages != pages)
		return -TALLY_EINVAL;
	if (ring == NULL) {
		ring = tally_ring_new(event->engine, pages, !writable);
		if (ring == NULL)
			return -TALLY_ENOMEM;
		set_ring(event, ring);
	}
	ring->refs++;
	ring->mappings++;
	*result = ring;
	return 0;
}

int tally_event_mmap(struct tally_event *event, uint64_t pgoff, uint64_t pages, bool shared,
	bool writable, struct tally_ring **ring)
{
	uint64_t data = pages - 1;
	int error;

	if (!shared || pages == 0 || (data & (data - 1)) != 0 || data >> 32 != 0)
		return -TALLY_EINVAL;
	if (pgoff != 0)
		return -TALLY_EINVAL;
	hal_mutex_lock(&event->ctx->mutex);
	error = map(event, pages, writable, ring);
	hal_mutex_unlock(&event->ctx->mutex);
	return error;
}

void tally_ring_unmap(struct tally_event *event, struct tally_ring *ring)
{
	hal_mutex_lock(&event->ctx->mutex);
	TALLY_ASSERT(event->ring == ring && ring->mappings > 0);
	ring->mappings--;
	if (ring->mappings == 0) {
		set_ring(event, NULL);
		tally_ring_put(ring); /* the event's */
	}
	tally_ring_put(ring); /* the mapping's */
	hal_mutex_unlock(&event->ctx->mutex);
}

/* ---- the end ---- */

void tally_event_close(struct tally_event *event)
{
	struct tally_context *ctx = event->ctx;

	hal_mutex_lock(&ctx->mutex);
	tally_group_unlink(event);
	hal_mutex_unlock(&ctx->mutex);
	TALLY_ASSERT(event->slot == TALLY_SLOT_NONE && event->ring == NULL);
	atomic_sub_acq_rel(&event->engine->statistic[TALLY_STAT_EVENTS], 1u);
	hal_free(event, sizeof(*event));
	tally_context_put(ctx);
}
