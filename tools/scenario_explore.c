/* SPDX-License-Identifier: MIT
 *
 * scenario_explore.c: the section `explore` of a scenario (scenario_explore.h).
 *
 * An entry of `covers` is HOOK[+HOOK...] x CALL[+CALL...], same|other, counting|sampling
 * [leader|member], and names every cell of that product. What it says is compared with the
 * operations of the race, the ones that start at its instant: a cell whose call or hook is not
 * among them, or whose event is of another kind, is an error. So a matrix made of such entries
 * shows nothing that no file does. What is not checked is on which CPU things happen.
 *
 * Decoded last: it looks at the operations.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenario_decode.h"

#define COVERS_MAX   256u
#define TEXT_MAX     200u
#define BUDGET_MAX   9u /* of one kind: more could never be exhausted */
#define BUDGET_KINDS 4u

static const char *const hook_names[] = {"sched_in", "sched_out", "tick", "overflow", "migrate",
	"exec", "exit", "offline", "online", "fork", NULL};
static const char *const call_names[] = {"open", "enable", "disable", "reset", "read", "group link",
	"mmap", "munmap", "close event", "close leader", "close root", NULL};
static const char *const role_names[] = {"counting", "sampling", "leader", "member", NULL};

_Static_assert(sizeof(hook_names) / sizeof(hook_names[0]) == RACE_HOOKS + 1, "a name for each");
_Static_assert(sizeof(call_names) / sizeof(call_names[0]) == RACE_CALLS + 1, "a name for each");
_Static_assert(sizeof(role_names) / sizeof(role_names[0]) == RACE_ROLES + 1, "a name for each");

const char *race_hook_name(unsigned int hook)
{
	return hook < RACE_HOOKS ? hook_names[hook] : NULL;
}

const char *race_call_name(unsigned int call)
{
	return call < RACE_CALLS ? call_names[call] : NULL;
}

const char *race_role_name(unsigned int role)
{
	return role < RACE_ROLES ? role_names[role] : NULL;
}

/* ---- the race: the operations of its instant ---- */

/* Does operation k start at the instant of the race? Those that the file does not state have no
 * line. */
static bool in_race(const struct decoder *decoder, uint32_t k)
{
	const struct scenario_explore *explore = &decoder->scenario->explore;
	const struct operation *operation = &decoder->operations[k];

	if (decoder->lines[k] == 0)
		return false;
	switch (operation->when) {
	case OPERATION_AT:
		return operation->at_ns == explore->at_ns;
	case OPERATION_NEXT:
		return k > 0 && in_race(decoder, k - 1);
	case OPERATION_AFTER:
		return operation->at_ns == 0 && operation->after < k &&
		       in_race(decoder, operation->after);
	default:
		return false;
	}
}

static bool is_control(const struct operation *operation, uint32_t command)
{
	return operation->kind == OPERATION_IOCTL && operation->ioctl.command == command;
}

static bool leads_others(const struct scenario *scenario, uint32_t event)
{
	for (uint32_t k = 0; k < scenario->event_count; k++) {
		if (k != event && scenario->events[k].leader == event)
			return true;
	}
	return false;
}

static uint8_t roles_of(const struct scenario *scenario, uint32_t event)
{
	const struct scenario_event *e = &scenario->events[event];
	uint8_t roles = e->attr.sample_period != 0 ? RACE_SAMPLING : RACE_COUNTING;

	if (e->leader != event)
		roles |= RACE_MEMBER;
	else if (leads_others(scenario, event))
		roles |= RACE_LEADER;
	return roles;
}

/* Do all events of the context that `event` is in get closed? */
static bool context_is_closed(const struct scenario *scenario, uint32_t event)
{
	const struct scenario_event *e = &scenario->events[event];

	for (uint32_t k = 0; k < scenario->event_count; k++) {
		const struct scenario_event *other = &scenario->events[k];
		bool self = e->task == OPERATION_NOBODY && e->cpu < 0;

		if (other->task == e->task &&
			(e->task != OPERATION_NOBODY || other->cpu == e->cpu) &&
			(!self || other->opener == e->opener) && !other->closed)
			return false;
	}
	return true;
}

/* The event that the operation is on. */
static uint32_t event_of(const struct decoder *decoder, uint32_t k)
{
	const struct operation *operation = &decoder->operations[k];
	uint32_t event = 0;

	switch (operation->kind) {
	case OPERATION_OPEN:
		for (uint32_t i = 0; i < k; i++)
			event += decoder->operations[i].kind == OPERATION_OPEN;
		return event;
	case OPERATION_IOCTL:
		return operation->ioctl.event;
	case OPERATION_READ:
		return operation->read.event;
	case OPERATION_MMAP:
		return operation->mmap.event;
	case OPERATION_MUNMAP:
	case OPERATION_CLOSE:
		return operation->event.event;
	default:
		return OPERATION_NOBODY;
	}
}

static bool makes_call(const struct decoder *decoder, uint32_t k, uint8_t call)
{
	const struct scenario *scenario = decoder->scenario;
	const struct operation *operation = &decoder->operations[k];
	uint32_t event = event_of(decoder, k);

	switch (call) {
	case RACE_OPEN:
		return operation->kind == OPERATION_OPEN &&
		       operation->open.group == OPERATION_NOBODY;
	case RACE_GROUP_LINK:
		return operation->kind == OPERATION_OPEN &&
		       operation->open.group != OPERATION_NOBODY;
	case RACE_ENABLE:
		return is_control(operation, TALLY_IOC_ENABLE);
	case RACE_DISABLE:
		return is_control(operation, TALLY_IOC_DISABLE);
	case RACE_RESET:
		return is_control(operation, TALLY_IOC_RESET);
	case RACE_READ:
		return operation->kind == OPERATION_READ;
	case RACE_MMAP:
		return operation->kind == OPERATION_MMAP;
	case RACE_MUNMAP:
		return operation->kind == OPERATION_MUNMAP;
	case RACE_CLOSE_LEADER:
		return operation->kind == OPERATION_CLOSE && leads_others(scenario, event);
	case RACE_CLOSE_ROOT:
		return operation->kind == OPERATION_CLOSE && context_is_closed(scenario, event);
	default:
		return operation->kind == OPERATION_CLOSE;
	}
}

static bool race_has_call(const struct decoder *decoder, const struct scenario_cell *cell)
{
	for (uint32_t k = 0; k < decoder->scenario->machine.operation_count; k++) {
		if (in_race(decoder, k) && makes_call(decoder, k, cell->call) &&
			roles_of(decoder->scenario, event_of(decoder, k)) == cell->roles)
			return true;
	}
	return false;
}

static bool race_has_kind(const struct decoder *decoder, enum operation_kind kind)
{
	for (uint32_t k = 0; k < decoder->scenario->machine.operation_count; k++) {
		if (decoder->operations[k].kind == kind && in_race(decoder, k))
			return true;
	}
	return false;
}

static bool something_samples(const struct scenario *scenario)
{
	for (uint32_t k = 0; k < scenario->event_count; k++) {
		if (scenario->events[k].attr.sample_period != 0)
			return true;
	}
	return false;
}

static bool race_has_hook(const struct decoder *decoder, uint8_t hook)
{
	const struct scenario *scenario = decoder->scenario;
	uint64_t tick_ns = scenario->machine.tick_ns != 0 ? scenario->machine.tick_ns
							  : MACHINE_TICK_NS;

	switch (hook) {
	case RACE_TICK:
		return scenario->explore.ticks || scenario->explore.at_ns % tick_ns == 0;
	case RACE_OVERFLOW:
		return something_samples(scenario);
	case RACE_MIGRATE:
		return race_has_kind(decoder, OPERATION_MIGRATE) ||
		       race_has_kind(decoder, OPERATION_PIN);
	case RACE_EXEC:
		return race_has_kind(decoder, OPERATION_EXEC);
	case RACE_EXIT:
		return race_has_kind(decoder, OPERATION_EXIT);
	case RACE_OFFLINE:
		return race_has_kind(decoder, OPERATION_CPU_OFFLINE);
	case RACE_ONLINE:
		return race_has_kind(decoder, OPERATION_CPU_ONLINE);
	case RACE_FORK:
		return race_has_kind(decoder, OPERATION_FORK);
	default:
		return true; /* every operation makes its actor current */
	}
}

/* ---- covers ---- */

/* Cut the next word off *text: up to `separator`, which is dropped, or to the end. */
static char *cut(char **text, const char *separator)
{
	char *word = *text;
	char *end = word != NULL ? strstr(word, separator) : NULL;

	*text = end != NULL ? end + strlen(separator) : NULL;
	if (end != NULL)
		*end = '\0';
	return word;
}

/* Names out of `names`, joined by +, as bits; 0 after an error. */
static uint32_t decode_names(struct decoder *decoder, const yaml_node_t *node, char *words,
	const char *const *names, const char *what)
{
	uint32_t bits = 0;

	while (words != NULL) {
		const char *word = cut(&words, "+");
		uint32_t k = 0;

		while (names[k] != NULL && strcmp(names[k], word) != 0)
			k++;
		if (names[k] == NULL) {
			yaml_error(&decoder->yaml, node, "covers: `%s` is no %s", word, what);
			return 0;
		}
		bits |= 1u << k;
	}
	return bits;
}

static uint8_t decode_roles(struct decoder *decoder, const yaml_node_t *node, char *words)
{
	uint8_t roles = 0;

	while (words != NULL)
		roles |= (uint8_t)decode_names(decoder, node, cut(&words, " "), role_names,
			"role; known are counting, sampling, leader, member");
	if (((roles & RACE_COUNTING) != 0) == ((roles & RACE_SAMPLING) != 0) ||
		((roles & RACE_LEADER) != 0 && (roles & RACE_MEMBER) != 0))
		yaml_error(&decoder->yaml, node,
			"covers: expected counting or sampling, and perhaps leader or member");
	return roles;
}

static void add_cell(struct decoder *decoder, const yaml_node_t *node, struct scenario_cell cell,
	struct scenario_cell *cells)
{
	struct scenario_explore *explore = &decoder->scenario->explore;

	if (!race_has_hook(decoder, cell.hook))
		yaml_error(&decoder->yaml, node,
			"covers: there is no %s at the instant of the race", hook_names[cell.hook]);
	else if (!race_has_call(decoder, &cell))
		yaml_error(&decoder->yaml, node,
			"covers: there is no %s of such an event at the instant of the race",
			call_names[cell.call]);
	else if (explore->cover_count == COVERS_MAX)
		yaml_error(&decoder->yaml, node, "covers: more than %u cells", COVERS_MAX);
	else
		cells[explore->cover_count++] = cell;
}

static void decode_cover(
	struct decoder *decoder, const yaml_node_t *node, struct scenario_cell *cells)
{
	const char *string = yaml_string(&decoder->yaml, node, "covers");
	char buffer[TEXT_MAX] = "";
	char *text = buffer;
	char *hook_words, *call_words, *place;
	struct scenario_cell cell = {0};
	uint32_t hooks, calls;

	snprintf(buffer, sizeof(buffer), "%s", string);
	hook_words = cut(&text, " x ");
	call_words = cut(&text, ", ");
	place = cut(&text, ", ");
	if (text == NULL || strlen(string) >= sizeof(buffer)) {
		yaml_error(&decoder->yaml, node,
			"covers: expected HOOK x CALL, same or other, counting or sampling ...");
		return;
	}
	hooks = decode_names(decoder, node, hook_words, hook_names, "hook");
	calls = decode_names(decoder, node, call_words, call_names, "call");
	cell.same_cpu = strcmp(place, "same") == 0;
	if (!cell.same_cpu && strcmp(place, "other") != 0)
		yaml_error(&decoder->yaml, node, "covers: `%s` is neither same nor other", place);
	cell.roles = decode_roles(decoder, node, text);
	for (uint8_t hook = 0; hook < RACE_HOOKS; hook++) {
		for (uint8_t call = 0; call < RACE_CALLS; call++) {
			cell.hook = hook;
			cell.call = call;
			if ((hooks >> hook & 1) != 0 && (calls >> call & 1) != 0 &&
				!yaml_reader_failed(&decoder->yaml))
				add_cell(decoder, node, cell, cells);
		}
	}
}

static void decode_covers(struct decoder *decoder, yaml_node_t *node)
{
	struct scenario_cell *cells;

	if (node == NULL || !yaml_expect_sequence(&decoder->yaml, node, "covers"))
		return;
	cells = scenario_alloc(decoder->scenario, COVERS_MAX, sizeof(*cells));
	decoder->scenario->explore.covers = cells;
	for (size_t i = 0; i < yaml_length(node) && !yaml_reader_failed(&decoder->yaml); i++)
		decode_cover(decoder, yaml_item(&decoder->yaml, node, i), cells);
}

/* ---- the rest ---- */

/* "PREEMPTIONS/INTERRUPTS/STALE" or "PREEMPTIONS/INTERRUPTS/STALE/FAULTS" */
static struct scenario_budget decode_budget(
	struct decoder *decoder, const yaml_node_t *node, const char *what)
{
	const char *text = yaml_string(&decoder->yaml, node, what);
	uint32_t number[BUDGET_KINDS] = {0};
	uint32_t count = 0;
	bool right = node != NULL;

	while (right && count < BUDGET_KINDS) {
		right = *text >= '0' && *text <= '0' + (char)BUDGET_MAX;
		number[count] = (uint32_t)(*text - '0');
		count++;
		if (!right || *++text == '\0')
			break;
		right = *text++ == '/';
	}
	if (node != NULL && (!right || *text != '\0' || count < BUDGET_KINDS - 1))
		yaml_error(&decoder->yaml, node,
			"%s: expected PREEMPTIONS/INTERRUPTS/STALE or "
			"PREEMPTIONS/INTERRUPTS/STALE/FAULTS, each up to %u",
			what, BUDGET_MAX);
	return (struct scenario_budget){number[0], number[1], number[2], number[3]};
}

static bool within(const struct scenario_budget *small, const struct scenario_budget *large)
{
	return small->preemptions <= large->preemptions && small->interrupts <= large->interrupts &&
	       small->stale <= large->stale && small->faults <= large->faults;
}

void decode_explore(struct decoder *decoder, yaml_node_t *node)
{
	static const char *const keys[] = {
		"at", "bound", "test", "covers", "kernel_events", "late_registers", "ticks", NULL};
	struct scenario_explore *explore = &decoder->scenario->explore;
	struct yaml_reader *yaml = &decoder->yaml;
	const yaml_node_t *test;

	if (node == NULL || !yaml_check_keys(yaml, node, "explore", keys))
		return;
	explore->present = true;
	explore->at_ns = yaml_integer(yaml, yaml_need(yaml, node, "at"), "at", YAML_TIME_NS, 0,
		decoder->scenario->end_ns);
	explore->bound = decode_budget(decoder, yaml_need(yaml, node, "bound"), "bound");
	test = yaml_get(yaml, node, "test");
	explore->test = test != NULL ? decode_budget(decoder, test, "test") : explore->bound;
	if (!within(&explore->test, &explore->bound))
		yaml_error(yaml, test, "test: more than is ever proven: see `bound`");
	explore->kernel_events = yaml_bool(
		yaml, yaml_get(yaml, node, "kernel_events"), "kernel_events");
	if (explore->kernel_events && decoder->scenario->machine.irq_rates == NULL)
		yaml_error(yaml, yaml_get(yaml, node, "kernel_events"),
			"kernel_events: the machine's `irq_rates` say what they are");
	explore->late_registers = yaml_bool(
		yaml, yaml_get(yaml, node, "late_registers"), "late_registers");
	explore->ticks = yaml_bool(yaml, yaml_get(yaml, node, "ticks"), "ticks");
	decode_covers(decoder, yaml_get(yaml, node, "covers"));
}
