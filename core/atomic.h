/* SPDX-License-Identifier: MIT
 *
 * atomic.h: every atomic access of the engine, with its order in the name. Plain integer and
 * pointer fields that these touch are touched by nothing else while they are shared.
 */
#ifndef TALLY_CORE_ATOMIC_H
#define TALLY_CORE_ATOMIC_H

#define atomic_load_relaxed(p)        __atomic_load_n((p), __ATOMIC_RELAXED)
#define atomic_load_acquire(p)        __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define atomic_store_relaxed(p, v)    __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define atomic_store_release(p, v)    __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define atomic_add_relaxed(p, v)      __atomic_add_fetch((p), (v), __ATOMIC_RELAXED)
#define atomic_add_seq(p, v)          __atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST)
#define atomic_sub_acq_rel(p, v)      __atomic_sub_fetch((p), (v), __ATOMIC_ACQ_REL)
#define atomic_exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)

/* *p: from -> to; true if it was `from`. Acquire on success. */
#define atomic_cas_acquire(p, from, to)                                                            \
	__extension__({                                                                            \
		__typeof__(*(p)) atomic_expected_ = (from);                                        \
		__atomic_compare_exchange_n(                                                       \
			(p), &atomic_expected_, (to), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);      \
	})

#endif
