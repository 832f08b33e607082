/* SPDX-License-Identifier: MIT
 *
 * elf.h: the parts of the 64-bit ELF format that loading a program needs (System V gABI, chapters 4
 * and 5).
 */
#ifndef KERNEL_ELF_H
#define KERNEL_ELF_H

#include <kernel/types.h>

struct elf_header {
	u8 ident[16];
	u16 type;
	u16 machine;
	u32 version;
	u64 entry;
	u64 segments_at;
	u64 sections_at;
	u32 flags;
	u16 header_size;
	u16 segment_size;
	u16 segments;
	u16 section_size;
	u16 sections;
	u16 names_section;
};

struct elf_segment {
	u32 type;
	u32 flags; /* 4 read, 2 write, 1 execute */
	u64 offset;
	u64 address;
	u64 physical;
	u64 file_size;
	u64 memory_size;
	u64 alignment;
};

_Static_assert(sizeof(struct elf_header) == 64, "gABI");
_Static_assert(sizeof(struct elf_segment) == 56, "gABI");

#define ELF_TYPE_EXEC       2
#define ELF_TYPE_DYN        3
#define ELF_MACHINE_AARCH64 183
#define ELF_SEGMENT_LOAD    1
#define ELF_SEGMENT_INTERP  3

#endif
