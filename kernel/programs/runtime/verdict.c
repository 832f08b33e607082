/* SPDX-License-Identifier: MIT
 *
 * The verdict of a program: see verdict.h.
 *
 * One static record per process. Failed checks are printed as they happen, up to a limit, so that a
 * program that fails in a loop does not flood the console; all are counted.
 */
#include "verdict.h"

#include "bytes.h"
#include "print.h"
#include "syscall.h"

#define CHECK_LINES_MAX 20u

static struct {
	const char *name;
	long owner_pid; /* the process that may print the verdict line */
	unsigned failures;
	char first[160]; /* the first failed check, for the verdict line */
} verdict;

void verdict_begin(const char *name)
{
	verdict.name = name;
	verdict.owner_pid = sys_getpid();
	verdict.failures = 0;
}

void verdict_forget(void)
{
	verdict.failures = 0;
}

unsigned verdict_failures(void)
{
	return verdict.failures;
}

int verdict_end(void)
{
	if (!verdict.failures) {
		print("verdict %s pass\n", verdict.name);
		return 0;
	}
	print("verdict %s FAIL %u checks, first: %s\n", verdict.name, verdict.failures,
		verdict.first);
	return 1;
}

void measure(const char *format, ...)
{
	char text[PRINT_LINE_BYTES - 64];
	va_list arguments;

	va_start(arguments, format);
	format_line(text, sizeof text, format, arguments);
	va_end(arguments);
	print("measure %s %s\n", verdict.name, text);
}

static size_t format_into(char *text, size_t bytes, const char *format, ...)
{
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	length = format_line(text, bytes, format, arguments);
	va_end(arguments);
	return length;
}

void verdict_failed(const char *where, const char *condition, const char *format, ...)
{
	char values[160];
	va_list arguments;

	va_start(arguments, format);
	format_line(values, sizeof values, format, arguments);
	va_end(arguments);
	if (!verdict.failures)
		format_into(verdict.first, sizeof verdict.first, "%s: %s", where, values);
	if (verdict.failures < CHECK_LINES_MAX)
		print("check %s %s failed: %s (%s)\n", verdict.name, where, condition, values);
	verdict.failures++;
}

_Noreturn void verdict_give_up(void)
{
	if (sys_getpid() == verdict.owner_pid)
		verdict_end();
	sys_exit(1);
}
