// The CPU kinds and machines that scenarios name. Constant data only.
//
// Event sets: Cortex-A55 and Cortex-A76 as their Technical Reference Manuals (100442, 100798)
// list them, in the configuration of RK3588, where every core has its own L2 and the cluster an
// L3: so the A55's L2D_* and L3D_* events are all there. Of the branch events the A55 has
// PC_WRITE_RETIRED (0x0c) and BR_RETIRED (0x21), the A76 only BR_RETIRED. The A76 counts no
// LD_RETIRED, ST_RETIRED, BR_IMMED_RETIRED, BR_RETURN_RETIRED and UNALIGNED_LDST_RETIRED either.
//
// The small machines H1, H2 and BL have 4 event counters and every common event; their CPUs carry
// the MIDR implementer code that Arm reserves for software use (0x00). Interrupt latencies are
// round figures of the right order, 0 on the small machines.
#include "pmu_model/pmu_model.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// PMCEID bits of the events `first`..`last`, numbered from 0 in their register.
#define EVENTS(first, last) ((UINT64_C(2) << (last)) - (UINT64_C(1) << (first)))
#define EVENT(number)       EVENTS(number, number)

#define IMPLEMENTER_ARM 0x41

static const uint16_t cortex_a55_events[] = {
	0x40, 0x41, 0x42, 0x43, 0x44, 0x45, // L1D by direction and by where the line came from
	0x50, 0x51, 0x52, 0x53,             // L2D by direction
	0x60, 0x61, 0x66, 0x67,             // bus and memory by direction
	0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, // operations by kind
	0x86, 0x87,                                                       // IRQ, FIQ
	0xa0, 0xa2,                                                       // L3D reads
	0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, // prefetch, write streaming
	0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf,       // branch prediction
	0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6,       // walk caches, stash
	0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xec, // stalls by cause
};

static const struct pmu_cpu_config cortex_a55 = {
	.name = "cortex-a55",
	.midr = 0x412fd050, // r2p0
	.version = PMU_V3P1,
	.counter_count = 6,
	.counter_bits = 32,
	.hpmn = 6,
	.implementer = IMPLEMENTER_ARM,
	.idcode = 0x45,
	.has_el2 = true,
	.has_el3 = true,
	.has_aarch32 = true,
	.irq_latency_ns = 500,
	.pmceid0 = EVENTS(0x00, 0x1e),
	.pmceid1 = EVENTS(0x00, 0x06) | EVENTS(0x09, 0x0b) | EVENT(0x0d) | EVENT(0x0f) |
		   EVENTS(0x14, 0x18),
	.imp_events = cortex_a55_events,
	.imp_event_count = COUNT_OF(cortex_a55_events),
};

static const uint16_t cortex_a76_events[] = {
	0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,             // L1D
	0x4c, 0x4d, 0x4e, 0x4f,                                           // L1D TLB by direction
	0x50, 0x51, 0x52, 0x53, 0x56, 0x57, 0x58,                         // L2D
	0x5c, 0x5d, 0x5e, 0x5f,                                           // L2D TLB by direction
	0x60, 0x61, 0x66, 0x67, 0x68, 0x69, 0x6a,                         // bus, memory, unaligned
	0x6c, 0x6d, 0x6e, 0x6f,                                           // exclusives
	0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, // operations by kind
	0x7c, 0x7d, 0x7e,                                                 // barriers
	0x81, 0x82, 0x83, 0x84, 0x86, 0x87, 0x88, 0x8a, // exceptions taken locally
	0x8b, 0x8c, 0x8d, 0x8e, 0x8f,                   // exceptions not taken locally
	0x90, 0x91,                                     // load-acquire, store-release
	0xa0,                                           // L3D reads
};

static const struct pmu_cpu_config cortex_a76 = {
	.name = "cortex-a76",
	.midr = 0x414fd0b0, // r4p0
	.version = PMU_V3P1,
	.counter_count = 6,
	.counter_bits = 32,
	.hpmn = 6,
	.implementer = IMPLEMENTER_ARM,
	.idcode = 0x0b,
	.has_el2 = true,
	.has_el3 = true,
	.has_aarch32 = true, // at EL0
	.irq_latency_ns = 300,
	.pmceid0 = EVENTS(0x00, 0x05) | EVENTS(0x08, 0x0b) | EVENTS(0x10, 0x1e),
	.pmceid1 = EVENTS(0x00, 0x06) | EVENTS(0x09, 0x0b) | EVENT(0x0d) | EVENT(0x0f) |
		   EVENT(0x11) | EVENTS(0x14, 0x17),
	.imp_events = cortex_a76_events,
	.imp_event_count = COUNT_OF(cortex_a76_events),
};

#define SMALL_CPU(its_name, its_midr)                                                              \
	{                                                                                          \
		.name = (its_name), .midr = (its_midr), .version = PMU_V3P1, .counter_count = 4,   \
		.counter_bits = 32, .hpmn = 4, .has_el2 = true, .has_el3 = true,                   \
		.has_aarch32 = true, .pmceid0 = EVENTS(0x00, 0x1f), .pmceid1 = EVENTS(0x00, 0x1f), \
	}

static const struct pmu_cpu_config pmu_h = SMALL_CPU("pmu-h", 0x000f0010);
static const struct pmu_cpu_config pmu_l = SMALL_CPU("pmu-l", 0x000f0020);
static const struct pmu_cpu_config pmu_b = SMALL_CPU("pmu-b", 0x000f0030);

// Long counters and no AArch32 anywhere: PMCR_EL0.LC is RES1.
static const struct pmu_cpu_config pmu_wide = {
	.name = "pmu-wide",
	.midr = 0x000f0040,
	.version = PMU_V3P5,
	.counter_count = 6,
	.counter_bits = 64,
	.hpmn = 6,
	.has_el2 = true,
	.has_el3 = true,
	.pmceid0 = EVENTS(0x00, 0x1f) | EVENTS(0x24, 0x2b),
	.pmceid1 = EVENTS(0x00, 0x1f),
	.pmmir = 4, // SLOTS
};

// A CPU whose PMU has no event counters at all: the cycle counter is everything.
static const struct pmu_cpu_config pmu_bare = {
	.name = "pmu-bare",
	.midr = 0x000f0050,
	.version = PMU_V3,
	.counter_bits = 32,
	.has_el3 = true,
	.has_aarch32 = true,
	.pmceid0 = EVENT(0x00) | EVENT(0x11),
};

static const struct pmu_cpu_config *const cpu_kinds[] = {
	&cortex_a55,
	&cortex_a76,
	&pmu_h,
	&pmu_l,
	&pmu_b,
	&pmu_wide,
	&pmu_bare,
};

static const struct pmu_preset presets[] = {
	{
		.name = "rk3588",
		.cpu_count = 8,
		.cpus = {&cortex_a55, &cortex_a55, &cortex_a55, &cortex_a55, &cortex_a76,
			&cortex_a76, &cortex_a76, &cortex_a76},
	},
	{.name = "h1", .cpu_count = 1, .cpus = {&pmu_h}},
	{.name = "h2", .cpu_count = 2, .cpus = {&pmu_h, &pmu_h}},
	{.name = "bl", .cpu_count = 4, .cpus = {&pmu_l, &pmu_l, &pmu_b, &pmu_b}},
	{
		.name = "wide",
		.cpu_count = 4,
		.cpus = {&pmu_wide, &pmu_wide, &pmu_wide, &pmu_wide},
	},
	{.name = "bare", .cpu_count = 1, .cpus = {&pmu_bare}},
};

const struct pmu_preset *pmu_preset_get(unsigned int index)
{
	return index < COUNT_OF(presets) ? &presets[index] : NULL;
}

const struct pmu_preset *pmu_preset_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(presets); i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

const struct pmu_cpu_config *pmu_cpu_config_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(cpu_kinds); i++)
		if (!strcmp(cpu_kinds[i]->name, name))
			return cpu_kinds[i];
	return NULL;
}
