/* SPDX-License-Identifier: MIT
 *
 * group.c: which events may stand together, linking and unlinking.
 */
#include "group.h"

#include "assert.h"
#include "errno.h"
#include "pmuv3.h"
#include "read.h"

int tally_group_judge(const struct tally_event *event, const struct tally_event *leader)
{
	const uint64_t leader_only = TALLY_ATTR_PINNED | TALLY_ATTR_EXCLUSIVE;

	if (leader->ctx != event->ctx || leader->cpu != event->cpu || !event_is_leader(leader))
		return -TALLY_EINVAL;
	if ((event->attr.flags & leader_only) != 0 || leader->pmu != event->pmu)
		return -TALLY_EINVAL;
	return 0;
}

/* Count one more event of a group on `cluster`; false: it can't count there. */
static bool add_need(
	const struct tally_event *event, uint32_t cluster, uint32_t *needed, uint32_t *cycles)
{
	int number = tally_event_number(event, cluster);

	*needed += 1;
	*cycles += number == (int)PMUV3_EVENT_CPU_CYCLES;
	return number >= 0;
}

static bool fits_cluster(
	const struct tally_event *event, const struct tally_event *leader, uint32_t cluster)
{
	const struct pmuv3_probe *probe = tally_pmu_probe(event->engine, cluster);
	uint32_t needed = 0;
	uint32_t cycles = 0;
	bool here = add_need(event, cluster, &needed, &cycles);

	if (probe == NULL)
		return false;
	if (leader != NULL) {
		here = add_need(leader, cluster, &needed, &cycles) && here;
		TALLY_MEMBERS_FOR_EACH(member, leader)
		here = add_need(member, cluster, &needed, &cycles) && here;
	}
	return here && tally_slots_fit(probe->present, needed, cycles);
}

int tally_group_fits(const struct tally_event *event, const struct tally_event *leader)
{
	const struct tally_config *config = event->engine->config;

	for (uint32_t cluster = 0; cluster < config->clusters; cluster++) {
		if (event->cpu >= 0 && config->cluster_of[event->cpu] != cluster)
			continue;
		if (fits_cluster(event, leader, cluster))
			return 0;
	}
	return -TALLY_EINVAL;
}

int tally_group_read_fits(const struct tally_event *event, const struct tally_event *leader)
{
	uint32_t nr = 2 + leader->members_count;
	bool fits = tally_read_bytes(event->attr.read_format, nr) <= TALLY_READ_MAX &&
		    tally_read_bytes(leader->attr.read_format, nr) <= TALLY_READ_MAX;

	TALLY_MEMBERS_FOR_EACH(member, leader)
	fits = fits && tally_read_bytes(member->attr.read_format, nr) <= TALLY_READ_MAX;
	return fits ? 0 : -TALLY_E2BIG;
}

/* ---- linking ---- */

struct link_edit {
	struct tally_edit edit;
	struct tally_event *event;
	struct tally_event *leader; /* NULL: it stands alone */
};

static void link_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	struct link_edit *link = TALLY_CONTAINER(edit, struct link_edit, edit);
	struct tally_event *event = link->event;

	(void)cpu;
	if (link->leader != NULL) {
		event->leader = link->leader;
		list_append(&event->leader->members, &event->link);
		event->leader->members_count++;
	} else {
		list_append(&ctx->idle, &event->link);
	}
	ctx->live++;
	ctx->cpu_bound = ctx->cpu_bound || (ctx->cpu < 0 && event->cpu >= 0);
	if ((event->attr.flags & TALLY_ATTR_DISABLED) == 0)
		tally_event_set_state(event, TALLY_ON);
	tally_group_follow(event->leader);
}

/* The event leaves: what it led stands alone from now on, and keeps counting if it did. */
static void unlink_fn(struct tally_context *ctx, struct tally_cpu *cpu, struct tally_edit *edit)
{
	struct link_edit *link = TALLY_CONTAINER(edit, struct link_edit, edit);
	struct tally_event *event = link->event;

	(void)cpu;
	if (event->state != TALLY_ENDED)
		tally_event_set_state(event, TALLY_ENDED);
	list_unlink(&event->link);
	if (!event_is_leader(event))
		event->leader->members_count--;
	while (!list_empty(&event->members)) {
		struct tally_event *member = TALLY_CONTAINER(
			event->members.next, struct tally_event, link);

		list_unlink(&member->link);
		list_append(&ctx->idle, &member->link);
		member->leader = member;
		tally_group_follow(member);
	}
	event->members_count = 0;
	ctx->dirty = true;
}

int tally_group_link(struct tally_event *event, struct tally_event *leader)
{
	struct tally_context *ctx = event->ctx;
	struct link_edit link = {.event = event, .leader = leader};
	int error = 0;

	tally_context_edit(ctx, &link.edit, link_fn);
	if (context_is_parked(ctx)) /* without live events: its CPU went down meanwhile */
		error = ctx->live > 0 ? tally_context_unpark(ctx) : -TALLY_ENODEV;
	if (error != 0)
		tally_group_unlink(event);
	return error;
}

void tally_group_unlink(struct tally_event *event)
{
	struct link_edit link = {.event = event};

	tally_context_edit(event->ctx, &link.edit, unlink_fn);
}
