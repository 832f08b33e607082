/* SPDX-License-Identifier: MIT
 *
 * syscall_fuzz: random system calls with random arguments; the kernel must stand it.
 *
 *	syscall_fuzz [MS [WORKERS [SEED]]]
 *
 * Until MS milliseconds are over, WORKERS processes start children that make CALLS calls each,
 *drawn from a seed: numbers from the list below, among them every perf call; arguments that are
 *small numbers, bad and good addresses, flags, descriptors and noise. What a child starts may
 *outlive it; at the end everything but process 1 and this program is killed. A child's signals go
 *to itself or nowhere.
 *
 * Checks: no call gives a number that is no answer (above -4096 and not an errno that exists); the
 * program's own life goes on: its children can be waited for, everything that was started can be
 * ended, an event counts. That the kernel lives is seen by whoever runs this.
 *
 * System calls: as listed; on its own account clone wait4 kill nanosleep exit_group
 * sched_setaffinity perf_event_open ioctl read close write.
 */
#include "bytes.h"
#include "event.h"
#include "loop.h"
#include "random.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define WORKERS_MAX   32u
#define CALLS         400u
#define FDS           24u
#define CHILD_WAIT_NS 10000000ull
#define SLEEP_NS      500000ull
#define WAITS_MAX     2000u
#define ERRNO_MAX     133 /* EHWPOISON, the last one that Linux has */
#define BUFFER_BYTES  65536u

struct call {
	long number;
	uint64_t argument[6];
};

static unsigned char buffer[BUFFER_BYTES] __attribute__((aligned(4096)));
static struct perf_event_attr attr;
static uint64_t *calls_made; /* shared by all, unless a child unmaps it */

/* Often: what makes and maps events. Not: what would stop the machine (reboot). */
static const unsigned short numbers[] = {__NR_dup, __NR_dup3, __NR_fcntl, __NR_ioctl, __NR_ioctl,
	__NR_ioctl, __NR_openat, __NR_close, __NR_pipe2, __NR_lseek, __NR_read, __NR_read,
	__NR_write, __NR_readv, __NR_writev, __NR_set_tid_address, __NR_nanosleep,
	__NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_sched_setaffinity,
	__NR_sched_getaffinity, __NR_sched_yield, __NR_kill, __NR_tkill, __NR_tgkill, __NR_uname,
	__NR_prctl, __NR_getcpu, __NR_gettimeofday, __NR_getpid, __NR_getppid, __NR_gettid,
	__NR_brk, __NR_munmap, __NR_munmap, __NR_clone, __NR_execve, __NR_mmap, __NR_mmap,
	__NR_mmap, __NR_mprotect, __NR_perf_event_open, __NR_perf_event_open, __NR_perf_event_open,
	__NR_perf_event_open, __NR_wait4, 500};

static uint64_t draw_argument(struct random *random)
{
	uint64_t user_end = 1ull << 48;

	switch (random_below(random, 16)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return (uintptr_t)buffer + random_below(random, 4096);
	case 3:
		return (uintptr_t)buffer;
	case 4:
		return random_below(random, 32);
	case 5:
		return random_next(random);
	case 6:
		return 0xffff800080000000ull + random_below(random, 100000);
	case 7:
		return 1ull << random_below(random, 64);
	case 8:
		return PAGE_BYTES * random_below(random, 64);
	case 9:
		return random_below(random, 1024);
	case 10:
		return user_end - PAGE_BYTES - random_below(random, 65536);
	case 11:
		return user_end;
	case 12:
		return user_end - random_below(random, 4096);
	case 13:
		return (uintptr_t)&attr;
	case 14: /* PERF_EVENT_IOC_ENABLE and its neighbours */
		return PERF_EVENT_IOC_ENABLE + random_below(random, 16);
	default:
		return random_below(random, 16) - 8;
	}
}

static void draw_attr(struct random *random)
{
	uint64_t bits = random_below(random, 3) ? random_below(random, 128) : 0;

	memset(&attr, 0, sizeof attr);
	attr.type = (uint32_t)random_below(random, 9);
	attr.size = random_below(random, 8) ? sizeof attr : (uint32_t)random_below(random, 200);
	attr.config = random_below(random, 4) ? random_below(random, 20) : random_next(random);
	if (!random_below(random, 3))
		attr.sample_period = 1000 + random_below(random, 100000);
	attr.sample_type = random_below(random, 2) ? 0 : random_below(random, 512);
	attr.read_format = random_below(random, 32);
	memcpy((unsigned char *)&attr + offsetof(struct perf_event_attr, read_format) + 8, &bits,
		sizeof bits); /* disabled, inherit, pinned, exclusive, ... */
}

static uint64_t draw_pid(struct random *random)
{
	return random_below(random, 2) ? (uint64_t)sys_getpid()
				       : 100000 + random_below(random, 1u << 20);
}

/* Arguments that reach further than noise does, for the calls that have something behind them. */
static void aim(struct random *random, struct call *call)
{
	uint64_t *a = call->argument;

	switch (call->number) {
	case __NR_perf_event_open:
		a[0] = random_below(random, 8) ? (uintptr_t)&attr : a[0];
		a[1] = random_below(random, 2) ? 0 : random_below(random, 40) - 1;
		a[2] = a[1] == 0 ? UINT64_MAX : random_below(random, 6) - 1;
		a[3] = random_below(random, 2) ? UINT64_MAX : random_below(random, FDS);
		a[4] = random_below(random, 2) ? 0 : random_below(random, 16);
		break;
	case __NR_ioctl:
	case __NR_read:
	case __NR_close:
		a[0] = random_below(random, FDS);
		break;
	case __NR_mmap:
		a[0] = random_below(random, 4) ? 0 : a[0];
		a[1] = PAGE_BYTES * (1 + random_below(random, 20));
		a[2] = random_below(random, 8);
		a[3] = random_below(random, 2) ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
		a[4] = random_below(random, FDS);
		a[5] = 0;
		break;
	case __NR_nanosleep: /* mostly short */
		((uint64_t *)(void *)buffer)[0] = 0;
		((uint64_t *)(void *)buffer)[1] = random_below(random, 1000000);
		a[0] = random_below(random, 8) ? (uintptr_t)buffer : a[0];
		break;
	case __NR_kill:
	case __NR_tkill:
		a[0] = draw_pid(random);
		a[1] = random_below(random, 64) ? 0 : random_below(random, 70);
		break;
	case __NR_tgkill:
		a[0] = draw_pid(random);
		a[1] = draw_pid(random);
		a[2] = random_below(random, 64) ? 0 : random_below(random, 70);
		break;
	case __NR_clone:
		a[0] = random_below(random, 4) ? SIGCHLD : a[0];
		a[1] = random_below(random, 4) ? 0 : a[1];
		break;
	case __NR_wait4:
		a[2] |= random_below(random, 4) ? WNOHANG : 0;
		break;
	default:
		break;
	}
}

/* An answer is a result or -errno. */
static bool is_answer(long answer)
{
	return answer >= -ERRNO_MAX || answer < -4095;
}

static _Noreturn void make_calls(uint64_t seed, uint64_t number)
{
	struct random random = random_stream(seed, number);

	for (int fd = 0; fd < 3; fd++)
		sys_close(fd);
	for (unsigned i = 0; i < CALLS; i++) {
		struct call call = {
			.number =
				numbers[random_below(&random, sizeof numbers / sizeof numbers[0])]};
		uint64_t *a = call.argument;
		long answer;

		draw_attr(&random);
		for (unsigned k = 0; k < 6; k++)
			a[k] = draw_argument(&random);
		aim(&random, &call);
		answer = syscall6(call.number, (long)a[0], (long)a[1], (long)a[2], (long)a[3],
			(long)a[4], (long)a[5]);
		__atomic_fetch_add(calls_made, 1, __ATOMIC_RELAXED);
		if (!is_answer(answer))
			sys_exit(1);
		if (call.number == __NR_clone && answer == 0 && random_below(&random, 2))
			sys_exit(0);
	}
	sys_exit(0);
}

/* Waits a while for the child, then kills it. Its wait status. */
static int end_child(int pid)
{
	uint64_t start_ns = clock_now_ns();
	int status = 0;

	while (clock_now_ns() - start_ns < CHILD_WAIT_NS) {
		long answer = sys_wait4(pid, &status, WNOHANG);

		REQUIRE(answer == pid || answer == 0, "wait4(%d): %ld", pid, answer);
		if (answer == pid)
			return status;
		task_sleep_ns(SLEEP_NS);
	}
	REQUIRE(sys_kill(pid, SIGKILL) == 0, "kill of %d", pid);
	return task_wait(pid);
}

static _Noreturn void worker(unsigned number, uint64_t seed, uint64_t end_ns)
{
	unsigned rounds = 0, killed = 0;

	for (; clock_now_ns() < end_ns; rounds++) {
		int pid = task_fork(), status;

		if (!pid)
			make_calls(seed, (uint64_t)number << 32 | rounds);
		status = end_child(pid);
		killed += (status & 0x7f) != 0;
		/* Its code may be overwritten by its own calls: any signal is a fair end. */
		CHECK((status & 0x7f) != 0 || status >> 8 == 0, "round %u: a call gave no answer",
			rounds);
	}
	measure("worker=%u rounds=%u killed=%u", number, rounds, killed);
	sys_exit(verdict_failures() != 0);
}

/* Ends what children left running. */
static void end_strays(void)
{
	unsigned waits = 0;
	long answer;

	while ((answer = sys_kill(-1, SIGKILL)) == 0 && waits++ < WAITS_MAX)
		task_sleep_ns(SLEEP_NS);
	CHECK(answer == -ESRCH, "what the children started does not end: %ld", answer);
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? (uint64_t)text_number(argv[1]) : 300;
	unsigned workers = argc > 2 ? (unsigned)text_number(argv[2]) : 4;
	uint64_t seed = argc > 3 ? (uint64_t)text_number(argv[3]) : 1;
	uint64_t end_ns = clock_now_ns() + ms * 1000000;
	struct perf_event_attr cycles = event_attr(PERF_TYPE_RAW, PMU_CYCLES);
	int pids[WORKERS_MAX], fd;
	struct reading r;
	long shared;

	verdict_begin("syscall_fuzz");
	REQUIRE(workers <= WORKERS_MAX, "%u workers", workers);
	shared = sys_mmap(
		NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(shared > 0, "mmap: %ld", shared);
	calls_made = (uint64_t *)shared;
	for (unsigned i = 0; i < workers; i++) {
		pids[i] = task_fork();
		if (!pids[i])
			worker(i, seed, end_ns);
	}
	for (unsigned i = 0; i < workers; i++) {
		int status = task_wait_exit(pids[i]);

		CHECK(status == 0, "worker %u ended with %d", i, status);
	}
	end_strays();
	measure("seed=%lu calls=%lu", seed, *calls_made);
	CHECK(*calls_made > CALLS, "only %lu calls", *calls_made);
	fd = event_require(&cycles, 0, -1, -1);
	event_enable(fd);
	plain_loop(10000);
	r = event_read(fd);
	CHECK(r.running_ns > 0, "afterwards an event does not run");
	event_close(fd);
	return verdict_end();
}
