/* SPDX-License-Identifier: MIT
 *
 * attr.h: reading and judging perf_event_attr.
 */
#ifndef TALLY_CORE_ATTR_H
#define TALLY_CORE_ATTR_H

#include <tally/tally.h>

/* Copy the attr at user address `from` by its size rules and judge its content, in Linux's order.
 * On -E2BIG the size that is known here is written to attr.size at `from`. -EFAULT, -E2BIG,
 * -EINVAL. task. */
int tally_attr_copy(struct tally_attr *attr, uint64_t from, bool kernel_allowed);

/* What Tally does not do yet and Linux does: refused rather than accepted in silence. -EOPNOTSUPP.
 * any. */
int tally_attr_supported(const struct tally_attr *attr);

/* Does the event sample: has it a period? */
static inline bool attr_is_sampling(const struct tally_attr *attr)
{
	return attr->sample_period != 0;
}

#endif
