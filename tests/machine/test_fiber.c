/* SPDX-License-Identifier: MIT
 *
 * test_fiber.c: the switch between stacks.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <machine/fiber.h>

struct pair {
	struct fiber host;
	struct fiber *fiber[3];
	char trail[64];
	int turns;
};

static void mark(struct pair *p, char c)
{
	size_t length = strlen(p->trail);

	cr_assert_lt(length + 1, sizeof(p->trail));
	p->trail[length] = c;
}

static void ping(void *argument)
{
	struct pair *p = argument;

	for (;;) {
		mark(p, 'a');
		fiber_switch(p->fiber[0], p->fiber[1]);
	}
}

static void pong(void *argument)
{
	struct pair *p = argument;

	for (;;) {
		mark(p, 'b');
		fiber_switch(p->fiber[1], ++p->turns < 3 ? p->fiber[0] : &p->host);
	}
}

Test(fiber, switches_directly_and_through_the_host)
{
	struct fiber_pool *pool = fiber_pool_create();
	struct pair p = {0};

	fiber_host(&p.host);
	p.fiber[0] = fiber_take(pool, ping, &p);
	p.fiber[1] = fiber_take(pool, pong, &p);
	mark(&p, '(');
	fiber_switch(&p.host, p.fiber[0]);
	mark(&p, ')');
	p.turns = 2;
	fiber_switch(&p.host, p.fiber[0]);
	mark(&p, '.');
	cr_assert_str_eq(p.trail, "(ababab)ab.");
	fiber_give(pool, p.fiber[0]); /* in mid-call: that is allowed */
	fiber_give(pool, p.fiber[1]);
	fiber_pool_destroy(pool);
}

/* Values that the compiler keeps in callee-saved registers across calls must come back, and the
 * stack must be aligned for what libc does with vectors. */
static void deep(void *argument)
{
	struct pair *p = argument;
	volatile double sum = 0.5;
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
	char text[64];

	for (int i = 0; i < 5; i++) {
		a += b;
		b += c;
		c += d;
		d += e;
		e += f;
		f += a;
		fiber_switch(p->fiber[2], &p->host);
		sum = sum + 1.25;
	}
	snprintf(text, sizeof(text), "%lu %lu %lu %.2f", (unsigned long)a, (unsigned long)f,
		(unsigned long)(b ^ e), sum);
	strcpy(p->trail, text);
	fiber_leave(p->fiber[2], &p->host);
}

static uint64_t straight(uint64_t *last_f, uint64_t *mixed)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;

	for (int i = 0; i < 5; i++) {
		a += b;
		b += c;
		c += d;
		d += e;
		e += f;
		f += a;
	}
	*last_f = f;
	*mixed = b ^ e;
	return a;
}

Test(fiber, keeps_registers)
{
	struct fiber_pool *pool = fiber_pool_create();
	struct pair p = {0};
	uint64_t a, f, mixed;
	char expected[64];

	fiber_host(&p.host);
	p.fiber[2] = fiber_take(pool, deep, &p);
	for (int i = 0; i < 6; i++)
		fiber_switch(&p.host, p.fiber[2]);
	a = straight(&f, &mixed);
	snprintf(expected, sizeof(expected), "%lu %lu %lu 6.75", (unsigned long)a, (unsigned long)f,
		(unsigned long)mixed);
	cr_assert_str_eq(p.trail, expected);
	fiber_give(pool, p.fiber[2]);
	fiber_pool_destroy(pool);
}

Test(fiber, pool_reuses_stacks)
{
	struct fiber_pool *pool = fiber_pool_create();
	struct pair p = {0};
	struct fiber *first = fiber_take(pool, ping, &p), *second;

	cr_assert_not_null(first);
	fiber_give(pool, first);
	second = fiber_take(pool, ping, &p);
	cr_assert_eq(second, first);
	fiber_give(pool, second);
	fiber_pool_destroy(pool);
}
