/* SPDX-License-Identifier: MIT
 *
 * scenario_attr.c: perf_event_attr from the keys of an event.
 *
 * Every field of the ABI has its key, under its ABI name; nothing is filled in that the file does
 * not say, but `size`. Values that the kernel must refuse can be written (`type: 77`, a reserved
 * bit): this is for testing a kernel. So only what does not fit a field is an error here.
 */
#include <assert.h>
#include <string.h>

#include "scenario_decode.h"

#define PRECISE_IP_SHIFT 15

/* Integer fields that are taken as they are. */
struct attr_field {
	const char *key;
	uint8_t offset;
	uint8_t size;
};

#define FIELD(key, member)                                                                         \
	{                                                                                          \
		key, offsetof(struct tally_attr, member),                                          \
			sizeof(((struct tally_attr *)NULL)->member)                                \
	}

static const struct attr_field integer_fields[] = {
	FIELD("size", size),
	FIELD("config1", config1),
	FIELD("config2", config2),
	FIELD("sample_period", sample_period),
	FIELD("wakeup_events", wakeup_events),
	FIELD("bp_type", bp_type),
	FIELD("branch_sample_type", branch_sample_type),
	FIELD("sample_regs_user", sample_regs_user),
	FIELD("sample_stack_user", sample_stack_user),
	FIELD("sample_regs_intr", sample_regs_intr),
	FIELD("aux_watermark", aux_watermark),
	FIELD("sample_max_stack", sample_max_stack),
	FIELD("aux_sample_size", aux_sample_size),
	FIELD("sig_data", sig_data),
};

static const char *const other_keys[] = {"type", "config", "only_on", "sample_freq", "sample_type",
	"read_format", "wakeup_watermark", "precise_ip", "clockid"};

static void add_key(const char **keys, size_t *count, size_t room, const char *key)
{
	assert(*count + 1 < room);
	keys[(*count)++] = key;
	keys[*count] = NULL;
}

void attr_keys(const char **keys, size_t *count, size_t room)
{
	for (size_t i = 0; i < sizeof(other_keys) / sizeof(other_keys[0]); i++)
		add_key(keys, count, room, other_keys[i]);
	for (size_t i = 0; i < sizeof(integer_fields) / sizeof(integer_fields[0]); i++)
		add_key(keys, count, room, integer_fields[i].key);
	for (const struct yaml_name *flag = scenario_attr_flags; flag->name != NULL; flag++)
		add_key(keys, count, room, flag->name);
}

/* [cache, operation, result] */
static uint64_t decode_cache_config(struct decoder *decoder, yaml_node_t *node)
{
	struct yaml_reader *yaml = &decoder->yaml;

	if (yaml_length(node) != 3) {
		yaml_error(yaml, node,
			"config of a hw_cache event: expected [cache, operation, result]");
		return 0;
	}
	return yaml_name_or_number(
		       yaml, yaml_item(yaml, node, 0), "cache", scenario_caches, UINT8_MAX) |
	       yaml_name_or_number(yaml, yaml_item(yaml, node, 1), "cache operation",
		       scenario_cache_operations, UINT8_MAX)
		       << 8 |
	       yaml_name_or_number(yaml, yaml_item(yaml, node, 2), "cache result",
		       scenario_cache_results, UINT8_MAX)
		       << 16;
}

static uint64_t decode_config(struct decoder *decoder, yaml_node_t *node, uint32_t type)
{
	const struct yaml_name *names = scenario_pmu_events;

	if (type == TALLY_TYPE_HW_CACHE && yaml_is_sequence(node))
		return decode_cache_config(decoder, node);
	if (type == TALLY_TYPE_HARDWARE)
		names = scenario_hardware_events;
	else if (type == TALLY_TYPE_SOFTWARE)
		names = scenario_software_events;
	return yaml_name_or_number(&decoder->yaml, node, "config", names, UINT64_MAX);
}

/* The type number of the PMU of a cluster: registered in the order of the clusters, behind the one
 * for all CPUs when there is more than one cluster. */
static uint32_t cluster_type(const struct machine_description *machine, uint32_t cluster)
{
	return TALLY_TYPE_DYNAMIC + (machine->cluster_count > 1 ? 1 + cluster : 0);
}

/* A type of the ABI, the name of a cluster for its PMU, or a number. */
static uint32_t decode_type(struct decoder *decoder, const yaml_node_t *node)
{
	const struct machine_description *machine = &decoder->scenario->machine;

	for (uint32_t i = 0; i < machine->cluster_count; i++) {
		if (yaml_says(node, machine->clusters[i].name))
			return cluster_type(machine, i);
	}
	return (uint32_t)yaml_name_or_number(
		&decoder->yaml, node, "type", scenario_event_types, UINT32_MAX);
}

static void decode_integers(struct decoder *decoder, yaml_node_t *node, struct tally_attr *attr)
{
	for (size_t i = 0; i < sizeof(integer_fields) / sizeof(integer_fields[0]); i++) {
		const struct attr_field *field = &integer_fields[i];
		const yaml_node_t *value = yaml_get(&decoder->yaml, node, field->key);
		uint64_t max = UINT64_MAX >> (64 - 8 * field->size);
		uint64_t integer;

		if (value == NULL)
			continue;
		integer = yaml_integer(&decoder->yaml, value, field->key, YAML_COUNT, 0, max);
		memcpy((uint8_t *)attr + field->offset, &integer, field->size);
	}
}

/* Keys whose flag says which of two meanings a field has. */
static void decode_flagged(struct decoder *decoder, yaml_node_t *node, struct tally_attr *attr)
{
	struct yaml_reader *yaml = &decoder->yaml;
	const yaml_node_t *value = yaml_get(yaml, node, "sample_freq");

	if (value != NULL) {
		if (yaml_get(yaml, node, "sample_period") != NULL)
			yaml_error(yaml, value, "give either sample_period or sample_freq");
		attr->sample_period = yaml_integer(
			yaml, value, "sample_freq", YAML_COUNT, 0, UINT64_MAX);
		attr->flags |= TALLY_ATTR_FREQ;
	}
	value = yaml_get(yaml, node, "wakeup_watermark");
	if (value != NULL) {
		if (yaml_get(yaml, node, "wakeup_events") != NULL)
			yaml_error(yaml, value, "give either wakeup_events or wakeup_watermark");
		attr->wakeup_events = (uint32_t)yaml_integer(
			yaml, value, "wakeup_watermark", YAML_COUNT, 0, UINT32_MAX);
		attr->flags |= TALLY_ATTR_WATERMARK;
	}
	value = yaml_get(yaml, node, "precise_ip");
	if (value != NULL)
		attr->flags |= yaml_integer(yaml, value, "precise_ip", YAML_COUNT, 0, 3)
			       << PRECISE_IP_SHIFT;
	value = yaml_get(yaml, node, "clockid");
	if (value != NULL) {
		attr->clockid = (int32_t)yaml_integer(
			yaml, value, "clockid", YAML_COUNT, 0, INT32_MAX);
		attr->flags |= TALLY_ATTR_USE_CLOCKID;
	}
}

void decode_attr(struct decoder *decoder, yaml_node_t *node, struct tally_attr *attr)
{
	struct yaml_reader *yaml = &decoder->yaml;

	*attr = (struct tally_attr){.size = TALLY_ATTR_SIZE_VER7};
	attr->type = decode_type(decoder, yaml_need(yaml, node, "type"));
	attr->config = decode_config(decoder, yaml_need(yaml, node, "config"), attr->type);
	/* config[63:32] of a generic event: the type of the one PMU that is meant */
	if (yaml_get(yaml, node, "only_on") != NULL)
		attr->config |= (uint64_t)decode_type(decoder, yaml_get(yaml, node, "only_on"))
				<< 32;
	decode_integers(decoder, node, attr);
	decode_flagged(decoder, node, attr);
	attr->sample_type = yaml_name_set(yaml, yaml_get(yaml, node, "sample_type"), "sample_type",
		scenario_sample_types, UINT64_MAX);
	attr->read_format = yaml_name_set(yaml, yaml_get(yaml, node, "read_format"), "read_format",
		scenario_read_formats, UINT64_MAX);
	for (const struct yaml_name *flag = scenario_attr_flags; flag->name != NULL; flag++) {
		if (yaml_bool(yaml, yaml_get(yaml, node, flag->name), flag->name))
			attr->flags |= flag->value;
	}
}
