/* SPDX-License-Identifier: MIT
 *
 * scenarios.h: the runs of faulty_run.h, as constant descriptions.
 */
#ifndef TESTS_ORACLE_SCENARIOS_H
#define TESTS_ORACLE_SCENARIOS_H

#include <machine/machine.h>
#include <tally/abi.h>

#include "faulty_run.h"

struct faulty_scenario {
	struct machine_description description;
};

const struct faulty_scenario *faulty_scenario(enum scenario scenario);

#endif
