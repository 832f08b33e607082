/* SPDX-License-Identifier: MIT
 *
 * string.c: memory and string functions for the kernel, the engine and libfdt.
 *
 * memcpy() and memset() move eight bytes at a time when both sides are aligned alike; the compiler
 * is kept from turning the loops into calls to themselves by -fno-builtin (kernel/CMakeLists.txt).
 * Any context.
 */
#include <kernel/string.h>

#define WORD sizeof(u64)

typedef u64 __attribute__((may_alias)) word_t;

void *memcpy(void *to, const void *from, size_t n)
{
	u8 *d = to;
	const u8 *s = from;

	if ((((u64)d ^ (u64)s) & (WORD - 1)) == 0) {
		while (n > 0 && ((u64)d & (WORD - 1)) != 0) {
			*d++ = *s++;
			n--;
		}
		for (; n >= WORD; n -= WORD, d += WORD, s += WORD)
			*(word_t *)(void *)d = *(const word_t *)(const void *)s;
	}
	while (n-- > 0)
		*d++ = *s++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	u8 *d = to;
	const u8 *s = from;

	if ((u64)d - (u64)s >= n)
		return memcpy(to, from, n);
	while (n-- > 0)
		d[n] = s[n];
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	u8 *d = to;
	u64 word = (u64)(u8)byte * 0x0101010101010101ull;

	while (n > 0 && ((u64)d & (WORD - 1)) != 0) {
		*d++ = (u8)byte;
		n--;
	}
	for (; n >= WORD; n -= WORD, d += WORD)
		*(word_t *)(void *)d = word;
	while (n-- > 0)
		*d++ = (u8)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *p = a;
	const u8 *q = b;

	for (size_t i = 0; i < n; i++)
		if (p[i] != q[i])
			return p[i] - q[i];
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const u8 *p = s;

	for (size_t i = 0; i < n; i++)
		if (p[i] == (u8)c)
			return (void *)(u64)(p + i);
	return NULL;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n] != '\0')
		n++;
	return n;
}

size_t strnlen(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] != '\0')
		i++;
	return i;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i] != b[i])
			return (u8)a[i] - (u8)b[i];
		if (a[i] == '\0')
			break;
	}
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)(u64)s;
		if (*s == '\0')
			return NULL;
	}
}

char *strrchr(const char *s, int c)
{
	const char *found = NULL;

	for (;; s++) {
		if (*s == (char)c)
			found = s;
		if (*s == '\0')
			return (char *)(u64)found;
	}
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A') + 10;
	return 99;
}

/* Without sign and leading blanks, which no caller has; wraps on overflow. */
unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long value = 0;

	if ((base == 0 || base == 16) && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') &&
		digit_value(s[2]) < 16) {
		s += 2;
		base = 16;
	} else if (base == 0) {
		base = s[0] == '0' ? 8 : 10;
	}
	while (digit_value(*s) < (unsigned)base)
		value = value * (unsigned)base + digit_value(*s++);
	if (end != NULL)
		*end = (char *)(u64)s;
	return value;
}

bool string_copy(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size);
	bool fits = n < size;

	if (size == 0)
		return false;
	if (!fits)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
	return fits;
}
