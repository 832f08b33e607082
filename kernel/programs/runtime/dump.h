/* SPDX-License-Identifier: MIT
 *
 * Files that leave the guest over the console.
 *
 *	dump-begin NAME SIZE
 *	HEX LINES (64 digits, 32 bytes each; the last one may be shorter)
 *	dump-end NAME CRC32
 *
 * SIZE in decimal bytes; CRC32 is that of zip and zlib (reflected 0xedb88320), 8 hex digits. Each
 * line is one write(2). The host's `undump` cuts the frames out of a console log, checks size and
 * sum, and writes the files.
 */
#ifndef PROGRAMS_DUMP_H
#define PROGRAMS_DUMP_H

#include <stddef.h>

void dump_bytes(const char *name, const void *bytes, size_t size);

/* 0, or -errno of opening or reading. The file is read into memory first (up to 4 MiB). */
long dump_file(const char *path);

#endif
