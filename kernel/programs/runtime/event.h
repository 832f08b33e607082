/* SPDX-License-Identifier: MIT
 *
 * perf events as the guest programs use them: thin and literal.
 *
 * Structures and constants come from the kernel's exported <linux/perf_event.h>: the programs test
 * the published ABI. `struct reading` is what read(2) gives for a single event with both times;
 * programs that test other formats read raw words themselves.
 *
 * Facts of the machine that the programs rely on (QEMU's TCG, all machines of this tree):
 * CPU_CYCLES counts virtual nanoseconds, so a cycle is a nanosecond of the generic timer;
 * INST_RETIRED exists only under -icount, where with one CPU it is exact and with several CPUs
 * every CPU's counter sees the instructions of all of them.
 */
#ifndef PROGRAMS_EVENT_H
#define PROGRAMS_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define PMU_SW_INCR     0x00u
#define PMU_INST        0x08u
#define PMU_CYCLES      0x11u
#define READ_TIMES      (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define EVENT_WORDS_MAX 64u

struct reading {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* A disabled event with both times in its read format; the caller sets what else it wants. */
struct perf_event_attr event_attr(uint32_t type, uint64_t config);

/* perf_event_open, the raw answer. */
int event_open(const struct perf_event_attr *attr, int pid, int cpu, int group_fd);

/* The same, but it must work. */
int event_require(const struct perf_event_attr *attr, int pid, int cpu, int group_fd);

void event_enable(int fd);
void event_disable(int fd);
void event_reset(int fd);
void event_group(int fd, unsigned long command); /* with PERF_IOC_FLAG_GROUP */
uint64_t event_id(int fd);
void event_close(int fd);

/* Reads an event whose read format is READ_TIMES. */
struct reading event_read(int fd);

/* Reads up to EVENT_WORDS_MAX words and returns their number; the read must work. */
unsigned event_read_words(int fd, uint64_t words[EVENT_WORDS_MAX]);

/* Does the PMU count instructions (see above)? */
bool event_has_instructions(void);

/* 0 < running <= enabled, and equal if `whole`: the event never waited for a counter. */
void event_check_times(const char *what, const struct reading *r, bool whole);

#endif
