/* SPDX-License-Identifier: MIT
 *
 * scenarios.c: four small runs on the machines h1 and h2 (4 event counters and the cycle counter).
 *
 * Reads show value, enabled, running and id, or are of a group. Samples show ip, pid and tid, time,
 * cpu, and of the group its readings: faulty_run.c knows the places.
 */
#include "scenarios.h"

#include <stddef.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MS              UINT64_C(1000000)
#define TIMES           (TALLY_FORMAT_TOTAL_TIME_ENABLED | TALLY_FORMAT_TOTAL_TIME_RUNNING)
#define SINGLE          (TIMES | TALLY_FORMAT_ID)
#define RECORD          (TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME | TALLY_SAMPLE_CPU)

/* ---- one busy program, in user mode and in the kernel ---- */

static const struct machine_rate user_rate[] = {{0x11, 1000}, {0x08, 700}, {0x03, 30}, {0x10, 11}};
static const struct machine_rate kernel_rate[] = {{0x11, 1000}, {0x08, 500}, {0x03, 50}};
static const struct machine_rates user_rates[] = {{user_rate, COUNT_OF(user_rate)}};
static const struct machine_rates kernel_rates[] = {{kernel_rate, COUNT_OF(kernel_rate)}};
static const uint32_t stack[] = {0, 1};
static const struct machine_phase phases[] = {
	{stack, 2, 0, 300000, user_rates},
	{stack, 1, 1, 50000, kernel_rates},
};
static const struct machine_function functions[] = {{"main", 256}, {"inner", 512}};
static const struct machine_program programs[] = {{"worker", functions, COUNT_OF(functions)}};
static const struct machine_work works[] = {{.phases = phases, .phase_count = COUNT_OF(phases)}};
static const struct machine_task_description tasks[] = {
	{.parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY, .perfmon = true},
	{.parent = OPERATION_NOBODY, .cpu = OPERATION_NOBODY, .perfmon = true},
};
static const uint32_t cluster_of[] = {0, 0};
static struct machine_cluster cluster[1]; /* filled in: presets are looked up by name */

/* ---- operations ---- */

#define ATTR(the_config, the_flags, the_format)                                                    \
	{                                                                                          \
		.type = TALLY_TYPE_HARDWARE, .size = TALLY_ATTR_SIZE_VER7, .config = (the_config), \
		.flags = (the_flags), .read_format = (the_format)                                  \
	}
#define OPEN(the_attr, the_cpu, the_group)                                                         \
	{                                                                                          \
		.kind = OPERATION_OPEN, .actor = OPERATION_NOBODY, .open = {                       \
			.attr = &(the_attr),                                                       \
			.attr_size = sizeof(the_attr),                                             \
			.target = OPERATION_TARGET_TASK,                                           \
			.task = 0,                                                                 \
			.cpu = (the_cpu),                                                          \
			.group = (the_group)                                                       \
		}                                                                                  \
	}
#define AT(the_kind, the_ns, the_event)                                                            \
	{                                                                                          \
		.kind = (the_kind), .when = OPERATION_AT, .at_ns = (the_ns),                       \
		.actor = OPERATION_NOBODY, .event = {                                              \
			.event = (the_event)                                                       \
		}                                                                                  \
	}
#define READ(the_ns, the_event)                                                                    \
	{                                                                                          \
		.kind = OPERATION_READ, .when = OPERATION_AT, .at_ns = (the_ns),                   \
		.actor = OPERATION_NOBODY, .read = {                                               \
			.event = (the_event)                                                       \
		}                                                                                  \
	}
#define IOCTL(the_ns, the_event, the_command)                                                      \
	{                                                                                          \
		.kind = OPERATION_IOCTL, .when = OPERATION_AT, .at_ns = (the_ns),                  \
		.actor = OPERATION_NOBODY, .ioctl = {                                              \
			.event = (the_event),                                                      \
			.command = (the_command)                                                   \
		}                                                                                  \
	}
#define MMAP(the_event, the_pages)                                                                 \
	{                                                                                          \
		.kind = OPERATION_MMAP, .actor = OPERATION_NOBODY, .mmap = {                       \
			.event = (the_event),                                                      \
			.pages = (the_pages),                                                      \
			.writable = true                                                           \
		}                                                                                  \
	}

static const struct tally_attr instructions = ATTR(TALLY_HW_INSTRUCTIONS, 0, SINGLE);
static const struct tally_attr misses = ATTR(TALLY_HW_CACHE_MISSES, 0, SINGLE);
static const struct tally_attr user_only = ATTR(
	TALLY_HW_INSTRUCTIONS, TALLY_ATTR_EXCLUDE_KERNEL, SINGLE);
static const struct tally_attr off = ATTR(TALLY_HW_BRANCH_MISSES, TALLY_ATTR_DISABLED, SINGLE);
static const struct tally_attr pinned = ATTR(TALLY_HW_INSTRUCTIONS, TALLY_ATTR_PINNED, SINGLE);
static const struct tally_attr exclusive = ATTR(
	TALLY_HW_INSTRUCTIONS, TALLY_ATTR_EXCLUSIVE, SINGLE);

/* events 0 and 1 are a group, 2 counts in user mode, 3 is off until 20 ms */
static const struct operation counting[] = {
	OPEN(instructions, -1, OPERATION_NOBODY),
	OPEN(misses, -1, 0),
	OPEN(user_only, -1, OPERATION_NOBODY),
	OPEN(off, -1, OPERATION_NOBODY),
	READ(7 * MS, 0),
	READ(9 * MS, 0),
	READ(10 * MS, 3),
	IOCTL(20 * MS, 3, TALLY_IOC_ENABLE),
	READ(30 * MS, 3),
	READ(30 * MS, 2),
	IOCTL(31 * MS, 2, TALLY_IOC_DISABLE),
	READ(40 * MS, 1),
	AT(OPERATION_CLOSE, 41 * MS, 1),
	READ(50 * MS, 0),
	AT(OPERATION_CLOSE, 55 * MS, 0),
	AT(OPERATION_CLOSE, 55 * MS, 2),
	AT(OPERATION_CLOSE, 55 * MS, 3),
};

/* a pinned event and six others, on five counters of which cycles could use one */
static const struct operation crowd[] = {
	OPEN(pinned, -1, OPERATION_NOBODY),
	OPEN(instructions, -1, OPERATION_NOBODY),
	OPEN(instructions, -1, OPERATION_NOBODY),
	OPEN(misses, -1, OPERATION_NOBODY),
	OPEN(misses, -1, OPERATION_NOBODY),
	OPEN(user_only, -1, OPERATION_NOBODY),
	READ(100 * MS, 1),
	READ(200 * MS, 0),
};

static const struct tally_attr sampling = {.type = TALLY_TYPE_HARDWARE,
	.size = TALLY_ATTR_SIZE_VER7,
	.config = TALLY_HW_INSTRUCTIONS,
	.sample_period = 100003,
	.sample_type = RECORD | TALLY_SAMPLE_READ,
	.read_format = TALLY_FORMAT_GROUP,
	.flags = TALLY_ATTR_EXCLUDE_KERNEL};
static const struct tally_attr small_ring = {.type = TALLY_TYPE_HARDWARE,
	.size = TALLY_ATTR_SIZE_VER7,
	.config = TALLY_HW_CPU_CYCLES,
	.sample_period = 50021,
	.sample_type = RECORD,
	.read_format = SINGLE};

#define DRAIN(the_ns, the_event)                                                                   \
	{                                                                                          \
		.kind = OPERATION_DRAIN, .when = OPERATION_AT, .at_ns = (the_ns),                  \
		.actor = OPERATION_NOBODY, .drain = {                                              \
			.event = (the_event)                                                       \
		}                                                                                  \
	}

/* event 2 has 4096 bytes for 40-byte records: it overflows before the first drain */
static const struct operation sampled[] = {
	OPEN(sampling, -1, OPERATION_NOBODY),
	MMAP(0, 9),
	OPEN(misses, -1, 0),
	OPEN(small_ring, -1, OPERATION_NOBODY),
	MMAP(2, 2),
	DRAIN(5 * MS, 0),
	DRAIN(20 * MS, 0),
	DRAIN(21 * MS, 2),
	DRAIN(30 * MS, 2),
	READ(31 * MS, 2),
};

/* events 0 and 1 are bound to CPU 0 and CPU 1, 2 and 3 are exclusive and not, of CPU 1 itself */
static const struct operation two_cpus[] = {
	OPEN(instructions, 0, OPERATION_NOBODY),
	OPEN(misses, 1, OPERATION_NOBODY),
	{.kind = OPERATION_OPEN,
		.actor = OPERATION_NOBODY,
		.open = {.attr = &exclusive,
			.attr_size = sizeof(exclusive),
			.target = OPERATION_TARGET_ALL,
			.cpu = 1,
			.group = OPERATION_NOBODY}},
	{.kind = OPERATION_OPEN,
		.actor = OPERATION_NOBODY,
		.open = {.attr = &misses,
			.attr_size = sizeof(misses),
			.target = OPERATION_TARGET_ALL,
			.cpu = 1,
			.group = OPERATION_NOBODY}},
	READ(20 * MS, 0),
	READ(30 * MS, 2),
};

#define DESCRIPTION(the_cpus, the_tasks, the_operations, the_end_ns)                               \
	{                                                                                          \
		.description = {                                                                   \
			.cpu_count = (the_cpus),                                                   \
			.cluster_of = cluster_of,                                                  \
			.cluster_count = 1,                                                        \
			.clusters = cluster,                                                       \
			.programs = programs,                                                      \
			.program_count = COUNT_OF(programs),                                       \
			.works = works,                                                            \
			.work_count = COUNT_OF(works),                                             \
			.tasks = tasks,                                                            \
			.task_count = (the_tasks),                                                 \
			.operations = (the_operations),                                            \
			.operation_count = COUNT_OF(the_operations),                               \
			.end_ns = (the_end_ns)                                                     \
		}                                                                                  \
	}

static const struct faulty_scenario scenarios[] = {
	[SCENARIO_COUNTING] = DESCRIPTION(1, 2, counting, 60 * MS),
	[SCENARIO_CROWD] = DESCRIPTION(1, 1, crowd, 210 * MS),
	[SCENARIO_SAMPLING] = DESCRIPTION(1, 1, sampled, 40 * MS),
	[SCENARIO_TWO_CPUS] = DESCRIPTION(2, 2, two_cpus, 40 * MS),
};

const struct faulty_scenario *faulty_scenario(enum scenario scenario)
{
	cluster[0] = (struct machine_cluster){.name = "h", .pmu = pmu_preset_find("h2")->cpus[0]};
	return &scenarios[scenario];
}
