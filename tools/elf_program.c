/* SPDX-License-Identifier: MIT
 *
 * elf_program.c: writes simulated programs as AArch64 ELF executables, with libelf.
 *
 * The file holds what tools look at and no more: a loadable text segment, a symbol table of
 * functions, and a build id by which `perf` makes sure that the file is the one that was measured.
 * The layout is ours (ELF_F_LAYOUT), because the place of the text in the file must be congruent to
 * its address: perf maps an address to a file offset by the MMAP2 record, and a symbol to a file
 * offset by its section. Both must agree to the byte.
 *
 * The text is not the simulated work, which has no instructions: it is NOPs with a RET at the end
 * of each function, so that a disassembler shows something sensible. The build id is a hash of
 * names, addresses and sizes; it guards against mixing up files, not against an adversary.
 *
 * One call writes one file; nothing is kept between calls.
 */
#include "elf_program.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_SIZE       4096u
#define TEXT_BYTES_MAX  (64u << 20)
#define A64_NOP         0xd503201fu
#define A64_RET         0xd65f03c0u
#define A64_INSTRUCTION 4u

/* Section indices, in the order of the section header table. */
enum section {
	SECTION_NULL,
	SECTION_TEXT,
	SECTION_NOTE,
	SECTION_SYMTAB,
	SECTION_STRTAB,
	SECTION_SHSTRTAB,
	SECTION_COUNT,
};

static const char section_names[] = "\0.text\0.note.gnu.build-id\0.symtab\0.strtab\0.shstrtab";

/* A GNU build-id note: Elf64_Nhdr, owner, descriptor. */
struct build_id_note {
	Elf64_Nhdr header;
	char owner[4];
	uint8_t id[ELF_BUILD_ID_SIZE];
};
_Static_assert(sizeof(struct build_id_note) == 36, "a note has no padding");

struct image {
	uint64_t text_address;
	uint64_t text_size;
	uint32_t *text;
	Elf64_Sym *symbols;
	size_t symbol_count; /* with the null symbol */
	char *strings;
	size_t string_size;
	struct build_id_note note;
};

/* Where `name` begins in section_names. */
static Elf64_Word section_name(const char *name)
{
	size_t at = 1;

	while (strcmp(section_names + at, name) != 0) {
		at += strlen(section_names + at) + 1;
		assert(at < sizeof(section_names));
	}
	return (Elf64_Word)at;
}

/* FNV-1a over bytes, continued from `hash`. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void build_id_compute(
	const struct elf_function *functions, size_t count, uint8_t id[ELF_BUILD_ID_SIZE])
{
	for (size_t lane = 0; lane * sizeof(uint64_t) < ELF_BUILD_ID_SIZE; lane++) {
		uint64_t hash = UINT64_C(0xcbf29ce484222325) + lane;
		size_t room = ELF_BUILD_ID_SIZE - lane * sizeof(hash);

		for (size_t i = 0; i < count; i++) {
			const struct elf_function *f = &functions[i];

			hash = hash_bytes(hash, f->name, strlen(f->name) + 1);
			hash = hash_bytes(hash, &f->address, sizeof(f->address));
			hash = hash_bytes(hash, &f->size, sizeof(f->size));
		}
		hash ^= hash >> 29;
		memcpy(id + lane * sizeof(hash), &hash, room < sizeof(hash) ? room : sizeof(hash));
	}
}

static void image_free(struct image *image)
{
	free(image->text);
	free(image->symbols);
	free(image->strings);
}

/* The addresses that the functions span; checks that they can be a program. */
static void text_span(struct image *image, const struct elf_function *functions, size_t count,
	struct failure *failure)
{
	uint64_t first = UINT64_MAX;
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		const struct elf_function *f = &functions[i];

		if (f->size == 0 || f->size % A64_INSTRUCTION != 0 ||
			f->address % A64_INSTRUCTION != 0 || f->address > UINT64_MAX - f->size) {
			failure_set(failure, "function %s: no place for instructions", f->name);
			return;
		}
		if (f->address < first)
			first = f->address;
		if (f->address + f->size > end)
			end = f->address + f->size;
	}
	if (count == 0 || end - first > TEXT_BYTES_MAX) {
		failure_set(failure, "the functions of a program span 4 bytes to %u MiB",
			TEXT_BYTES_MAX >> 20);
		return;
	}
	image->text_address = first;
	image->text_size = end - first;
}

static void image_build(struct image *image, const struct elf_function *functions, size_t count,
	struct failure *failure)
{
	size_t string_at = 1;

	*image = (struct image){.symbol_count = count + 1, .string_size = 1};
	text_span(image, functions, count, failure);
	if (failure->failed)
		return;
	for (size_t i = 0; i < count; i++)
		image->string_size += strlen(functions[i].name) + 1;
	image->text = malloc(image->text_size);
	image->symbols = calloc(image->symbol_count, sizeof(*image->symbols));
	image->strings = calloc(image->string_size, 1);
	if (image->text == NULL || image->symbols == NULL || image->strings == NULL) {
		failure_set(failure, "out of memory");
		return;
	}
	for (size_t i = 0; i < image->text_size / A64_INSTRUCTION; i++)
		image->text[i] = A64_NOP;
	for (size_t i = 0; i < count; i++) {
		const struct elf_function *f = &functions[i];
		uint64_t last = f->address - image->text_address + f->size - A64_INSTRUCTION;
		size_t length = strlen(f->name) + 1;

		image->text[last / A64_INSTRUCTION] = A64_RET;
		image->symbols[i + 1] = (Elf64_Sym){
			.st_name = (Elf64_Word)string_at,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = SECTION_TEXT,
			.st_value = f->address,
			.st_size = f->size,
		};
		memcpy(image->strings + string_at, f->name, length);
		string_at += length;
	}
	image->note.header = (Elf64_Nhdr){
		.n_namesz = sizeof(image->note.owner),
		.n_descsz = ELF_BUILD_ID_SIZE,
		.n_type = NT_GNU_BUILD_ID,
	};
	memcpy(image->note.owner, ELF_NOTE_GNU, sizeof(image->note.owner));
	build_id_compute(functions, count, image->note.id);
}

/* Add the next section, at file offset `at`; returns the offset behind it. */
static uint64_t section_add(Elf *elf, Elf64_Shdr shdr, void *bytes, uint64_t size, Elf_Type type,
	uint64_t at, struct failure *failure)
{
	Elf_Scn *section = elf_newscn(elf);
	Elf_Data *data = section != NULL ? elf_newdata(section) : NULL;
	Elf64_Shdr *header = section != NULL ? elf64_getshdr(section) : NULL;

	if (data == NULL || header == NULL) {
		failure_set(failure, "libelf: %s", elf_errmsg(-1));
		return at;
	}
	at = (at + shdr.sh_addralign - 1) / shdr.sh_addralign * shdr.sh_addralign;
	*data = (Elf_Data){
		.d_buf = bytes,
		.d_type = type,
		.d_version = EV_CURRENT,
		.d_size = size,
		.d_off = 0,
		.d_align = shdr.sh_addralign,
	};
	*header = shdr;
	header->sh_offset = at;
	header->sh_size = size;
	return at + size;
}

/* All sections behind the program headers; the text at `text_offset`. Returns the end of the last.
 */
static uint64_t sections_add(
	Elf *elf, const struct image *image, uint64_t text_offset, struct failure *failure)
{
	uint64_t at = text_offset;

	at = section_add(elf,
		(Elf64_Shdr){.sh_name = section_name(".text"),
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = image->text_address,
			.sh_addralign = A64_INSTRUCTION},
		image->text, image->text_size, ELF_T_BYTE, at, failure);
	at = section_add(elf,
		(Elf64_Shdr){.sh_name = section_name(".note.gnu.build-id"),
			.sh_type = SHT_NOTE,
			.sh_addralign = 4},
		(void *)&image->note, sizeof(image->note), ELF_T_BYTE, at, failure);
	at = section_add(elf,
		(Elf64_Shdr){.sh_name = section_name(".symtab"),
			.sh_type = SHT_SYMTAB,
			.sh_link = SECTION_STRTAB,
			.sh_info = 1,
			.sh_addralign = 8,
			.sh_entsize = sizeof(Elf64_Sym)},
		image->symbols, image->symbol_count * sizeof(Elf64_Sym), ELF_T_SYM, at, failure);
	at = section_add(elf,
		(Elf64_Shdr){.sh_name = section_name(".strtab"),
			.sh_type = SHT_STRTAB,
			.sh_addralign = 1},
		image->strings, image->string_size, ELF_T_BYTE, at, failure);
	return section_add(elf,
		(Elf64_Shdr){.sh_name = section_name(".shstrtab"),
			.sh_type = SHT_STRTAB,
			.sh_addralign = 1},
		(void *)(uintptr_t)section_names, sizeof(section_names), ELF_T_BYTE, at, failure);
}

static void image_emit(Elf *elf, const struct image *image, struct failure *failure)
{
	uint64_t text_offset = PAGE_SIZE + image->text_address % PAGE_SIZE;
	Elf64_Ehdr *ehdr = elf64_newehdr(elf);
	Elf64_Phdr *phdr = elf64_newphdr(elf, 1);
	uint64_t end;

	if (ehdr == NULL || phdr == NULL) {
		failure_set(failure, "libelf: %s", elf_errmsg(-1));
		return;
	}
	elf_flagelf(elf, ELF_C_SET, ELF_F_LAYOUT);
	end = sections_add(elf, image, text_offset, failure);
	ehdr->e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr->e_type = ET_EXEC;
	ehdr->e_machine = EM_AARCH64;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_entry = image->text_address;
	ehdr->e_phoff = sizeof(Elf64_Ehdr);
	ehdr->e_shoff = (end + 7) / 8 * 8;
	ehdr->e_shstrndx = SECTION_SHSTRTAB;
	*phdr = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = text_offset,
		.p_vaddr = image->text_address,
		.p_paddr = image->text_address,
		.p_filesz = image->text_size,
		.p_memsz = image->text_size,
		.p_align = PAGE_SIZE,
	};
	if (!failure->failed && elf_update(elf, ELF_C_WRITE) < 0)
		failure_set(failure, "libelf: %s", elf_errmsg(-1));
}

static void image_write(const char *path, const struct image *image, struct failure *failure)
{
	Elf *elf = NULL;
	int fd;

	if (elf_version(EV_CURRENT) == EV_NONE) {
		failure_set(failure, "libelf is older than its header");
		return;
	}
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0) {
		failure_set(failure, "%s: %s", path, strerror(errno));
		return;
	}
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	if (elf == NULL || gelf_newehdr(elf, ELFCLASS64) == NULL)
		failure_set(failure, "libelf: %s", elf_errmsg(-1));
	else
		image_emit(elf, image, failure);
	elf_end(elf);
	if (close(fd) != 0)
		failure_set(failure, "%s: %s", path, strerror(errno));
}

void elf_program_write(const char *path, const struct elf_function *functions, size_t count,
	struct elf_mapping *mapping, struct failure *failure)
{
	struct image image;
	uint64_t end;

	image_build(&image, functions, count, failure);
	if (!failure->failed)
		image_write(path, &image, failure);
	if (!failure->failed) {
		end = image.text_address + image.text_size;
		mapping->address = image.text_address / PAGE_SIZE * PAGE_SIZE;
		mapping->size = (end - mapping->address + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE;
		mapping->file_offset = PAGE_SIZE;
		memcpy(mapping->build_id, image.note.id, ELF_BUILD_ID_SIZE);
	}
	image_free(&image);
}
