/* SPDX-License-Identifier: MIT
 *
 * sites.c: which class each site has (explorer/watch.h).
 *
 * A site is a return address in the program's text, so the table has a byte for each byte of it:
 * two bits that are in effect, two that are only noted. It lies in memory that processes forked
 * later share, and bits are only ever set, with the host's atomics: several may learn at once.
 */
#include <errno.h>
#include <sys/mman.h>

#include "memory.h"

struct explorer_sites explorer_sites;

int explorer_sites_init(void)
{
	size_t size = (size_t)(etext - __executable_start) + 1;
	void *table;

	if (explorer_sites.size != 0)
		(void)munmap(explorer_sites.class, explorer_sites.size);
	explorer_sites = (struct explorer_sites){0};
	table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		return -ENOMEM;
	explorer_sites.class = table;
	explorer_sites.size = size;
	return 0;
}

void explorer_sites_learn(bool on)
{
	explorer_sites.learning = on;
}

void site_note(uint32_t offset, uint32_t class)
{
	uint32_t bits = class << SITE_NOTED | (explorer_sites.learning ? class : 0);

	if (offset >= explorer_sites.size || (explorer_sites.class[offset] & bits) == bits)
		return;
	__atomic_fetch_or(&explorer_sites.class[offset], (uint8_t)bits, __ATOMIC_RELAXED);
}

static uint32_t class_at(size_t offset)
{
	return __atomic_load_n(&explorer_sites.class[offset], __ATOMIC_RELAXED);
}

uint32_t explorer_sites_promote(void)
{
	uint32_t changed = 0;

	for (size_t i = 0; i < explorer_sites.size; i++) {
		uint32_t class = class_at(i), noted = class >> SITE_NOTED & SITE_EFFECT;

		if ((noted & ~class) == 0)
			continue;
		__atomic_fetch_or(&explorer_sites.class[i], (uint8_t)noted, __ATOMIC_RELAXED);
		changed++;
	}
	return changed;
}

/* FNV-1a */
uint64_t explorer_sites_hash(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < explorer_sites.size; i++) {
		uint32_t effect = class_at(i) & SITE_EFFECT;

		if (effect != 0)
			hash = (hash ^ ((uint64_t)i << 2 | effect)) * UINT64_C(0x100000001b3);
	}
	return hash;
}

uint32_t explorer_sites_shared(void)
{
	uint32_t count = 0;

	for (size_t i = 0; i < explorer_sites.size; i++)
		count += class_at(i) & SITE_SHARED;
	return count;
}
