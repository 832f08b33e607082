/* SPDX-License-Identifier: MIT
 *
 * perf events as the guest programs use them: see event.h.
 */
#include "event.h"

#include "bytes.h"
#include "syscall.h"
#include "verdict.h"

struct perf_event_attr event_attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.type = type;
	attr.size = sizeof attr;
	attr.config = config;
	attr.read_format = READ_TIMES;
	attr.disabled = 1;
	return attr;
}

int event_open(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	return (int)sys_perf_event_open(attr, pid, cpu, group_fd, 0);
}

int event_require(const struct perf_event_attr *attr, int pid, int cpu, int group_fd)
{
	int fd = event_open(attr, pid, cpu, group_fd);

	REQUIRE(fd >= 0, "perf_event_open type %u config %lx pid %d cpu %d group %d: %d",
		attr->type, (unsigned long)attr->config, pid, cpu, group_fd, fd);
	return fd;
}

static void command(int fd, unsigned long what, unsigned long argument)
{
	long answer = sys_ioctl(fd, what, argument);

	REQUIRE(answer == 0, "ioctl %lx on fd %d: %ld", what, fd, answer);
}

void event_enable(int fd)
{
	command(fd, PERF_EVENT_IOC_ENABLE, 0);
}

void event_disable(int fd)
{
	command(fd, PERF_EVENT_IOC_DISABLE, 0);
}

void event_reset(int fd)
{
	command(fd, PERF_EVENT_IOC_RESET, 0);
}

void event_group(int fd, unsigned long what)
{
	command(fd, what, PERF_IOC_FLAG_GROUP);
}

uint64_t event_id(int fd)
{
	uint64_t id = 0;

	command(fd, PERF_EVENT_IOC_ID, (unsigned long)&id);
	return id;
}

void event_close(int fd)
{
	long answer = sys_close(fd);

	REQUIRE(answer == 0, "close of event fd %d: %ld", fd, answer);
}

struct reading event_read(int fd)
{
	struct reading r = {0};
	long bytes = sys_read(fd, &r, sizeof r);

	REQUIRE(bytes == sizeof r, "read of event fd %d: %ld", fd, bytes);
	return r;
}

unsigned event_read_words(int fd, uint64_t words[EVENT_WORDS_MAX])
{
	long bytes = sys_read(fd, words, EVENT_WORDS_MAX * sizeof *words);

	REQUIRE(bytes > 0 && bytes % 8 == 0, "read of event fd %d: %ld", fd, bytes);
	return (unsigned)(bytes / 8);
}

bool event_has_instructions(void)
{
	struct perf_event_attr attr = event_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd = event_open(&attr, 0, -1, -1);

	if (fd >= 0) {
		event_close(fd);
		return true;
	}
	REQUIRE(fd == -ENOENT, "open of instructions %d: neither works nor says ENOENT", fd);
	return false;
}

void event_check_times(const char *what, const struct reading *r, bool whole)
{
	CHECK(r->running_ns > 0, "%s: running %lu", what, r->running_ns);
	CHECK(r->running_ns <= r->enabled_ns, "%s: running %lu > enabled %lu", what, r->running_ns,
		r->enabled_ns);
	if (whole)
		CHECK(r->running_ns == r->enabled_ns, "%s: running %lu of enabled %lu", what,
			r->running_ns, r->enabled_ns);
}
