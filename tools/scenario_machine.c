/* SPDX-License-Identifier: MIT
 *
 * scenario_machine.c: the `machine` of a scenario: a preset of the PMU model, or clusters of the
 * file's own.
 *
 * A cluster of the file's own is a kind of CPU that the model knows (`like`), with its number of
 * counters, their width, its events or its interrupt latency changed. Clusters are numbered in
 * order of their first CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_decode.h"

#define PMU_EVENT_MAX      0xffffu
#define COMMON_EVENTS      0x40u /* what PMCEID tells of, without the extended ones */
#define PMCEID_EVENTS      0x20u
#define COUNTER_BITS_LONG  64u
#define IRQ_LATENCY_MAX_NS 4000000000u

uint16_t decode_pmu_event(struct decoder *decoder, const yaml_node_t *node, const char *what)
{
	return (uint16_t)yaml_name_or_number(
		&decoder->yaml, node, what, scenario_pmu_events, PMU_EVENT_MAX);
}

uint32_t decode_cpu(struct decoder *decoder, const yaml_node_t *node, const char *what)
{
	uint32_t cpus = decoder->scenario->machine.cpu_count;

	return (uint32_t)yaml_integer(
		&decoder->yaml, node, what, YAML_COUNT, 0, cpus > 0 ? cpus - 1 : 0);
}

/* "2" or "0-3" as a mask. */
static uint64_t decode_cpu_range(struct decoder *decoder, const yaml_node_t *node, const char *what)
{
	const char *text = yaml_string(&decoder->yaml, node, what);
	uint32_t cpus = decoder->scenario->machine.cpu_count;
	unsigned int first;
	unsigned int last;
	int used = 0;

	if (yaml_reader_failed(&decoder->yaml))
		return 0;
	if (sscanf(text, "%2u-%2u%n", &first, &last, &used) != 2 || text[used] != '\0') {
		first = decode_cpu(decoder, node, what);
		last = first;
	}
	if (first > last || last >= cpus) {
		yaml_error(&decoder->yaml, node, "%s: `%s` are no CPUs; there are %u", what, text,
			cpus);
		return 0;
	}
	return (UINT64_MAX >> (63 - (last - first))) << first;
}

uint64_t decode_cpus(struct decoder *decoder, const yaml_node_t *node, const char *what)
{
	yaml_node_t *list = (yaml_node_t *)(uintptr_t)node;
	uint64_t mask = 0;

	if (node == NULL)
		return 0;
	if (yaml_is_scalar(node))
		return decode_cpu_range(decoder, node, what);
	if (!yaml_expect_sequence(&decoder->yaml, node, what))
		return 0;
	for (size_t i = 0; i < yaml_length(node); i++)
		mask |= decode_cpu_range(decoder, yaml_item(&decoder->yaml, list, i), what);
	if (mask == 0)
		yaml_error(&decoder->yaml, node, "%s: names no CPU", what);
	return mask;
}

/* ---- rates ---- */

static void decode_rates_of(struct decoder *decoder, yaml_node_t *node, struct machine_rates *rates)
{
	struct machine_rate *rate;
	size_t count = yaml_length(node);

	rate = scenario_alloc(decoder->scenario, count, sizeof(*rate));
	for (size_t i = 0; i < count && !yaml_reader_failed(&decoder->yaml); i++) {
		yaml_node_t *value;
		const yaml_node_t *key = yaml_pair(&decoder->yaml, node, i, &value);

		rate[i].event = decode_pmu_event(decoder, key, "rates");
		rate[i].per_us = (uint32_t)yaml_integer(&decoder->yaml, value,
			"occurrences per microsecond", YAML_COUNT, 0, MACHINE_RATE_MAX);
		for (size_t j = 0; j < i; j++) {
			if (rate[j].event == rate[i].event)
				yaml_error(&decoder->yaml, key,
					"rates: this PMU event is there already");
		}
	}
	*rates = (struct machine_rates){rate, (uint32_t)count};
}

static uint32_t find_cluster(struct decoder *decoder, const yaml_node_t *node)
{
	const struct machine_description *machine = &decoder->scenario->machine;
	uint32_t i = 0;

	while (i < machine->cluster_count && !yaml_says(node, machine->clusters[i].name))
		i++;
	return i;
}

const struct machine_rates *decode_rates(struct decoder *decoder, yaml_node_t *node)
{
	const struct machine_description *machine = &decoder->scenario->machine;
	struct machine_rates *rates;
	bool per_cluster = false;

	if (node == NULL || !yaml_expect_map(&decoder->yaml, node, "rates"))
		return NULL;
	rates = scenario_alloc(decoder->scenario, machine->cluster_count, sizeof(*rates));
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(&decoder->yaml); i++) {
		yaml_node_t *value;
		const yaml_node_t *key = yaml_pair(&decoder->yaml, node, i, &value);
		uint32_t cluster;

		if (!yaml_is_map(value) && !per_cluster)
			continue;
		per_cluster = true;
		cluster = find_cluster(decoder, key);
		if (cluster == machine->cluster_count)
			yaml_error(&decoder->yaml, key, "rates: there is no cluster `%s`",
				yaml_string(&decoder->yaml, key, "rates"));
		else if (yaml_expect_map(&decoder->yaml, value, "rates of a cluster"))
			decode_rates_of(decoder, value, &rates[cluster]);
	}
	if (!per_cluster && machine->cluster_count > 0) {
		decode_rates_of(decoder, node, &rates[0]);
		for (uint32_t i = 1; i < machine->cluster_count; i++)
			rates[i] = rates[0];
	}
	return rates;
}

/* ---- clusters ---- */

static void list_known(char *text, size_t size)
{
	const struct pmu_preset *preset;
	size_t at = 0;

	text[0] = '\0';
	for (unsigned int i = 0; (preset = pmu_preset_get(i)) != NULL && at < size; i++)
		at += (size_t)snprintf(
			text + at, size - at, "%s%s", i > 0 ? ", " : "", preset->name);
}

static void use_preset(struct decoder *decoder, const yaml_node_t *node)
{
	struct machine_description *machine = &decoder->scenario->machine;
	const char *name = yaml_string(&decoder->yaml, node, "machine");
	const struct pmu_preset *preset = pmu_preset_find(name);
	struct machine_cluster *clusters;
	uint32_t *cluster_of;

	if (yaml_reader_failed(&decoder->yaml))
		return;
	if (preset == NULL) {
		char known[200];

		list_known(known, sizeof(known));
		yaml_error(&decoder->yaml, node, "there is no machine `%s`; known are %s", name,
			known);
		return;
	}
	clusters = scenario_alloc(decoder->scenario, preset->cpu_count, sizeof(*clusters));
	cluster_of = scenario_alloc(decoder->scenario, preset->cpu_count, sizeof(*cluster_of));
	for (uint32_t cpu = 0; cpu < preset->cpu_count; cpu++) {
		uint32_t cluster = 0;

		while (cluster < machine->cluster_count &&
			clusters[cluster].pmu != preset->cpus[cpu])
			cluster++;
		if (cluster == machine->cluster_count)
			clusters[machine->cluster_count++] = (struct machine_cluster){
				preset->cpus[cpu]->name, preset->cpus[cpu]};
		cluster_of[cpu] = cluster;
	}
	machine->cpu_count = preset->cpu_count;
	machine->clusters = clusters;
	machine->cluster_of = cluster_of;
	decoder->scenario->machine_name = preset->name;
}

static int compare_events(const void *a, const void *b)
{
	uint16_t x = *(const uint16_t *)a;
	uint16_t y = *(const uint16_t *)b;

	return (x > y) - (x < y);
}

/* The events that the cluster's CPUs implement, instead of those of the CPU it is like. */
static void decode_event_set(
	struct decoder *decoder, yaml_node_t *node, struct pmu_cpu_config *config)
{
	uint16_t *further;

	if (node == NULL || !yaml_expect_sequence(&decoder->yaml, node, "events of a cluster"))
		return;
	further = scenario_alloc(decoder->scenario, yaml_length(node), sizeof(*further));
	config->pmceid0 = 0;
	config->pmceid1 = 0;
	config->imp_events = further;
	config->imp_event_count = 0;
	for (size_t i = 0; i < yaml_length(node); i++) {
		uint16_t event = decode_pmu_event(
			decoder, yaml_item(&decoder->yaml, node, i), "events");
		uint64_t bit = UINT64_C(1) << event % PMCEID_EVENTS;

		if (event < PMCEID_EVENTS)
			config->pmceid0 |= bit;
		else if (event < COMMON_EVENTS)
			config->pmceid1 |= bit;
		else
			further[config->imp_event_count++] = event;
	}
	qsort(further, config->imp_event_count, sizeof(*further), compare_events);
}

/* One entry of `clusters`; returns how many CPUs it has. */
static uint32_t decode_cluster(
	struct decoder *decoder, yaml_node_t *node, struct machine_cluster *cluster)
{
	static const char *const keys[] = {
		"name", "like", "cpus", "counters", "width", "events", "irq_latency", NULL};
	struct yaml_reader *yaml = &decoder->yaml;
	struct pmu_cpu_config *config = scenario_alloc(decoder->scenario, 1, sizeof(*config));
	const struct pmu_cpu_config *like;
	yaml_node_t *kind;
	yaml_node_t *value;

	if (!yaml_check_keys(yaml, node, "a cluster", keys))
		return 0;
	kind = yaml_need(yaml, node, "like");
	like = pmu_cpu_config_find(yaml_string(yaml, kind, "like"));
	if (like == NULL) {
		yaml_error(yaml, kind, "there is no CPU `%s`", yaml_string(yaml, kind, "like"));
		return 0;
	}
	*config = *like;
	value = yaml_get(yaml, node, "counters");
	if (value != NULL)
		config->counter_count = (uint8_t)yaml_integer(
			yaml, value, "counters", YAML_COUNT, 0, PMU_EVENT_COUNTERS_MAX);
	config->hpmn = config->counter_count;
	value = yaml_get(yaml, node, "width");
	if (value != NULL)
		config->counter_bits = (uint8_t)yaml_integer(
			yaml, value, "width in bits", YAML_COUNT, 32, COUNTER_BITS_LONG);
	value = yaml_get(yaml, node, "irq_latency");
	if (value != NULL)
		config->irq_latency_ns = (uint32_t)yaml_integer(
			yaml, value, "irq_latency", YAML_TIME_NS, 0, IRQ_LATENCY_MAX_NS);
	decode_event_set(decoder, yaml_get(yaml, node, "events"), config);
	value = yaml_get(yaml, node, "name");
	config->name = scenario_format(decoder->scenario, "%s",
		value != NULL ? yaml_string(yaml, value, "name") : like->name);
	if (!yaml_reader_failed(yaml) && !pmu_cpu_config_valid(config))
		yaml_error(yaml, node,
			"a CPU cannot be like this: counters, width and events of a %s",
			like->name);
	*cluster = (struct machine_cluster){config->name, config};
	return (uint32_t)yaml_integer(yaml, yaml_need(yaml, node, "cpus"), "cpus of a cluster",
		YAML_COUNT, 1, MACHINE_CPUS_MAX);
}

static void decode_clusters(struct decoder *decoder, yaml_node_t *node)
{
	struct machine_description *machine = &decoder->scenario->machine;
	struct machine_cluster *clusters;
	uint32_t *cluster_of;

	if (!yaml_expect_sequence(&decoder->yaml, node, "clusters"))
		return;
	if (yaml_length(node) == 0 || yaml_length(node) > MACHINE_CLUSTERS_MAX) {
		yaml_error(
			&decoder->yaml, node, "clusters: expected 1 to %u", MACHINE_CLUSTERS_MAX);
		return;
	}
	clusters = scenario_alloc(decoder->scenario, yaml_length(node), sizeof(*clusters));
	cluster_of = scenario_alloc(decoder->scenario, MACHINE_CPUS_MAX, sizeof(*cluster_of));
	machine->clusters = clusters;
	machine->cluster_of = cluster_of;
	for (size_t i = 0; i < yaml_length(node); i++) {
		yaml_node_t *item = yaml_item(&decoder->yaml, node, i);
		uint32_t cpus = decode_cluster(decoder, item, &clusters[i]);

		if (machine->cpu_count + cpus > MACHINE_CPUS_MAX)
			yaml_error(&decoder->yaml, item, "more than %u CPUs", MACHINE_CPUS_MAX);
		if (yaml_reader_failed(&decoder->yaml))
			return;
		for (uint32_t cpu = 0; cpu < cpus; cpu++)
			cluster_of[machine->cpu_count++] = machine->cluster_count;
		machine->cluster_count++;
	}
	decoder->scenario->machine_name = "custom";
}

/* ---- the rest of the machine ---- */

/* One latency for all CPUs, or a list with one for each. */
static void decode_latency(struct decoder *decoder, yaml_node_t *node)
{
	struct machine_description *machine = &decoder->scenario->machine;
	uint32_t *latency_ns;

	if (node == NULL || yaml_reader_failed(&decoder->yaml))
		return;
	if (yaml_is_sequence(node) && yaml_length(node) != machine->cpu_count) {
		yaml_error(&decoder->yaml, node, "irq_latency: expected one for each of %u CPUs",
			machine->cpu_count);
		return;
	}
	latency_ns = scenario_alloc(decoder->scenario, machine->cpu_count, sizeof(*latency_ns));
	for (uint32_t cpu = 0; cpu < machine->cpu_count; cpu++)
		latency_ns[cpu] = (uint32_t)yaml_integer(&decoder->yaml,
			yaml_is_sequence(node) ? yaml_item(&decoder->yaml, node, cpu) : node,
			"irq_latency", YAML_TIME_NS, 0, IRQ_LATENCY_MAX_NS);
	machine->irq_latency_ns = latency_ns;
}

void decode_machine(struct decoder *decoder, yaml_node_t *node)
{
	static const char *const keys[] = {"preset", "clusters", "irq_latency", "irq_time",
		"irq_rates", "tick", "offline", NULL};
	struct machine_description *machine = &decoder->scenario->machine;
	struct yaml_reader *yaml = &decoder->yaml;
	yaml_node_t *preset;
	yaml_node_t *clusters;
	yaml_node_t *value;

	if (yaml_is_scalar(node)) {
		use_preset(decoder, node);
		return;
	}
	if (node == NULL || !yaml_check_keys(yaml, node, "machine", keys))
		return;
	preset = yaml_get(yaml, node, "preset");
	clusters = yaml_get(yaml, node, "clusters");
	if ((preset != NULL) == (clusters != NULL))
		yaml_error(yaml, node, "machine: give either `preset` or `clusters`");
	else if (preset != NULL)
		use_preset(decoder, preset);
	else
		decode_clusters(decoder, clusters);
	if (yaml_reader_failed(yaml))
		return;
	decode_latency(decoder, yaml_get(yaml, node, "irq_latency"));
	value = yaml_get(yaml, node, "irq_time");
	if (value != NULL)
		machine->irq_ns = yaml_integer(
			yaml, value, "irq_time", YAML_TIME_NS, 0, MACHINE_TICK_NS);
	machine->irq_rates = decode_rates(decoder, yaml_get(yaml, node, "irq_rates"));
	value = yaml_get(yaml, node, "tick");
	if (value != NULL)
		machine->tick_ns = yaml_integer(
			yaml, value, "tick", YAML_TIME_NS, 1000, MACHINE_END_MAX_NS);
	value = yaml_get(yaml, node, "offline");
	if (value != NULL)
		machine->offline_mask = decode_cpus(decoder, value, "offline");
	if (machine->offline_mask & 1)
		yaml_error(yaml, value, "offline: CPU 0 boots the machine");
}
