/* SPDX-License-Identifier: MIT
 *
 * faulty_run.c: see faulty_run.h. Each __wrap_ function stands between the engine and what it calls
 * (ld --wrap); it passes everything on but for the fault that is set.
 */
#include "faulty_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <machine/kernel.h>
#include <oracle/oracle.h>
#include <port_sim/run.h>

#include "scenarios.h"

#define LAST_CLOSE_NS UINT64_C(41000000) /* when SCENARIO_COUNTING closes the event with id 2 */

static enum fault fault_now;
static uint64_t fault_calls; /* through the faulty seam so far */
static const struct faulty_scenario *scene;

/* The n-th time only. */
static bool is_turn(enum fault fault, uint64_t n)
{
	return fault_now == fault && fault_calls++ == n;
}

/* ---- the PMU ---- */

void __real_hal_pmu_write(uint32_t reg, uint64_t value);
uint64_t __real_hal_pmu_read(uint32_t reg);
void __wrap_hal_pmu_write(uint32_t reg, uint64_t value);
uint64_t __wrap_hal_pmu_read(uint32_t reg);

void __wrap_hal_pmu_write(uint32_t reg, uint64_t value)
{
	bool type = reg >= HAL_PMEVTYPER && reg < HAL_PMU_REGS;

	if (reg == HAL_PMCNTENSET && fault_now == FAULT_ENABLE_DROPPED)
		return;
	if (reg == HAL_PMCNTENCLR && value != UINT32_MAX && fault_now == FAULT_DISABLE_DROPPED)
		return;
	if (reg == HAL_PMCNTENCLR && value != UINT32_MAX && fault_now == FAULT_STAYS_ON)
		return;
	if (reg == HAL_PMCR && fault_now == FAULT_STAYS_ON)
		value |= 1;
	if (reg == HAL_PMCR && fault_now == FAULT_PMU_OFF)
		value &= ~UINT64_C(1);
	if (type && fault_now == FAULT_WRONG_EVENT)
		value ^= 1;
	if (type && fault_now == FAULT_NO_FILTER)
		value &= ~(UINT64_C(1) << 31);
	__real_hal_pmu_write(reg, value);
}

uint64_t __wrap_hal_pmu_read(uint32_t reg)
{
	uint64_t value = __real_hal_pmu_read(reg);
	bool counter = reg >= HAL_PMEVCNTR && reg < HAL_PMEVTYPER;

	return counter && is_turn(FAULT_COUNT_OFF_BY_ONE, 1) ? value + 1 : value;
}

uint64_t __real_hal_clock_ns(void);
uint64_t __wrap_hal_clock_ns(void);

uint64_t __wrap_hal_clock_ns(void)
{
	return __real_hal_clock_ns() - (is_turn(FAULT_TIME_OFF_BY_ONE, 9) ? 1 : 0);
}

/* ---- users ---- */

int __real_hal_copy_from_user(void *to, uint64_t from, size_t size);
int __real_hal_copy_to_user(uint64_t to, const void *from, size_t size);
int __wrap_hal_copy_from_user(void *to, uint64_t from, size_t size);
int __wrap_hal_copy_to_user(uint64_t to, const void *from, size_t size);

int __wrap_hal_copy_from_user(void *to, uint64_t from, size_t size)
{
	int error = __real_hal_copy_from_user(to, from, size);
	struct tally_attr *attr = to;

	if (error != 0 || size != sizeof(*attr))
		return error;
	if (fault_now == FAULT_STARTS_ON)
		attr->flags &= ~TALLY_ATTR_DISABLED;
	if (fault_now == FAULT_NOT_EXCLUSIVE)
		attr->flags &= ~TALLY_ATTR_EXCLUSIVE;
	if (fault_now == FAULT_WRONG_PERIOD && attr->sample_period != 0)
		attr->sample_period++;
	return 0;
}

/* What read(2) copies out: of the scenarios' reads, value, enabled, running, id. */
int __wrap_hal_copy_to_user(uint64_t to, const void *from, size_t size)
{
	uint64_t word[4];

	if (size != sizeof(word))
		return __real_hal_copy_to_user(to, from, size);
	memcpy(word, from, sizeof(word));
	if (fault_now == FAULT_READ_FAILS)
		return -14; /* EFAULT */
	if (fault_now == FAULT_VALUE_OFF_BY_ONE)
		word[0]++;
	if (is_turn(FAULT_VALUE_GOES_BACK, 1))
		word[0] = 0;
	if (fault_now == FAULT_TIMES_SWAPPED) {
		uint64_t enabled = word[1];

		word[1] = word[2];
		word[2] = enabled;
	}
	if (fault_now == FAULT_WRONG_ID)
		word[3]++;
	return __real_hal_copy_to_user(to, word, size);
}

/* ---- what the engine says it does ---- */

void __real_hal_trace(enum hal_trace kind, uint64_t a, uint64_t b);
void __wrap_hal_trace(enum hal_trace kind, uint64_t a, uint64_t b);

void __wrap_hal_trace(enum hal_trace kind, uint64_t a, uint64_t b)
{
	if (kind == HAL_TRACE_PLACED && a == 2 && fault_now == FAULT_MEMBER_UNPLACED)
		return;
	if (kind == HAL_TRACE_LEFT && a == 2 && fault_now == FAULT_MEMBER_UNPLACED)
		return;
	if (kind == HAL_TRACE_LEFT && a == 2 && fault_now == FAULT_NOT_LEFT &&
		__real_hal_clock_ns() >= LAST_CLOSE_NS)
		return;
	if (fault_now == FAULT_WRONG_CPU && a <= 2)
		a = 3 - a;
	if (fault_now == FAULT_UNKNOWN_ID)
		a += 1000;
	__real_hal_trace(kind, a, b);
	if (kind == HAL_TRACE_PLACED && is_turn(FAULT_PLACED_TWICE, 0))
		__real_hal_trace(kind, a, b + 1);
}

/* ---- inside the engine ---- */

struct tally_cpu;
struct tally_event;
struct tally_ring;
struct tally_cursor;

uint32_t __real_tally_slots_for(uint32_t free, bool cycles);
uint32_t __wrap_tally_slots_for(uint32_t free, bool cycles);

uint32_t __wrap_tally_slots_for(uint32_t free, bool cycles)
{
	if (fault_now == FAULT_NOTHING_FITS)
		return 0;
	if (fault_now == FAULT_FEWER_SLOTS)
		free &= ~UINT32_C(8);
	return __real_tally_slots_for(free, cycles);
}

void __real_tally_tick(struct tally_engine *e);
void __wrap_tally_tick(struct tally_engine *e);

void __wrap_tally_tick(struct tally_engine *e)
{
	if (fault_now != FAULT_NO_TURNS)
		__real_tally_tick(e);
}

bool __real_tally_ring_reserve(struct tally_ring *ring, uint64_t size, struct tally_cursor *cursor);
bool __wrap_tally_ring_reserve(struct tally_ring *ring, uint64_t size, struct tally_cursor *cursor);

bool __wrap_tally_ring_reserve(struct tally_ring *ring, uint64_t size, struct tally_cursor *cursor)
{
	return !is_turn(FAULT_SAMPLE_LOST, 3) && __real_tally_ring_reserve(ring, size, cursor);
}

/* ---- what the reader sees ---- */

void __real_machine_tell_record(
	struct machine *machine, uint32_t event, const void *bytes, size_t size);
void __wrap_machine_tell_record(
	struct machine *machine, uint32_t event, const void *bytes, size_t size);

/* SAMPLE records of the scenarios: ip, pid and tid, time, cpu, then a reading. */
static void break_sample(uint64_t *word, size_t *size)
{
	word[1] += fault_now == FAULT_RECORD_IP ? 4 : 0;
	word[1] |= fault_now == FAULT_RECORD_KERNEL_IP ? UINT64_C(0xffff) << 48 : 0;
	word[2] += fault_now == FAULT_RECORD_TID ? 1 : 0;
	word[3] += fault_now == FAULT_RECORD_TIME ? 1 : 0;
	word[3] -= is_turn(FAULT_RECORD_TIME_BACK, 3) ? 1000000 : 0;
	word[4] += fault_now == FAULT_RECORD_CPU ? 1 : 0;
	if (*size > 6 * sizeof(*word) && fault_now == FAULT_RECORD_READING)
		word[6]++;
	*size -= fault_now == FAULT_RECORD_SIZE ? 8 : 0;
}

void __wrap_machine_tell_record(
	struct machine *machine, uint32_t event, const void *bytes, size_t size)
{
	uint64_t word[64];
	struct tally_record_header header;

	if (size > sizeof(word))
		abort();
	memcpy(word, bytes, size);
	memcpy(&header, bytes, sizeof(header));
	if (header.type == TALLY_RECORD_SAMPLE && is_turn(FAULT_SAMPLE_DROPPED, 2))
		return;
	if (header.type == TALLY_RECORD_SAMPLE)
		break_sample(word, &size);
	if (header.type == TALLY_RECORD_LOST && fault_now == FAULT_LOST_NUMBER)
		word[2]++;
	__real_machine_tell_record(machine, event, word, size);
	if (fault_now == FAULT_RECORDS_DOUBLED ||
		(header.type == TALLY_RECORD_SAMPLE && is_turn(FAULT_SAMPLE_DOUBLED, 2)))
		__real_machine_tell_record(machine, event, word, size);
}

/* ---- a run ---- */

/* Which law is waited for, and whether it came: of all violations, not of the first that are kept.
 */
struct wanted {
	struct port_sim *port;
	const char *law;
	bool seen;
};

static uint64_t event_id(void *context, uint32_t event)
{
	const struct wanted *wanted = context;

	return fault_now == FAULT_SAME_ID ? 1 : port_sim_event_id(wanted->port, event);
}

static void note(void *context, const struct oracle_violation *violation)
{
	struct wanted *wanted = context;

	wanted->seen |= wanted->law && !strcmp(violation->law, wanted->law);
}

static void print_reported(const struct oracle *oracle, const struct port_sim *port)
{
	for (uint32_t k = 0; k < 8 && oracle_violation(oracle, k); k++)
		printf("  %s\n", oracle_violation(oracle, k)->text);
	if (port_sim_failure(port))
		printf("  %s\n", port_sim_failure(port));
}

bool faulty_run(enum scenario scenario, enum fault fault, const char *law)
{
	static const int32_t paranoid = -1;
	struct port_sim_options options = {.paranoid = &paranoid, .without_checks = true};
	struct wanted wanted = {.law = law};
	struct oracle_options ears = {.context = &wanted, .event_id = event_id, .violated = note};
	struct port_sim *port;
	struct oracle *oracle;
	bool answer;

	scene = faulty_scenario(scenario);
	fault_now = fault;
	fault_calls = 0;
	port = port_sim_create(&scene->description, &options, NULL);
	if (!port) {
		printf("%s\n", machine_description_check(&scene->description));
		return false;
	}
	wanted.port = port;
	oracle = oracle_create(port_sim_machine(port), &ears);
	if (!oracle)
		abort();
	(void)port_sim_run(port); /* the engine's own assertions may stop a faulty run: later */
	answer = law ? wanted.seen : oracle_violation_count(oracle) == 0 && !port_sim_failure(port);
	if (!answer) {
		printf("scenario %d, fault %d, law %s:\n", scenario, fault, law ? law : "none");
		print_reported(oracle, port);
	}
	fault_now = FAULT_NONE;
	oracle_destroy(oracle);
	port_sim_destroy(port);
	return answer;
}
