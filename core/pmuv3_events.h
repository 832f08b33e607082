/* SPDX-License-Identifier: MIT
 *
 * pmuv3_events.h: Linux's generic hardware and cache events as PMUv3 event numbers.
 */
#ifndef TALLY_CORE_PMUV3_EVENTS_H
#define TALLY_CORE_PMUV3_EVENTS_H

#include <stdint.h>

#include <tally/abi.h>

/* The PMUv3 event number on a PMU with these PMCEID registers for attr.type TALLY_TYPE_HARDWARE,
 * TALLY_TYPE_HW_CACHE, or any other (raw: config[15:0], whether PMCEID has it or not). -EINVAL: no
 * such event exists; -ENOENT: not on this PMU. */
int pmuv3_event_number(const uint64_t pmceid[2], uint32_t type, uint64_t config);

/* The filter bits of the type register for attr.flags, for a kernel at EL1. */
uint64_t pmuv3_filter(uint64_t flags);

#endif
