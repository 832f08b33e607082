/* SPDX-License-Identifier: MIT
 *
 * report.c: the table, the lines per CPU and the verdict of `tally run`.
 *
 * What the kernel says of an event comes from its last EXPECT operation, what it must say from the
 * oracle. An event that was closed on the way or refused has no last word of the kernel; its line
 * says so. A run is right when the machine saw nothing wrong, all expectations of the file are met,
 * the oracle has no objection to anything that happened on the way, and every last word equals the
 * oracle's to the unit.
 */
#include "report.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tally/tally.h>

#define NUMBER_SIZE     32u
#define LINES_SHOWN_MAX 20u

/* ---- counting along ---- */

static void on_retire(void *context, const struct machine_retire *retire)
{
	struct report *report = context;

	report->cpu[retire->cpu].busy_ns += retire->t1_ns - retire->t0_ns;
}

static void on_switch(void *context, uint32_t cpu, const struct machine_task *prev,
	const struct machine_task *next, uint64_t t_ns)
{
	struct report *report = context;

	(void)t_ns;
	if (prev != next)
		report->cpu[cpu].switches++;
}

static void on_interrupt(void *context, uint32_t cpu, uint64_t pc, uint8_t el, uint64_t t_ns)
{
	struct report *report = context;

	(void)pc;
	(void)el;
	(void)t_ns;
	report->cpu[cpu].interrupts++;
}

static void on_trace(void *context, const struct machine_trace *trace)
{
	struct report *report = context;

	if (trace->kind == HAL_TRACE_SKIPPED)
		report->cpu[trace->cpu].periods_skipped += trace->b;
}

void report_observer(struct report *report, struct machine_observer *observer)
{
	*observer = (struct machine_observer){
		.context = report,
		.retire = on_retire,
		.sched_switch = on_switch,
		.pmu_interrupt = on_interrupt,
		.trace = on_trace,
	};
}

/* ---- the table ---- */

/* 1234567 as "1,234,567". */
static const char *with_commas(char text[NUMBER_SIZE], uint64_t value)
{
	char digits[NUMBER_SIZE];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value);
	size_t to = 0;

	for (size_t i = 0; i < length; i++) {
		text[to++] = digits[i];
		if ((length - i) % 3 == 1 && i + 1 < length)
			text[to++] = ',';
	}
	text[to] = '\0';
	return text;
}

/* Nanoseconds as milliseconds with six decimals. */
static const char *as_ms(char text[NUMBER_SIZE], uint64_t ns)
{
	snprintf(text, NUMBER_SIZE, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
	return text;
}

static const struct operation_result *final_result(
	const struct report *report, const struct scenario_event *event)
{
	if (event->final == OPERATION_NOBODY)
		return NULL;
	return machine_operation_result(port_sim_machine(report->port), event->final);
}

static const char *share(char text[NUMBER_SIZE], const struct operation_counts *counts)
{
	const uint32_t both = OPERATION_EXPECT_ENABLED | OPERATION_EXPECT_RUNNING;

	if ((counts->known & both) != both || counts->enabled_ns == 0)
		return "-";
	snprintf(text, NUMBER_SIZE, "%.2f%%",
		100.0 * (double)counts->running_ns / (double)counts->enabled_ns);
	return text;
}

/* A field of counts, or "-" when the kernel was not asked for it. */
static const char *field(
	char text[NUMBER_SIZE], const struct operation_counts *counts, uint32_t bit, uint64_t value)
{
	bool time = bit == OPERATION_EXPECT_ENABLED || bit == OPERATION_EXPECT_RUNNING;

	if (!(counts->known & bit))
		return "-";
	return time ? as_ms(text, value) : with_commas(text, value);
}

static void print_target(const struct report *report, const struct scenario_event *event)
{
	if (event->task != OPERATION_NOBODY)
		printf("  task %s", scenario_task_name(report->scenario, event->task));
	else if (event->cpu >= 0 && event->opener == OPERATION_NOBODY)
		printf("  cpu %d", event->cpu);
	else
		printf("  task %s", scenario_task_name(report->scenario, event->opener));
	if (event->task != OPERATION_NOBODY && event->cpu >= 0)
		printf(" on cpu %d", event->cpu);
	printf("\n");
}

static void print_event(const struct report *report, uint32_t number)
{
	static const struct operation_counts nothing;
	const struct scenario_event *event = &report->scenario->events[number];
	const struct operation_result *result = final_result(report, event);
	const struct operation_counts *counts = result != NULL ? &result->counts : &nothing;
	struct oracle_count expected = {0};
	char text[7][NUMBER_SIZE];
	bool samples = event->ring_pages > 0;
	const char *oracle_says;

	oracle_count(report->oracle, number, &expected);
	oracle_says = expected.opened ? with_commas(text[1], expected.value) : "-";
	printf("%17s %17s  %13s %13s %8s %8s %8s  %s",
		event->must_fail ? "refused"
		: event->closed  ? "closed"
				 : field(text[0], counts, OPERATION_EXPECT_VALUE, counts->value),
		oracle_says, field(text[2], counts, OPERATION_EXPECT_ENABLED, counts->enabled_ns),
		field(text[3], counts, OPERATION_EXPECT_RUNNING, counts->running_ns),
		share(text[4], counts),
		samples ? field(text[5], counts, OPERATION_EXPECT_SAMPLES, counts->samples) : "-",
		samples ? field(text[6], counts, OPERATION_EXPECT_LOST, counts->lost) : "-",
		event->name);
	print_target(report, event);
}

static void print_cpu(const struct report *report, uint32_t cpu)
{
	const struct machine_description *machine = &report->scenario->machine;
	const struct report_cpu *seen = &report->cpu[cpu];
	uint64_t lost = 0;
	char busy[NUMBER_SIZE];

	for (uint32_t i = 0; i < report->scenario->event_count; i++) {
		if (report->scenario->events[i].cpu == (int32_t)cpu)
			lost += recording_lost(report->recording, i);
	}
	printf("cpu %-2u %-12s busy %s ms, %" PRIu64 " switches, %" PRIu64
	       " PMU interrupts, %" PRIu64 " periods skipped, %" PRIu64 " records lost\n",
		cpu, machine->clusters[machine->cluster_of[cpu]].name, as_ms(busy, seen->busy_ns),
		seen->switches, seen->interrupts, seen->periods_skipped, lost);
}

void report_print(const struct report *report)
{
	const struct scenario *scenario = report->scenario;
	uint64_t lost_of_tasks = 0;
	char text[NUMBER_SIZE];

	printf("%s on %s: %u CPUs, %u tasks, %u events, seed %" PRIu64 ", %s ms simulated\n\n",
		scenario->path, scenario->machine_name, scenario->machine.cpu_count,
		scenario->task_count, scenario->event_count, scenario->machine.seed,
		as_ms(text, machine_now_ns(port_sim_machine(report->port))));
	printf("%17s %17s  %13s %13s %8s %8s %8s  event\n", "count", "oracle", "enabled ms",
		"running ms", "share", "samples", "lost");
	for (uint32_t i = 0; i < scenario->event_count; i++)
		print_event(report, i);
	printf("\n");
	for (uint32_t cpu = 0; cpu < scenario->machine.cpu_count; cpu++)
		print_cpu(report, cpu);
	for (uint32_t i = 0; i < scenario->event_count; i++) {
		if (scenario->events[i].cpu < 0)
			lost_of_tasks += recording_lost(report->recording, i);
	}
	if (lost_of_tasks > 0)
		printf("events of tasks, on whatever CPU: %" PRIu64 " records lost\n",
			lost_of_tasks);
	printf("\n");
}

/* ---- the verdict ---- */

struct complaints {
	uint64_t count;
	bool print;
	char first[512];
};

/* One line of what differs; only the first ones are shown. */
static void complain(struct complaints *complaints, const char *line)
{
	if (complaints->print && complaints->count < LINES_SHOWN_MAX)
		printf("%s\n", line);
	if (complaints->count == 0)
		snprintf(complaints->first, sizeof(complaints->first), "%s", line);
	complaints->count++;
}

static void complain_of_field(struct complaints *complaints, const char *where, const char *what,
	uint64_t found, uint64_t expected)
{
	char line[512];
	char text[2][NUMBER_SIZE];

	snprintf(line, sizeof(line), "%s: %s is %s, expected %s (%+" PRId64 ")", where, what,
		with_commas(text[0], found), with_commas(text[1], expected),
		(int64_t)(found - expected));
	complain(complaints, line);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* EXPECT operation number `index` failed: say where it stands and what differs. */
static void explain_expectation(
	const struct report *report, uint32_t index, struct complaints *complaints)
{
	const struct scenario *scenario = report->scenario;
	const struct machine *machine = port_sim_machine(report->port);
	const struct operation_expect *expect = &scenario->machine.operations[index].expect;
	const struct operation_result *result = machine_operation_result(machine, index);
	const struct operation_counts *counts = &result->counts;
	const struct {
		uint32_t bit;
		const char *what;
		uint64_t found;
		uint64_t expected;
		uint64_t tolerance;
	} fields[] = {
		{OPERATION_EXPECT_VALUE, "value", counts->value, expect->value, expect->tolerance},
		{OPERATION_EXPECT_ENABLED, "time enabled (ns)", counts->enabled_ns,
			expect->enabled_ns, expect->tolerance_ns},
		{OPERATION_EXPECT_RUNNING, "time running (ns)", counts->running_ns,
			expect->running_ns, expect->tolerance_ns},
		{OPERATION_EXPECT_SAMPLES, "samples", counts->samples, expect->samples,
			expect->tolerance_samples},
		{OPERATION_EXPECT_LOST, "lost", counts->lost, expect->lost,
			expect->tolerance_samples},
		{OPERATION_EXPECT_SIZE, "size of a read", counts->size, expect->size, 0},
	};
	char where[300];
	char line[512];
	int length;

	length = snprintf(where, sizeof(where), "%s:%u: at %" PRIu64 " ns", scenario->path,
		scenario->operation_lines[index], result->end_ns);
	if (expect->event < scenario->event_count)
		snprintf(where + length, sizeof(where) - (size_t)length, ": event %s",
			scenario->events[expect->event].name);
	if (expect->fields & OPERATION_EXPECT_RESULT) {
		const struct operation_result *of = machine_operation_result(
			machine, expect->operation);

		snprintf(line, sizeof(line),
			"%s: the result is %" PRId64 " (%s), expected %" PRId64 " (%s)", where,
			of->result, of->result < 0 ? strerror((int)-of->result) : "success",
			expect->result,
			expect->result < 0 ? strerror((int)-expect->result) : "success");
		complain(complaints, line);
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!(expect->fields & fields[i].bit))
			continue;
		if (!(counts->known & fields[i].bit)) {
			snprintf(line, sizeof(line),
				"%s: %s is not known: read_format lacks it, or "
				"the event cannot be read",
				where, fields[i].what);
			complain(complaints, line);
		} else if (distance(fields[i].found, fields[i].expected) > fields[i].tolerance) {
			complain_of_field(complaints, where, fields[i].what, fields[i].found,
				fields[i].expected);
		}
	}
}

static void check_expectations(const struct report *report, struct complaints *complaints)
{
	const struct machine_description *machine = &report->scenario->machine;

	for (uint32_t i = 0; i < machine->operation_count; i++) {
		const struct operation_result *result = machine_operation_result(
			port_sim_machine(report->port), i);

		if (machine->operations[i].kind == OPERATION_EXPECT && result != NULL &&
			result->runs > 0 && result->result == -EBADMSG)
			explain_expectation(report, i, complaints);
	}
}

/* Does `found` lie in [expected, expected + slack]? */
static bool within(uint64_t found, uint64_t expected, uint64_t slack)
{
	return found - expected <= slack;
}

/* The kernel's last word, field by field, against the oracle's. */
static void check_counts(const struct scenario_event *event, const struct operation_counts *counts,
	const struct oracle_count *expected, struct complaints *complaints)
{
	bool lost_is_told = event->attr.read_format & TALLY_FORMAT_LOST;
	char where[200];

	snprintf(where, sizeof(where), "event %s, the oracle", event->name);
	if ((counts->known & OPERATION_EXPECT_VALUE) &&
		!within(counts->value, expected->value, expected->value_slack))
		complain_of_field(complaints, where, "value", counts->value, expected->value);
	if ((counts->known & OPERATION_EXPECT_ENABLED) &&
		!within(counts->enabled_ns, expected->enabled_ns, expected->enabled_slack_ns))
		complain_of_field(complaints, where, "time enabled (ns)", counts->enabled_ns,
			expected->enabled_ns);
	if ((counts->known & OPERATION_EXPECT_RUNNING) &&
		counts->running_ns != expected->running_ns)
		complain_of_field(complaints, where, "time running (ns)", counts->running_ns,
			expected->running_ns);
	if (event->ring_pages > 0 && (counts->known & OPERATION_EXPECT_SAMPLES) &&
		counts->samples != expected->samples_written)
		complain_of_field(complaints, where, "number of samples", counts->samples,
			expected->samples_written);
	/* Without read_format lost, losses that no LOST record has told of yet are not known. */
	if (event->ring_pages > 0 && (counts->known & OPERATION_EXPECT_LOST) &&
		(lost_is_told ? counts->lost != expected->samples_lost
			      : counts->lost > expected->samples_lost))
		complain_of_field(complaints, where, "number of lost samples", counts->lost,
			expected->samples_lost);
}

/* Every event that opened, and is open at the end, must have been compared. Returns 1 if this one
 * was. */
static uint32_t check_event(
	const struct report *report, uint32_t number, struct complaints *complaints)
{
	const struct scenario_event *event = &report->scenario->events[number];
	const struct operation_result *result = final_result(report, event);
	struct oracle_count expected = {0};
	char line[256];

	oracle_count(report->oracle, number, &expected);
	if (result == NULL)
		return 0;
	if (expected.opened && (result->counts.known & OPERATION_EXPECT_VALUE)) {
		check_counts(event, &result->counts, &expected, complaints);
		return 1;
	}
	if (expected.opened && expected.error)
		return 1; /* a pinned event without a counter: nothing can be read, and nothing
			     should */
	snprintf(line, sizeof(line), "event %s: %s", event->name,
		expected.opened ? "cannot be read at the end" : "the oracle has not seen it open");
	complain(complaints, line);
	return 0;
}

static void check_oracle(const struct report *report, struct complaints *complaints)
{
	uint64_t count = oracle_violation_count(report->oracle);
	uint32_t events = report->scenario->event_count;
	char line[ORACLE_TEXT_MAX + 256];

	for (uint32_t k = 0; k < count; k++) {
		const struct oracle_violation *violation = oracle_violation(report->oracle, k);

		if (violation == NULL) {
			complaints->count++; /* only the first ones are kept */
			continue;
		}
		snprintf(line, sizeof(line), "law %s%s%s", violation->text,
			violation->event < events ? ": that is event " : "",
			violation->event < events ? report->scenario->events[violation->event].name
						  : "");
		complain(complaints, line);
	}
}

/* False: the event did not open, though the file does not expect that. */
static bool check_opened(
	const struct report *report, uint32_t number, struct complaints *complaints)
{
	const struct scenario_event *event = &report->scenario->events[number];
	const struct machine *machine = port_sim_machine(report->port);
	uint32_t operation = machine_event_operation(machine, number);
	const struct operation_result *result = machine_operation_result(machine, operation);
	char line[256];

	if (event->must_fail || event->may_fail || result == NULL || result->runs == 0 ||
		result->result >= 0)
		return true;
	snprintf(line, sizeof(line), "%s:%u: event %s does not open: %s", report->scenario->path,
		report->scenario->operation_lines[operation], event->name,
		strerror((int)-result->result));
	complain(complaints, line);
	return false;
}

/* Everything that can be compared is; returns how many events were. */
static uint32_t check_all(
	const struct report *report, bool run_failed, struct complaints *complaints)
{
	uint32_t compared = 0;

	check_expectations(report, complaints);
	if (run_failed && complaints->count == 0) {
		/* Not an expectation of the file: the machine or the kernel broke a rule. */
		const char *why = port_sim_failure(report->port);

		complain(complaints, why != NULL ? why : "the run failed and does not say why");
	}
	for (uint32_t i = 0; i < report->scenario->event_count; i++) {
		if (check_opened(report, i, complaints))
			compared += check_event(report, i, complaints);
	}
	check_oracle(report, complaints);
	return compared;
}

bool report_first_complaint(const struct report *report, bool run_failed, char *text, size_t size)
{
	struct complaints complaints = {0};

	check_all(report, run_failed, &complaints);
	snprintf(text, size, "%s", complaints.first);
	return complaints.count != 0;
}

bool report_verdict(const struct report *report, bool run_failed, bool quiet)
{
	struct complaints complaints = {.print = true};
	struct oracle_tally judged = oracle_tally(report->oracle);
	uint32_t compared = check_all(report, run_failed, &complaints);

	if (complaints.count > LINES_SHOWN_MAX)
		printf("... and %" PRIu64 " more\n", complaints.count - LINES_SHOWN_MAX);
	if (complaints.count == 0 && !quiet)
		printf("verdict: %u events, all equal to the oracle (%" PRIu64
		       " stretches, %" PRIu64 " placements, %" PRIu64 " reads, %" PRIu64
		       " records judged)\n",
			compared, judged.stretches, judged.placements, judged.reads,
			judged.records);
	else if (complaints.count > 0)
		printf("verdict: FAULT: %" PRIu64 " differences\n", complaints.count);
	return complaints.count == 0;
}
