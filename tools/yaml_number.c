/* SPDX-License-Identifier: MIT
 *
 * yaml_number.c: integers of scenario files.
 *
 * Decimal or hexadecimal (0x), underscores between digits, and a suffix where a unit applies:
 * counts take k, M and G, times take ns, us, ms and s. With a suffix a value may have decimals
 * ("0.5ms") as long as the result is whole: scenario files state exact amounts, so nothing is
 * rounded. A time without a suffix would leave its unit to the reader's guess, so only 0 may stand
 * alone.
 */
#include <inttypes.h>
#include <string.h>

#include "yaml_reader.h"

struct suffix {
	const char *text;
	uint64_t factor;
};

static const struct suffix count_suffixes[] = {
	{"", 1}, {"k", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};
static const struct suffix time_suffixes[] = {
	{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};

/* A number as written: digits before and behind the point. */
struct number {
	uint64_t whole;
	uint64_t fraction;       /* the digits behind the point */
	uint64_t fraction_scale; /* 10 to the number of them */
	bool hexadecimal;
};

static int digit_value(char c, bool hexadecimal)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (hexadecimal && c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (hexadecimal && c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Digits and underscores at *text, which is moved behind them. False: none, or too large for 64
 * bits. */
static bool parse_digits(const char **text, bool hexadecimal, uint64_t *value, uint64_t *scale)
{
	uint64_t base = hexadecimal ? 16 : 10;
	bool any = false;

	*value = 0;
	*scale = 1;
	for (;; (*text)++) {
		int digit;

		if (**text == '_' && any)
			continue;
		digit = digit_value(**text, hexadecimal);
		if (digit < 0)
			return any;
		if (__builtin_mul_overflow(*value, base, value) ||
			__builtin_add_overflow(*value, (uint64_t)digit, value))
			return false;
		/* Only used behind the point, where 19 digits are the most that can matter. */
		if (__builtin_mul_overflow(*scale, base, scale))
			*scale = UINT64_MAX;
		any = true;
	}
}

static bool parse_number(const char **text, struct number *number)
{
	uint64_t scale;

	*number = (struct number){.fraction_scale = 1};
	if ((*text)[0] == '0' && (*text)[1] == 'x') {
		*text += 2;
		number->hexadecimal = true;
	}
	if (!parse_digits(text, number->hexadecimal, &number->whole, &scale))
		return false;
	if (**text != '.' || number->hexadecimal)
		return true;
	(*text)++;
	return parse_digits(text, false, &number->fraction, &number->fraction_scale) &&
	       number->fraction_scale != UINT64_MAX;
}

/* number times factor, if that is whole and fits. */
static bool scale_number(const struct number *number, uint64_t factor, uint64_t *value)
{
	unsigned __int128 fraction = (unsigned __int128)number->fraction * factor;

	if (fraction % number->fraction_scale != 0)
		return false;
	return !__builtin_mul_overflow(number->whole, factor, value) &&
	       !__builtin_add_overflow(
		       *value, (uint64_t)(fraction / number->fraction_scale), value);
}

uint64_t yaml_integer(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
	enum yaml_unit unit, uint64_t min, uint64_t max)
{
	const struct suffix *suffix = unit == YAML_TIME_NS ? time_suffixes : count_suffixes;
	const char *text = yaml_string(reader, node, what);
	const char *rest = text;
	struct number number;
	uint64_t value = 0;

	if (node == NULL || yaml_reader_failed(reader))
		return min;
	if (!parse_number(&rest, &number)) {
		yaml_error(reader, node, "%s: `%s` is no number of at most 64 bits", what, text);
		return min;
	}
	while (suffix->text != NULL && strcmp(suffix->text, rest) != 0)
		suffix++;
	if (suffix->text == NULL && !(rest[0] == '\0' && number.whole == 0)) {
		yaml_error(reader, node, "%s: `%s`: expected a number %s", what, text,
			unit == YAML_TIME_NS ? "with one of ns, us, ms, s"
					     : "with nothing or one of k, M, G behind it");
		return min;
	}
	if (!scale_number(&number, suffix->text != NULL ? suffix->factor : 1, &value)) {
		yaml_error(reader, node, "%s: `%s` is not whole, or too large", what, text);
		return min;
	}
	if (value < min || value > max) {
		yaml_error(reader, node, "%s: %s is outside %" PRIu64 " .. %" PRIu64 "%s", what,
			text, min, max, unit == YAML_TIME_NS ? " ns" : "");
		return min;
	}
	return value;
}
