/* SPDX-License-Identifier: MIT
 *
 * test_yaml_reader.c: integers with suffixes, and where errors say they are.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "yaml_reader.h"

/* A reader over `text`, in a file of its own. */
struct text_reader {
	struct yaml_reader yaml;
	struct failure failure;
	char path[32];
};

static void open_text(struct text_reader *reader, const char *text)
{
	int fd;

	memset(reader, 0, sizeof(*reader));
	strcpy(reader->path, "/tmp/test_yaml_XXXXXX");
	fd = mkstemp(reader->path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	yaml_reader_open(&reader->yaml, reader->path, &reader->failure);
}

static void close_text(struct text_reader *reader)
{
	yaml_reader_close(&reader->yaml);
	unlink(reader->path);
}

struct integer_case {
	const char *text;
	enum yaml_unit unit;
	uint64_t max;
	bool good;
	uint64_t value;
};

static const struct integer_case integer_cases[] = {
	{"0", YAML_COUNT, 10, true, 0},
	{"10", YAML_COUNT, 10, true, 10},
	{"11", YAML_COUNT, 10, false, 0},
	{"0x1f", YAML_COUNT, 100, true, 31},
	{"0xFFFFFFFFFFFFFFFF", YAML_COUNT, UINT64_MAX, true, UINT64_MAX},
	{"18446744073709551615", YAML_COUNT, UINT64_MAX, true, UINT64_MAX},
	{"18446744073709551616", YAML_COUNT, UINT64_MAX, false, 0},
	{"1_000_000", YAML_COUNT, UINT64_MAX, true, 1000000},
	{"_1", YAML_COUNT, UINT64_MAX, false, 0},
	{"3k", YAML_COUNT, UINT64_MAX, true, 3000},
	{"1.5M", YAML_COUNT, UINT64_MAX, true, 1500000},
	{"20G", YAML_COUNT, UINT64_MAX, true, UINT64_C(20000000000)},
	{"18446744074G", YAML_COUNT, UINT64_MAX, false, 0},
	{"1.0005k", YAML_COUNT, UINT64_MAX, false, 0},
	{"1.5", YAML_COUNT, UINT64_MAX, false, 0},
	{"-1", YAML_COUNT, UINT64_MAX, false, 0},
	{"", YAML_COUNT, UINT64_MAX, false, 0},
	{"0x", YAML_COUNT, UINT64_MAX, false, 0},
	{"1 M", YAML_COUNT, UINT64_MAX, false, 0},
	{"1MM", YAML_COUNT, UINT64_MAX, false, 0},
	{"4ms", YAML_TIME_NS, UINT64_MAX, true, 4000000},
	{"0.5ms", YAML_TIME_NS, UINT64_MAX, true, 500000},
	{"100us", YAML_TIME_NS, UINT64_MAX, true, 100000},
	{"7ns", YAML_TIME_NS, UINT64_MAX, true, 7},
	{"20s", YAML_TIME_NS, UINT64_MAX, true, UINT64_C(20000000000)},
	{"0", YAML_TIME_NS, UINT64_MAX, true, 0},
	{"4", YAML_TIME_NS, UINT64_MAX, false, 0},
	{"4k", YAML_TIME_NS, UINT64_MAX, false, 0},
	{"0.5ns", YAML_TIME_NS, UINT64_MAX, false, 0},
	{"1.00000000000000000000s", YAML_TIME_NS, UINT64_MAX, false, 0},
};

Test(yaml_reader, integers)
{
	for (size_t i = 0; i < sizeof(integer_cases) / sizeof(integer_cases[0]); i++) {
		const struct integer_case *c = &integer_cases[i];
		struct text_reader reader;
		char text[80];
		uint64_t value;

		snprintf(text, sizeof(text), "k: \"%s\"\n", c->text);
		open_text(&reader, text);
		value = yaml_integer(&reader.yaml,
			yaml_need(&reader.yaml, yaml_root(&reader.yaml), "k"), "k", c->unit, 0,
			c->max);
		cr_expect_eq(
			!reader.failure.failed, c->good, "`%s`: %s", c->text, reader.failure.text);
		if (c->good)
			cr_expect_eq(value, c->value, "`%s` gave %" PRIu64, c->text, value);
		close_text(&reader);
	}
}

Test(yaml_reader, first_error_stays)
{
	static const char *const keys[] = {"a", "b", NULL};
	struct text_reader reader;
	yaml_node_t *root;
	char expected[80];

	open_text(&reader, "a: x\nb: y\n");
	root = yaml_root(&reader.yaml);
	cr_expect(yaml_check_keys(&reader.yaml, root, "it", keys));
	yaml_integer(&reader.yaml, yaml_get(&reader.yaml, root, "b"), "b", YAML_COUNT, 0, 9);
	yaml_integer(&reader.yaml, yaml_get(&reader.yaml, root, "a"), "a", YAML_COUNT, 0, 9);
	snprintf(expected, sizeof(expected), "%s:2:4: b: `y` is no number of at most 64 bits",
		reader.path);
	cr_expect_str_eq(reader.failure.text, expected);
	close_text(&reader);
}

Test(yaml_reader, anchors_are_the_same_node)
{
	struct text_reader reader;
	yaml_node_t *root;

	open_text(&reader, "a: &list [1, 2]\nb: *list\n");
	root = yaml_root(&reader.yaml);
	cr_expect_eq(yaml_get(&reader.yaml, root, "a"), yaml_get(&reader.yaml, root, "b"));
	cr_expect_eq(yaml_length(yaml_get(&reader.yaml, root, "b")), 2);
	cr_expect_null(yaml_get(&reader.yaml, root, "c"));
	cr_expect_not(reader.failure.failed);
	yaml_need(&reader.yaml, root, "c");
	cr_expect(reader.failure.failed);
	close_text(&reader);
}

Test(yaml_reader, name_sets)
{
	static const struct yaml_name names[] = {{"one", 1}, {"two", 2}, {"four", 4}, {NULL, 0}};
	struct text_reader reader;
	yaml_node_t *root;

	open_text(&reader, "a: [one, four]\nb: two\nc: 0x10\nd: [one, 8]\ne: [three]\n");
	root = yaml_root(&reader.yaml);
	cr_expect_eq(
		yaml_name_set(&reader.yaml, yaml_get(&reader.yaml, root, "a"), "a", names, 99), 5);
	cr_expect_eq(
		yaml_name_set(&reader.yaml, yaml_get(&reader.yaml, root, "b"), "b", names, 99), 2);
	cr_expect_eq(
		yaml_name_set(&reader.yaml, yaml_get(&reader.yaml, root, "c"), "c", names, 99), 16);
	cr_expect_eq(
		yaml_name_set(&reader.yaml, yaml_get(&reader.yaml, root, "d"), "d", names, 99), 9);
	cr_expect_eq(yaml_name_set(&reader.yaml, NULL, "f", names, 99), 0);
	cr_expect_not(reader.failure.failed, "%s", reader.failure.text);
	yaml_name_set(&reader.yaml, yaml_get(&reader.yaml, root, "e"), "e", names, 99);
	cr_expect(reader.failure.failed);
	close_text(&reader);
}
