/* SPDX-License-Identifier: MIT
 *
 * yaml_reader.c: loads YAML with libyaml and reads typed values from it (see yaml_reader.h).
 *
 * Positions are libyaml's marks, which count from 0; messages count from 1, as editors do. A
 * mapping is small, so a key is found by looking at all of them.
 */
#include "yaml_reader.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool yaml_reader_failed(const struct yaml_reader *reader)
{
	return reader->failure->failed;
}

void yaml_reader_open(struct yaml_reader *reader, const char *path, struct failure *failure)
{
	yaml_parser_t parser;
	FILE *file;

	*reader = (struct yaml_reader){.path = path, .failure = failure};
	file = fopen(path, "rb");
	if (file == NULL) {
		failure_set(failure, "%s: %s", path, strerror(errno));
		return;
	}
	if (!yaml_parser_initialize(&parser)) {
		failure_set(failure, "%s: out of memory", path);
		fclose(file);
		return;
	}
	yaml_parser_set_input_file(&parser, file);
	if (yaml_parser_load(&parser, &reader->document))
		reader->loaded = true;
	else
		failure_set(failure, "%s:%zu:%zu: %s: %s", path, parser.problem_mark.line + 1,
			parser.problem_mark.column + 1,
			parser.context != NULL ? parser.context : "no YAML",
			parser.problem != NULL ? parser.problem : "out of memory");
	yaml_parser_delete(&parser);
	fclose(file);
}

void yaml_reader_close(struct yaml_reader *reader)
{
	if (reader->loaded)
		yaml_document_delete(&reader->document);
	reader->loaded = false;
}

yaml_node_t *yaml_root(struct yaml_reader *reader)
{
	yaml_node_t *root;

	if (reader->failure->failed || !reader->loaded)
		return NULL;
	root = yaml_document_get_root_node(&reader->document);
	if (root == NULL)
		failure_set(reader->failure, "%s: the file is empty", reader->path);
	return root;
}

void yaml_error(struct yaml_reader *reader, const yaml_node_t *node, const char *format, ...)
{
	char message[300];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	if (node != NULL)
		failure_set(reader->failure, "%s:%zu:%zu: %s", reader->path,
			node->start_mark.line + 1, node->start_mark.column + 1, message);
	else
		failure_set(reader->failure, "%s: %s", reader->path, message);
}

bool yaml_is_sequence(const yaml_node_t *node)
{
	return node != NULL && node->type == YAML_SEQUENCE_NODE;
}

bool yaml_is_map(const yaml_node_t *node)
{
	return node != NULL && node->type == YAML_MAPPING_NODE;
}

bool yaml_is_scalar(const yaml_node_t *node)
{
	return node != NULL && node->type == YAML_SCALAR_NODE;
}

bool yaml_expect_sequence(struct yaml_reader *reader, const yaml_node_t *node, const char *what)
{
	if (node != NULL && !yaml_is_sequence(node))
		yaml_error(reader, node, "%s: expected a list", what);
	return yaml_is_sequence(node) && !yaml_reader_failed(reader);
}

bool yaml_expect_map(struct yaml_reader *reader, const yaml_node_t *node, const char *what)
{
	if (node != NULL && !yaml_is_map(node))
		yaml_error(reader, node, "%s: expected a mapping of keys to values", what);
	return yaml_is_map(node) && !yaml_reader_failed(reader);
}

size_t yaml_length(const yaml_node_t *node)
{
	if (yaml_is_sequence(node))
		return (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	if (yaml_is_map(node))
		return (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
	return 0;
}

yaml_node_t *yaml_item(struct yaml_reader *reader, yaml_node_t *sequence, size_t index)
{
	assert(yaml_is_sequence(sequence) && index < yaml_length(sequence));
	return yaml_document_get_node(
		&reader->document, sequence->data.sequence.items.start[index]);
}

yaml_node_t *yaml_pair(
	struct yaml_reader *reader, yaml_node_t *map, size_t index, yaml_node_t **value)
{
	const yaml_node_pair_t *pair;

	assert(yaml_is_map(map) && index < yaml_length(map));
	pair = &map->data.mapping.pairs.start[index];
	*value = yaml_document_get_node(&reader->document, pair->value);
	return yaml_document_get_node(&reader->document, pair->key);
}

bool yaml_says(const yaml_node_t *node, const char *text)
{
	return yaml_is_scalar(node) && node->data.scalar.length == strlen(text) &&
	       memcmp(node->data.scalar.value, text, node->data.scalar.length) == 0;
}

yaml_node_t *yaml_get(struct yaml_reader *reader, yaml_node_t *map, const char *key)
{
	for (size_t i = 0; yaml_is_map(map) && i < yaml_length(map); i++) {
		yaml_node_t *value;

		if (yaml_says(yaml_pair(reader, map, i, &value), key))
			return value;
	}
	return NULL;
}

yaml_node_t *yaml_need(struct yaml_reader *reader, yaml_node_t *map, const char *key)
{
	yaml_node_t *value = yaml_get(reader, map, key);

	if (value == NULL)
		yaml_error(reader, map, "`%s` is missing here", key);
	return value;
}

static bool key_allowed(const yaml_node_t *key, const char *const *allowed)
{
	for (; *allowed != NULL; allowed++) {
		if (yaml_says(key, *allowed))
			return true;
	}
	return false;
}

/* "a, b, c" of the allowed keys, cut short when there are too many. */
static void join_keys(char *text, size_t size, const char *const *allowed)
{
	size_t at = 0;

	text[0] = '\0';
	for (; *allowed != NULL && at < size; allowed++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? ", " : "", *allowed);
}

bool yaml_check_keys(
	struct yaml_reader *reader, yaml_node_t *map, const char *what, const char *const *allowed)
{
	char list[220];

	if (!yaml_expect_map(reader, map, what))
		return false;
	for (size_t i = 0; i < yaml_length(map); i++) {
		yaml_node_t *value;
		const yaml_node_t *key = yaml_pair(reader, map, i, &value);
		const char *text = yaml_string(reader, key, "a key");

		if (!key_allowed(key, allowed)) {
			join_keys(list, sizeof(list), allowed);
			yaml_error(reader, key, "%s: unknown key `%s`; known are %s", what, text,
				list);
		} else if (yaml_get(reader, map, text) != value) {
			yaml_error(reader, key, "%s: key `%s` stands here twice", what, text);
		}
	}
	return !yaml_reader_failed(reader);
}

const char *yaml_string(struct yaml_reader *reader, const yaml_node_t *node, const char *what)
{
	if (node == NULL)
		return "";
	if (!yaml_is_scalar(node)) {
		yaml_error(reader, node, "%s: expected a single value", what);
		return "";
	}
	if (strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
		yaml_error(reader, node, "%s: has a NUL byte in it", what);
		return "";
	}
	return (const char *)node->data.scalar.value;
}

bool yaml_bool(struct yaml_reader *reader, const yaml_node_t *node, const char *what)
{
	if (yaml_says(node, "true") || yaml_says(node, "1"))
		return true;
	if (node != NULL && !yaml_says(node, "false") && !yaml_says(node, "0"))
		yaml_error(reader, node, "%s: expected true or false", what);
	return false;
}

uint64_t yaml_name_or_number(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
	const struct yaml_name *names, uint64_t max)
{
	const char *text = yaml_string(reader, node, what);

	if (node == NULL || yaml_reader_failed(reader))
		return 0;
	for (const struct yaml_name *known = names; known->name != NULL; known++) {
		if (strcmp(known->name, text) == 0)
			return known->value;
	}
	if (text[0] >= '0' && text[0] <= '9')
		return yaml_integer(reader, node, what, YAML_COUNT, 0, max);
	yaml_error(reader, node, "%s: unknown name `%s`; known are %s, ... or a number", what, text,
		names[0].name);
	return 0;
}

uint64_t yaml_name_set(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
	const struct yaml_name *names, uint64_t max)
{
	yaml_node_t *list = (yaml_node_t *)(uintptr_t)node;
	uint64_t set = 0;

	if (node == NULL)
		return 0;
	if (yaml_is_scalar(node))
		return yaml_name_or_number(reader, node, what, names, max);
	if (!yaml_expect_sequence(reader, node, what))
		return 0;
	for (size_t i = 0; i < yaml_length(node); i++)
		set |= yaml_name_or_number(reader, yaml_item(reader, list, i), what, names, max);
	return set;
}
