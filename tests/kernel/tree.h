/* SPDX-License-Identifier: MIT
 *
 * tree.h: compiled device trees for the tests, in memory that ends at a page without access, so
 * that a read beyond the tree's last byte is a crash and not luck.
 */
#ifndef TESTS_KERNEL_TREE_H
#define TESTS_KERNEL_TREE_H

#include <stddef.h>

struct tree {
	unsigned char *bytes; /* 8-byte aligned; at most 7 bytes lie between the end and the page */
	size_t size;
	void *map;
	size_t map_size;
};

/* The file NAME.dtb of the build. A test that cannot have it fails. */
struct tree tree_load(const char *name);

/* The first `size` bytes of another tree. */
struct tree tree_copy(const struct tree *from, size_t size);

/* The same tree with `room` bytes more, for libfdt to edit in. */
struct tree tree_copy_with_room(const struct tree *from, size_t room);

void tree_free(struct tree *tree);

#endif
