/* SPDX-License-Identifier: MIT
 *
 * list.h: doubly linked rings of links that lie inside the objects.
 *
 * A list is a link that belongs to no object. An unlinked link points to itself, so list_remove()
 * may be called twice. Whoever owns the list says which lock guards it.
 */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include <kernel/types.h>

struct list {
	struct list *prev;
	struct list *next;
};

#define LIST_INIT(name)                                                                            \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}

static inline void list_init(struct list *l)
{
	l->prev = l;
	l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/* Link `n` before `where`: at the tail when `where` is the list. */
static inline void list_insert_before(struct list *where, struct list *n)
{
	n->prev = where->prev;
	n->next = where;
	where->prev->next = n;
	where->prev = n;
}

static inline void list_insert_tail(struct list *l, struct list *n)
{
	list_insert_before(l, n);
}

static inline void list_insert_head(struct list *l, struct list *n)
{
	list_insert_before(l->next, n);
}

static inline void list_remove(struct list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define LIST_ENTRY(link, type, member) CONTAINER_OF(link, type, member)
#define LIST_FIRST(l, type, member)    LIST_ENTRY((l)->next, type, member)

#define LIST_FOR_EACH(pos, l) for (struct list *pos = (l)->next; pos != (l); pos = pos->next)

/* As LIST_FOR_EACH, but the body may unlink `pos`. */
#define LIST_FOR_EACH_SAFE(pos, l)                                                                 \
	for (struct list *pos = (l)->next, *pos##_next = pos->next; pos != (l);                    \
		pos = pos##_next, pos##_next = pos->next)

#endif
