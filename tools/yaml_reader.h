/* SPDX-License-Identifier: MIT
 *
 * yaml_reader.h: typed, checked access to a YAML file.
 *
 * The file is loaded whole (libyaml's document API). Every getter says what it expects, and on
 * anything else records "file:line:column: what was found, what was expected" as the failure; only
 * the first failure is kept, and getters return a harmless default after it. So a decoder reads on
 * without looking, and asks once. Loops over what was read end early by yaml_reader_failed().
 *
 * A node may be NULL where a key was left out: the getters that take `fallback` then return it, the
 * others record that the key of that name is missing in its parent.
 */
#ifndef TALLY_TOOLS_YAML_READER_H
#define TALLY_TOOLS_YAML_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#include "failure.h"

struct yaml_reader {
	const char *path;
	yaml_document_t document;
	struct failure *failure;
	bool loaded;
};

/* A name and its number; a table ends with a NULL name. */
struct yaml_name {
	const char *name;
	uint64_t value;
};

/* What an integer may be followed by, and which values are allowed. */
enum yaml_unit {
	YAML_COUNT,   /* k, M, G: thousands, millions, thousand millions */
	YAML_TIME_NS, /* ns, us, ms, s, obligatory unless the value is 0 */
};

/* Load `path`. The reader must be closed, loaded or not. */
void yaml_reader_open(struct yaml_reader *reader, const char *path, struct failure *failure);
void yaml_reader_close(struct yaml_reader *reader);
bool yaml_reader_failed(const struct yaml_reader *reader);

/* The root mapping, or NULL after a failure. */
yaml_node_t *yaml_root(struct yaml_reader *reader);

/* Record a failure at `node`. */
void yaml_error(struct yaml_reader *reader, const yaml_node_t *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Is it a mapping with no keys but those of the NULL-terminated list, each at most once? Records
 * what is wrong. */
bool yaml_check_keys(
	struct yaml_reader *reader, yaml_node_t *map, const char *what, const char *const *allowed);

/* The value of `key`, or NULL; without any complaint. */
yaml_node_t *yaml_get(struct yaml_reader *reader, yaml_node_t *map, const char *key);
/* The value of `key`; its absence is recorded. */
yaml_node_t *yaml_need(struct yaml_reader *reader, yaml_node_t *map, const char *key);

/* Children: of a sequence (0 .. yaml_length()-1), or of a mapping in the order of the file. */
size_t yaml_length(const yaml_node_t *node);
yaml_node_t *yaml_item(struct yaml_reader *reader, yaml_node_t *sequence, size_t index);
yaml_node_t *yaml_pair(
	struct yaml_reader *reader, yaml_node_t *map, size_t index, yaml_node_t **value);

/* Is the node a sequence, a mapping, a scalar? (false on NULL) */
bool yaml_is_sequence(const yaml_node_t *node);
bool yaml_is_map(const yaml_node_t *node);
bool yaml_is_scalar(const yaml_node_t *node);
/* The same, recording that `what` was expected. */
bool yaml_expect_sequence(struct yaml_reader *reader, const yaml_node_t *node, const char *what);
bool yaml_expect_map(struct yaml_reader *reader, const yaml_node_t *node, const char *what);

/* A scalar's text, which lives as long as the reader; "" after a failure. */
const char *yaml_string(struct yaml_reader *reader, const yaml_node_t *node, const char *what);
/* Does the scalar say exactly this? No complaint. */
bool yaml_says(const yaml_node_t *node, const char *text);

/* An integer from `min` to `max`, decimal or 0x..., with _ between digits and a suffix of `unit`.
 * With a suffix it may have decimals, as long as the value is whole. */
uint64_t yaml_integer(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
	enum yaml_unit unit, uint64_t min, uint64_t max);
/* true or false, 1 or 0. */
bool yaml_bool(struct yaml_reader *reader, const yaml_node_t *node, const char *what);

/* A name out of `names`, or with `numbers` an integer up to `max`. */
uint64_t yaml_name_or_number(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
	const struct yaml_name *names, uint64_t max);
/* A sequence of names out of `names`, their values or-ed; or an integer up to `max`. */
uint64_t yaml_name_set(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
	const struct yaml_name *names, uint64_t max);

#endif
