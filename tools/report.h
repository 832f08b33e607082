/* SPDX-License-Identifier: MIT
 *
 * report.h: what `tally run` tells people of a run: a table of counts beside the oracle's, what
 * went lost on each CPU, and a verdict.
 */
#ifndef TALLY_TOOLS_REPORT_H
#define TALLY_TOOLS_REPORT_H

#include <stdbool.h>

#include <oracle/oracle.h>
#include <port_sim/run.h>

#include "recording.h"
#include "scenario.h"

/* What the report counts by itself while the run lasts. */
struct report_cpu {
	uint64_t busy_ns;
	uint64_t switches;
	uint64_t interrupts;
	uint64_t periods_skipped;
};

struct report {
	const struct scenario *scenario;
	const struct recording *recording;
	const struct oracle *oracle;
	struct port_sim *port;
	struct report_cpu cpu[MACHINE_CPUS_MAX];
};

/* To be attached before the run. */
void report_observer(struct report *report, struct machine_observer *observer);

/* The table and the lines per CPU, on stdout. */
void report_print(const struct report *report);

/* Is everything as it should be? Prints the verdict on stdout: one line, or what differs.
 * `run_failed`: the run itself ended in failure; `quiet`: prints only what differs. */
bool report_verdict(const struct report *report, bool run_failed, bool quiet);

/* The same comparison, silent: true when something differs, the first of it in `text`. */
bool report_first_complaint(const struct report *report, bool run_failed, char *text, size_t size);

#endif
