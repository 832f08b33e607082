/* SPDX-License-Identifier: MIT
 *
 * list.h: intrusive circular lists. A head and a node are the same type; a node that is on no list
 * points to itself.
 */
#ifndef TALLY_CORE_LIST_H
#define TALLY_CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct tally_list {
	struct tally_list *next;
	struct tally_list *prev;
};

#define TALLY_CONTAINER(pointer, type, member)                                                     \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Visit every node; the body must not unlink nodes. */
#define TALLY_LIST_FOR_EACH(node, head)                                                            \
	for (struct tally_list *node = (head)->next; node != (head); node = node->next)

static inline void list_init(struct tally_list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct tally_list *head)
{
	return head->next == head;
}

static inline void list_unlink(struct tally_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

static inline void list_append(struct tally_list *head, struct tally_list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

#endif
