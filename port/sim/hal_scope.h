/* SPDX-License-Identifier: MIT
 *
 * hal_scope.h: what every function of the HAL begins with in the simulator.
 */
#ifndef PORT_SIM_HAL_SCOPE_H
#define PORT_SIM_HAL_SCOPE_H

#include <machine/order.h>

#include "port.h"

/* Every HAL function is the simulator's code between two pieces of the engine's (machine/order.h).
 */
static inline void leave_hal(const int *entered)
{
	(void)entered;
	machine_judged_begin();
}

static inline int enter_hal(const void *site)
{
	machine_judged_end();
	machine_order.site = site;
	return 1;
}

#define HAL_SCOPE                                                                                  \
	__attribute__((cleanup(leave_hal), unused))                                                \
	const int entered = enter_hal(__builtin_return_address(0))

/* The machine, after a point at which interrupts may come. */
static inline struct machine *machine_here(void)
{
	struct machine *m = port_running()->machine;

	machine_point_local(m);
	return m;
}

/* The same in front of what other CPUs can see: they may step too. */
static inline struct machine *machine_shared(void)
{
	struct machine *m = port_running()->machine;

	machine_point(m);
	return m;
}

static inline void require_masked(struct machine *m, const char *what)
{
	if (!machine_irqs_masked(m))
		machine_fail(m, "CPU %u: %s with interrupts on", machine_cpu(m), what);
}

#endif
