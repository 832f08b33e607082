/* SPDX-License-Identifier: MIT
 *
 * format.c: formatted text, the conversions that kernel/string.h names. No floating point, no
 * allocation. Any context.
 */
#include <kernel/string.h>

struct out {
	char *to;
	size_t size;
	size_t n; /* length of the whole text so far */
};

struct spec {
	bool zero, left;
	int width;
	int precision; /* -1: none */
	int longs;     /* 0 int, 1 or more 64 bits */
};

static void put(struct out *out, char c)
{
	if (out->n + 1 < out->size)
		out->to[out->n] = c;
	out->n++;
}

static void put_padded(
	struct out *out, const struct spec *spec, const char *text, size_t n, const char *sign)
{
	size_t sign_len = strlen(sign);
	size_t pad = spec->width > (int)(n + sign_len) ? (size_t)spec->width - n - sign_len : 0;

	if (!spec->left && !spec->zero)
		for (size_t i = 0; i < pad; i++)
			put(out, ' ');
	while (*sign != '\0')
		put(out, *sign++);
	if (!spec->left && spec->zero)
		for (size_t i = 0; i < pad; i++)
			put(out, '0');
	for (size_t i = 0; i < n; i++)
		put(out, text[i]);
	if (spec->left)
		for (size_t i = 0; i < pad; i++)
			put(out, ' ');
}

static void put_number(
	struct out *out, const struct spec *spec, u64 value, unsigned base, const char *sign)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value != 0);
	put_padded(out, spec, digits + at, sizeof(digits) - at, sign);
}

static const char *parse_spec(const char *f, struct spec *spec, va_list *args)
{
	*spec = (struct spec){.precision = -1};
	for (;; f++) {
		if (*f == '0')
			spec->zero = true;
		else if (*f == '-')
			spec->left = true;
		else
			break;
	}
	if (*f == '*') {
		spec->width = va_arg(*args, int);
		f++;
	}
	while (*f >= '0' && *f <= '9')
		spec->width = spec->width * 10 + (*f++ - '0');
	if (*f == '.') {
		f++;
		spec->precision = 0;
		if (*f == '*') {
			spec->precision = va_arg(*args, int);
			f++;
		}
		while (*f >= '0' && *f <= '9')
			spec->precision = spec->precision * 10 + (*f++ - '0');
	}
	while (*f == 'l' || *f == 'z') {
		spec->longs++;
		f++;
	}
	return f;
}

static void put_string(struct out *out, const struct spec *spec, const char *s)
{
	if (s == NULL)
		s = "(null)";
	put_padded(out, spec, s,
		spec->precision >= 0 ? strnlen(s, (size_t)spec->precision) : strlen(s), "");
}

static void convert(struct out *out, char kind, struct spec *spec, va_list *args)
{
	s64 value;
	char c;

	switch (kind) {
	case 'd':
	case 'i':
		value = spec->longs ? va_arg(*args, s64) : va_arg(*args, int);
		put_number(out, spec, value < 0 ? 0 - (u64)value : (u64)value, 10,
			value < 0 ? "-" : "");
		break;
	case 'u':
		put_number(out, spec, spec->longs ? va_arg(*args, u64) : va_arg(*args, unsigned),
			10, "");
		break;
	case 'x':
		put_number(out, spec, spec->longs ? va_arg(*args, u64) : va_arg(*args, unsigned),
			16, "");
		break;
	case 'p':
		put_number(out, spec, (u64)va_arg(*args, void *), 16, "0x");
		break;
	case 's':
		spec->zero = false;
		put_string(out, spec, va_arg(*args, const char *));
		break;
	case 'c':
		c = (char)va_arg(*args, int);
		put_padded(out, spec, &c, 1, "");
		break;
	default: /* %% and what we do not know */
		put(out, kind);
		break;
	}
}

int format_args(char *to, size_t size, const char *text, va_list args)
{
	struct out out = {.to = to, .size = size};
	struct spec spec;
	va_list copy;

	va_copy(copy, args);
	for (const char *f = text; *f != '\0'; f++) {
		if (*f != '%') {
			put(&out, *f);
			continue;
		}
		f = parse_spec(f + 1, &spec, &copy);
		if (*f == '\0')
			break;
		convert(&out, *f, &spec, &copy);
	}
	va_end(copy);
	if (size > 0)
		to[MIN(out.n, size - 1)] = '\0';
	return (int)out.n;
}

int format(char *to, size_t size, const char *text, ...)
{
	va_list args;
	int n;

	va_start(args, text);
	n = format_args(to, size, text, args);
	va_end(args);
	return n;
}
