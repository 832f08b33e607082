/* SPDX-License-Identifier: MIT
 *
 * elf_program.h: a simulated program as an ELF file.
 *
 * `perf report` names functions by the symbol tables of the files that a task had mapped. A
 * simulated program has no file, so one is written: an AArch64 executable with its functions at the
 * addresses that the machine gave them.
 */
#ifndef TALLY_TOOLS_ELF_PROGRAM_H
#define TALLY_TOOLS_ELF_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "failure.h"

#define ELF_BUILD_ID_SIZE 20u

/* One function: where it lies and how many bytes it takes, both multiples of 4. */
struct elf_function {
	const char *name;
	uint64_t address;
	uint64_t size;
};

/* The stretch of memory that loading the file maps, for an MMAP2 record. */
struct elf_mapping {
	uint64_t address;     /* of its first byte, a multiple of the page size */
	uint64_t size;        /* in bytes, whole pages */
	uint64_t file_offset; /* where the stretch begins in the file */
	uint8_t build_id[ELF_BUILD_ID_SIZE];
};

/* Write the program with these functions (at least one, none overlapping) to `path`, replacing what
 * is there, and say in *mapping how it is mapped. The same functions give the same bytes. Fails on
 * addresses that are no program, and when the file cannot be written. */
void elf_program_write(const char *path, const struct elf_function *functions, size_t count,
	struct elf_mapping *mapping, struct failure *failure);

#endif
