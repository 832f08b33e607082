/* SPDX-License-Identifier: MIT
 *
 * bench.c: what the hooks cost, in the engine's own instructions.
 *
 * bench CASE K: two tasks with K cycles events each on a PMU of 6 event counters; then ROUNDS times
 * the hook of the case, called through a function named bench_measured. Run it under callgrind with
 * --toggle-collect=bench_measured: collected instructions / ROUNDS is the cost of one (bench/run
 * does, and prints the table). Cases: switch (from one task to the other), none (events exist,
 * these two tasks have none), tick, overflow (of one 40-byte sample beside K-1 counting events).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

#define ROUNDS 1000

uint64_t bench_register[HAL_PMU_REGS];
uint64_t bench_clock_ns;
struct tally_task *bench_current;

static struct tally_engine engine;
static struct tally_task task[3];

/* ---- the rest of the HAL ---- */

int hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg)
{
	(void)cpu;
	fn(arg);
	return 0;
}

void *hal_alloc(size_t size)
{
	return calloc(1, size);
}

void hal_free(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

void *hal_pages_alloc(size_t count)
{
	void *pages = aligned_alloc(TALLY_PAGE_SIZE, count * TALLY_PAGE_SIZE);

	return pages != NULL ? memset(pages, 0, count * TALLY_PAGE_SIZE) : NULL;
}

void hal_pages_free(void *pages, size_t count)
{
	(void)count;
	free(pages);
}

void hal_mutex_init(struct hal_mutex *mutex)
{
	(void)mutex;
}

void hal_mutex_lock(struct hal_mutex *mutex)
{
	(void)mutex;
}

void hal_mutex_unlock(struct hal_mutex *mutex)
{
	(void)mutex;
}

struct tally_task *hal_task_find(int32_t pid)
{
	return &task[pid];
}

void hal_task_put(struct tally_task *of)
{
	(void)of;
}

bool hal_task_observable(struct tally_task *of)
{
	(void)of;
	return true;
}

bool hal_capable(enum hal_cap cap)
{
	(void)cap;
	return true;
}

struct hal_ids hal_task_ids(const struct tally_task *of)
{
	uint32_t id = (uint32_t)(of - task) + 1;

	return (struct hal_ids){.pid = id, .tid = id};
}

bool hal_user_regs(const struct tally_task *of, struct tally_regs *regs)
{
	(void)of;
	*regs = (struct tally_regs){.pc = 0x400000, .user = true};
	return true;
}

int hal_copy_from_user(void *to, uint64_t from, size_t size)
{
	memcpy(to, (const void *)(uintptr_t)from, size);
	return 0;
}

int hal_copy_to_user(uint64_t to, const void *from, size_t size)
{
	memcpy((void *)(uintptr_t)to, from, size);
	return 0;
}

_Noreturn void hal_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench: %s:%d: %s\n", file, line, what);
	abort();
}

/* ---- cases ---- */

static struct tally_event *open_event(int32_t pid, uint64_t period)
{
	struct tally_attr attr = {.type = TALLY_TYPE_RAW,
		.size = sizeof(attr),
		.config = 0x11,
		.sample_period = period};
	struct tally_open open;
	struct tally_event *event;
	int error;

	attr.sample_type = TALLY_SAMPLE_IP | TALLY_SAMPLE_TID | TALLY_SAMPLE_TIME |
			   TALLY_SAMPLE_PERIOD;
	error = tally_open_begin(&engine, &open, (uint64_t)(uintptr_t)&attr, pid, -1, 0);
	if (error == 0)
		error = tally_open_finish(&engine, &open, NULL, &event);
	if (error != 0) {
		fprintf(stderr, "bench: open: %d\n", error);
		exit(1);
	}
	return event;
}

static struct tally_event *sampler;
static struct tally_ring *ring;

/* What happens between two hooks. */
static void pass_time(const char *name)
{
	struct tally_control_page *control;

	bench_clock_ns += 1000;
	for (uint32_t slot = 0; slot < BENCH_COUNTERS; slot++) {
		uint64_t *counter = &bench_register[HAL_PMEVCNTR + slot];

		*counter = (uint32_t)(*counter + 1000);
	}
	if (strcmp(name, "overflow") != 0)
		return;
	if (ring == NULL)
		return;                  /* nothing counts: the interrupt is spurious */
	bench_register[HAL_PMCCNTR] = 5; /* five events past the end of the period */
	bench_register[HAL_PMOVSSET] = UINT64_C(1) << 31;
	control = tally_ring_page(ring, 0);
	control->data_tail = control->data_head;
}

/* The one function under the toggle: one hook of the case. */
__attribute__((noinline)) void bench_measured(char hook, struct tally_task *next);
__attribute__((noinline)) void bench_measured(char hook, struct tally_task *next)
{
	static const struct tally_regs regs = {.pc = 0x400100, .user = true};

	if (hook == 't')
		tally_tick(&engine);
	else if (hook == 'o')
		(void)tally_pmu_interrupt(&engine, &regs);
	else
		tally_sched_switch(&engine, bench_current, next);
}

static void set_up(const char *name, int events)
{
	static const uint32_t cluster_of[1];
	static const struct tally_cluster cluster = {.name = "bench"};
	static const struct tally_config config = {.cpus = 1,
		.clusters = 1,
		.cluster = &cluster,
		.cluster_of = cluster_of,
		.all_name = "armv8_pmuv3",
		.pmu_irq = true,
		.paranoid = -1,
		.max_sample_rate = 100000};

	bench_register[HAL_ID_AA64DFR0] = 0x400; /* PMUv3p1 */
	bench_register[HAL_PMCEID0] = UINT32_MAX;
	if (tally_init(&engine, &config) != 0)
		exit(1);
	tally_cpu_online(&engine);
	bench_current = &task[0];
	if (strcmp(name, "none") == 0) {
		(void)open_event(2, 0);
		return;
	}
	if (strcmp(name, "overflow") == 0 && events > 0) {
		sampler = open_event(0, 1000);
		if (tally_event_mmap(sampler, 0, 9, true, true, &ring) != 0)
			exit(1);
		events--;
	}
	for (int i = 0; i < events; i++) {
		(void)open_event(0, 0);
		if (strcmp(name, "switch") == 0)
			(void)open_event(1, 0);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench switch|none|tick|overflow EVENTS\n");
		return 2;
	}
	set_up(argv[1], atoi(argv[2]));
	for (int round = 1; round <= ROUNDS; round++) {
		struct tally_task *next = argv[1][0] == 'o' || argv[1][0] == 't' ? bench_current
										 : &task[round % 2];

		pass_time(argv[1]);
		bench_measured(argv[1][0], next);
		bench_current = next;
	}
	return 0;
}
