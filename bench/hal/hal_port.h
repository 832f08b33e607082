/* SPDX-License-Identifier: MIT
 *
 * hal_port.h: the smallest HAL, for counting the engine's own instructions: one CPU, its PMU a
 * plain array, everything hot inline, so that what callgrind counts between two hooks is the engine
 * and next to nothing else.
 */
#ifndef HAL_PORT_H
#define HAL_PORT_H

#include <stdbool.h>
#include <stdint.h>

#define HAL_HOT        static inline
#define BENCH_COUNTERS UINT64_C(6)

struct hal_mutex {
	char unused;
};

/* In bench/bench.c. */
extern uint64_t bench_register[HAL_PMU_REGS];
extern uint64_t bench_clock_ns;
extern struct tally_task *bench_current;

static inline uint32_t hal_cpu(void)
{
	return 0;
}

static inline uint64_t hal_clock_ns(void)
{
	return bench_clock_ns;
}

static inline struct tally_task *hal_current(void)
{
	return bench_current;
}

static inline struct hal_irq_key hal_irq_save(void)
{
	return (struct hal_irq_key){0};
}

static inline void hal_irq_restore(struct hal_irq_key key)
{
	(void)key;
}

static inline void hal_relax(void)
{
}

static inline uint64_t hal_pmu_read(uint32_t reg)
{
	if (reg == HAL_PMCR) /* the number of counters is not what was written */
		return bench_register[reg] | BENCH_COUNTERS << 11;
	return *(volatile uint64_t *)&bench_register[reg];
}

static inline void hal_pmu_write(uint32_t reg, uint64_t value)
{
	*(volatile uint64_t *)&bench_register[reg] = value;
}

static inline void hal_pmu_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline void hal_trace(uint32_t kind, uint64_t a, uint64_t b)
{
	(void)kind;
	(void)a;
	(void)b;
}

#endif
