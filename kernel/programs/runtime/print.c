/* SPDX-License-Identifier: MIT
 *
 * The formatter behind print(): see print.h.
 *
 * `struct line` is the growing text; put() drops what does not fit, so that nothing here can write
 * past the caller's buffer. A conversion that we do not have prints as `%?`, which no verdict line
 * contains: the host scripts would show it.
 */
#include "print.h"

#include "bytes.h"
#include "syscall.h"

struct line {
	char *text;
	size_t length;
	size_t limit; /* bytes, one of them for the final zero */
};

struct conversion {
	bool zero_fill;
	bool left;
	bool is_long;
	size_t width;
};

static void put(struct line *line, char c)
{
	if (line->length + 1 < line->limit)
		line->text[line->length++] = c;
}

static void put_field(struct line *line, const struct conversion *how, const char *text)
{
	size_t length = text_length(text);
	size_t pad = how->width > length ? how->width - length : 0;

	if (!how->left && how->zero_fill && *text == '-') {
		put(line, *text++);
	}
	for (; !how->left && pad; pad--)
		put(line, how->zero_fill ? '0' : ' ');
	while (*text)
		put(line, *text++);
	for (; pad; pad--)
		put(line, ' ');
}

static void put_number(
	struct line *line, const struct conversion *how, uint64_t value, unsigned base, bool minus)
{
	char digits[24];
	size_t at = sizeof digits;

	digits[--at] = 0;
	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	if (minus)
		digits[--at] = '-';
	put_field(line, how, digits + at);
}

static const char *parse_conversion(const char *format, struct conversion *how)
{
	for (; *format == '0' || *format == '-'; format++) {
		if (*format == '0')
			how->zero_fill = true;
		else
			how->left = true;
	}
	for (; *format >= '0' && *format <= '9'; format++)
		how->width = how->width * 10 + (size_t)(*format - '0');
	for (; *format == 'l'; format++)
		how->is_long = true;
	return format;
}

size_t format_line(char *text, size_t bytes, const char *format, va_list arguments)
{
	struct line line = {.text = text, .limit = bytes};

	for (; *format; format++) {
		struct conversion how = {0};
		char one[2] = {0};
		int64_t number;

		if (*format != '%') {
			put(&line, *format);
			continue;
		}
		format = parse_conversion(format + 1, &how);
		switch (*format) {
		case 'd':
		case 'i':
			number = how.is_long ? va_arg(arguments, long) : va_arg(arguments, int);
			put_number(&line, &how,
				number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10,
				number < 0);
			break;
		case 'u':
		case 'x':
			put_number(&line, &how,
				how.is_long ? va_arg(arguments, unsigned long)
					    : va_arg(arguments, unsigned int),
				*format == 'x' ? 16 : 10, false);
			break;
		case 's':
			put_field(&line, &how, va_arg(arguments, const char *));
			break;
		case 'c':
			one[0] = (char)va_arg(arguments, int);
			put_field(&line, &how, one);
			break;
		case '%':
			put(&line, '%');
			break;
		default:
			put_field(&line, &how, "%?");
			if (!*format)
				format--;
			break;
		}
	}
	line.text[line.length] = 0;
	return line.length;
}

void print(const char *format, ...)
{
	char text[PRINT_LINE_BYTES];
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	length = format_line(text, sizeof text, format, arguments);
	va_end(arguments);
	sys_write(1, text, length);
}
