/* SPDX-License-Identifier: MIT
 *
 * plans.c: finding a plan by its name.
 */
#include <explorer/plans.h>

#include <string.h>

const struct explorer_plan *explorer_plan_get(uint32_t index)
{
	const struct explorer_litmus *litmus;

	if (index == 0)
		return &explorer_plan_ring;
	litmus = explorer_litmus_get(index - 1);
	return litmus != NULL ? &litmus->plan : NULL;
}

const struct explorer_plan *explorer_plan_find(const char *name)
{
	const struct explorer_plan *plan;

	for (uint32_t i = 0; (plan = explorer_plan_get(i)) != NULL; i++) {
		if (strcmp(plan->name, name) == 0)
			return plan;
	}
	return NULL;
}
