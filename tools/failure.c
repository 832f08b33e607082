/* SPDX-License-Identifier: MIT
 *
 * failure.c: keeps the first failure of a piece of work (see failure.h).
 */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

void failure_set(struct failure *failure, const char *format, ...)
{
	va_list arguments;

	if (failure->failed)
		return;
	failure->failed = true;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof(failure->text), format, arguments);
	va_end(arguments);
}
