/* SPDX-License-Identifier: MIT
 *
 * The framed dump: see dump.h.
 *
 * The size stands in the first line, before the contents, so dump_file reads the whole file first,
 * into an anonymous mapping of the largest size (pages that are never touched cost nothing).
 */
#include "dump.h"

#include "bytes.h"
#include "print.h"
#include "syscall.h"

#define LINE_BYTES     32u
#define FILE_BYTES_MAX (4u << 20)

static uint32_t crc32_add(uint32_t crc, unsigned char byte)
{
	crc ^= byte;
	for (unsigned bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	return crc;
}

void dump_bytes(const char *name, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;
	uint32_t crc = ~0u;

	print("dump-begin %s %lu\n", name, size);
	for (size_t done = 0; done < size;) {
		char line[2 * LINE_BYTES + 1];
		size_t length = 0;

		for (; length < LINE_BYTES && done < size; length++, done++) {
			line[2 * length] = "0123456789abcdef"[from[done] >> 4];
			line[2 * length + 1] = "0123456789abcdef"[from[done] & 15];
			crc = crc32_add(crc, from[done]);
		}
		line[2 * length] = 0;
		print("%s\n", line);
	}
	print("dump-end %s %08x\n", name, ~crc);
}

long dump_file(const char *path)
{
	long fd = sys_open(path, 0);
	long at, bytes = 0, answer;

	if (fd < 0)
		return fd;
	at = sys_mmap(
		NULL, FILE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at < 0) {
		sys_close((int)fd);
		return at;
	}
	do {
		answer = sys_read((int)fd, (char *)at + bytes, FILE_BYTES_MAX - (size_t)bytes);
		if (answer > 0)
			bytes += answer;
	} while (answer > 0 && bytes < FILE_BYTES_MAX);
	if (answer >= 0)
		dump_bytes(path, (void *)at, (size_t)bytes);
	sys_munmap((void *)at, FILE_BYTES_MAX);
	sys_close((int)fd);
	return answer < 0 ? answer : 0;
}
