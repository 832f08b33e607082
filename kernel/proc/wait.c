/* SPDX-License-Identifier: MIT
 *
 * wait.c: wait queues and sleeping mutexes.
 *
 * A waiter links itself, says that it sleeps, and only then looks at its condition; a waker changes
 * the condition first and then looks at the waiters. Both sides have a full barrier between
 * (wait_prepare()'s with the lock in waitqueue_wake()), so at least one sees the other.
 */
#include <kernel/errno.h>
#include <kernel/lock.h>
#include <kernel/printk.h>
#include <kernel/task.h>

void waitqueue_init(struct waitqueue *wq)
{
	*wq = (struct waitqueue){0};
	list_init(&wq->waiters);
}

void wait_prepare(struct waitqueue *wq, struct waiter *waiter, bool interruptible)
{
	u64 flags = spin_lock_irq(&wq->lock);

	waiter->task = current;
	list_insert_tail(&wq->waiters, &waiter->link);
	__atomic_store_n(
		&current->state, interruptible ? TASK_SLEEPING : TASK_BLOCKED, __ATOMIC_RELAXED);
	spin_unlock_irq(&wq->lock, flags);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the fence in waitqueue_wake() */
}

void wait_finish(struct waitqueue *wq, struct waiter *waiter)
{
	u64 flags;

	__atomic_store_n(&current->state, TASK_RUNNING, __ATOMIC_RELAXED);
	flags = spin_lock_irq(&wq->lock);
	list_remove(&waiter->link);
	spin_unlock_irq(&wq->lock, flags);
}

void waitqueue_wake(struct waitqueue *wq)
{
	u64 flags;

	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the fence in wait_prepare() */
	if (__atomic_load_n(&wq->waiters.next, __ATOMIC_RELAXED) == &wq->waiters)
		return;
	flags = spin_lock_irq(&wq->lock);
	LIST_FOR_EACH (pos, &wq->waiters)
		task_wake(LIST_ENTRY(pos, struct waiter, link)->task, false);
	spin_unlock_irq(&wq->lock, flags);
}

bool wait_interrupted(void)
{
	return signal_pending();
}

void mutex_init(struct mutex *mutex)
{
	mutex->owner = NULL;
	waitqueue_init(&mutex->wq);
}

static bool mutex_try(struct mutex *mutex)
{
	struct task *nobody = NULL;

	return __atomic_compare_exchange_n(
		&mutex->owner, &nobody, current, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void mutex_lock(struct mutex *mutex)
{
	KASSERT(!irqs_off() && current->head.preempt_count == 0);
	KASSERT(!mutex_held(mutex));
	if (!mutex_try(mutex))
		WAIT_EVENT(&mutex->wq, mutex_try(mutex));
}

void mutex_unlock(struct mutex *mutex)
{
	KASSERT(mutex_held(mutex));
	__atomic_store_n(&mutex->owner, NULL, __ATOMIC_RELEASE);
	waitqueue_wake(&mutex->wq);
}

bool mutex_held(const struct mutex *mutex)
{
	return __atomic_load_n(&mutex->owner, __ATOMIC_RELAXED) == current;
}
