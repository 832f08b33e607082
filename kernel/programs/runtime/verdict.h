/* SPDX-License-Identifier: MIT
 *
 * How a program says what it found.
 *
 *	verdict_begin("name");
 *	CHECK(value > 0, "value %lu", value);	a failed check prints one line and is remembered
 *	measure("cycles=%lu", value);		prints `measure NAME cycles=...`
 *	return verdict_end();			prints `verdict NAME pass` or `verdict NAME FAIL
 *...`
 *
 * The verdict line is the program's last line and its exit status says the same (0 or 1). The
 * first failed check is repeated as the verdict's reason. REQUIRE is for what the rest of a program
 * cannot do without: it ends the program with the verdict FAIL at once.
 *
 * The state belongs to the process that called verdict_begin: a forked child works on its own copy
 * and reports to its parent by its exit status (verdict_failures() != 0), never by a verdict line.
 * In a child, REQUIRE exits with status 1 and prints a check line only.
 */
#ifndef PROGRAMS_VERDICT_H
#define PROGRAMS_VERDICT_H

#include <stdbool.h>

void verdict_begin(const char *name);
int verdict_end(void);
unsigned verdict_failures(void);

/* For a forked child: forgets the failures of its parent. */
void verdict_forget(void);

__attribute__((format(printf, 1, 2))) void measure(const char *format, ...);

__attribute__((format(printf, 3, 4))) void verdict_failed(
	const char *where, const char *condition, const char *format, ...);
_Noreturn void verdict_give_up(void);

#define VERDICT_TEXT_(x) #x
#define VERDICT_TEXT(x)  VERDICT_TEXT_(x)
#define VERDICT_WHERE    __FILE_NAME__ ":" VERDICT_TEXT(__LINE__)

#define CHECK(condition, ...)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			verdict_failed(VERDICT_WHERE, #condition, __VA_ARGS__);                    \
	} while (0)

#define REQUIRE(condition, ...)                                                                    \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			verdict_failed(VERDICT_WHERE, #condition, __VA_ARGS__);                    \
			verdict_give_up();                                                         \
		}                                                                                  \
	} while (0)

#endif
