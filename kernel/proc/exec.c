/* SPDX-License-Identifier: MIT
 *
 * exec.c: execve(2): static AArch64 ELF programs, ET_EXEC and static-PIE ET_DYN.
 *
 * The new address space is built beside the old one, and everything that can be judged is judged,
 * before the process gives up its other threads and its memory; what fails after that ends the
 * process, as in Linux. Segments are private mappings of the file; the stack begins with argc,
 * argv, envp and the auxiliary vector in Linux's layout.
 */
#include <kernel/arch.h>
#include <kernel/elf.h>
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/irq.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#define PIE_BASE    0x0000555555550000ull
#define STACK_FIRST (128u << 10) /* of the stack area; the rest comes as it grows */
#define HEADERS_MAX 32u
#define ARGS_BYTES  (128u << 10)
#define ARGS_MAX    4096u

struct image {
	struct elf_header header;
	struct elf_segment segments[HEADERS_MAX];
	u64 base; /* added to every address of the file */
	u64 entry;
	u64 headers_at;         /* user address of the program headers, or 0 */
	u64 bss_start, bss_end; /* to clear in the last file page */
	u64 end;
};

static int read_image(const struct inode *inode, struct image *image)
{
	const struct elf_header *h = &image->header;
	u64 bytes;

	if ((inode->mode & S_IFMT) != S_IFREG || (inode->mode & 0111) == 0)
		return -EACCES;
	if (inode->size < sizeof(*h))
		return -ENOEXEC;
	memcpy(&image->header, inode->data, sizeof(*h));
	if (memcmp(h->ident, "\177ELF\2\1", 6) != 0 || h->machine != ELF_MACHINE_AARCH64 ||
		(h->type != ELF_TYPE_EXEC && h->type != ELF_TYPE_DYN) ||
		h->segment_size != sizeof(struct elf_segment) || h->segments == 0 ||
		h->segments > HEADERS_MAX)
		return -ENOEXEC;
	bytes = (u64)h->segments * sizeof(struct elf_segment);
	if (h->segments_at > inode->size || bytes > inode->size - h->segments_at)
		return -ENOEXEC;
	memcpy(image->segments, inode->data + h->segments_at, bytes);
	image->base = h->type == ELF_TYPE_DYN ? PIE_BASE : 0;
	image->entry = image->base + h->entry;
	return 0;
}

static bool segment_sane(const struct elf_segment *s, const struct inode *inode)
{
	bool in_file = s->offset <= inode->size && s->file_size <= inode->size - s->offset;

	return (in_file || s->file_size == 0) && s->memory_size >= s->file_size &&
	       s->offset % PAGE_SIZE == s->address % PAGE_SIZE && s->address < USER_END / 4 &&
	       s->memory_size < USER_END / 4;
}

static int map_segment(
	struct mm *mm, struct image *image, const struct elf_segment *s, struct file *file)
{
	u64 start = image->base + s->address;
	u64 file_end = start + s->file_size;
	u64 end = start + s->memory_size;
	u32 prot = (s->flags & 4 ? PROT_READ : 0u) | (s->flags & 2 ? PROT_WRITE : 0u) |
		   (s->flags & 1 ? PROT_EXEC : 0u);
	struct area_request request = {
		.at = ALIGN_DOWN(start, PAGE_SIZE), .prot = prot, .fixed = true};
	u64 zero_from = request.at;
	int error;

	if (s->file_size > 0) {
		zero_from = ALIGN_UP(file_end, PAGE_SIZE);
		request.size = zero_from - request.at;
		request.index = s->offset >> PAGE_SHIFT;
		error = file->ops->mmap(file, &request);
		if (error == 0)
			error = mm_map(mm, &request);
		if (error != 0)
			return error;
		file_get(file); /* the area's */
		if (s->memory_size > s->file_size && file_end % PAGE_SIZE != 0) {
			image->bss_start = file_end;
			image->bss_end = MIN(end, zero_from);
		}
	}
	if (end > zero_from) {
		request = (struct area_request){
			.at = zero_from, .size = end - zero_from, .prot = prot, .fixed = true};
		error = mm_map(mm, &request);
		if (error != 0)
			return error;
	}
	image->end = MAX(image->end, end);
	return 0;
}

/* Map the program and its stack into the new, unused `mm`. */
static int map_image(
	struct mm *mm, struct image *image, const struct inode *inode, struct file *file)
{
	struct area_request stack = {.at = USER_END - STACK_FIRST - PAGE_SIZE,
		.size = STACK_FIRST,
		.prot = PROT_READ | PROT_WRITE,
		.flags = AREA_GROWSDOWN,
		.fixed = true};
	int error;

	for (u32 i = 0; i < image->header.segments; i++) {
		const struct elf_segment *s = &image->segments[i];

		if (s->type == ELF_SEGMENT_INTERP)
			return -ENOEXEC; /* there is no dynamic linker */
		if (s->type != ELF_SEGMENT_LOAD || s->memory_size == 0)
			continue;
		if (!segment_sane(s, inode))
			return -ENOEXEC;
		error = map_segment(mm, image, s, file);
		if (error != 0)
			return error;
		if (image->header.segments_at >= s->offset &&
			image->header.segments_at < s->offset + s->file_size)
			image->headers_at = image->base + s->address + image->header.segments_at -
					    s->offset;
	}
	if (image->end == 0)
		return -ENOEXEC;
	mm->brk_start = ALIGN_UP(image->end, PAGE_SIZE);
	mm->brk_end = mm->brk_start;
	mm->stack_top = stack.at + stack.size;
	return mm_map(mm, &stack);
}

/* AT_HWCAP bits from ID_AA64ISAR0_EL1 and ID_AA64PFR0_EL1, of what needs no kernel support; not
 * CPUID. */
static u64 hwcap(void)
{
	static const struct {
		u8 field_shift;
		u8 at_least;
		u8 bit;
	} features[] = {
		{4, 1, 3},  /* AES */
		{4, 2, 4},  /* PMULL */
		{8, 1, 5},  /* SHA1 */
		{12, 1, 6}, /* SHA2 */
		{16, 1, 7}, /* CRC32 */
		{20, 2, 8}, /* ATOMICS */
	};
	u64 isar0 = SYSREG_READ(id_aa64isar0_el1);
	u64 caps = BIT(0) | BIT(1); /* FP, ASIMD */

	for (size_t i = 0; i < ARRAY_LEN(features); i++)
		if (((isar0 >> features[i].field_shift) & 0xf) >= features[i].at_least)
			caps |= BIT(features[i].bit);
	return caps;
}

struct stack_writer {
	u64 at;
	bool failed;
};

static u64 push(struct stack_writer *w, const void *data, u64 size)
{
	w->at -= size;
	w->failed |= copy_to_user(w->at, data, size) != 0;
	return w->at;
}

static void put_word(struct stack_writer *w, u64 word)
{
	w->failed |= copy_to_user(w->at, &word, sizeof(word)) != 0;
	w->at += sizeof(word);
}

/* Pointers to `count` strings that lie one after the other from `from` in both memories; returns
 * where the next begins. */
static u64 put_pointers(struct stack_writer *w, const char **string, u64 user, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		u64 n = strlen(*string) + 1;

		put_word(w, user);
		user += n;
		*string += n;
	}
	put_word(w, 0);
	return user;
}

/* The initial stack, from its top: strings, random bytes, then auxv, envp, argv, argc. Returns its
 * pointer or 0. */
static u64 build_stack(
	const struct image *image, u64 top, const char *path, const struct exec_arguments *args)
{
	struct stack_writer w = {.at = top - 8};
	u64 random[2] = {clock_ns() * 0x9e3779b97f4a7c15ull,
		(clock_ns() ^ current->tid) * 0xd1b54a32d192ed03ull};
	u64 name = push(&w, path, strlen(path) + 1);
	u64 strings = push(&w, args->strings, args->bytes);
	u64 platform = push(&w, "aarch64", 8);
	u64 random_at = push(&w, random, sizeof(random));
	const u64 aux[] = {
		3,
		image->headers_at, /* AT_PHDR */
		4,
		sizeof(struct elf_segment), /* AT_PHENT */
		5,
		image->header.segments, /* AT_PHNUM */
		6,
		PAGE_SIZE, /* AT_PAGESZ */
		7,
		0, /* AT_BASE */
		8,
		0, /* AT_FLAGS */
		9,
		image->entry, /* AT_ENTRY */
		11,
		0,
		12,
		0,
		13,
		0,
		14,
		0, /* AT_UID, EUID, GID, EGID */
		15,
		platform, /* AT_PLATFORM */
		16,
		hwcap(), /* AT_HWCAP */
		17,
		100, /* AT_CLKTCK */
		23,
		0, /* AT_SECURE */
		25,
		random_at, /* AT_RANDOM */
		31,
		name, /* AT_EXECFN */
		51,
		4720, /* AT_MINSIGSTKSZ: the signal frame with FP state */
		0,
		0,
	};
	u64 words = 1 + args->argc + 1 + args->envc + 1;
	const char *string = args->strings;
	u64 sp = ALIGN_DOWN(w.at - words * 8 - sizeof(aux), 16);
	u64 user;

	w.at = sp;
	put_word(&w, args->argc);
	user = put_pointers(&w, &string, strings, args->argc);
	put_pointers(&w, &string, user, args->envc);
	w.at += sizeof(aux);
	push(&w, aux, sizeof(aux));
	return w.failed ? 0 : sp;
}

/* The caller becomes the only thread of its process, with the process's id. */
static int become_single(void)
{
	struct task *task = current;
	struct process *process = task->process;
	struct task *old = process->leader;
	u64 flags;
	int error = process_end_others(process);

	if (error != 0 || old == task)
		return error;
	flags = spin_lock_irq(&tasks_lock);
	task_id_move(task, old);
	process->leader = task;
	task_get(task);
	spin_unlock_irq(&tasks_lock, flags);
	task_put(old);
	return 0;
}

static void set_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	string_copy(current->comm, slash != NULL ? slash + 1 : path, sizeof(current->comm));
}

/* Past the point of no return. */
static void enter_image(struct mm *mm, const struct image *image, const char *path,
	const struct exec_arguments *args)
{
	struct task *task = current;
	struct trap_frame *frame = task_frame(task);
	struct mm *old = task->mm;
	u64 sp;

	mm_use(mm);
	if (old != NULL)
		mm_put(old);
	task_vfork_release(task);
	files_close_on_exec(task->files);
	set_name(path);
	task->clear_child_tid = 0;
	task->set_child_tid = 0;
	tally_task_exec(&tally_engine, &task->tally);
	sp = build_stack(image, mm->stack_top, path, args);
	if (sp == 0 ||
		(image->bss_end > image->bss_start &&
			clear_user(image->bss_start, image->bss_end - image->bss_start) != 0))
		signal_fatal(SIGKILL);
	memset(frame, 0, sizeof(*frame));
	frame->elr = image->entry;
	frame->sp = sp;
	frame->spsr = SPSR_EL0T;
	memset(&task->fp, 0, sizeof(task->fp));
	fp_load(&task->fp);
	SYSREG_WRITE(tpidr_el0, 0);
}

int task_exec(const char *path, const struct exec_arguments *args)
{
	const struct inode *inode = initramfs_find(path);
	struct file *file = NULL;
	struct mm *mm = NULL;
	struct image *image;
	int error;

	if (inode == NULL)
		return -ENOENT;
	image = kzalloc(sizeof(*image));
	if (image == NULL)
		return -ENOMEM;
	error = read_image(inode, image);
	if (error == 0)
		error = initramfs_open(path, O_RDONLY, &file);
	if (error == 0) {
		mm = mm_new();
		error = mm != NULL ? map_image(mm, image, inode, file) : -ENOMEM;
	}
	if (file != NULL)
		file_put(file);
	if (error == 0)
		error = become_single();
	if (error == 0)
		enter_image(mm, image, path, args);
	else if (mm != NULL)
		mm_put(mm);
	kfree(image);
	return error;
}

/* Append the strings of a user's NULL-terminated array. */
static int gather(struct exec_arguments *args, u64 array, u32 *count)
{
	u64 pointer;

	for (*count = 0; array != 0; (*count)++) {
		s64 n;

		if (*count >= ARGS_MAX)
			return -E2BIG;
		if (copy_from_user(&pointer, array + 8ull * *count, sizeof(pointer)) != 0)
			return -EFAULT;
		if (pointer == 0)
			break;
		n = copy_string_from_user(
			args->strings + args->bytes, pointer, ARGS_BYTES - args->bytes);
		if (n < 0)
			return n == -ENAMETOOLONG ? -E2BIG : (int)n;
		args->bytes += (u64)n + 1;
	}
	return 0;
}

#define PATH_BYTES 4096u

s64 task_exec_user(u64 path_at, u64 argv, u64 envp)
{
	char *path = kmalloc(PATH_BYTES);
	struct exec_arguments args = {.strings = kmalloc(ARGS_BYTES)};
	s64 result = -ENOMEM;

	if (path == NULL || args.strings == NULL)
		goto out;
	result = copy_string_from_user(path, path_at, PATH_BYTES);
	if (result >= 0)
		result = gather(&args, argv, &args.argc);
	if (result == 0)
		result = gather(&args, envp, &args.envc);
	if (result == 0)
		result = task_exec(path, &args);
out:
	kfree(path);
	kfree(args.strings);
	return result;
}
