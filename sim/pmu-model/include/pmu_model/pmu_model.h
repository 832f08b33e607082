// A register-accurate model of the Arm Performance Monitors Extension (PMUv3) for N CPUs.
//
// What it owns: the PMU registers of every CPU, the arithmetic of events on counters, and the
// overflow interrupt line. It knows no clock, no task and no engine: whoever embeds it says how
// many times an event happened at which exception level (`pmu_cpu_retire`), performs register
// accesses (`pmu_cpu_read`, `pmu_cpu_write`) and looks at the line (`pmu_cpu_line`).
//
// Invariants: all state hangs off one `struct pmu_model`; two models never share anything. What
// a run does is a function of the configurations, the seed and the calls made. A register write
// takes effect at once, through one function, and everything derived (which counters count at
// which level, the line) is up to date when a call returns. A counter never changes but by
// `pmu_cpu_retire`, a write to PMSWINC_EL0, a write to the counter, PMCR_EL0.{P,C} and reset.
//
// Callers: one thread at a time per CPU of the model; nothing here blocks, and only create and
// destroy allocate. Before any register write the embedder retires the events that happened up
// to that moment, else they would be counted with the new settings.
//
// Rules follow the Arm ARM (DDI 0487), chapter "The Performance Monitors Extension", for a PE in
// Non-secure state. Of the behaviours that are CONSTRAINED UNPREDICTABLE the model takes one and
// names it where it does. Counter indices are those of the architecture: 0..30 are the event
// counters, 31 is the cycle counter; masks have one bit per index.
#ifndef PMU_MODEL_PMU_MODEL_H
#define PMU_MODEL_PMU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMU_CPUS_MAX           64u
#define PMU_EVENT_COUNTERS_MAX 31u
#define PMU_COUNTERS_MAX       32u
#define PMU_CYCLE_COUNTER      31u
#define PMU_EL_COUNT           3u // exception levels 0, 1 and 2

// Event numbers that the model itself gives a meaning.
#define PMU_EVENT_SW_INCR    0x0000u
#define PMU_EVENT_CPU_CYCLES 0x0011u
#define PMU_EVENT_CHAIN      0x001eu
#define PMU_EVENT_NONE       0xffffu // no event: an even counter set to CHAIN, an absent event

// ID_AA64DFR0_EL1.PMUVer: the version of the extension that a CPU has.
enum pmu_version {
	PMU_V3 = 1,
	PMU_V3P1 = 4, // 16-bit event numbers, MDCR_EL2.HPMD, PMCEID<n>[63:32]
	PMU_V3P4 = 5, // PMMIR_EL1
	PMU_V3P5 = 6, // 64-bit event counters, PMCR_EL0.LP, MDCR_EL2.{HLP,HCCD}
	PMU_V3P7 = 7, // PMCR_EL0.FZO, MDCR_EL2.HPMFZO
};

// Fields of PMCR_EL0.
#define PMU_PMCR_E         (1u << 0)
#define PMU_PMCR_P         (1u << 1)
#define PMU_PMCR_C         (1u << 2)
#define PMU_PMCR_D         (1u << 3)
#define PMU_PMCR_X         (1u << 4)
#define PMU_PMCR_DP        (1u << 5)
#define PMU_PMCR_LC        (1u << 6)
#define PMU_PMCR_LP        (1u << 7)
#define PMU_PMCR_FZO       (1u << 9)
#define PMU_PMCR_N_SHIFT   11
#define PMU_PMCR_N         (0x1fu << PMU_PMCR_N_SHIFT)
#define PMU_PMCR_ID_SHIFT  16
#define PMU_PMCR_IMP_SHIFT 24

// Fields of PMEVTYPER<n>_EL0 and PMCCFILTR_EL0. A bit set among P, U, NSK, NSU filters counting
// out (P and NSK, U and NSU must agree for Non-secure EL1 and EL0 to count); NSH set lets EL2 in.
#define PMU_FILTER_P   (1u << 31)
#define PMU_FILTER_U   (1u << 30)
#define PMU_FILTER_NSK (1u << 29)
#define PMU_FILTER_NSU (1u << 28)
#define PMU_FILTER_NSH (1u << 27)
#define PMU_FILTER_M   (1u << 26)

// Fields of PMUSERENR_EL0.
#define PMU_USERENR_EN (1u << 0)
#define PMU_USERENR_SW (1u << 1)
#define PMU_USERENR_CR (1u << 2)
#define PMU_USERENR_ER (1u << 3)

// Fields of MDCR_EL2.
#define PMU_MDCR_HPMN   0x1fu
#define PMU_MDCR_TPMCR  (1u << 5)
#define PMU_MDCR_TPM    (1u << 6)
#define PMU_MDCR_HPME   (1u << 7)
#define PMU_MDCR_HPMD   (1u << 17)
#define PMU_MDCR_HCCD   (1u << 23)
#define PMU_MDCR_HLP    (1u << 26)
#define PMU_MDCR_HPMFZO (1u << 29)

// The registers. PMU_PMEVCNTR0_EL0 + n and PMU_PMEVTYPER0_EL0 + n name the numbered ones.
enum pmu_reg {
	PMU_PMCR_EL0,
	PMU_PMCNTENSET_EL0,
	PMU_PMCNTENCLR_EL0,
	PMU_PMINTENSET_EL1,
	PMU_PMINTENCLR_EL1,
	PMU_PMOVSSET_EL0,
	PMU_PMOVSCLR_EL0,
	PMU_PMSWINC_EL0,
	PMU_PMSELR_EL0,
	PMU_PMXEVTYPER_EL0,
	PMU_PMXEVCNTR_EL0,
	PMU_PMCCNTR_EL0,
	PMU_PMCCFILTR_EL0,
	PMU_PMUSERENR_EL0,
	PMU_PMCEID0_EL0,
	PMU_PMCEID1_EL0,
	PMU_PMMIR_EL1,
	PMU_MDCR_EL2,
	PMU_PMEVCNTR0_EL0 = 32,
	PMU_PMEVTYPER0_EL0 = 64,
	PMU_REG_COUNT = 95,
};

// What became of a register access.
enum pmu_access {
	PMU_ACCESS_DONE,
	PMU_ACCESS_TRAP_EL1,  // trapped from EL0 to EL1 (exception class 0x18): PMUSERENR_EL0
	PMU_ACCESS_TRAP_EL2,  // trapped to EL2: MDCR_EL2.TPM, MDCR_EL2.TPMCR
	PMU_ACCESS_UNDEFINED, // no such access at this level: PMSWINC read, PMCEID written, ...
};

// One kind of CPU. The model keeps the pointer: configurations are constant and outlive it.
struct pmu_cpu_config {
	const char *name;           // for people and for PMU names: "cortex-a55"
	uint32_t midr;              // MIDR_EL1
	uint8_t version;            // enum pmu_version
	uint8_t counter_count;      // event counters implemented, 0..31
	uint8_t counter_bits;       // 32, or 64 (needs PMU_V3P5)
	uint8_t hpmn;               // MDCR_EL2.HPMN as boot firmware leaves it, <= counter_count
	uint8_t implementer;        // PMCR_EL0.IMP
	uint8_t idcode;             // PMCR_EL0.IDCODE
	bool has_el2;               // else MDCR_EL2 is absent and EL1 sees all counters
	bool has_el3;               // else NSK, NSU and M are RES0
	bool has_aarch32;           // else PMCR_EL0.LC is RES1 and PMCR_EL0.D is RES0
	bool res0_is_stored;        // bits RES0 here but defined elsewhere read back as written
	uint32_t irq_latency_ns;    // line high to interrupt taken; for the machine
	uint64_t pmceid0;           // events 0x0000..0x001f, and 0x4000..0x401f in the upper half
	uint64_t pmceid1;           // events 0x0020..0x003f, and 0x4020..0x403f in the upper half
	uint64_t pmmir;             // PMMIR_EL1, for PMU_V3P4 and later
	const uint16_t *imp_events; // further events (neither range above), ascending
	size_t imp_event_count;
};

struct pmu_model;
struct pmu_cpu;

// Why an observer is told of a counter.
enum pmu_change_cause {
	PMU_CHANGE_CONFIG, // levels, event, filter, divider or overflow bit are new
	PMU_CHANGE_VALUE,  // the counter was written, or reset by PMCR_EL0.{P,C}
	PMU_CHANGE_SWINC,  // a write to PMSWINC_EL0 added one
	PMU_CHANGE_RESET,  // warm reset: configuration and value are new
};

// The state of one counter just after a change.
struct pmu_change {
	uint64_t now_ns; // the observer's own clock (`now_ns` below), 0 without one
	uint64_t value;
	uint32_t filter;       // PMEVTYPER<n>_EL0 or PMCCFILTR_EL0 as it reads
	uint16_t cpu;          // index in the model
	uint16_t event;        // what it counts; PMU_EVENT_NONE when nothing can be counted
	uint8_t counter;       // 0..31
	uint8_t cause;         // enum pmu_change_cause
	uint8_t counts_at_els; // bit n: counts at ELn now (enabled, not filtered, not prohibited)
	uint8_t overflow_bits; // 32 or 64
	bool divided_by_64;    // the cycle counter under PMCR_EL0.D
};

// Told of every change of a counter but counting itself, so that intervals per physical counter
// can be rebuilt. The callback must not write registers of the model. `now_ns` may be NULL.
struct pmu_observer {
	void *context;
	uint64_t (*now_ns)(void *context, unsigned int cpu);
	void (*changed)(void *context, const struct pmu_change *change);
};

// A model of `cpu_count` CPUs (1..PMU_CPUS_MAX), warm-reset with `seed`. NULL without memory or
// when a configuration contradicts itself (see `pmu_cpu_config_valid`).
struct pmu_model *pmu_model_create(
	const struct pmu_cpu_config *const configs[], unsigned int cpu_count, uint64_t seed);
void pmu_model_destroy(struct pmu_model *model);
bool pmu_cpu_config_valid(const struct pmu_cpu_config *config);

unsigned int pmu_model_cpu_count(const struct pmu_model *model);
struct pmu_cpu *pmu_model_cpu(struct pmu_model *model, unsigned int cpu);

// Installs an observer (copied), or removes it with NULL.
void pmu_model_observe(struct pmu_model *model, const struct pmu_observer *observer);

// Warm reset: every field with an UNKNOWN reset value takes a value drawn from `seed` (and the
// CPU's index, in pmu_model_reset); PMCR_EL0.E is 0; MDCR_EL2 is as firmware leaves it.
void pmu_model_reset(struct pmu_model *model, uint64_t seed);
void pmu_cpu_reset(struct pmu_cpu *cpu, uint64_t seed);

const struct pmu_cpu_config *pmu_cpu_config(const struct pmu_cpu *cpu);

// Register accesses from exception level `el` (0..2). A read that is not done leaves *value
// alone; a write that is not done changes nothing.
enum pmu_access pmu_cpu_read(
	const struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, uint64_t *value);
enum pmu_access pmu_cpu_write(
	struct pmu_cpu *cpu, unsigned int el, enum pmu_reg reg, uint64_t value);

// A context synchronization event (ISB): every write before it has taken effect.
void pmu_cpu_barrier(struct pmu_cpu *cpu);
// Register writes since the last barrier: what software may not rely on yet.
unsigned int pmu_cpu_unsynchronized_writes(const struct pmu_cpu *cpu);

// `count` occurrences of `event` at level `el`: every counter that counts it there advances (a
// chained counter by the overflows of its even neighbour). Cycles are PMU_EVENT_CPU_CYCLES.
// Returns the mask of counters that wrapped, whether or not their overflow flag was clear.
uint32_t pmu_cpu_retire(struct pmu_cpu *cpu, unsigned int el, uint16_t event, uint64_t count);

// The interrupt line (level): an overflow flag with its interrupt enable and its global enable.
bool pmu_cpu_line(const struct pmu_cpu *cpu);

// Changes whenever what is counted, or where, changes; never repeats in a run. What the next
// functions say stays true, values apart, as long as it does.
uint64_t pmu_cpu_generation(const struct pmu_cpu *cpu);
// Counters that count at `el` now.
uint32_t pmu_cpu_counting(const struct pmu_cpu *cpu, unsigned int el);
// The distinct events counted at `el` now; fills `events`, returns how many. Nothing else needs
// to be retired there. (A chained counter adds none: its neighbour's event drives it.)
unsigned int pmu_cpu_demand(
	const struct pmu_cpu *cpu, unsigned int el, uint16_t events[PMU_COUNTERS_MAX]);
// The event that makes `counter` advance: its own, or its even neighbour's for a chained one.
// PMU_EVENT_NONE when nothing does.
uint16_t pmu_cpu_driving_event(const struct pmu_cpu *cpu, unsigned int counter);
// How many occurrences of that event, all counted, it takes for `counter` to overflow next (the
// last of them does it). Saturates at UINT64_MAX; UINT64_MAX also when nothing drives it.
uint64_t pmu_cpu_until_overflow(const struct pmu_cpu *cpu, unsigned int counter);
// The least of these over the counters that `event` drives at `el` and whose overflow would
// newly raise a flag with its interrupt enabled: when the line may rise. UINT64_MAX: never.
uint64_t pmu_cpu_until_interrupt(const struct pmu_cpu *cpu, unsigned int el, uint16_t event);

// Is the event implemented by the CPU (PMCEID, or the list of further events)?
bool pmu_cpu_has_event(const struct pmu_cpu_config *config, uint16_t event);

// Writes a register's name ("PMEVCNTR3_EL0"); false when there is no such register.
#define PMU_REG_NAME_MAX 20
bool pmu_reg_format(enum pmu_reg reg, char name[PMU_REG_NAME_MAX]);

// A machine: its CPUs' kinds in order of their numbers.
struct pmu_preset {
	const char *name;
	unsigned int cpu_count;
	const struct pmu_cpu_config *cpus[8];
};

// "rk3588", "h1", "h2", "bl", "wide" (4 CPUs, 64-bit event counters), "bare" (no event counters);
// NULL when unknown.
const struct pmu_preset *pmu_preset_find(const char *name);
// All of them, by index; NULL past the last.
const struct pmu_preset *pmu_preset_get(unsigned int index);
// A CPU kind by name ("cortex-a55", "cortex-a76", ...); NULL when unknown.
const struct pmu_cpu_config *pmu_cpu_config_find(const char *name);

#endif
