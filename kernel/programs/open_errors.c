/* SPDX-License-Identifier: MIT
 *
 * open_errors: what perf_event_open, ioctl and mmap refuse, and with which error.
 *
 * A table of (attr, pid, cpu, group_fd, flags) -> errno. Errors have an order: several rows have
 * two faults and say which one is reported. Rows with 0 must open. The rows hold on Linux 6.1 (run
 * as root) and follow its order of checks: flags before memory; attr size, then content; group_fd;
 * pid; cpu; inherit with SAMPLE_READ; type and config; group rules. After the table come what a
 * table cannot hold (sizes with write-back, bad pointers, an attr across the end of a mapping), the
 * errors of the calls on an open event, and a check that no failed call has kept a file descriptor.
 *
 * A young kernel may lack a feature: it answers EOPNOTSUPP to its right use, a measure line says
 * so, and the rows that need the feature are left out. The machine's PMU has no cache events: those
 * rows say ENOENT for it, and hold on QEMU.
 *
 * System calls: perf_event_open ioctl read write close mmap munmap pipe2 getpid exit_group.
 */
#include "bytes.h"
#include "event.h"
#include "ring.h"
#include "syscall.h"
#include "task.h"
#include "verdict.h"

#define ATTR_BYTES PERF_ATTR_SIZE_VER7
#define PID_NONE   4000000 /* near Linux' largest, never reached here */
#define CPU_NONE   4096

/* What stands for a file descriptor in a row. */
enum group {
	NO_GROUP,
	LEADER,
	MEMBER,
	CPU_LEADER,
	INHERIT_LEADER,
	PIPE,
	CLOSED,
	MINUS_TWO,
	GROUPS
};

/* Parts of the ABI that a young kernel may lack: it then answers EOPNOTSUPP to a right use of them.
 */
enum feature {
	ALWAYS,
	INHERIT,
	SIDEBAND,
	CLOCKID,
	CALLCHAIN,
	OUTPUT,
	PERIOD,
	REFRESH,
	PAUSE,
	FEATURES
};

static const char *const feature_names[FEATURES] = {
	"", "inherit", "sideband", "clockid", "callchain", "output", "period", "refresh", "pause"};

struct row {
	const char *what;
	int expected; /* 0 or the errno */
	struct perf_event_attr attr;
	int pid, cpu;
	enum group group;
	unsigned long flags;
	enum feature needs;
};

#define TYPE(t, c)     .type = (t), .size = ATTR_BYTES, .config = (c), .disabled = 1
#define HW(event)      TYPE(PERF_TYPE_HARDWARE, event)
#define CYCLES         HW(PERF_COUNT_HW_CPU_CYCLES)
#define CACHE(c, o, r) TYPE(PERF_TYPE_HW_CACHE, (c) | (o) << 8 | (r) << 16)
#define SELF           .pid = 0, .cpu = -1
#define ON_CPU         .pid = -1, .cpu = 0

static const struct row rows[] = {
	/* what opens */
	{"cycles on self", 0, {CYCLES}, SELF},
	{"cycles on a CPU", 0, {CYCLES}, ON_CPU},
	{"cycles on self, on CPU 0", 0, {CYCLES}, .pid = 0, .cpu = 0},
	{"raw, whatever PMCEID says", 0, {TYPE(PERF_TYPE_RAW, 0x3ff)}, SELF},
	{"raw, upper bits ignored", 0, {TYPE(PERF_TYPE_RAW, 0xabcd00000011)}, SELF},
	{"precise_ip 3", 0, {CYCLES, .precise_ip = 3}, SELF},
	{"period 2^63 - 1", 0, {CYCLES, .sample_period = ~0ull >> 1}, SELF},
	{"all plain flags", 0, {CYCLES, .comm = 1, .task = 1, .sample_id_all = 1, .watermark = 1},
		SELF, .needs = SIDEBAND},
	{"NO_GROUP leaves group_fd unused", 0, {CYCLES}, SELF, LEADER, PERF_FLAG_FD_NO_GROUP},
	{"a second member", 0, {CYCLES}, SELF, LEADER},
	{"CLOEXEC", 0, {CYCLES}, SELF, .flags = PERF_FLAG_FD_CLOEXEC},

	/* attr content */
	{"flag bit 38", EINVAL, {CYCLES, .__reserved_1 = 1}, SELF},
	{"flag bit 63", EINVAL, {CYCLES, .__reserved_1 = 1u << 25}, SELF},
	{"reserved half word", EINVAL, {CYCLES, .__reserved_2 = 1}, SELF},
	{"reserved word", EINVAL, {CYCLES, .__reserved_3 = 1}, SELF},
	{"sample_type bit 25", EINVAL, {CYCLES, .sample_type = 1u << 25}, SELF},
	{"sample_type bit 63", EINVAL, {CYCLES, .sample_type = 1ull << 63}, SELF},
	{"read_format bit 5", EINVAL, {CYCLES, .read_format = 1u << 5}, SELF},
	{"read_format bit 63", EINVAL, {CYCLES, .read_format = 1ull << 63}, SELF},
	{"WEIGHT with WEIGHT_STRUCT", EINVAL,
		{CYCLES, .sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT}, SELF},
	{"inherit_thread alone", EINVAL, {CYCLES, .inherit_thread = 1}, SELF},
	{"remove_on_exec with enable_on_exec", EINVAL,
		{CYCLES, .remove_on_exec = 1, .enable_on_exec = 1}, SELF},
	{"sigtrap without remove_on_exec", EINVAL, {CYCLES, .sigtrap = 1}, SELF},
	{"CGROUP sample", EINVAL, {CYCLES, .sample_type = PERF_SAMPLE_CGROUP}, SELF},
	{"STACK_USER of 65535", EINVAL,
		{CYCLES, .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65535}, SELF},
	{"STACK_USER of 12", EINVAL,
		{CYCLES, .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 12}, SELF},
	{"REGS_USER of none", EINVAL, {CYCLES, .sample_type = PERF_SAMPLE_REGS_USER}, SELF},
	{"REGS_USER bit 34", EINVAL,
		{CYCLES, .sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = 1ull << 34},
		SELF},
	{"REGS_INTR of none", EINVAL, {CYCLES, .sample_type = PERF_SAMPLE_REGS_INTR}, SELF},
	{"BRANCH_STACK of nothing", EINVAL, {CYCLES, .sample_type = PERF_SAMPLE_BRANCH_STACK},
		SELF},
	{"BRANCH_STACK bit 19", EINVAL,
		{CYCLES, .sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = 1u << 19},
		SELF},
	{"BRANCH_STACK of user branches", EOPNOTSUPP,
		{CYCLES, .sample_type = PERF_SAMPLE_BRANCH_STACK,
			.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER},
		SELF},
	{"period 2^63", EINVAL, {CYCLES, .sample_period = 1ull << 63}, SELF},
	{"frequency above the limit", EINVAL, {CYCLES, .freq = 1, .sample_freq = 100000001}, SELF},
	{"inherit with SAMPLE_READ", EINVAL,
		{CYCLES, .inherit = 1, .sample_type = PERF_SAMPLE_READ}, SELF},
	{"the same on an unknown type", EINVAL,
		{TYPE(0x7fffffff, 0), .inherit = 1, .sample_type = PERF_SAMPLE_READ}, SELF},
	{"exclude_idle", EOPNOTSUPP, {CYCLES, .exclude_idle = 1}, SELF},
	{"clock 99", EINVAL, {CYCLES, .use_clockid = 1, .clockid = 99}, SELF, .needs = CLOCKID},
	{"CALLCHAIN deeper than the limit", EOVERFLOW,
		{CYCLES, .sample_type = PERF_SAMPLE_CALLCHAIN, .sample_max_stack = 60000}, SELF,
		.needs = CALLCHAIN},
	{"content before group_fd", EINVAL, {CYCLES, .__reserved_1 = 1}, SELF, CLOSED},
	{"content before pid", EINVAL, {CYCLES, .read_format = 1u << 5}, .pid = PID_NONE,
		.cpu = -1},

	/* flags */
	{"flag 0x10", EINVAL, {CYCLES}, SELF, .flags = 0x10},
	{"flag bit 32", EINVAL, {CYCLES}, SELF, .flags = 1ul << 32},
	{"PID_CGROUP on a CPU, no pid", EINVAL, {CYCLES}, ON_CPU, .flags = PERF_FLAG_PID_CGROUP},
	{"PID_CGROUP, no CPU", EINVAL, {CYCLES}, SELF, .flags = PERF_FLAG_PID_CGROUP},
	{"PID_CGROUP before group_fd", EINVAL, {CYCLES}, SELF, CLOSED, PERF_FLAG_PID_CGROUP},
	{"FD_OUTPUT to an event without a ring", EINVAL, {CYCLES}, SELF, LEADER,
		PERF_FLAG_FD_OUTPUT, OUTPUT},

	/* group_fd */
	{"group_fd closed", EBADF, {CYCLES}, SELF, CLOSED},
	{"group_fd -2", EBADF, {CYCLES}, SELF, MINUS_TWO},
	{"group_fd a pipe", EBADF, {CYCLES}, SELF, PIPE},
	{"group_fd a pipe, NO_GROUP", EBADF, {CYCLES}, SELF, PIPE, PERF_FLAG_FD_NO_GROUP},
	{"group_fd before pid", EBADF, {CYCLES}, .pid = PID_NONE, .cpu = -1, .group = CLOSED},
	{"group_fd before type", EBADF, {TYPE(0x7fffffff, 0)}, SELF, CLOSED},

	/* pid and cpu */
	{"no such pid", ESRCH, {CYCLES}, .pid = PID_NONE, .cpu = -1},
	{"pid -2", ESRCH, {CYCLES}, .pid = -2, .cpu = -1},
	{"pid before cpu", ESRCH, {CYCLES}, .pid = PID_NONE, .cpu = CPU_NONE},
	{"pid before type", ESRCH, {TYPE(0x7fffffff, 0)}, .pid = PID_NONE, .cpu = -1},
	{"cpu beyond all", EINVAL, {CYCLES}, .pid = -1, .cpu = CPU_NONE},
	{"cpu beyond all, on a task", EINVAL, {CYCLES}, .pid = 0, .cpu = CPU_NONE},
	{"cpu -2 on a task", EINVAL, {CYCLES}, .pid = 0, .cpu = -2},
	{"no task and no cpu", EINVAL, {CYCLES}, .pid = -1, .cpu = -1},
	{"cpu before type", EINVAL, {TYPE(0x7fffffff, 0)}, .pid = 0, .cpu = CPU_NONE},
	{"sigtrap without a task", EINVAL, {CYCLES, .sigtrap = 1, .remove_on_exec = 1}, ON_CPU},

	/* type and config */
	{"type unknown", ENOENT, {TYPE(0x7fffffff, 0)}, SELF},
	{"hardware 9 (ref-cycles)", ENOENT, {HW(PERF_COUNT_HW_REF_CPU_CYCLES)}, SELF},
	{"hardware 10", EINVAL, {HW(10)}, SELF},
	{"hardware cache-misses", ENOENT, {HW(PERF_COUNT_HW_CACHE_MISSES)}, SELF},
	{"hardware bus-cycles", ENOENT, {HW(PERF_COUNT_HW_BUS_CYCLES)}, SELF},
	{"software 12", ENOENT, {TYPE(PERF_TYPE_SOFTWARE, 12)}, SELF},
	{"software, upper bits", ENOENT, {TYPE(PERF_TYPE_SOFTWARE, 1ull << 32)}, SELF},
	{"cache id 7", EINVAL, {CACHE(7, 0, 0)}, SELF},
	{"cache operation 3", EINVAL, {CACHE(0, 3, 0)}, SELF},
	{"cache result 2", EINVAL, {CACHE(0, 0, 2)}, SELF},
	{"cache L1D read access", ENOENT, {CACHE(0, 0, 0)}, SELF},
	{"cache L1D write miss", ENOENT, {CACHE(0, 1, 1)}, SELF},

	/* group rules */
	{"leader is a member", EINVAL, {CYCLES}, SELF, MEMBER},
	{"pinned member", EINVAL, {CYCLES, .pinned = 1}, SELF, LEADER},
	{"exclusive member", EINVAL, {CYCLES, .exclusive = 1}, SELF, LEADER},
	{"member on another CPU", EINVAL, {CYCLES}, .pid = 0, .cpu = 0, .group = LEADER},
	{"CPU member of a task's leader", EINVAL, {CYCLES}, ON_CPU, LEADER},
	{"task member of a CPU's leader", EINVAL, {CYCLES}, .pid = 0, .cpu = 0,
		.group = CPU_LEADER},
	{"member does not inherit, leader does", EINVAL, {CYCLES}, SELF, INHERIT_LEADER,
		.needs = INHERIT},
	{"member inherits, leader does not", EINVAL, {CYCLES, .inherit = 1}, SELF, LEADER,
		.needs = INHERIT},
	{"type before group rules", ENOENT, {TYPE(0x7fffffff, 0)}, SELF, MEMBER},
};

static int group_fds[GROUPS] = {[NO_GROUP] = -1, [CLOSED] = 900, [MINUS_TWO] = -2};

static bool has[FEATURES] = {[ALWAYS] = true};

static void note(enum feature feature, long answer)
{
	has[feature] = answer >= 0;
	if (answer == -EOPNOTSUPP)
		measure("absent=%s", feature_names[feature]);
	else
		CHECK(answer >= 0, "%s: %ld", feature_names[feature], answer);
}

static void note_open(enum feature feature, const struct perf_event_attr *attr)
{
	int fd = event_open(attr, 0, -1, -1);

	note(feature, fd);
	if (fd >= 0)
		event_close(fd);
}

/* Uses each feature rightly, once. */
static void find_features(void)
{
	static const struct perf_event_attr inherit = {CYCLES, .inherit = 1};
	static const struct perf_event_attr sideband = {
		CYCLES, .comm = 1, .task = 1, .sample_id_all = 1};
	static const struct perf_event_attr clockid = {
		CYCLES, .use_clockid = 1, .clockid = CLOCK_MONOTONIC};
	static const struct perf_event_attr sampling = {
		CYCLES, .sample_period = 1ull << 40, .sample_type = PERF_SAMPLE_IP};
	static const struct perf_event_attr callchain = {
		CYCLES, .sample_period = 1ull << 40, .sample_type = PERF_SAMPLE_CALLCHAIN};
	uint64_t period = 1ull << 41;
	int mapped = event_require(&sampling, 0, -1, -1), other;
	struct ring ring = ring_map(mapped, 1);

	note_open(INHERIT, &inherit);
	note_open(SIDEBAND, &sideband);
	note_open(CLOCKID, &clockid);
	note_open(CALLCHAIN, &callchain);
	note(PERIOD, sys_ioctl(mapped, PERF_EVENT_IOC_PERIOD, (unsigned long)&period));
	note(PAUSE, sys_ioctl(mapped, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	note(REFRESH, sys_ioctl(mapped, PERF_EVENT_IOC_REFRESH, 1));
	other = event_require(&sampling, 0, -1, -1);
	note(OUTPUT, sys_ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)mapped));
	event_close(other);
	ring_unmap(&ring);
	event_close(mapped);
}

static void check_rows(void)
{
	unsigned passed = 0, skipped = 0, count = sizeof rows / sizeof *rows;

	for (unsigned i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		struct perf_event_attr attr = row->attr;
		long answer;
		bool right;

		if (!has[row->needs]) {
			skipped++;
			continue;
		}
		answer = sys_perf_event_open(
			&attr, row->pid, row->cpu, group_fds[row->group], row->flags);
		right = row->expected ? answer == -row->expected : answer >= 0;
		CHECK(right, "%s: %ld, expected %d", row->what, answer, -row->expected);
		CHECK(attr.size == ATTR_BYTES, "%s: size written back: %u", row->what, attr.size);
		passed += right;
		if (answer >= 0)
			event_close((int)answer);
	}
	measure("rows=%u right=%u skipped=%u", count, passed, skipped);
}

/* An attr with bytes behind it, as a newer program would pass it. */
struct long_attr {
	struct perf_event_attr attr;
	unsigned char tail[PAGE_BYTES];
};

static void check_size(uint32_t size, unsigned dirty_byte, int expected, uint32_t size_after)
{
	static struct long_attr a;
	long answer;

	memset(&a, 0, sizeof a);
	a.attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	a.attr.size = size;
	if (dirty_byte)
		((unsigned char *)&a)[dirty_byte] = 1;
	answer = sys_perf_event_open(&a, 0, -1, -1, 0);
	CHECK(expected ? answer == -expected : answer >= 0, "size %u, byte %u: %ld, expected %d",
		size, dirty_byte, answer, -expected);
	CHECK(a.attr.size == size_after, "size %u, byte %u: size afterwards %u, expected %u", size,
		dirty_byte, a.attr.size, size_after);
	if (answer >= 0)
		event_close((int)answer);
}

static void check_sizes(void)
{
	static const uint32_t legal[] = {
		64, 65, 72, 80, 96, 104, 111, 112, 117, 120, 127, 128, 136, 4096};
	static const uint32_t illegal[] = {1, 4, 8, 63, 4097, 0x80000000u, ~0u};

	for (unsigned i = 0; i < sizeof legal / sizeof *legal; i++)
		check_size(legal[i], 0, 0, legal[i]);
	for (unsigned i = 0; i < sizeof illegal / sizeof *illegal; i++)
		check_size(illegal[i], 0, E2BIG, ATTR_BYTES);
	check_size(0, 0, 0, 0);            /* the first size, 64; not written back */
	check_size(0, 110, 0, 0);          /* what lies behind it does not matter */
	check_size(64, 110, 0, 64);        /* the same, said aloud */
	check_size(111, 110, EINVAL, 111); /* half of the reserved half word is given */
	check_size(136, 128, E2BIG, ATTR_BYTES);
	check_size(4096, 4095, E2BIG, ATTR_BYTES);
}

static void check_pointers(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	long at = sys_mmap(
		NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = (char *)at + PAGE_BYTES;
	long answer;

	REQUIRE(at > 0, "mmap %ld", at);
	REQUIRE(sys_munmap(end, PAGE_BYTES) == 0, "munmap");
	CHECK(sys_perf_event_open(NULL, 0, -1, -1, 0) == -EFAULT, "null attr");
	CHECK(sys_perf_event_open((void *)8, 0, -1, -1, 0) == -EFAULT, "attr at 8");
	CHECK(sys_perf_event_open((void *)0xffff000000080000, 0, -1, -1, 0) == -EFAULT,
		"attr in the kernel's half");
	CHECK(sys_perf_event_open((void *)0x0010000000000000, 0, -1, -1, 0) == -EFAULT,
		"attr between the halves");
	CHECK(sys_perf_event_open((void *)8, 0, -1, -1, 0x10) == -EINVAL, "flags before memory");
	CHECK(sys_perf_event_open((void *)8, 0, -1, 900, 0) == -EFAULT, "memory before group_fd");
	memcpy(end - 64, &attr, 64);
	CHECK(sys_perf_event_open(end - 64, 0, -1, -1, 0) == -EFAULT,
		"attr of 128 bytes, 64 mapped");
	((struct perf_event_attr *)(end - 64))->size = 64;
	answer = sys_perf_event_open(end - 64, 0, -1, -1, 0);
	CHECK(answer >= 0, "attr of 64 bytes at the end of a mapping: %ld", answer);
	if (answer >= 0)
		event_close((int)answer);
	CHECK(sys_perf_event_open(end - 4, 0, -1, -1, 0) == -EFAULT, "size beyond the mapping");
	sys_munmap((void *)at, PAGE_BYTES);
}

static void check_ioctls(int counting, int sampling)
{
	uint64_t zero = 0, top = 1ull << 63, period = 1000;
	struct {
		const char *what;
		int fd;
		unsigned long command, argument;
		long expected;
		enum feature needs;
	} calls[] = {
		{"unknown command", counting, 0x24ff, 0, -ENOTTY, ALWAYS},
		{"ENABLE with a size", counting, 0x40042400, 0, -ENOTTY, ALWAYS},
		{"ID to a bad pointer", counting, PERF_EVENT_IOC_ID, 8, -EFAULT, ALWAYS},
		{"PERIOD of a counting event", counting, PERF_EVENT_IOC_PERIOD,
			(unsigned long)&period, -EINVAL, PERIOD},
		{"PERIOD of 0", sampling, PERF_EVENT_IOC_PERIOD, (unsigned long)&zero, -EINVAL,
			PERIOD},
		{"PERIOD of 2^63", sampling, PERF_EVENT_IOC_PERIOD, (unsigned long)&top, -EINVAL,
			PERIOD},
		{"PERIOD from a bad pointer", sampling, PERF_EVENT_IOC_PERIOD, 8, -EFAULT, PERIOD},
		{"REFRESH of a counting event", counting, PERF_EVENT_IOC_REFRESH, 1, -EINVAL,
			REFRESH},
		{"SET_OUTPUT to a closed fd", sampling, PERF_EVENT_IOC_SET_OUTPUT, 900, -EBADF,
			OUTPUT},
		{"SET_OUTPUT to a pipe", sampling, PERF_EVENT_IOC_SET_OUTPUT,
			(unsigned long)group_fds[PIPE], -EBADF, OUTPUT},
		{"SET_OUTPUT to itself", sampling, PERF_EVENT_IOC_SET_OUTPUT,
			(unsigned long)sampling, -EINVAL, OUTPUT},
		{"SET_OUTPUT to one without a ring", sampling, PERF_EVENT_IOC_SET_OUTPUT,
			(unsigned long)counting, -EINVAL, OUTPUT},
		{"PAUSE_OUTPUT without a ring", counting, PERF_EVENT_IOC_PAUSE_OUTPUT, 1, -EINVAL,
			PAUSE},
		{"RESET, odd argument bits", counting, PERF_EVENT_IOC_RESET, 0xfffe, 0, ALWAYS},
	};

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		long answer;

		if (!has[calls[i].needs])
			continue;
		answer = sys_ioctl(calls[i].fd, calls[i].command, calls[i].argument);
		CHECK(answer == calls[i].expected, "%s: %ld, expected %ld", calls[i].what, answer,
			calls[i].expected);
	}
	CHECK(sys_write(counting, &zero, 8) == -EINVAL, "write");
}

static long map(int fd, unsigned pages, int flags, long offset)
{
	return sys_mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE, flags, fd, offset);
}

static void check_maps(int sampling, int inherited)
{
	long at, again;

	CHECK(map(sampling, 3, MAP_PRIVATE, 0) == -EINVAL, "private ring");
	CHECK(map(sampling, 4, MAP_SHARED, 0) == -EINVAL, "1+3 pages");
	CHECK(map(sampling, 3, MAP_SHARED, PAGE_BYTES) == -EINVAL, "offset without a ring");
	if (has[INHERIT])
		CHECK(map(inherited, 3, MAP_SHARED, 0) == -EINVAL, "inherited, cpu -1");
	at = map(sampling, 3, MAP_SHARED, 0);
	CHECK(at > 0, "1+2 pages: %ld", at);
	CHECK(map(sampling, 5, MAP_SHARED, 0) == -EINVAL, "another size");
	again = map(sampling, 3, MAP_SHARED, 0);
	CHECK(again > 0 && again != at, "the same size again: %ld", again);
	if (has[OUTPUT])
		CHECK(sys_ioctl(sampling, PERF_EVENT_IOC_SET_OUTPUT, ~0ul) == -EINVAL,
			"SET_OUTPUT -1 while mapped");
	CHECK(sys_munmap((void *)again, 3 * PAGE_BYTES) == 0, "munmap");
	CHECK(sys_munmap((void *)at, 3 * PAGE_BYTES) == 0, "munmap");
	at = map(sampling, 2, MAP_SHARED, 0);
	CHECK(at > 0, "a new size after the last munmap: %ld", at);
	CHECK(sys_munmap((void *)at, 2 * PAGE_BYTES) == 0, "munmap");
}

/* The lowest free descriptor, from the kernel itself. */
static int next_fd(void)
{
	int ends[2];

	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	sys_close(ends[0]);
	sys_close(ends[1]);
	return ends[0];
}

int main(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	int ends[2], sampling, fd_before;

	verdict_begin("open_errors");
	find_features();
	REQUIRE(sys_pipe(ends, 0) == 0, "pipe");
	group_fds[PIPE] = ends[0];
	group_fds[LEADER] = event_require(&attr, 0, -1, -1);
	group_fds[MEMBER] = event_require(&attr, 0, -1, group_fds[LEADER]);
	group_fds[CPU_LEADER] = event_require(&attr, -1, 0, -1);
	attr.inherit = has[INHERIT];
	group_fds[INHERIT_LEADER] = event_require(&attr, 0, -1, -1);
	attr.inherit = 0;
	attr.sample_period = 1000000;
	sampling = event_require(&attr, 0, -1, -1);

	fd_before = next_fd();
	check_rows();
	check_sizes();
	check_pointers();
	check_ioctls(group_fds[LEADER], sampling);
	check_maps(sampling, group_fds[INHERIT_LEADER]);
	CHECK(next_fd() == fd_before, "a failed call kept a descriptor: %d, then %d", fd_before,
		next_fd());
	return verdict_end();
}
