/* SPDX-License-Identifier: MIT
 *
 * test_elf_program.c: what elf_program_write() writes, read back with libelf.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf_program.h"

static const struct elf_function functions[] = {
	{"main", 0x400010, 256},
	{"a_function_with_a_long_name", 0x400110, 4096},
	{"leaf", 0x401110, 4},
};
#define FUNCTION_COUNT (sizeof(functions) / sizeof(functions[0]))

static void write_somewhere(char path[32], struct elf_mapping *mapping)
{
	struct failure failure = {0};
	int fd;

	strcpy(path, "/tmp/test_elf_XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
	elf_program_write(path, functions, FUNCTION_COUNT, mapping, &failure);
	cr_assert_not(failure.failed, "%s", failure.text);
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t strings;

	cr_assert_eq(elf_getshdrstrndx(elf, &strings), 0);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		gelf_getshdr(section, header);
		if (strcmp(elf_strptr(elf, strings, header->sh_name), name) == 0)
			return section;
	}
	return NULL;
}

Test(elf_program, symbols_and_text)
{
	struct elf_mapping mapping;
	char path[32];
	GElf_Ehdr ehdr;
	GElf_Shdr text;
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data;
	Elf *elf;
	int fd;

	write_somewhere(path, &mapping);
	cr_assert_neq(elf_version(EV_CURRENT), EV_NONE);
	fd = open(path, O_RDONLY);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cr_assert_not_null(elf);
	cr_assert_not_null(gelf_getehdr(elf, &ehdr));
	cr_expect_eq(ehdr.e_machine, EM_AARCH64);
	cr_expect_eq(ehdr.e_type, ET_EXEC);
	cr_expect_eq(gelf_getclass(elf), ELFCLASS64);
	cr_assert_not_null(find_section(elf, ".text", &text));
	cr_expect_eq(text.sh_addr, 0x400010);
	cr_expect_eq(text.sh_size, 256 + 4096 + 4);

	data = elf_getdata(find_section(elf, ".symtab", &header), NULL);
	cr_assert_eq(header.sh_size / header.sh_entsize, FUNCTION_COUNT + 1);
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		gelf_getsym(data, (int)i + 1, &symbol);
		cr_expect_str_eq(
			elf_strptr(elf, header.sh_link, symbol.st_name), functions[i].name);
		cr_expect_eq(symbol.st_value, functions[i].address);
		cr_expect_eq(symbol.st_size, functions[i].size);
		cr_expect_eq(GELF_ST_TYPE(symbol.st_info), STT_FUNC);
	}

	/* The mapping holds the text, and leads from an address to the byte of the file that has
	 * it. */
	cr_expect_eq(mapping.address % 4096, 0);
	cr_expect_eq(mapping.size % 4096, 0);
	cr_expect_leq(mapping.address, 0x400010);
	cr_expect_geq(mapping.address + mapping.size, 0x401114);
	cr_expect_eq(0x400010 - mapping.address + mapping.file_offset, text.sh_offset);
	elf_end(elf);
	close(fd);
	unlink(path);
}

Test(elf_program, build_id_is_the_notes_and_of_the_content)
{
	struct elf_function changed[FUNCTION_COUNT];
	struct elf_mapping first;
	struct elf_mapping second;
	struct failure failure = {0};
	char path[32];
	GElf_Shdr header;
	GElf_Nhdr note;
	size_t name_at;
	size_t id_at;
	Elf_Data *data;
	Elf *elf;
	int fd;

	write_somewhere(path, &first);
	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	data = elf_getdata(find_section(elf, ".note.gnu.build-id", &header), NULL);
	cr_assert_gt(gelf_getnote(data, 0, &note, &name_at, &id_at), 0);
	cr_expect_eq(note.n_type, NT_GNU_BUILD_ID);
	cr_expect_eq(note.n_descsz, ELF_BUILD_ID_SIZE);
	cr_expect_eq(memcmp((char *)data->d_buf + id_at, first.build_id, ELF_BUILD_ID_SIZE), 0);
	elf_end(elf);
	close(fd);

	memcpy(changed, functions, sizeof(changed));
	changed[2].size = 8;
	elf_program_write(path, changed, FUNCTION_COUNT, &second, &failure);
	cr_expect_not(failure.failed, "%s", failure.text);
	cr_expect_neq(memcmp(first.build_id, second.build_id, ELF_BUILD_ID_SIZE), 0);
	for (size_t lane = 0; lane < ELF_BUILD_ID_SIZE; lane += 4)
		cr_expect_neq(memcmp(first.build_id + lane, second.build_id + lane, 4), 0);
	unlink(path);
}

Test(elf_program, refuses_what_is_no_program)
{
	static const struct elf_function far[] = {{"a", 0x400000, 4}, {"b", 0x40000000, 4}};
	static const struct elf_function odd[] = {{"a", 0x400002, 4}};
	static const struct elf_function empty[] = {{"a", 0x400000, 0}};
	static const struct elf_function wrapping[] = {{"a", UINT64_MAX - 3, 8}};
	struct elf_mapping mapping;
	struct failure failure[6] = {{0}};

	elf_program_write("/tmp/no_elf", far, 2, &mapping, &failure[0]);
	elf_program_write("/tmp/no_elf", odd, 1, &mapping, &failure[1]);
	elf_program_write("/tmp/no_elf", empty, 1, &mapping, &failure[2]);
	elf_program_write("/tmp/no_elf", wrapping, 1, &mapping, &failure[3]);
	elf_program_write("/tmp/no_elf", NULL, 0, &mapping, &failure[4]);
	elf_program_write("/no/such/folder/elf", functions, 1, &mapping, &failure[5]);
	for (size_t i = 0; i < 6; i++)
		cr_expect(failure[i].failed, "case %zu", i);
	cr_expect_neq(access("/tmp/no_elf", F_OK), 0);
}
