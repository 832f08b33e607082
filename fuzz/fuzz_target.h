/* SPDX-License-Identifier: MIT
 *
 * fuzz_target.h: the one function of a fuzz target, called by libFuzzer or by replay.c.
 */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Aborts when the input shows a fault; else 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
