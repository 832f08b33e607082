/* SPDX-License-Identifier: MIT
 *
 * spin.h: the engine's spin lock, for leaves: IRQs off, no call, no wake, no other lock inside.
 */
#ifndef TALLY_CORE_SPIN_H
#define TALLY_CORE_SPIN_H

#include <tally/tally.h>

#include "atomic.h"

static inline struct hal_irq_key spin_lock(struct tally_spin *spin)
{
	struct hal_irq_key key = hal_irq_save();

	/* acquire, partner: the release in spin_unlock() */
	while (!atomic_cas_acquire(&spin->held, 0u, 1u))
		hal_relax();
	return key;
}

static inline void spin_unlock(struct tally_spin *spin, struct hal_irq_key key)
{
	atomic_store_release(&spin->held, 0u);
	hal_irq_restore(key);
}

#endif
