/* SPDX-License-Identifier: MIT
 *
 * file.c: open files and descriptor tables.
 *
 * A table may be shared by tasks (CLONE_FILES) and has its own spin lock. A slot is free, reserved
 * (a number given out, no file yet) or holds a file with a reference. Files are let go of outside
 * the lock, because the last file_put() may sleep.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/task.h>

struct files {
	u32 refs; /* atomic */
	struct spinlock lock;
	struct file *file[FILES_MAX];
	u64 taken[FILES_MAX / 64]; /* reserved or open */
	u64 cloexec[FILES_MAX / 64];
};

struct file *file_new(const struct file_ops *ops, u32 flags, void *object)
{
	struct file *file = kzalloc(sizeof(*file));

	if (file == NULL)
		return NULL;
	file->refs = 1;
	file->ops = ops;
	file->flags = flags;
	file->object = object;
	mutex_init(&file->lock);
	return file;
}

void file_get(struct file *file)
{
	__atomic_fetch_add(&file->refs, 1, __ATOMIC_RELAXED);
}

void file_put(struct file *file)
{
	if (__atomic_fetch_sub(&file->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (file->ops->release != NULL)
		file->ops->release(file);
	kfree(file);
}

static bool bit_test(const u64 *map, u32 n)
{
	return (map[n / 64] & BIT(n % 64)) != 0;
}

static void bit_set(u64 *map, u32 n, bool on)
{
	if (on)
		map[n / 64] |= BIT(n % 64);
	else
		map[n / 64] &= ~BIT(n % 64);
}

struct files *files_new(void)
{
	struct files *files = kzalloc(sizeof(*files));

	if (files != NULL)
		files->refs = 1;
	return files;
}

struct files *files_new_with(struct file *file)
{
	struct files *files = files_new();

	if (files == NULL)
		return NULL;
	for (u32 fd = 0; fd < 3; fd++) {
		if (fd > 0)
			file_get(file);
		files->file[fd] = file;
		bit_set(files->taken, fd, true);
	}
	return files;
}

struct files *files_copy(struct files *from)
{
	struct files *to = files_new();

	if (to == NULL)
		return NULL;
	spin_lock(&from->lock);
	for (u32 fd = 0; fd < FILES_MAX; fd++) {
		if (from->file[fd] == NULL)
			continue;
		file_get(from->file[fd]);
		to->file[fd] = from->file[fd];
		bit_set(to->taken, fd, true);
		bit_set(to->cloexec, fd, bit_test(from->cloexec, fd));
	}
	spin_unlock(&from->lock);
	return to;
}

void files_get(struct files *files)
{
	__atomic_fetch_add(&files->refs, 1, __ATOMIC_RELAXED);
}

void files_put(struct files *files)
{
	if (__atomic_fetch_sub(&files->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	for (u32 fd = 0; fd < FILES_MAX; fd++)
		if (files->file[fd] != NULL)
			file_put(files->file[fd]);
	kfree(files);
}

/* Empty slot `fd`; the file's reference goes to the caller. NULL: nothing was there. */
static struct file *take_out(struct files *files, u32 fd)
{
	struct file *file;

	spin_lock(&files->lock);
	file = files->file[fd];
	if (file != NULL) {
		files->file[fd] = NULL;
		bit_set(files->taken, fd, false);
		bit_set(files->cloexec, fd, false);
	}
	spin_unlock(&files->lock);
	return file;
}

void files_close_on_exec(struct files *files)
{
	for (u32 fd = 0; fd < FILES_MAX; fd++) {
		struct file *file = bit_test(files->cloexec, fd) ? take_out(files, fd) : NULL;

		if (file != NULL)
			file_put(file);
	}
}

int fd_reserve(u32 from, bool cloexec)
{
	struct files *files = current->files;
	int found = -EMFILE;

	spin_lock(&files->lock);
	for (u32 fd = from; fd < FILES_MAX; fd++) {
		if (!bit_test(files->taken, fd)) {
			bit_set(files->taken, fd, true);
			bit_set(files->cloexec, fd, cloexec);
			found = (int)fd;
			break;
		}
	}
	spin_unlock(&files->lock);
	return found;
}

void fd_install(u32 fd, struct file *file)
{
	struct files *files = current->files;

	spin_lock(&files->lock);
	KASSERT(bit_test(files->taken, fd) && files->file[fd] == NULL);
	files->file[fd] = file;
	spin_unlock(&files->lock);
}

void fd_cancel(u32 fd)
{
	struct files *files = current->files;

	spin_lock(&files->lock);
	KASSERT(bit_test(files->taken, fd) && files->file[fd] == NULL);
	bit_set(files->taken, fd, false);
	bit_set(files->cloexec, fd, false);
	spin_unlock(&files->lock);
}

struct file *fd_file(s64 fd)
{
	struct files *files = current->files;
	struct file *file;

	if (fd < 0 || fd >= FILES_MAX)
		return NULL;
	spin_lock(&files->lock);
	file = files->file[fd];
	if (file != NULL)
		file_get(file);
	spin_unlock(&files->lock);
	return file;
}

int fd_close(s64 fd)
{
	struct file *file = fd >= 0 && fd < FILES_MAX ? take_out(current->files, (u32)fd) : NULL;

	if (file == NULL)
		return -EBADF;
	file_put(file);
	return 0;
}

s64 fd_duplicate(u32 fd, u32 from, bool cloexec)
{
	struct file *file = fd_file(fd);
	int copy;

	if (file == NULL)
		return -EBADF;
	copy = from < FILES_MAX ? fd_reserve(from, cloexec) : -EINVAL;
	if (copy < 0)
		file_put(file);
	else
		fd_install((u32)copy, file);
	return copy;
}

s64 fd_duplicate_to(u32 fd, u32 to, bool cloexec)
{
	struct files *files = current->files;
	struct file *file, *old;

	if (fd == to)
		return -EINVAL;
	if (to >= FILES_MAX)
		return -EBADF;
	file = fd_file(fd);
	if (file == NULL)
		return -EBADF;
	spin_lock(&files->lock);
	old = files->file[to];
	if (old == NULL && bit_test(files->taken, to)) { /* another thread is about to fill it */
		spin_unlock(&files->lock);
		file_put(file);
		return -EBUSY;
	}
	files->file[to] = file;
	bit_set(files->taken, to, true);
	bit_set(files->cloexec, to, cloexec);
	spin_unlock(&files->lock);
	if (old != NULL)
		file_put(old);
	return to;
}

s64 fd_flags(u32 fd, bool set, bool cloexec)
{
	struct files *files = current->files;
	s64 result = -EBADF;

	if (fd >= FILES_MAX)
		return -EBADF;
	spin_lock(&files->lock);
	if (files->file[fd] != NULL) {
		result = set ? 0 : bit_test(files->cloexec, fd);
		if (set)
			bit_set(files->cloexec, fd, cloexec);
	}
	spin_unlock(&files->lock);
	return result;
}
