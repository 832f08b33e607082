/* SPDX-License-Identifier: MIT
 *
 * event.h: one result of perf_event_open.
 *
 * Fields say who may touch them: "fixed" is constant after open; "owner" is under the owner word of
 * the event's context; "mutex" is under the context's mutex.
 *
 * An event counts while it is on, its leader is on, its context is loaded on a CPU that the event
 * may run on, and it holds a slot. Its enabled time is the context's clock over the stretches in
 * which it and its leader are on; its running time the same clock over those in which it is placed.
 * So neither needs a write when the task is switched.
 */
#ifndef TALLY_CORE_EVENT_H
#define TALLY_CORE_EVENT_H

#include <tally/tally.h>

#include "context.h"
#include "pmu.h"
#include "ring.h"

enum tally_state {
	TALLY_OFF,
	TALLY_ON,
	TALLY_ERROR, /* pinned and found no slot */
	TALLY_ENDED, /* its task exited or its CPU went down */
};

struct tally_event {
	/* fixed */
	struct tally_engine *engine;
	struct tally_context *ctx; /* a reference */
	const struct tally_pmu *pmu;
	struct tally_attr attr;
	uint64_t id;
	uint64_t filter;      /* filter bits of its type register */
	int32_t cpu;          /* counts only there; -1: anywhere */
	uint32_t sample_size; /* bytes of a sample record, but for its READ part */
	bool sampling;

	/* mutex to change, owner to follow */
	struct tally_event *leader; /* itself for a leader or a single */
	struct tally_list link;     /* leader: a list of the context; member: leader->members */
	struct tally_list members;  /* of a leader, by age */
	uint32_t members_count;

	/* owner */
	enum tally_state state;
	bool on_exec;       /* exec turns it on, once */
	bool listed;        /* a leader that is on, and on the list for that */
	bool timed;         /* it and its leader are on: enabled time runs */
	int8_t slot;        /* its place in ctx->by_slot, TALLY_SLOT_NONE */
	int32_t number;     /* its event number on the CPU that a plan is made for */
	uint64_t type;      /* while placed: what its slot's type register shall hold */
	uint64_t type_next; /* the same, in the plan that is being made */
	uint64_t enabled_ns;
	uint64_t enabled_from_ns; /* context clock, while timed */
	uint64_t running_ns;
	uint64_t running_from_ns; /* context clock, while placed */
	uint64_t count;           /* events up to `stood` since open; never goes back */
	uint64_t base;            /* `count` at the last RESET */
	uint64_t stood;           /* while loaded and placed: the counter, when `count` was right */
	uint64_t period;          /* 1 to 2^63-1 */
	uint64_t period_left;     /* 1 to period */
	uint64_t late; /* while its period is over and not yet sampled: events past the end */
	uint64_t lost; /* records that found no room */
	struct tally_ring *ring; /* NULL: none; a reference */
};

static inline bool event_is_leader(const struct tally_event *event)
{
	return event->leader == event;
}

/* Visit the leader's members. */
#define TALLY_MEMBERS_FOR_EACH(member, of)                                                         \
	for (struct tally_event *member =                                                          \
			TALLY_CONTAINER((of)->members.next, struct tally_event, link);             \
		&member->link != &(of)->members;                                                   \
		member = TALLY_CONTAINER(member->link.next, struct tally_event, link))

/* Let the times of a leader and its members, and the list it is on, follow from their states.
 * owner. */
void tally_group_follow(struct tally_event *leader);

/* Set one event's state. owner. */
void tally_event_set_state(struct tally_event *event, enum tally_state state);

/* What read(2) and READ samples show of one event. */
struct tally_reading {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* `cpu`: the CPU the context is loaded on, with its counters paused, or NULL. owner. */
struct tally_reading tally_event_reading(
	const struct tally_event *event, const struct tally_cpu *cpu);

/* The PMUv3 event number of `event` on `cluster`, or negative: it can't count there. any. */
int tally_event_number(const struct tally_event *event, uint32_t cluster);

#endif
