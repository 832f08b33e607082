/* SPDX-License-Identifier: MIT
 *
 * recording.h: what a run leaves behind for tools: the records that readers took out of the rings,
 * and the names and mappings of tasks. Attached to a run as an observer; after it, written as
 * perf.data with the programs' ELF files in a folder `programs` beside it.
 */
#ifndef TALLY_TOOLS_RECORDING_H
#define TALLY_TOOLS_RECORDING_H

#include <machine/observer.h>
#include <port_sim/run.h>

#include "failure.h"
#include "scenario.h"

struct recording;

/* Prepare to record a run of `scenario`, which outlives the recording. With `for_perf_data` events
 * that could not share a perf.data file are refused. NULL with *failure set. */
struct recording *recording_create(
	const struct scenario *scenario, bool for_perf_data, struct failure *failure);
void recording_destroy(struct recording *recording);

/* To be attached before the run. */
void recording_observer(struct recording *recording, struct machine_observer *observer);

/* Records lost in the rings of event `event`, by the LOST records that its reader found. */
uint64_t recording_lost(const struct recording *recording, uint32_t event);

/* Write `path` and the folder beside it, after the run. `command` is the program's argv. */
void recording_write(struct recording *recording, const struct port_sim *port, const char *path,
	const char *const *command, size_t command_count, struct failure *failure);

#endif
