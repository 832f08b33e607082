/* SPDX-License-Identifier: MIT
 *
 * tree.c: memory for device trees with a guard page behind them (tree.h).
 */
#include "tree.h"

#include <criterion/criterion.h>
#include <libfdt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES     4096u
#define FILE_BYTES_MAX 65536u

static struct tree tree_new(size_t size)
{
	size_t pages = (size + 7 + PAGE_BYTES - 1) / PAGE_BYTES;
	struct tree tree = {.size = size, .map_size = (pages + 1) * PAGE_BYTES};

	tree.map = mmap(
		NULL, tree.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(tree.map != MAP_FAILED);
	cr_assert(mprotect((char *)tree.map + pages * PAGE_BYTES, PAGE_BYTES, PROT_NONE) == 0);
	tree.bytes = (unsigned char *)tree.map + pages * PAGE_BYTES - ((size + 7) & ~(size_t)7);
	return tree;
}

struct tree tree_load(const char *name)
{
	static unsigned char bytes[FILE_BYTES_MAX];
	struct tree tree;
	char path[512];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.dtb", TREES_DIR, name);
	file = fopen(path, "rb");
	cr_assert(file != NULL, "%s", path);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	cr_assert(size > sizeof(struct fdt_header) && size < sizeof(bytes), "%s", path);
	tree = tree_new(size);
	memcpy(tree.bytes, bytes, size);
	return tree;
}

struct tree tree_copy(const struct tree *from, size_t size)
{
	struct tree tree = tree_new(size);

	cr_assert(size <= from->size);
	memcpy(tree.bytes, from->bytes, size);
	return tree;
}

struct tree tree_copy_with_room(const struct tree *from, size_t room)
{
	struct tree tree = tree_new(from->size + room);

	cr_assert(fdt_open_into(from->bytes, tree.bytes, (int)tree.size) == 0);
	return tree;
}

void tree_free(struct tree *tree)
{
	munmap(tree->map, tree->map_size);
}
