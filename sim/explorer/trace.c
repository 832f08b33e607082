/* SPDX-License-Identifier: MIT
 *
 * trace.c: traces as text (explorer/trace.h). Text comes from people: every byte is checked.
 */
#include <explorer/trace.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "tally1/"

/* ---- reading ---- */

/* Copies what stands before `end` (or the end of the text) to `to`. NULL: it is not there or too
 * long. */
static const char *take_until(const char *text, const char *end, char *to)
{
	const char *at = *end ? strstr(text, end) : text + strlen(text);
	size_t length;

	if (!at)
		return NULL;
	length = (size_t)(at - text);
	if (length == 0 || length >= EXPLORER_NAME_MAX)
		return NULL;
	memcpy(to, text, length);
	to[length] = '\0';
	return at + strlen(end);
}

static bool parse_kind(char letter, uint8_t *kind)
{
	for (uint8_t k = 0; k < MACHINE_CHOICE_KINDS; k++) {
		if (machine_choice_letter(k) == letter - 'a' + 'A') {
			*kind = k;
			return true;
		}
	}
	return false;
}

static bool parse_number(const char **text, uint32_t *number)
{
	char *end;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return false;
	value = strtoul(*text, &end, 10);
	*text = end;
	*number = (uint32_t)value;
	return value <= UINT32_MAX;
}

/* One deviation, the whole of `word`. */
static const char *parse_deviation(struct explorer_trace *trace, const char *word)
{
	struct explorer_deviation *d = &trace->deviation[trace->count];
	char *site = trace->site[trace->count];
	const char *at = word + 1;

	site[0] = '\0';
	d->answer = 1;
	if (!parse_kind(word[0], &d->kind))
		return "a deviation begins with the letter of a kind (c n s i v e h f t)";
	if (!parse_number(&at, &d->step) || d->step == 0)
		return "after the kind comes the step, a number from 1";
	if (*at == ':') {
		at++;
		if (!parse_number(&at, &d->answer) || d->answer == 0)
			return "after the colon comes the answer, a number from 1";
	}
	if (*at == '@') {
		if (strlen(at + 1) == 0 || strlen(at + 1) >= EXPLORER_NAME_MAX)
			return "after the @ comes the name of a function";
		strcpy(site, at + 1);
		at += strlen(at);
	}
	if (*at != '\0')
		return "a deviation is KIND STEP[:ANSWER][@FUNCTION]";
	if (trace->count != 0 && trace->deviation[trace->count - 1].step >= d->step)
		return "deviations stand in the order of their steps";
	trace->count++;
	return NULL;
}

const char *explorer_trace_parse(struct explorer_trace *trace, const char *text)
{
	char word[2 * EXPLORER_NAME_MAX];
	const char *wrong;

	memset(trace, 0, sizeof(*trace));
	if (strncmp(text, MAGIC, strlen(MAGIC)) != 0)
		return "a trace begins with " MAGIC;
	text = take_until(text + strlen(MAGIC), "/cfg=", trace->scenario);
	if (text)
		text = take_until(text, "/core=", trace->config);
	if (!text)
		return "a trace is " MAGIC "SCENARIO/cfg=.../core=... and deviations";
	if (!strchr(text, ' '))
		return take_until(text, "", trace->core) ? NULL : "core= is followed by a hash";
	text = take_until(text, " ", trace->core);
	while (text && *text != '\0') {
		size_t length = strcspn(text, " ");

		if (length >= sizeof(word) || trace->count == EXPLORER_DEVIATIONS_MAX)
			return "too long";
		memcpy(word, text, length);
		word[length] = '\0';
		text += length + (text[length] == ' ');
		wrong = length != 0 ? parse_deviation(trace, word) : NULL;
		if (wrong)
			return wrong;
	}
	return text ? NULL : "core= is followed by a hash";
}

/* ---- writing ---- */

bool explorer_trace_format(const struct explorer_trace *trace, char *text, size_t size)
{
	size_t at = (size_t)snprintf(
		text, size, MAGIC "%s/cfg=%s/core=%s", trace->scenario, trace->config, trace->core);

	for (size_t i = 0; i < trace->count && at < size; i++) {
		const struct explorer_deviation *d = &trace->deviation[i];
		char letter = (char)(machine_choice_letter(d->kind) - 'A' + 'a');

		at += (size_t)snprintf(text + at, size - at, " %c%" PRIu32, letter, d->step);
		if (d->answer != 1 && at < size)
			at += (size_t)snprintf(text + at, size - at, ":%" PRIu32, d->answer);
		if (trace->site[i][0] != '\0' && at < size)
			at += (size_t)snprintf(text + at, size - at, "@%s", trace->site[i]);
	}
	return at < size;
}

bool explorer_trace_take(struct explorer_trace *trace, const struct explorer_search *search,
	const char *(*name)(const void *site))
{
	size_t choices;
	const struct explorer_choice *choice = explorer_choices(search, &choices);

	trace->count = 0;
	for (size_t i = 0; i < choices; i++) {
		const char *site;

		if (choice[i].answer == 0)
			continue;
		if (trace->count == EXPLORER_DEVIATIONS_MAX)
			return false;
		site = name && choice[i].site ? name(choice[i].site) : NULL;
		trace->deviation[trace->count] = (struct explorer_deviation){
			.step = (uint32_t)i + 1,
			.kind = choice[i].kind,
			.answer = choice[i].answer};
		snprintf(trace->site[trace->count], EXPLORER_NAME_MAX, "%s", site ? site : "");
		trace->count++;
	}
	return true;
}

const char *explorer_trace_stale(const struct explorer_trace *trace,
	const struct explorer_search *search, const char *(*name)(const void *site))
{
	static _Thread_local char text[3 * EXPLORER_NAME_MAX];
	size_t choices;
	const struct explorer_choice *choice = explorer_choices(search, &choices);

	for (size_t i = 0; i < trace->count; i++) {
		const struct explorer_deviation *d = &trace->deviation[i];
		const struct explorer_choice *met = d->step <= choices ? &choice[d->step - 1]
								       : NULL;
		const char *site = met && met->site && name ? name(met->site) : NULL;

		if (!met || met->kind != d->kind || met->answer != d->answer)
			snprintf(text, sizeof(text),
				"step %" PRIu32 " is no choice of kind %c with answer %" PRIu32,
				d->step, machine_choice_letter(d->kind), d->answer);
		else if (trace->site[i][0] != '\0' && (!site || strcmp(site, trace->site[i]) != 0))
			snprintf(text, sizeof(text), "step %" PRIu32 " is in %s, not in %s",
				d->step, site ? site : "no function", trace->site[i]);
		else
			continue;
		return text;
	}
	return NULL;
}
