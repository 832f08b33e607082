/* SPDX-License-Identifier: MIT
 *
 * group.h: which events may stand together, and putting them together. All: task, the mutex of the
 * context held.
 */
#ifndef TALLY_CORE_GROUP_H
#define TALLY_CORE_GROUP_H

#include "event.h"

/* May `event` join `leader`? 0 or -EINVAL. */
int tally_group_judge(const struct tally_event *event, const struct tally_event *leader);

/* Would `event`, alone (leader NULL) or with all of its group whatever their states, fit an empty
 * PMU somewhere that all of them may run? 0 or -EINVAL. */
int tally_group_fits(const struct tally_event *event, const struct tally_event *leader);

/* Would a read through any member stay within its limit? 0 or -E2BIG. */
int tally_group_read_fits(const struct tally_event *event, const struct tally_event *leader);

/* Put the event into its context, as attr says; it counts from here. 0, or -ENODEV: its CPU is
 * offline, nothing changed. */
int tally_group_link(struct tally_event *event, struct tally_event *leader);

/* Take it out: its members, if it leads, become singles. */
void tally_group_unlink(struct tally_event *event);

#endif
