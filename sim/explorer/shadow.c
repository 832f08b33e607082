/* SPDX-License-Identifier: MIT
 *
 * shadow.c: what plain accesses have been made, and whether each is ordered with those before it.
 *
 * Memory is looked at in granules of 8 bytes, 8 of them to a line. The bytes of a granule are
 * divided among cells: an access to some of them splits a cell that has more, so that fields which
 * share a granule do not race. A cell has its last write, and its last read or, once reads were
 * not ordered among each other, the last read of each CPU.
 *
 * Everything lives in arrays that are large, and of which a run touches only a little. Pools are
 * emptied by resetting their counts, the table of lines by the generation in the lines' keys.
 *
 * Classes of sites are learned here too: where interrupts were on, a site of an address that the
 * same CPU also uses with interrupts off is a local point if one of the two writes.
 */
#include <string.h>

#include "memory.h"

#define CELLS_MAX        (1u << 20)
#define READERS_MAX      (1u << 18)
#define NODES_MAX        (1u << 20)
#define FREED_RANGES_MAX 64u /* the rest is remembered line by line */

/* The lowest bit of a generation: above the number of any line of the host's 48 bits of address. */
#define GENERATION (UINT64_C(1) << (48 - LINE_SHIFT))

struct readers {
	uint32_t stamp[EXPLORER_CPUS_MAX];
	uint32_t site[EXPLORER_CPUS_MAX];
};

/* Index 0 of each pool means none. All this is zero, and most of it never touched. */
struct line shadow_lines[SHADOW_LINES];
static struct cell cells[CELLS_MAX];
static struct readers readers[READERS_MAX];
static struct site_node nodes[NODES_MAX];
static uint32_t cells_used, readers_used, nodes_used;

/* Memory that was given back untouched has no lines: it is remembered by range, and looked up when
 * a line is made after all. */
static struct freed_range {
	uintptr_t from, to;
	uint32_t cpu, site;
} freed_ranges[FREED_RANGES_MAX];
static uint32_t freed_range_count;

/* ---- pools ---- */

void shadow_begin(void)
{
	cells_used = readers_used = nodes_used = 1;
	freed_range_count = 0;
	explorer_memory.generation += GENERATION;
	if (explorer_memory.generation != 0)
		return;
	/* the bits have run out: every key is of the past */
	memset(shadow_lines, 0, sizeof(shadow_lines));
	explorer_memory.generation = GENERATION;
}

static uint32_t take(uint32_t *used, uint32_t max)
{
	if (*used == max)
		memory_fail("limit: the run touches more memory than the explorer can remember");
	return (*used)++;
}

struct site_node *site_node(uint32_t index)
{
	return index != 0 ? &nodes[index] : NULL;
}

void site_list_add(uint32_t *list, uint32_t site, uint32_t cpu, bool write)
{
	uint32_t fresh;

	for (const struct site_node *n = site_node(*list); n != NULL; n = site_node(n->next)) {
		if (n->site == site && n->cpu == cpu && n->write == write)
			return;
	}
	fresh = take(&nodes_used, NODES_MAX);
	nodes[fresh] = (struct site_node){
		.site = site, .next = *list, .cpu = (uint8_t)cpu, .write = write};
	*list = fresh;
}

/* ---- lines and cells ---- */

/* Lines are never taken out during a run: the first that is not of this run ends a search. */
static struct line *find_line(uint64_t key, uintptr_t address)
{
	size_t index = line_home(address);

	for (uint32_t tries = 0; tries < SHADOW_LINES / SHADOW_PROBE; tries++) {
		struct line *line = &shadow_lines[index];

		if (line->key == key ||
			(line->key & ~(GENERATION - 1)) != explorer_memory.generation)
			return line;
		index = (index + SHADOW_PROBE) % SHADOW_LINES;
	}
	memory_fail("limit: the run touches more memory than the explorer can remember");
}

static void recall_freed(struct line *line, uintptr_t address)
{
	uintptr_t base = address >> LINE_SHIFT << LINE_SHIFT;

	for (uint32_t i = 0; i < freed_range_count; i++) {
		const struct freed_range *range = &freed_ranges[i];

		if (base < range->from || base + ((uintptr_t)1 << LINE_SHIFT) > range->to)
			continue;
		line->freed = 0xff;
		line->freed_cpu = (uint8_t)range->cpu;
		line->freed_site = range->site;
	}
}

struct line *shadow_make_line(uintptr_t address)
{
	uint64_t key = line_key(address);
	struct line *line = find_line(key, address);

	if (line->key == key)
		return line;
	line->key = key;
	memset(line->quick, 0, sizeof(line->quick));
	line->atomic = 0;
	line->locations = 0;
	line->freed = 0;
	line->valid = 0;
	recall_freed(line, address);
	return line;
}

static struct cell *next_cell(const struct cell *cell)
{
	return cell->next != 0 ? &cells[cell->next] : NULL;
}

/* After the first cell of a granule, or what else lies there, has changed. */
static void set_quick(struct line *line, uint32_t granule)
{
	bool plain = (line->atomic >> granule * 8 & 0xff) == 0 && !(line->freed >> granule & 1);

	line->quick[granule] = plain ? line->cell[granule].mask : 0;
}

/* A cell without a past for bytes that no cell of the granule has. */
static struct cell *add_cell(struct line *line, uint32_t granule, uint8_t mask)
{
	struct cell *first = &line->cell[granule], *cell = first;
	uint32_t index;

	if (line->valid >> granule & 1) {
		index = take(&cells_used, CELLS_MAX);
		cell = &cells[index];
		*cell = (struct cell){.mask = mask, .next = first->next};
		first->next = index;
		return cell;
	}
	*cell = (struct cell){.mask = mask};
	line->valid |= (uint8_t)(1u << granule);
	set_quick(line, granule);
	return cell;
}

/* Let `cell` have the bytes `mask` of its own alone, and another one, of the same past, the rest.
 */
static void split(struct line *line, uint32_t granule, struct cell *cell, uint8_t mask)
{
	uint32_t index = take(&cells_used, CELLS_MAX);
	struct cell *rest = &cells[index];

	*rest = *cell;
	rest->mask = (uint8_t)(cell->mask & ~mask);
	if (cell->readers != 0) {
		rest->readers = take(&readers_used, READERS_MAX);
		readers[rest->readers] = readers[cell->readers];
	}
	/* nodes of the list are never changed: sharing its end does no harm */
	cell->mask = mask;
	cell->next = index;
	set_quick(line, granule);
}

/* ---- judging ---- */

_Noreturn static void fail_race(uint32_t before, uint32_t before_site, const char *what_before,
	uint32_t cpu, uint32_t site, const char *what)
{
	memory_fail("race: %s at %p by CPU %u and %s at %p by CPU %u are not ordered", what_before,
		site_address(before_site), (unsigned int)stamp_cpu(before), what,
		site_address(site), (unsigned int)cpu);
}

enum shadow_kind { SHADOW_READ, SHADOW_WRITE, SHADOW_ATOMIC_READ, SHADOW_ATOMIC_WRITE };

static const char *const kind_names[] = {[SHADOW_READ] = "read",
	[SHADOW_WRITE] = "write",
	[SHADOW_ATOMIC_READ] = "atomic read",
	[SHADOW_ATOMIC_WRITE] = "atomic write"};

static void judge_reads(const struct cell *cell, enum shadow_kind kind, uint32_t cpu, uint32_t site)
{
	const struct readers *many = &readers[cell->readers];

	if (cell->read != READ_BY_MANY) {
		if (!stamp_is_ordered(cell->read, cpu))
			fail_race(cell->read, cell->read_site, "read", cpu, site, kind_names[kind]);
		return;
	}
	for (uint32_t c = 0; c < explorer_memory.cpus; c++) {
		if (!stamp_is_ordered(many->stamp[c], cpu))
			fail_race(
				many->stamp[c], many->site[c], "read", cpu, site, kind_names[kind]);
	}
}

static void note_read(struct cell *cell, uint32_t stamp, uint32_t cpu, uint32_t site)
{
	struct readers *many;

	if (cell->read != READ_BY_MANY && stamp_is_ordered(cell->read, cpu)) {
		cell->read = stamp;
		cell->read_site = site;
		return;
	}
	if (cell->readers == 0)
		cell->readers = take(&readers_used, READERS_MAX);
	many = &readers[cell->readers];
	if (cell->read != READ_BY_MANY) {
		memset(many, 0, sizeof(*many));
		many->stamp[stamp_cpu(cell->read)] = cell->read;
		many->site[stamp_cpu(cell->read)] = cell->read_site;
		cell->read = READ_BY_MANY;
	}
	many->stamp[cpu] = stamp;
	many->site[cpu] = site;
}

/* A site is here with interrupts on: is it a local point? */
static __attribute__((noinline)) void learn_unmasked(
	struct cell *cell, uint32_t cpu, bool write, uint32_t site)
{
	uint8_t bit = (uint8_t)(1u << cpu);

	if ((cell->masked_written & bit) || (write && (cell->masked_read & bit)))
		site_note(site, SITE_LOCAL);
	else
		site_list_add(&cell->unmasked, site, cpu, write);
}

/* The first access with interrupts off: those that were here with interrupts on are local points.
 */
static __attribute__((noinline)) void learn_masked(struct cell *cell, uint32_t cpu, bool write)
{
	for (const struct site_node *n = site_node(cell->unmasked); n; n = site_node(n->next)) {
		if (n->cpu == cpu && (write || n->write))
			site_note(n->site, SITE_LOCAL);
	}
}

static inline void learn(struct cell *cell, uint32_t cpu, bool masked, bool write, uint32_t site)
{
	uint8_t *mine = write ? &cell->masked_written : &cell->masked_read;

	if (!masked) {
		learn_unmasked(cell, cpu, write, site);
	} else if (!(*mine >> cpu & 1)) {
		*mine |= (uint8_t)(1u << cpu);
		if (cell->unmasked != 0)
			learn_masked(cell, cpu, write);
	}
}

static inline __attribute__((always_inline)) void judge_cell(
	struct cell *cell, enum shadow_kind kind, uint32_t cpu, uint32_t site, bool learned)
{
	bool masked = memory_masked();
	bool write = kind == SHADOW_WRITE || kind == SHADOW_ATOMIC_WRITE;
	uint32_t stamp = explorer_memory.stamp[cpu] & ~(masked ? 0 : STAMP_MASKED);

	if (!stamp_is_ordered(cell->write, cpu))
		fail_race(cell->write, cell->write_site, "write", cpu, site, kind_names[kind]);
	if (write)
		judge_reads(cell, kind, cpu, site);
	if (kind == SHADOW_READ) {
		note_read(cell, stamp, cpu, site);
	} else if (kind == SHADOW_WRITE) {
		cell->write = stamp;
		cell->write_site = site;
		cell->read = 0;
	}
	if (learned)
		learn(cell, cpu, masked, write, site);
}

_Noreturn static void fail_freed(const struct line *line, uint32_t granule, enum shadow_kind kind,
	uint32_t cpu, uint32_t site)
{
	uintptr_t address = (uintptr_t)(line->key & ~explorer_memory.generation) << LINE_SHIFT;

	memory_fail("L2 use after free: %s at %p by CPU %u of memory at %p, which CPU %u gave back "
		    "at %p",
		kind_names[kind], site_address(site), (unsigned int)cpu,
		(const void *)(address + granule * 8), (unsigned int)line->freed_cpu,
		site_address(line->freed_site));
}

/* The first plain access to a granule: there is nothing to judge it by. */
static void begin_granule(
	struct line *line, uint32_t granule, uint8_t mask, bool write, uint32_t cpu, uint32_t site)
{
	bool masked = memory_masked();
	uint32_t stamp = explorer_memory.stamp[cpu] & ~(masked ? 0 : STAMP_MASKED);
	struct cell *cell = &line->cell[granule];

	*cell = (struct cell){.mask = mask};
	line->valid |= (uint8_t)(1u << granule);
	line->quick[granule] = mask;
	if (write) {
		cell->write = stamp;
		cell->write_site = site;
	} else {
		cell->read = stamp;
		cell->read_site = site;
	}
	learn(cell, cpu, masked, write, site);
}

/* What has no quick way: cells to be made or split, atomics, freed memory. */
static __attribute__((noinline)) void judge_closely(struct line *line, uint32_t granule,
	uint8_t mask, enum shadow_kind kind, uint32_t cpu, uint32_t site, bool learned)
{
	struct cell *cell = line->valid >> granule & 1 ? &line->cell[granule] : NULL;
	uint8_t left = mask;

	if (line->freed >> granule & 1)
		fail_freed(line, granule, kind, cpu, site);
	for (; cell != NULL && left != 0; cell = next_cell(cell)) {
		uint8_t common = cell->mask & left;

		if (common == 0)
			continue;
		if (common != cell->mask)
			split(line, granule, cell, common);
		judge_cell(cell, kind, cpu, site, learned);
		left &= (uint8_t)~common;
	}
	if (left != 0)
		judge_cell(add_cell(line, granule, left), kind, cpu, site, learned);
	if (kind >= SHADOW_ATOMIC_READ) {
		line->atomic |= (uint64_t)mask << granule * 8;
		line->quick[granule] = 0;
	} else if ((line->atomic >> granule * 8 & mask) != 0) {
		memory_judge_plain(line, granule, mask, kind == SHADOW_WRITE, cpu, site);
	}
}

void shadow_judge_atomic(struct line *line, uint32_t granule, uint8_t mask, bool write,
	uint32_t cpu, uint32_t site, bool learned)
{
	struct cell *cell = &line->cell[granule];
	enum shadow_kind kind = write ? SHADOW_ATOMIC_WRITE : SHADOW_ATOMIC_READ;

	if ((line->atomic >> granule * 8 & mask) != mask || cell->mask != mask)
		judge_closely(line, granule, mask, kind, cpu, site, learned);
	else if (write)
		judge_cell(cell, SHADOW_ATOMIC_WRITE, cpu, site, learned);
	else
		judge_cell(cell, SHADOW_ATOMIC_READ, cpu, site, learned);
}

void shadow_access_one(
	const void *address, uint32_t size, bool write, uint32_t cpu, const void *site)
{
	uintptr_t at = (uintptr_t)address;
	struct line *line = shadow_line(at);
	uint32_t granule = shadow_granule(at), offset = site_offset(site);
	uint8_t mask = shadow_mask(at, size);
	struct cell *cell = &line->cell[granule];

	if (!((line->valid | line->freed) >> granule & 1))
		begin_granule(line, granule, mask, write, cpu, offset);
	else if (line->quick[granule] != mask)
		judge_closely(
			line, granule, mask, write ? SHADOW_WRITE : SHADOW_READ, cpu, offset, true);
	else if (write)
		judge_cell(cell, SHADOW_WRITE, cpu, offset, true);
	else
		judge_cell(cell, SHADOW_READ, cpu, offset, true);
}

/* The usual case of an access with interrupts off: everything before it is ordered, by looking at
 * one write and one read. false: it needs a closer look, and nothing has changed. */
static inline bool renew(struct cell *cell, bool write, uint32_t cpu, uint32_t stamp, uint32_t site)
{
	uint8_t bit = (uint8_t)(1u << cpu);

	if (cell->read == READ_BY_MANY || cell->unmasked != 0 ||
		!stamp_is_ordered(cell->write, cpu) || !stamp_is_ordered(cell->read, cpu))
		return false;
	if (write) {
		cell->write = stamp;
		cell->write_site = site;
		cell->read = 0;
		cell->masked_written |= bit;
		return true;
	}
	cell->read = stamp;
	cell->read_site = site;
	cell->masked_read |= bit;
	return true;
}

void shadow_access_masked(const void *address, uint32_t size, bool write, const void *site)
{
	uintptr_t at = (uintptr_t)address;
	struct line *line = &shadow_lines[line_home(at)];
	uint32_t granule = shadow_granule(at), cpu = memory_cpu();

	if (line->key == line_key(at) && line->quick[granule] == shadow_mask(at, size) &&
		renew(&line->cell[granule], write, cpu, explorer_memory.stamp[cpu],
			site_offset(site)))
		return;
	shadow_access_one(address, size, write, cpu, site);
}

void shadow_access(const void *address, size_t size, bool write, uint32_t cpu, const void *site)
{
	const uint8_t *at = address, *end = at + size;

	while (at < end) {
		size_t room = 8 - (uintptr_t)at % 8, left = (size_t)(end - at);
		uint32_t bytes = (uint32_t)(left < room ? left : room);

		shadow_access_one(at, bytes, write, cpu, site);
		at += bytes;
	}
}

/* ---- memory that comes and goes ---- */

/* The granules of [at, end) in the line of `at`, as bits; *at moves to the next line. */
static uint8_t granules_of_line(uintptr_t *at, uintptr_t end)
{
	uintptr_t base = *at & ~(((uintptr_t)1 << LINE_SHIFT) - 1);
	uintptr_t next = base + ((uintptr_t)1 << LINE_SHIFT);
	uint32_t first = (uint32_t)(*at - base) / 8;
	uint32_t last = (uint32_t)((end < next ? end : next) - base + 7) / 8;

	*at = next;
	return (uint8_t)((0xffu << first) & ((1u << last) - 1));
}

static uint64_t bytes_of_granules(uint8_t granules)
{
	uint64_t bytes = 0;

	for (uint32_t g = 0; g < LINE_GRANULES; g++)
		bytes |= (granules >> g & 1) ? UINT64_C(0xff) << g * 8 : 0;
	return bytes;
}

static void forget(struct line *line, uint8_t granules)
{
	line->valid &= (uint8_t)~granules;
	line->freed &= (uint8_t)~granules;
	if (line->locations != 0)
		memory_forget(line, granules);
	line->atomic &= ~bytes_of_granules(granules);
	for (uint32_t g = 0; g < LINE_GRANULES; g++) {
		if (granules >> g & 1)
			line->quick[g] = 0;
	}
}

void shadow_fresh(const void *memory, size_t size)
{
	uintptr_t at = (uintptr_t)memory, end = at + size;

	while (at < end) {
		uintptr_t address = at;
		uint8_t granules = granules_of_line(&at, end);
		struct line *line = find_line(line_key(address), address);

		if (line->key == line_key(address))
			forget(line, granules);
	}
	for (uint32_t i = 0; i < freed_range_count; i++) {
		if (freed_ranges[i].from < end && freed_ranges[i].to > (uintptr_t)memory)
			freed_ranges[i] = freed_ranges[--freed_range_count];
	}
}

/* Judged as a write of everything that was touched. */
void shadow_freed(const void *memory, size_t size)
{
	uintptr_t at = (uintptr_t)memory, end = at + size;
	uint32_t cpu = memory_cpu(), site = site_offset(machine_order.site);
	bool by_range = freed_range_count < FREED_RANGES_MAX;

	while (at < end) {
		uintptr_t address = at;
		struct line *line = find_line(line_key(address), address);
		uint8_t granules = granules_of_line(&at, end);

		if (line->key != line_key(address)) {
			if (granules == 0xff && by_range)
				continue;
			line = shadow_line(address);
		}
		for (uint32_t g = 0; g < LINE_GRANULES; g++) {
			if (granules >> g & 1 & line->valid >> g)
				judge_closely(line, g, 0xff, SHADOW_WRITE, cpu, site, false);
		}
		forget(line, granules);
		line->freed |= granules;
		line->freed_cpu = (uint8_t)cpu;
		line->freed_site = site;
	}
	if (by_range)
		freed_ranges[freed_range_count++] = (struct freed_range){
			(uintptr_t)memory, end, cpu, site};
}
