/* SPDX-License-Identifier: MIT
 *
 * lock.h: spin locks, sleeping mutexes, wait queues.
 *
 * Spin locks: test and set, so that a preempted virtual CPU delays only itself. spin_lock() keeps
 * preemption off; locks that an interrupt also takes use the _irq forms. The raw forms leave
 * preemption alone: the run queue lock is held across a switch. Mutexes and waits: task context,
 * IRQs on, no spin lock held.
 */
#ifndef KERNEL_LOCK_H
#define KERNEL_LOCK_H

#include <kernel/cpu.h>
#include <kernel/list.h>
#include <kernel/types.h>

struct spinlock {
	u32 held;
};

static inline bool spin_try_raw(struct spinlock *lock)
{
	return __atomic_load_n(&lock->held, __ATOMIC_RELAXED) == 0 &&
	       __atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void spin_lock_raw(struct spinlock *lock)
{
	while (!spin_try_raw(lock))
		cpu_relax();
}

static inline void spin_unlock_raw(struct spinlock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

static inline void spin_lock(struct spinlock *lock)
{
	preempt_disable();
	spin_lock_raw(lock);
}

static inline void spin_unlock(struct spinlock *lock)
{
	spin_unlock_raw(lock);
	preempt_enable();
}

static inline u64 spin_lock_irq(struct spinlock *lock)
{
	u64 flags = irq_save();

	spin_lock_raw(lock);
	return flags;
}

static inline void spin_unlock_irq(struct spinlock *lock, u64 flags)
{
	spin_unlock_raw(lock);
	irq_restore(flags);
}

/* A set of tasks that wait for something to change. */
struct waitqueue {
	struct spinlock lock; /* irq */
	struct list waiters;
};

struct waiter {
	struct list link;
	struct task *task;
};

#define WAITQUEUE_INIT(name)                                                                       \
	{                                                                                          \
		.waiters = LIST_INIT((name).waiters)                                               \
	}

void waitqueue_init(struct waitqueue *wq);

/* Wake every waiter; whoever changes the condition calls it afterwards. Any context, no run queue
 * lock held. */
void waitqueue_wake(struct waitqueue *wq);

/* The two ends of a wait: see WAIT_EVENT. `interruptible`: a signal ends the sleep too. */
void wait_prepare(struct waitqueue *wq, struct waiter *waiter, bool interruptible);
void wait_finish(struct waitqueue *wq, struct waiter *waiter);
bool wait_interrupted(void);
void schedule(void);

/* Sleep until `condition`, evaluated without locks, holds. */
#define WAIT_EVENT(wq, condition)                                                                  \
	do {                                                                                       \
		struct waiter waiter_;                                                             \
		for (;;) {                                                                         \
			wait_prepare((wq), &waiter_, false);                                       \
			if (condition)                                                             \
				break;                                                             \
			schedule();                                                                \
			wait_finish((wq), &waiter_);                                               \
		}                                                                                  \
		wait_finish((wq), &waiter_);                                                       \
	} while (0)

/* As WAIT_EVENT; 0, or -EINTR when a signal came first. */
#define WAIT_EVENT_INTERRUPTIBLE(wq, condition)                                                    \
	({                                                                                         \
		struct waiter waiter_;                                                             \
		int result_ = 0;                                                                   \
		for (;;) {                                                                         \
			wait_prepare((wq), &waiter_, true);                                        \
			if (condition)                                                             \
				break;                                                             \
			if (wait_interrupted()) {                                                  \
				result_ = -EINTR;                                                  \
				break;                                                             \
			}                                                                          \
			schedule();                                                                \
			wait_finish((wq), &waiter_);                                               \
		}                                                                                  \
		wait_finish((wq), &waiter_);                                                       \
		result_;                                                                           \
	})

struct mutex {
	struct task *owner; /* under wq.lock */
	struct waitqueue wq;
};

void mutex_init(struct mutex *mutex);
void mutex_lock(struct mutex *mutex);
void mutex_unlock(struct mutex *mutex);
bool mutex_held(const struct mutex *mutex);

#endif
