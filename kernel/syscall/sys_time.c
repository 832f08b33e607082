/* SPDX-License-Identifier: MIT
 *
 * sys_time.c: clocks and sleeping.
 */
#include <kernel/errno.h>
#include <kernel/irq.h>
#include <kernel/lock.h>
#include <kernel/mm.h>
#include <kernel/syscall.h>
#include <kernel/task.h>

enum clock_id {
	CLOCK_REALTIME,
	CLOCK_MONOTONIC,
	CLOCK_PROCESS_CPUTIME_ID,
	CLOCK_THREAD_CPUTIME_ID,
	CLOCK_MONOTONIC_RAW,
	CLOCK_REALTIME_COARSE,
	CLOCK_MONOTONIC_COARSE,
	CLOCK_BOOTTIME,
	CLOCKS,
};

#define TIMER_ABSTIME 1u

struct timespec {
	s64 seconds;
	s64 nanoseconds;
};

static u64 process_runtime_ns(struct process *process)
{
	u64 flags = spin_lock_irq(&tasks_lock);
	u64 ns = process->runtime_ns;

	LIST_FOR_EACH (pos, &process->threads)
		ns += task_runtime_ns(LIST_ENTRY(pos, struct task, thread_link));
	spin_unlock_irq(&tasks_lock, flags);
	return ns;
}

static bool read_clock(u64 id, u64 *ns)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = clock_ns() + clock_realtime_offset_ns();
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = clock_ns();
		return true;
	case CLOCK_PROCESS_CPUTIME_ID:
		*ns = process_runtime_ns(current->process);
		return true;
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = task_runtime_ns(current);
		return true;
	default:
		return false;
	}
}

static int put_time(u64 at, u64 ns)
{
	struct timespec time = {(s64)(ns / NSEC_PER_SEC), (s64)(ns % NSEC_PER_SEC)};

	return copy_to_user(at, &time, sizeof(time));
}

/* A relative or absolute time in ns, saturated; 0 or -errno. */
static int get_time(u64 at, u64 *ns)
{
	struct timespec time;

	if (copy_from_user(&time, at, sizeof(time)) != 0)
		return -EFAULT;
	if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= (s64)NSEC_PER_SEC)
		return -EINVAL;
	*ns = (u64)time.seconds >= INT64_MAX / NSEC_PER_SEC
		      ? INT64_MAX
		      : (u64)time.seconds * NSEC_PER_SEC + (u64)time.nanoseconds;
	return 0;
}

s64 sys_clock_gettime(const struct syscall_args *args)
{
	u64 ns;

	if (!read_clock((u32)args->a[0], &ns))
		return -EINVAL;
	return put_time(args->a[1], ns);
}

s64 sys_clock_getres(const struct syscall_args *args)
{
	u64 ns;

	if (!read_clock((u32)args->a[0], &ns))
		return -EINVAL;
	return args->a[1] != 0 ? put_time(args->a[1], 1) : 0;
}

s64 sys_gettimeofday(const struct syscall_args *args)
{
	u64 ns = clock_ns() + clock_realtime_offset_ns();
	s64 time[2] = {(s64)(ns / NSEC_PER_SEC), (s64)(ns % NSEC_PER_SEC / 1000)};

	return args->a[0] != 0 ? copy_to_user(args->a[0], time, sizeof(time)) : 0;
}

struct sleeper {
	struct timer timer;
	struct waitqueue wq;
	bool over; /* atomic */
};

static void sleep_over(struct timer *timer)
{
	struct sleeper *sleeper = CONTAINER_OF(timer, struct sleeper, timer);

	__atomic_store_n(&sleeper->over, true, __ATOMIC_RELEASE);
	waitqueue_wake(&sleeper->wq);
}

/* Until clock_ns() is `deadline_ns`: 0, or -EINTR. */
static int sleep_until(u64 deadline_ns)
{
	struct sleeper sleeper = {.timer = {.fn = sleep_over}};
	int error;

	waitqueue_init(&sleeper.wq);
	timer_arm(&sleeper.timer, deadline_ns);
	error = WAIT_EVENT_INTERRUPTIBLE(
		&sleeper.wq, __atomic_load_n(&sleeper.over, __ATOMIC_ACQUIRE));
	timer_cancel(&sleeper.timer);
	return error;
}

static s64 sleep_for(u64 ns, u64 remaining_at)
{
	u64 deadline_ns = clock_ns() + ns;
	u64 now;
	int error = sleep_until(deadline_ns);

	if (error != 0 && remaining_at != 0) {
		now = clock_ns();
		if (put_time(remaining_at, deadline_ns > now ? deadline_ns - now : 0) != 0)
			return -EFAULT;
	}
	return error;
}

s64 sys_nanosleep(const struct syscall_args *args)
{
	u64 ns;
	int error = get_time(args->a[0], &ns);

	return error != 0 ? error : sleep_for(ns, args->a[1]);
}

s64 sys_clock_nanosleep(const struct syscall_args *args)
{
	u64 ns, offset_ns = 0;
	int error;

	if (args->a[0] == CLOCK_REALTIME)
		offset_ns = clock_realtime_offset_ns();
	else if (args->a[0] != CLOCK_MONOTONIC && args->a[0] != CLOCK_BOOTTIME)
		return -EINVAL;
	error = get_time(args->a[2], &ns);
	if (error != 0)
		return error;
	if (args->a[1] & TIMER_ABSTIME)
		return sleep_until(ns > offset_ns ? ns - offset_ns : 0);
	return sleep_for(ns, args->a[3]);
}
