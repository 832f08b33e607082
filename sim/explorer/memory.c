/* SPDX-License-Identifier: MIT
 *
 * memory.c: atomics as a view machine, fences, and what a machine orders (machine/order.h).
 *
 * A location, an address and a size, has the last HISTORY stores in the order in which they were
 * made; memory itself always holds the newest. Each store remembers its writer's clock if it
 * released (`carries`), and since which epoch of each CPU it has been seen (`seen`). A load may
 * return the newest store that its CPU has to know of - one that was seen by an event which
 * happened before the load - or any after it; which, is a choice. It is given one stale value at
 * most twice in a row, so that every spin loop ends. A read-modify-write reads the newest, failed
 * ones too, and carries on what the store that it read carried (the release sequence).
 *
 * seq_cst: fences have one clock in common; they order plain accesses too. An access is acquire or
 * release, and numbered: a load that is seq_cst or behind a seq_cst fence sees no store older than
 * the last seq_cst one before it. It is no fence for others: a relaxed load may pass a seq_cst
 * read-modify-write in front of it, as it may on AArch64 with exclusives.
 *
 * Not modelled: a load that sees a store which its CPU makes later (load buffering), stores that
 * take effect in another order than they were made (2+2W), dependencies.
 *
 * What the rest of the simulator, plain writes and atomics of another size leave in a location's
 * memory is found by comparing it with the newest store: then history begins anew from what is
 * there, seen by all.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define HISTORY       8u
#define LOCATIONS_MAX 16384u
#define ATOMICS_MAX   (1u << 24) /* in a run: more is a loop without points */
#define SYNCS_LOG2    12u
#define NEVER_SEEN    UINT32_MAX
#define STALE_MAX     2u

struct store {
	uint64_t value;
	uint32_t sequence; /* of a seq_cst store; 0: it is none */
	struct clock seen; /* the first epoch of each CPU that knew it, or NEVER_SEEN */
	struct clock carries;
};

struct location {
	uint32_t next;  /* in the line's list; 0: none */
	uint8_t offset; /* in the line */
	uint8_t size;
	bool shared;            /* several CPUs use it, and some write */
	uint8_t users, writers; /* CPUs, in this run; without relaxed counting */
	uint32_t sites;         /* that used it, until it is shared: a list */
	uint32_t newest;        /* store k is history[k % HISTORY] */
	struct store history[HISTORY];
	/* the last atomic accesses by each CPU, for plain ones to be judged by */
	uint32_t wrote[EXPLORER_CPUS_MAX], read[EXPLORER_CPUS_MAX]; /* epochs */
	uint32_t wrote_site[EXPLORER_CPUS_MAX], read_site[EXPLORER_CPUS_MAX];
	uint32_t stale[EXPLORER_CPUS_MAX]; /* the stale store that was last returned */
	uint8_t stale_times[EXPLORER_CPUS_MAX];
};

/* What a machine orders by an address. */
struct sync {
	const void *at;
	uint64_t generation;
	struct clock clock;
};

/* An atomic access under way. */
struct atomic {
	struct explorer_access access;
	struct location *location;
	uint32_t cpu;
	uint32_t site;
	bool counts; /* relaxed counting: no point, and it shares nothing */
};

struct explorer_memory explorer_memory;

static struct location locations[LOCATIONS_MAX]; /* [0]: none */
static uint32_t locations_used;
static uint32_t atomics; /* in this run */
static struct sync syncs[1u << SYNCS_LOG2];
static uint32_t syncs_used;

/* seq_cst fences, as if all were updates of one location */
static struct {
	uint8_t users;
	bool shared;
	uint32_t sites;
} fences;

/* ---- clocks ---- */

static void join(struct clock *clock, const struct clock *other)
{
	for (uint32_t c = 0; c < explorer_memory.cpus; c++)
		clock->at[c] = clock->at[c] > other->at[c] ? clock->at[c] : other->at[c];
}

/* What `cpu` does from now on is not covered by what it has released. */
static void advance(uint32_t cpu)
{
	uint32_t epoch = ++explorer_memory.now[cpu].at[cpu];

	explorer_memory.stamp[cpu] = epoch << STAMP_EPOCH_SHIFT | cpu << STAMP_CPU_SHIFT |
				     STAMP_MASKED;
}

static bool acquires(int order)
{
	return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/* ---- failing ---- */

void memory_fail(const char *format, ...)
{
	static char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	explorer_memory.vehicle->fail(explorer_memory.vehicle->context, text);
	abort(); /* it does not return */
}

/* ---- memory itself ---- */

uint64_t memory_peek(const volatile void *at, uint32_t size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)at;
	case 2:
		return *(const volatile uint16_t *)at;
	case 4:
		return *(const volatile uint32_t *)at;
	default:
		return *(const volatile uint64_t *)at;
	}
}

void memory_poke(volatile void *at, uint32_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(volatile uint8_t *)at = (uint8_t)value;
		break;
	case 2:
		*(volatile uint16_t *)at = (uint16_t)value;
		break;
	case 4:
		*(volatile uint32_t *)at = (uint32_t)value;
		break;
	default:
		*(volatile uint64_t *)at = value;
		break;
	}
}

static uint64_t truncated(uint64_t value, uint32_t size)
{
	return size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

uint64_t memory_updated(enum memory_update what, uint32_t size, uint64_t value, uint64_t operand)
{
	switch (what) {
	case MEMORY_ADD:
		return truncated(value + operand, size);
	case MEMORY_SUB:
		return truncated(value - operand, size);
	case MEMORY_AND:
		return truncated(value & operand, size);
	case MEMORY_OR:
		return truncated(value | operand, size);
	case MEMORY_XOR:
		return truncated(value ^ operand, size);
	case MEMORY_NAND:
		return truncated(~(value & operand), size);
	default:
		return truncated(operand, size);
	}
}

/* ---- points ---- */

static void point(const struct explorer_access *access)
{
	const struct explorer_vehicle *vehicle = explorer_memory.vehicle;
	uint32_t class = site_class(access->site);

	if (class & SITE_SHARED)
		vehicle->point(vehicle->context, access, true);
	else if ((class & SITE_LOCAL) && !memory_masked())
		vehicle->point(vehicle->context, access, false);
}

static void tell(const struct explorer_access *access)
{
	const struct explorer_vehicle *vehicle = explorer_memory.vehicle;

	if (vehicle->step != NULL)
		vehicle->step(vehicle->context, access);
}

void memory_plain(const void *address, size_t size, bool write, const void *site)
{
	struct explorer_access access = {.site = site,
		.address = address,
		.size = (uint32_t)size,
		.kind = write ? EXPLORER_WRITE : EXPLORER_READ};

	if (!memory_masked())
		point(&access);
	shadow_access(address, size, write, memory_cpu(), site);
	if (explorer_memory.quick)
		return;
	if (!write && size <= sizeof(access.value)) /* what is written is not there yet */
		memcpy(&access.value, address, size);
	tell(&access);
}

/* ---- locations ---- */

/* History begins with what memory holds, known to all. */
static void begin_anew(struct location *l, const volatile void *at)
{
	struct store *s = &l->history[0];

	s->value = memory_peek(at, l->size);
	s->sequence = 0;
	for (uint32_t c = 0; c < EXPLORER_CPUS_MAX; c++)
		s->seen.at[c] = 1;
	s->carries = (struct clock){0};
	l->newest = 0;
	memset(l->stale_times, 0, sizeof(l->stale_times));
}

static struct location *add_location(struct line *line, const volatile void *at, uint32_t size)
{
	struct location *l;

	if (locations_used == LOCATIONS_MAX)
		memory_fail("limit: the run has more atomics than the explorer can remember");
	l = &locations[locations_used];
	l->next = line->locations;
	line->locations = locations_used++;
	l->offset = (uint8_t)((uintptr_t)at % (1u << LINE_SHIFT));
	l->size = (uint8_t)size;
	l->shared = false;
	l->users = l->writers = 0;
	l->sites = 0;
	memset(l->wrote, 0, sizeof(l->wrote));
	memset(l->read, 0, sizeof(l->read));
	begin_anew(l, at);
	return l;
}

/* The location of an access. Who else wrote there, be it plainly, with another size or not as the
 * engine, has left another value. */
static struct location *find_location(struct line *line, const volatile void *at, uint32_t size)
{
	uint32_t offset = (uint32_t)((uintptr_t)at % (1u << LINE_SHIFT)), i = line->locations;
	struct location *l;

	while (i != 0 && (locations[i].offset != offset || locations[i].size != size))
		i = locations[i].next;
	if (i == 0)
		return add_location(line, at, size);
	l = &locations[i];
	if (l->history[l->newest % HISTORY].value != memory_peek(at, size))
		begin_anew(l, at);
	return l;
}

void memory_forget(struct line *line, uint8_t granules)
{
	uint32_t *link = &line->locations;

	while (*link != 0) {
		struct location *l = &locations[*link];

		if (granules >> l->offset / 8 & 1)
			*link = l->next;
		else
			link = &l->next;
	}
}

_Noreturn static void fail_race(const struct location *l, bool wrote, uint32_t by, const char *what,
	uint32_t cpu, uint32_t site)
{
	memory_fail("race: atomic %s at %p by CPU %u and %s at %p by CPU %u are not ordered",
		wrote ? "write" : "read",
		site_address(wrote ? l->wrote_site[by] : l->read_site[by]), (unsigned int)by, what,
		site_address(site), (unsigned int)cpu);
}

void memory_judge_plain(const struct line *line, uint32_t granule, uint8_t mask, bool write,
	uint32_t cpu, uint32_t site)
{
	const uint32_t *now = explorer_memory.now[cpu].at;

	for (uint32_t i = line->locations; i != 0; i = locations[i].next) {
		struct location *l = &locations[i];
		uint32_t bytes = ((1u << l->size) - 1) << l->offset % 8;

		if (l->offset / 8 != granule || (bytes & mask) == 0)
			continue;
		for (uint32_t c = 0; c < explorer_memory.cpus; c++) {
			if (l->wrote[c] > now[c])
				fail_race(l, true, c, write ? "write" : "read", cpu, site);
			if (write && l->read[c] > now[c])
				fail_race(l, false, c, "write", cpu, site);
		}
	}
}

/* The sites of a list, and `site`, are shared from now on. */
static void note_shared(uint32_t list, uint32_t site)
{
	site_note(site, SITE_SHARED);
	for (const struct site_node *n = site_node(list); n != NULL; n = site_node(n->next))
		site_note(n->site, SITE_SHARED);
}

static void learn(struct atomic *a, bool write)
{
	struct location *l = a->location;

	if (l->shared) {
		site_note(a->site, SITE_SHARED);
		return;
	}
	l->users |= (uint8_t)(1u << a->cpu);
	if (write)
		l->writers |= (uint8_t)(1u << a->cpu);
	if (l->writers == 0 || (l->users & (l->users - 1)) == 0) {
		site_list_add(&l->sites, a->site, 0, false);
		return;
	}
	l->shared = true;
	note_shared(l->sites, a->site);
}

/* What all atomics begin with: the point; behind it, who it is ... */
static void arrive(struct atomic *a)
{
	if ((uintptr_t)a->access.address % a->access.size != 0)
		memory_fail("limit: an atomic at %p that is not aligned", a->access.site);
	if (++atomics == ATOMICS_MAX)
		memory_fail("livelock: CPU %u, at %p", (unsigned int)memory_cpu(), a->access.site);
	if (!a->counts)
		point(&a->access);
	a->cpu = memory_cpu();
	a->site = site_offset(a->access.site);
}

/* ... and the location, judged against plain accesses. */
static void enter(struct atomic *a, bool write)
{
	const void *at = a->access.address;
	uint32_t size = a->access.size;
	struct line *line = shadow_line((uintptr_t)at);

	shadow_judge_atomic(line, shadow_granule((uintptr_t)at), shadow_mask((uintptr_t)at, size),
		write, a->cpu, a->site, !a->counts);
	a->location = find_location(line, at, size);
	if (!a->counts)
		learn(a, write);
}

/* ---- loads ---- */

static bool is_seen(const struct store *s, const struct clock *view)
{
	for (uint32_t c = 0; c < explorer_memory.cpus; c++) {
		if (s->seen.at[c] <= view->at[c])
			return true;
	}
	return false;
}

/* The number of the oldest store that a load may return. */
static uint32_t oldest_visible(const struct atomic *a, int order)
{
	const struct location *l = a->location;
	struct clock view = explorer_memory.now[a->cpu];
	uint32_t fenced = explorer_memory.fenced[a->cpu];
	uint32_t k = l->newest, last = k >= HISTORY ? k - (HISTORY - 1) : 0;

	if (order == __ATOMIC_SEQ_CST) {
		join(&view, &explorer_memory.sequential);
		fenced = UINT32_MAX;
	}
	for (; k > last; k--) {
		const struct store *s = &l->history[k % HISTORY];

		if (is_seen(s, &view) || (s->sequence != 0 && s->sequence <= fenced))
			break;
	}
	if (k < l->newest && l->stale_times[a->cpu] >= STALE_MAX && l->stale[a->cpu] == k)
		k++;
	return k;
}

/* Which store the load returns. */
static uint32_t choose_store(struct atomic *a, int order)
{
	const struct explorer_vehicle *vehicle = explorer_memory.vehicle;
	struct location *l = a->location;
	uint32_t n = l->newest - oldest_visible(a, order) + 1, k = l->newest;

	if (n > 1)
		k -= vehicle->choose(vehicle->context, MACHINE_CHOICE_VALUE, n, a->access.site);
	if (k == l->newest) {
		l->stale_times[a->cpu] = 0;
		return k;
	}
	if (l->stale[a->cpu] != k)
		l->stale_times[a->cpu] = 0;
	l->stale[a->cpu] = k;
	l->stale_times[a->cpu]++;
	a->access.stale = true;
	explorer_memory.saw_stale[a->cpu] = true;
	return k;
}

/* `cpu` knows the store, and what it carries now or at its next acquire fence. */
static void see(struct store *s, uint32_t cpu, int order)
{
	uint32_t epoch = explorer_memory.now[cpu].at[cpu];

	if (s->seen.at[cpu] > epoch)
		s->seen.at[cpu] = epoch;
	join(acquires(order) ? &explorer_memory.now[cpu] : &explorer_memory.acquired[cpu],
		&s->carries);
}

static uint64_t finish_load(struct atomic *a, struct store *s, int order)
{
	see(s, a->cpu, order);
	a->location->read[a->cpu] = explorer_memory.now[a->cpu].at[a->cpu];
	a->location->read_site[a->cpu] = a->site;
	a->access.value = s->value;
	tell(&a->access);
	return s->value;
}

uint64_t memory_load(const volatile void *at, uint32_t size, int order, const void *site)
{
	struct atomic a = {.access = {.site = site,
				   .address = (const void *)at,
				   .size = size,
				   .kind = EXPLORER_READ,
				   .order = (uint8_t)order,
				   .atomic = true}};

	arrive(&a);
	enter(&a, false);
	return finish_load(&a, &a.location->history[choose_store(&a, order) % HISTORY], order);
}

/* ---- stores ---- */

/* Append a store. `before`: what a read-modify-write read, or NULL. */
static void append(struct atomic *a, uint64_t value, int order, const struct store *before)
{
	struct explorer_memory *m = &explorer_memory;
	struct location *l = a->location;
	struct clock carries = releases(order) ? m->now[a->cpu] : m->released[a->cpu];
	struct store *s;

	if (before != NULL)
		join(&carries, &before->carries); /* it may be overwritten below */
	s = &l->history[++l->newest % HISTORY];
	s->value = value;
	s->sequence = order == __ATOMIC_SEQ_CST ? ++m->sequence : 0;
	for (uint32_t c = 0; c < EXPLORER_CPUS_MAX; c++)
		s->seen.at[c] = NEVER_SEEN;
	s->seen.at[a->cpu] = m->now[a->cpu].at[a->cpu];
	s->carries = carries;
	l->wrote[a->cpu] = m->now[a->cpu].at[a->cpu];
	l->wrote_site[a->cpu] = a->site;
	m->stores[a->cpu]++;
	if (releases(order))
		advance(a->cpu);
	memory_poke((volatile void *)(uintptr_t)a->access.address, a->access.size, value);
	a->access.value = value;
	tell(&a->access);
}

void memory_store(volatile void *at, uint32_t size, uint64_t value, int order, const void *site)
{
	struct atomic a = {.access = {.site = site,
				   .address = (const void *)at,
				   .size = size,
				   .kind = EXPLORER_WRITE,
				   .order = (uint8_t)order,
				   .atomic = true}};

	arrive(&a);
	enter(&a, true);
	append(&a, truncated(value, size), order, NULL);
}

uint64_t memory_update(volatile void *at, uint32_t size, enum memory_update what, uint64_t operand,
	int order, const void *site)
{
	struct atomic a = {.access = {.site = site,
				   .address = (const void *)at,
				   .size = size,
				   .kind = EXPLORER_UPDATE,
				   .order = (uint8_t)order,
				   .atomic = true},
		.counts = order == __ATOMIC_RELAXED && (what == MEMORY_ADD || what == MEMORY_SUB)};
	struct store *s;
	uint64_t value;

	arrive(&a);
	enter(&a, true);
	s = &a.location->history[a.location->newest % HISTORY];
	value = s->value;
	see(s, a.cpu, order);
	append(&a, memory_updated(what, size, value, operand), order, s);
	return value;
}

uint64_t memory_exchange_if(volatile void *at, uint32_t size, uint64_t expected, uint64_t desired,
	int order, int failure, const void *site)
{
	struct atomic a = {.access = {.site = site,
				   .address = (const void *)at,
				   .size = size,
				   .kind = EXPLORER_UPDATE,
				   .order = (uint8_t)order,
				   .atomic = true}};
	struct store *s;
	uint64_t value;

	arrive(&a);
	enter(&a, memory_peek(at, size) == truncated(expected, size));
	s = &a.location->history[a.location->newest % HISTORY];
	value = s->value;
	if (value != truncated(expected, size)) {
		a.access.order = (uint8_t)failure;
		return finish_load(&a, s, failure);
	}
	see(s, a.cpu, order);
	append(&a, truncated(desired, size), order, s);
	return value;
}

/* ---- fences ---- */

static void learn_fence(uint32_t cpu, uint32_t site)
{
	fences.users |= (uint8_t)(1u << cpu);
	if (fences.shared) {
		site_note(site, SITE_SHARED);
	} else if ((fences.users & (fences.users - 1)) == 0) {
		site_list_add(&fences.sites, site, 0, false);
	} else {
		fences.shared = true;
		note_shared(fences.sites, site);
	}
}

void memory_fence(int order, const void *site)
{
	struct explorer_memory *m = &explorer_memory;
	struct explorer_access access = {
		.site = site, .kind = EXPLORER_FENCE, .order = (uint8_t)order, .atomic = true};
	uint32_t cpu;

	if (order == __ATOMIC_SEQ_CST)
		point(&access); /* the others' order with it can be seen */
	cpu = memory_cpu();
	if (acquires(order))
		join(&m->now[cpu], &m->acquired[cpu]);
	if (order == __ATOMIC_SEQ_CST) {
		learn_fence(cpu, site_offset(site));
		join(&m->now[cpu], &m->sequential);
		m->sequential = m->now[cpu];
		m->fenced[cpu] = ++m->sequence;
	}
	if (releases(order)) {
		m->released[cpu] = m->now[cpu];
		advance(cpu);
	}
	tell(&access);
}

/* ---- what the machine orders ---- */

static struct sync *find_sync(const void *at)
{
	uint64_t generation = explorer_memory.generation;
	size_t index = (uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SYNCS_LOG2);
	struct sync *s = &syncs[index];

	while (s->generation == generation && s->at != at) {
		index = (index + 1) % (1u << SYNCS_LOG2);
		s = &syncs[index];
	}
	if (s->generation == generation)
		return s;
	if (++syncs_used == (1u << SYNCS_LOG2) * 3 / 4)
		memory_fail("limit: the run orders more addresses than the explorer can remember");
	*s = (struct sync){.at = at, .generation = generation};
	return s;
}

static void release(void *at)
{
	uint32_t cpu = memory_cpu();

	join(&find_sync(at)->clock, &explorer_memory.now[cpu]);
	advance(cpu);
}

static void acquire(void *at)
{
	join(&explorer_memory.now[memory_cpu()], &find_sync(at)->clock);
}

static void quiet(void)
{
	struct explorer_memory *m = &explorer_memory;
	struct clock all = {0};

	for (uint32_t c = 0; c < m->cpus; c++)
		join(&all, &m->now[c]);
	for (uint32_t c = 0; c < m->cpus; c++) {
		m->now[c] = all;
		advance(c);
	}
}

static const struct machine_order_judge judge = {.release = release,
	.acquire = acquire,
	.fresh = shadow_fresh,
	.freed = shadow_freed,
	.quiet = quiet};

/* ---- a run ---- */

static void begin_run(uint32_t cpus)
{
	struct explorer_memory *m = &explorer_memory;

	m->cpus = cpus;
	m->sequence = 0;
	m->sequential = (struct clock){0};
	for (uint32_t c = 0; c < EXPLORER_CPUS_MAX; c++) {
		m->now[c] = m->acquired[c] = m->released[c] = (struct clock){0};
		m->stores[c] = 0;
		m->saw_stale[c] = false;
		m->fenced[c] = 0;
		advance(c);
	}
	locations_used = 1;
	atomics = 0;
	syncs_used = 0;
	fences.users = 0;
	fences.shared = false;
	fences.sites = 0;
	shadow_begin();
}

void explorer_watch(const struct explorer_vehicle *vehicle, uint32_t cpus)
{
	static const bool masked = true; /* until the machine says where it is */

	explorer_memory.vehicle = vehicle;
	explorer_memory.quick = false;
	machine_order.judge = NULL;
	if (vehicle == NULL)
		return;
	if (cpus > EXPLORER_CPUS_MAX)
		abort(); /* the vehicle has more than it may have */
	if (machine_order.masked == NULL)
		machine_order.masked = &masked;
	explorer_memory.quick = vehicle->step == NULL;
	begin_run(cpus);
	machine_order.judge = &judge;
}
