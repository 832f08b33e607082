/* SPDX-License-Identifier: MIT
 *
 * Memory and text primitives of the guest programs: see bytes.h.
 *
 * Plain byte loops. They are compiled with -fno-builtin and without loop-idiom recognition, so that
 * the compiler does not turn the body of memcpy into a call of memcpy. Speed does not matter: no
 * measured stretch of any program calls them.
 */
#include "bytes.h"

void *memcpy(void *to, const void *from, size_t bytes)
{
	unsigned char *d = to;
	const unsigned char *s = from;

	while (bytes--)
		*d++ = *s++;
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	unsigned char *d = to;
	const unsigned char *s = from;

	if ((uintptr_t)d <= (uintptr_t)s)
		return memcpy(to, from, bytes);
	while (bytes--)
		d[bytes] = s[bytes];
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	unsigned char *d = to;

	while (bytes--)
		*d++ = (unsigned char)value;
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *p = a, *q = b;

	for (; bytes; bytes--, p++, q++) {
		if (*p != *q)
			return *p < *q ? -1 : 1;
	}
	return 0;
}

size_t text_length(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

bool text_equal(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_contains(const char *text, const char *needle)
{
	for (; *text; text++) {
		size_t i = 0;

		while (needle[i] && lower(text[i]) == lower(needle[i]))
			i++;
		if (!needle[i])
			return true;
	}
	return false;
}

int64_t text_number(const char *text)
{
	bool negative = *text == '-';
	uint64_t value = 0;
	unsigned base = 10;

	text += negative;
	if (text[0] == '0' && lower(text[1]) == 'x') {
		base = 16;
		text += 2;
	}
	for (;; text++) {
		char c = lower(*text);
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			break;
		if (digit >= base)
			break;
		value = value * base + digit;
	}
	return negative ? (int64_t)(0 - value) : (int64_t)value;
}
