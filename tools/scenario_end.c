/* SPDX-License-Identifier: MIT
 *
 * scenario_end.c: the operations that every scenario implies behind those of its file: the readers
 * of rings, and, at its end, a last reading of all rings, a READ and an EXPECT for each event that
 * is still open, and END.
 *
 * The EXPECTs carry what the file's final `expect` says. An event that it does not mention has one
 * too, which takes any value: its result is the kernel's last word on the event, for the table. The
 * READs are for the oracle, which compares every byte of their answers.
 */
#include "scenario_decode.h"

/* The entry of the final `expect` for event `number`, or NULL. One for this very event goes before
 * one for all events of its declaration. */
static yaml_node_t *final_entry(struct decoder *decoder, yaml_node_t *expect, uint32_t number)
{
	yaml_node_t *found = NULL;
	uint32_t found_count = UINT32_MAX;

	for (size_t i = 0; yaml_is_map(expect) && i < yaml_length(expect); i++) {
		yaml_node_t *value;
		const yaml_node_t *key = yaml_pair(&decoder->yaml, expect, i, &value);
		const struct scenario_name *events = names_find(
			decoder, &decoder->events, key, "event");

		if (events != NULL && number - events->first < events->count &&
			events->count < found_count) {
			found = value;
			found_count = events->count;
		}
	}
	return found;
}

static void emit_final_expect(struct decoder *decoder, yaml_node_t *expect, uint32_t number)
{
	static const char *const keys[] = {"value", "enabled", "running", "samples", "lost", "size",
		"tolerance", "tolerance_time", "tolerance_samples", NULL};
	struct scenario_event *event = &decoder->scenario->events[number];
	yaml_node_t *entry = final_entry(decoder, expect, number);
	struct operation operation = {
		.kind = OPERATION_EXPECT,
		.when = OPERATION_AT,
		.at_ns = decoder->scenario->end_ns,
		.actor = event->opener,
		.expect = {.event = number},
	};
	struct operation read = {
		.kind = OPERATION_READ,
		.when = OPERATION_AT,
		.at_ns = decoder->scenario->end_ns,
		.actor = event->opener,
		.read = {.event = number},
	};
	bool gone = event->closed || event->must_fail || event->may_fail;
	uint32_t line = 0;

	if (entry != NULL && gone)
		yaml_error(&decoder->yaml, entry,
			"event `%s` is not, or perhaps not, open at the end", event->name);
	if (gone)
		return;
	if (entry != NULL && yaml_check_keys(&decoder->yaml, entry, "expect", keys)) {
		decode_expected(decoder, entry, &operation.expect);
		line = (uint32_t)entry->start_mark.line + 1;
	}
	emit(decoder, &read, 0);
	if (operation.expect.fields == 0) {
		/* Any value will do, as long as the kernel gives one. */
		operation.expect.fields = OPERATION_EXPECT_VALUE;
		operation.expect.tolerance = UINT64_MAX;
	}
	event->final = emit(decoder, &operation, line);
}

void emit_final(struct decoder *decoder, yaml_node_t *expect)
{
	struct scenario *scenario = decoder->scenario;
	struct operation end = {
		.kind = OPERATION_END,
		.when = OPERATION_AT,
		.at_ns = scenario->end_ns,
		.actor = OPERATION_NOBODY,
	};

	if (expect != NULL && yaml_expect_map(&decoder->yaml, expect, "expect")) {
		for (size_t i = 0; i < yaml_length(expect); i++) {
			yaml_node_t *value;

			names_find(decoder, &decoder->events,
				yaml_pair(&decoder->yaml, expect, i, &value), "event");
		}
	}
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < scenario->event_count; i++) {
			const struct scenario_event *event = &scenario->events[i];
			struct operation drain = {
				.kind = OPERATION_DRAIN,
				.when = OPERATION_AT,
				.actor = event->opener,
				.drain = {.event = i},
			};

			drain.at_ns = pass == 0 ? event->read_every_ns : scenario->end_ns;
			drain.every_ns = pass == 0 ? event->read_every_ns : 0;
			if (event->ring_pages > 0 && drain.at_ns != 0)
				emit(decoder, &drain, 0);
		}
	}
	for (uint32_t i = 0; i < scenario->event_count; i++)
		emit_final_expect(decoder, expect, i);
	emit(decoder, &end, 0);
}
