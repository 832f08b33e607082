/* SPDX-License-Identifier: MIT
 *
 * hal.c: the HAL on our kernel, all but the inline half (include/hal_port.h), and the engine's one
 * instance.
 *
 * Owns the description of the machine for the engine: one cluster per MIDR, in the order of the
 * CPUs. Contexts are those that tally/hal.h states per function.
 */
#include <kernel/cpu.h>
#include <kernel/errno.h>
#include <kernel/irq.h>
#include <kernel/lock.h>
#include <kernel/machine.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#include <tally/tally.h>

struct tally_engine tally_engine;

static struct tally_cluster clusters[CPUS_MAX];
static u64 cluster_midr[CPUS_MAX];
static u32 cluster_of[CPUS_MAX];
static char unknown_names[CPUS_MAX][24];
static struct tally_config config = {
	.cluster = clusters,
	.cluster_of = cluster_of,
	.all_name = "armv8_pmuv3",
	.paranoid = 2,
	.max_sample_rate = 100000,
};
static bool up[CPUS_MAX]; /* the engine knows this CPU; written by it */

_Static_assert(sizeof(struct mutex) <= sizeof(struct hal_mutex), "hal_port.h");
_Static_assert(_Alignof(struct mutex) <= _Alignof(struct hal_mutex), "hal_port.h");

int hal_call(uint32_t cpu, void (*fn)(void *arg), void *arg)
{
	return smp_call(cpu, fn, arg);
}

void *hal_alloc(size_t size)
{
	return kzalloc(size);
}

void hal_free(void *memory, size_t size)
{
	(void)size;
	kfree(memory);
}

void *hal_pages_alloc(size_t count)
{
	struct page *run = page_alloc_run(count);

	return run != NULL ? page_va(run) : NULL;
}

void hal_pages_free(void *pages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		page_put(page_of_pa(virt_to_phys((char *)pages + i * PAGE_SIZE)));
}

void hal_mutex_init(struct hal_mutex *mutex)
{
	mutex_init((struct mutex *)(void *)mutex);
}

void hal_mutex_lock(struct hal_mutex *mutex)
{
	mutex_lock((struct mutex *)(void *)mutex);
}

void hal_mutex_unlock(struct hal_mutex *mutex)
{
	mutex_unlock((struct mutex *)(void *)mutex);
}

struct tally_task *hal_task_find(int32_t pid)
{
	struct task *task;

	if (pid < 0)
		return NULL;
	if (pid == 0) {
		task = current;
		task_get(task);
	} else {
		task = task_find((u32)pid);
	}
	return task != NULL ? &task->tally : NULL;
}

void hal_task_put(struct tally_task *task)
{
	task_put(CONTAINER_OF(task, struct task, tally));
}

/* There are no credentials yet: everybody is root. */
bool hal_task_observable(struct tally_task *task)
{
	(void)task;
	return true;
}

bool hal_capable(enum hal_cap cap)
{
	(void)cap;
	return true;
}

struct hal_ids hal_task_ids(const struct tally_task *tally)
{
	const struct task *task = CONTAINER_OF(tally, struct task, tally);
	u32 tid = __atomic_load_n(&task->tid, __ATOMIC_RELAXED);

	if (tid == 0 || task->process == NULL ||
		__atomic_load_n(&task->state, __ATOMIC_RELAXED) == TASK_DEAD)
		return (struct hal_ids){UINT32_MAX, UINT32_MAX};
	return (struct hal_ids){task->process->pid, tid};
}

/* A user task's first frame, at the top of its kernel stack, is always that of its entry from EL0.
 */
bool hal_user_regs(const struct tally_task *tally, struct tally_regs *regs)
{
	struct task *task = CONTAINER_OF(tally, struct task, tally);
	const struct trap_frame *frame = task_frame(task);

	if (task->mm == NULL)
		return false;
	*regs = (struct tally_regs){.pc = frame->elr,
		.sp = frame->sp,
		.fp = frame->x[29],
		.lr = frame->x[30],
		.user = true};
	return true;
}

int hal_copy_from_user(void *to, uint64_t from, size_t size)
{
	return copy_from_user(to, from, size);
}

int hal_copy_to_user(uint64_t to, const void *from, size_t size)
{
	return copy_to_user(to, from, size);
}

_Noreturn void hal_panic(const char *what, const char *file, int line)
{
	panic("tally: %s:%d: %s", file, line, what);
}

static void pmu_interrupt(u32 intid, void *arg)
{
	const struct trap_frame *frame = this_cpu()->irq_frame;
	struct tally_regs regs = {
		.pc = frame->elr,
		.sp = frame->sp,
		.fp = frame->x[29],
		.lr = frame->x[30],
		.user = frame_is_user(frame),
	};

	(void)intid;
	(void)arg;
	tally_pmu_interrupt(&tally_engine, &regs);
}

void perf_tick(void)
{
	if (up[cpu_index()])
		tally_tick(&tally_engine);
}

static void come_up(void *arg)
{
	(void)arg;
	tally_cpu_online(&tally_engine);
	up[cpu_index()] = true;
	if (config.pmu_irq)
		irq_enable_line(machine.pmu_intid[cpu_index()]);
}

/* One cluster per MIDR but its revision: a stepping makes no other PMU. */
static void find_clusters(void)
{
	const u64 revision = 0xfull << 20 | 0xf;

	for (u32 cpu = 0; cpu < cpus_possible; cpu++) {
		u64 midr = cpus[cpus[cpu].online ? cpu : 0].midr & ~revision;
		u32 i = 0;

		while (i < config.clusters && cluster_midr[i] != midr)
			i++;
		if (i == config.clusters) {
			const char *name = tally_pmu_name(midr);

			if (name == NULL) {
				format(unknown_names[i], sizeof(unknown_names[i]), "armv8_pmuv3_%u",
					i);
				name = unknown_names[i];
			}
			cluster_midr[i] = midr;
			clusters[i].name = name;
			config.clusters++;
		}
		cluster_of[cpu] = i;
	}
}

void perf_init(void)
{
	int error;

	config.cpus = cpus_possible;
	config.pmu_irq = true; /* if every CPU has it: the engine knows no half */
	for (u32 cpu = 0; cpu < cpus_possible; cpu++)
		config.pmu_irq = config.pmu_irq && machine.pmu_intid[cpu] != 0;
	find_clusters();
	for (u32 cpu = 0; cpu < cpus_possible && config.pmu_irq; cpu++)
		irq_set_handler(machine.pmu_intid[cpu], pmu_interrupt, NULL);
	error = tally_init(&tally_engine, &config);
	if (error != 0)
		panic("tally_init: %d", error);
	for (u32 cpu = 0; cpu < cpus_possible; cpu++)
		smp_call(cpu, come_up, NULL);
}
