/* SPDX-License-Identifier: MIT
 *
 * api_works.c: what the tasks of fuzzed runs execute. Rates are odd numbers on purpose, so that
 * nothing divides anything, and B = 3 * A nowhere by accident. The two sets of rates are for the
 * two kinds of CPU that the machines have at most.
 */
#include "api_decode.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define RATES(name)                                                                                \
	{                                                                                          \
		name, COUNT_OF(name)                                                               \
	}

static const struct machine_rate user_little[] = {
	{0x11, 997},
	{0x08, 613},
	{0x04, 211},
	{0x03, 17},
	{0x21, 101},
	{0x0c, 103},
	{0x10, 7},
	{0x23, 41},
	{0x24, 83},
	{0x14, 307},
	{0x01, 3},
	{0x1d, 499},
	{0x13, 223},
};
static const struct machine_rate user_big[] = {
	{0x11, 2003},
	{0x08, 3001},
	{0x04, 907},
	{0x03, 29},
	{0x21, 401},
	{0x10, 11},
	{0x23, 59},
	{0x24, 131},
	{0x14, 709},
	{0x01, 5},
	{0x1d, 809},
	{0x13, 911},
};
static const struct machine_rate kernel_little[] = {
	{0x11, 991},
	{0x08, 401},
	{0x04, 307},
	{0x03, 37},
	{0x21, 71},
	{0x0c, 73},
	{0x10, 13},
};
static const struct machine_rate kernel_big[] = {
	{0x11, 1999},
	{0x08, 1601},
	{0x04, 701},
	{0x03, 53},
	{0x21, 211},
	{0x10, 19},
};
/* 2^32 of event 0x04 pass in about 4.3 ms: counters of 32 bits wrap */
static const struct machine_rate fast_little[] = {
	{0x11, 997},
	{0x08, 1009},
	{0x04, 999983},
	{0x03, 331},
};
static const struct machine_rate fast_big[] = {
	{0x11, 2003},
	{0x08, 2011},
	{0x04, 1048573},
	{0x03, 347},
};

static const struct machine_rates user_rates[] = {RATES(user_little), RATES(user_big)};
static const struct machine_rates kernel_rates[] = {RATES(kernel_little), RATES(kernel_big)};
const struct machine_rates api_irq_rates[] = {RATES(kernel_little), RATES(kernel_big)};
static const struct machine_rates fast_rates[] = {RATES(fast_little), RATES(fast_big)};

static const struct machine_function functions[] = {{"main", 256}, {"inner", 512}, {"leaf", 64}};

const struct machine_program api_programs[] = {{"worker", functions, COUNT_OF(functions)}};
const uint32_t api_program_count = COUNT_OF(api_programs);

static const uint32_t in_main[] = {0};
static const uint32_t in_inner[] = {0, 1};
static const uint32_t in_leaf[] = {0, 1, 2};

#define USER(stack, ns)                                                                            \
	{                                                                                          \
		stack, COUNT_OF(stack), 0, ns, user_rates                                          \
	}
#define KERNEL(ns)                                                                                 \
	{                                                                                          \
		in_main, 1, 1, ns, kernel_rates                                                    \
	}
#define FAST(ns)                                                                                   \
	{                                                                                          \
		in_leaf, COUNT_OF(in_leaf), 0, ns, fast_rates                                      \
	}

static const struct machine_phase busy[] = {USER(in_inner, 1000003)};
static const struct machine_phase mixed[] = {
	USER(in_main, 70001), KERNEL(30011), USER(in_leaf, 50021)};
static const struct machine_phase fast[] = {FAST(3000017)};
static const struct machine_phase shorts[] = {USER(in_leaf, 7001), KERNEL(1009)};

const struct machine_work api_works[] = {
	{.program = 0, .phases = busy, .phase_count = COUNT_OF(busy)},
	{.program = 0, .phases = mixed, .phase_count = COUNT_OF(mixed)},
	{.program = 0, .phases = fast, .phase_count = COUNT_OF(fast)},
	{.program = 0, .end = MACHINE_WORK_SLEEP},
	{.program = 0,
		.phases = mixed,
		.phase_count = COUNT_OF(mixed),
		.repeat = 400,
		.end = MACHINE_WORK_EXIT},
	{.program = 0,
		.phases = shorts,
		.phase_count = COUNT_OF(shorts),
		.repeat = 100,
		.end = MACHINE_WORK_SLEEP},
};
const uint32_t api_work_count = COUNT_OF(api_works);
