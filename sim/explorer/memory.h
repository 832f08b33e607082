/* SPDX-License-Identifier: MIT
 *
 * memory.h: the inside of the memory model, for the files of this folder only.
 *
 * hooks.c takes the compiler's calls; memory.c has the views and atomics; shadow.c has plain
 * accesses; sites.c has the classes of sites. All state of a run is in explorer_memory and in
 * the pools and tables of shadow.c and memory.c, which are emptied by counting up `generation`: a
 * run costs what it touches.
 *
 * Clocks. An event of CPU c has c's *epoch*, which counts c's releases: so "is ordered before" is
 * `epoch <= view.at[c]`, for plain accesses (FastTrack, Flanagan and Freund 2009) and for views of
 * atomics alike: a view is not a map of locations but a clock, and a store remembers since which
 * epoch of each CPU it has been seen. Epochs start at 1.
 *
 * A *stamp* is an epoch, its CPU and whether interrupts were off, in one word; 0: never.
 */
#ifndef EXPLORER_MEMORY_H
#define EXPLORER_MEMORY_H

#include <explorer/watch.h>

#include <machine/order.h>

struct clock {
	uint32_t at[EXPLORER_CPUS_MAX];
};

struct explorer_memory {
	const struct explorer_vehicle *vehicle; /* NULL: nobody watches */
	uint32_t cpus;
	bool quick;                         /* nobody wants to know every access */
	uint64_t generation;                /* of this run, above the bits of a line's address */
	uint32_t stamp[EXPLORER_CPUS_MAX];  /* of now, interrupts off */
	uint32_t stores[EXPLORER_CPUS_MAX]; /* atomic ones so far */
	bool saw_stale[EXPLORER_CPUS_MAX];  /* a load did not see the newest store; the vehicle
					       clears it */

	struct clock now[EXPLORER_CPUS_MAX];      /* what happened before */
	struct clock acquired[EXPLORER_CPUS_MAX]; /* an acquire fence would add */
	struct clock released[EXPLORER_CPUS_MAX]; /* a relaxed store carries: the last release
						     fence */
	struct clock sequential;                  /* what seq_cst fences have seen */
	uint32_t sequence;                        /* of seq_cst stores and fences */
	uint32_t fenced[EXPLORER_CPUS_MAX];       /* `sequence` at the last such fence */
};
extern struct explorer_memory explorer_memory;

/* A law is broken. */
__attribute__((format(printf, 1, 2))) _Noreturn void memory_fail(const char *format, ...);

/* ---- who ---- */

#define STAMP_EPOCH_SHIFT 4u
#define STAMP_CPU_SHIFT   1u
#define STAMP_MASKED      1u

static inline uint32_t stamp_cpu(uint32_t stamp)
{
	return stamp >> STAMP_CPU_SHIFT & (EXPLORER_CPUS_MAX - 1);
}

static inline uint32_t stamp_epoch(uint32_t stamp)
{
	return stamp >> STAMP_EPOCH_SHIFT;
}

/* Did what has this stamp happen before what `cpu` does now? Stamp 0 did. */
static inline bool stamp_is_ordered(uint32_t stamp, uint32_t cpu)
{
	return stamp_epoch(stamp) <= explorer_memory.now[cpu].at[stamp_cpu(stamp)];
}

static inline uint32_t memory_cpu(void)
{
	return machine_order.cpu & (EXPLORER_CPUS_MAX - 1);
}

static inline bool memory_masked(void)
{
	return *machine_order.masked; /* explorer_watch() has seen to it that there is one */
}

/* ---- sites.c ---- */

/* Bits of a site's class. What is noted takes effect when explorer_sites_promote() says so. */
#define SITE_SHARED 1u
#define SITE_LOCAL  2u
#define SITE_EFFECT 3u
#define SITE_NOTED  2u /* shift */

/* A byte for each byte of the program's text; `size` 0: nothing is learned. */
struct explorer_sites {
	uint8_t *class;
	size_t size;
	bool learning;
};
extern struct explorer_sites explorer_sites;
extern const char __executable_start[], etext[]; /* the linker's: the program, its text's end */

static inline uint32_t site_offset(const void *site)
{
	return (uint32_t)((uintptr_t)site - (uintptr_t)__executable_start);
}

static inline const void *site_address(uint32_t offset)
{
	return (const void *)(__executable_start + offset);
}

static inline uint32_t site_class(const void *site)
{
	size_t offset = (uintptr_t)site - (uintptr_t)__executable_start;

	return offset < explorer_sites.size ? explorer_sites.class[offset] & SITE_EFFECT : 0;
}

void site_note(uint32_t offset, uint32_t class);

/* ---- shadow.c: plain accesses ---- */

struct cell {
	uint32_t write, write_site; /* the last plain write: stamp and site */
	uint32_t read, read_site;   /* the last plain read; READ_BY_MANY: see `readers` */
	uint32_t next;              /* of the same granule; 0: none */
	uint32_t unmasked;          /* sites that came here with interrupts on: a list; 0: none */
	uint32_t readers;           /* index of a vector, 0: none yet */
	uint8_t mask;               /* which bytes of the granule */
	uint8_t masked_read, masked_written; /* by these CPUs, with interrupts off */
};
#define READ_BY_MANY UINT32_MAX

#define LINE_SHIFT    6u
#define LINE_GRANULES 8u

/* 64 bytes of memory. The cells of a granule divide its bytes among them; the first is here. */
struct line {
	_Alignas(64) uint64_t key;    /* address >> LINE_SHIFT, and the generation */
	uint8_t quick[LINE_GRANULES]; /* the first cell's mask; 0: it needs a closer look */
	uint64_t atomic;              /* bytes that atomics have used */
	uint32_t locations;           /* of them: a list; 0: none */
	uint32_t freed_site;
	uint8_t freed_cpu;
	uint8_t freed; /* granules given back since they were allocated */
	uint8_t valid; /* granules whose first cell is in use */
	struct cell cell[LINE_GRANULES];
};

/* The table is indexed by the low bits of a line's number; a line that is taken is looked for
 * SHADOW_PROBE further on. */
#define SHADOW_LINES (1u << 17)
#define SHADOW_PROBE 64u
extern struct line shadow_lines[SHADOW_LINES];

static inline uint64_t line_key(uintptr_t address)
{
	return address >> LINE_SHIFT | explorer_memory.generation;
}

static inline size_t line_home(uintptr_t address)
{
	return (address >> LINE_SHIFT) % SHADOW_LINES;
}

static inline uint32_t shadow_granule(uintptr_t address)
{
	return (uint32_t)(address / 8 % LINE_GRANULES);
}

/* The bytes of an access that lies within one granule. */
static inline uint8_t shadow_mask(uintptr_t address, uint32_t size)
{
	return size == 8 ? 0xff : (uint8_t)(((1u << size) - 1) << address % 8);
}

/* Is this access, within one granule, one that changes nothing: the CPU has made it before, in this
 * epoch and with interrupts off as now? */
static inline bool shadow_is_repeated(const void *address, uint32_t size, bool write, uint32_t cpu)
{
	uintptr_t at = (uintptr_t)address;
	const struct line *line = &shadow_lines[line_home(at)];
	uint32_t granule = shadow_granule(at), stamp = explorer_memory.stamp[cpu];
	const struct cell *cell = &line->cell[granule];

	if (line->key != line_key(at) || line->quick[granule] != shadow_mask(at, size))
		return false;
	/* whoever had read since the write, in this epoch, would have raced */
	return cell->write == stamp || (!write && cell->read == stamp);
}

void shadow_begin(void);
/* The line of an address, made if need be. */
struct line *shadow_make_line(uintptr_t address);

static inline struct line *shadow_line(uintptr_t address)
{
	struct line *line = &shadow_lines[line_home(address)];

	return line->key == line_key(address) ? line : shadow_make_line(address);
}

/* Judge an atomic, which lies within one granule, against plain accesses; `mask` are its bytes. */
void shadow_judge_atomic(struct line *line, uint32_t granule, uint8_t mask, bool write,
	uint32_t cpu, uint32_t site, bool learn);
/* Plain: within one granule, with interrupts off; in either state; of any size. */
void shadow_access_masked(const void *address, uint32_t size, bool write, const void *site);
void shadow_access_one(
	const void *address, uint32_t size, bool write, uint32_t cpu, const void *site);
void shadow_access(const void *address, size_t size, bool write, uint32_t cpu, const void *site);
void shadow_fresh(const void *at, size_t size);
void shadow_freed(const void *at, size_t size);

/* A list of sites, in a pool: the index of its first node, 0: empty. */
struct site_node {
	uint32_t site;
	uint32_t next;
	uint8_t cpu;
	uint8_t write;
};
struct site_node *site_node(uint32_t index);
/* Put a site in front unless it is there. */
void site_list_add(uint32_t *list, uint32_t site, uint32_t cpu, bool write);

/* ---- memory.c: atomics ---- */

/* A plain access to bytes that atomics have used: judge it against them. */
void memory_judge_plain(const struct line *line, uint32_t granule, uint8_t mask, bool write,
	uint32_t cpu, uint32_t site);

/* The atomics of these granules of a line are no more. */
void memory_forget(struct line *line, uint8_t granules);

enum memory_update {
	MEMORY_EXCHANGE,
	MEMORY_ADD,
	MEMORY_SUB,
	MEMORY_AND,
	MEMORY_OR,
	MEMORY_XOR,
	MEMORY_NAND,
};

/* What the hooks of atomics do while somebody watches; sizes 1, 2, 4, 8. */
uint64_t memory_load(const volatile void *at, uint32_t size, int order, const void *site);
void memory_store(volatile void *at, uint32_t size, uint64_t value, int order, const void *site);
/* The value before. */
uint64_t memory_update(volatile void *at, uint32_t size, enum memory_update what, uint64_t operand,
	int order, const void *site);
/* The value before: equal to `expected`, then `desired` was stored, with `order`; else it was a
 * load with `failure`. */
uint64_t memory_exchange_if(volatile void *at, uint32_t size, uint64_t expected, uint64_t desired,
	int order, int failure, const void *site);
void memory_fence(int order, const void *site);
void memory_plain(const void *address, size_t size, bool write, const void *site);

/* Memory as it is. */
uint64_t memory_peek(const volatile void *at, uint32_t size);
void memory_poke(volatile void *at, uint32_t size, uint64_t value);
uint64_t memory_updated(enum memory_update what, uint32_t size, uint64_t value, uint64_t operand);

/* What core's calls of the C library's functions are renamed to. */
void *explorer_memcpy(void *restrict to, const void *restrict from, size_t size);
void *explorer_memmove(void *to, const void *from, size_t size);
void *explorer_memset(void *to, int value, size_t size);
int explorer_memcmp(const void *a, const void *b, size_t size);

#endif
