/* SPDX-License-Identifier: MIT
 *
 * sys_file.c: system calls on files: arguments are judged and descriptors turned into files here,
 * the rest is the file's.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/string.h>
#include <kernel/syscall.h>

#define F_DUPFD         0
#define F_GETFD         1
#define F_SETFD         2
#define F_GETFL         3
#define F_SETFL         4
#define F_DUPFD_CLOEXEC 1030
#define FD_CLOEXEC      1u
#define AT_FDCWD        (-100)
#define PATH_BYTES      4096u
#define IOV_MAX         1024u
#define RW_BYTES_MAX    0x7ffff000ull /* of one read or write, as Linux */

s64 sys_fcntl(const struct syscall_args *args)
{
	u32 fd = (u32)args->a[0];
	struct file *file;
	s64 result = -EINVAL;

	switch ((int)args->a[1]) {
	case F_DUPFD:
		return fd_duplicate(fd, (u32)args->a[2], false);
	case F_DUPFD_CLOEXEC:
		return fd_duplicate(fd, (u32)args->a[2], true);
	case F_GETFD:
		return fd_flags(fd, false, false);
	case F_SETFD:
		return fd_flags(fd, true, (args->a[2] & FD_CLOEXEC) != 0);
	}
	file = fd_file((s32)fd);
	if (file == NULL)
		return -EBADF;
	if (args->a[1] == F_GETFL) {
		result = file->flags;
	} else if (args->a[1] == F_SETFL) {
		file->flags = (file->flags & ~(u32)O_NONBLOCK) | ((u32)args->a[2] & O_NONBLOCK);
		result = 0;
	}
	file_put(file);
	return result;
}

s64 sys_ioctl(const struct syscall_args *args)
{
	struct file *file = fd_file((s32)args->a[0]);
	s64 result;

	if (file == NULL)
		return -EBADF;
	result = file->ops->ioctl != NULL ? file->ops->ioctl(file, (u32)args->a[1], args->a[2])
					  : -ENOTTY;
	file_put(file);
	return result;
}

/* Paths start at the root whatever the directory: there is no working directory yet but "/". */
s64 sys_openat(const struct syscall_args *args)
{
	char *path = kmalloc(PATH_BYTES);
	u32 flags = (u32)args->a[2];
	struct file *file;
	s64 result;
	int fd;

	if (path == NULL)
		return -ENOMEM;
	result = copy_string_from_user(path, args->a[1], PATH_BYTES);
	if (result == 0)
		result = -ENOENT;
	if (result < 0)
		goto out;
	if (path[0] != '/' && (s32)args->a[0] != AT_FDCWD) {
		result = -EBADF;
		goto out;
	}
	fd = fd_reserve(0, (flags & O_CLOEXEC) != 0);
	result = fd;
	if (fd < 0)
		goto out;
	result = initramfs_open(path, flags, &file);
	if (result != 0) {
		fd_cancel((u32)fd);
		goto out;
	}
	fd_install((u32)fd, file);
	result = fd;
out:
	kfree(path);
	return result;
}

s64 sys_close(const struct syscall_args *args)
{
	return fd_close((s32)args->a[0]);
}

s64 sys_dup(const struct syscall_args *args)
{
	return fd_duplicate((u32)args->a[0], 0, false);
}

s64 sys_dup3(const struct syscall_args *args)
{
	if ((args->a[2] & ~(u64)O_CLOEXEC) != 0)
		return -EINVAL;
	return fd_duplicate_to((u32)args->a[0], (u32)args->a[1], args->a[2] != 0);
}

s64 sys_pipe2(const struct syscall_args *args)
{
	u32 flags = (u32)args->a[1];
	bool cloexec = (flags & O_CLOEXEC) != 0;
	struct file *ends[2];
	int fds[2];
	int error;

	if ((flags & ~(u32)(O_CLOEXEC | O_NONBLOCK)) != 0)
		return -EINVAL;
	error = pipe_open(ends, flags);
	if (error != 0)
		return error;
	fds[0] = fd_reserve(0, cloexec);
	fds[1] = fd_reserve(0, cloexec);
	error = fds[0] < 0 || fds[1] < 0 ? -EMFILE : copy_to_user(args->a[0], fds, sizeof(fds));
	if (error == 0) {
		fd_install((u32)fds[0], ends[0]);
		fd_install((u32)fds[1], ends[1]);
		return 0;
	}
	for (u32 i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			fd_cancel((u32)fds[i]);
		file_put(ends[i]);
	}
	return error;
}

s64 sys_lseek(const struct syscall_args *args)
{
	struct file *file = fd_file((s32)args->a[0]);
	const struct inode *inode;
	s64 offset = (s64)args->a[1];
	s64 result = -EINVAL;

	if (file == NULL)
		return -EBADF;
	inode = file_inode(file);
	if (inode == NULL) {
		file_put(file);
		return -ESPIPE;
	}
	mutex_lock(&file->lock);
	if (args->a[2] == 1)
		offset += (s64)file->position;
	else if (args->a[2] == 2)
		offset += (s64)inode->size;
	if (args->a[2] <= 2 && offset >= 0) {
		file->position = (u64)offset;
		result = offset;
	}
	mutex_unlock(&file->lock);
	file_put(file);
	return result;
}

static s64 transfer(struct file *file, u64 buffer, u64 size, bool writing)
{
	size = MIN(size, RW_BYTES_MAX);
	if (writing)
		return file->ops->write != NULL ? file->ops->write(file, buffer, size) : -EINVAL;
	return file->ops->read != NULL ? file->ops->read(file, buffer, size) : -EINVAL;
}

/* The file of `fd` if it is open for this. */
static struct file *file_for(u64 fd, bool writing)
{
	struct file *file = fd_file((s32)fd);

	if (file != NULL && (file->flags & O_ACCMODE) == (writing ? O_RDONLY : O_WRONLY)) {
		file_put(file);
		return NULL;
	}
	return file;
}

static s64 read_or_write(const struct syscall_args *args, bool writing)
{
	struct file *file = file_for(args->a[0], writing);
	s64 result;

	if (file == NULL)
		return -EBADF;
	result = transfer(file, args->a[1], args->a[2], writing);
	file_put(file);
	return result;
}

s64 sys_read(const struct syscall_args *args)
{
	return read_or_write(args, false);
}

s64 sys_write(const struct syscall_args *args)
{
	return read_or_write(args, true);
}

static s64 read_or_write_vector(const struct syscall_args *args, bool writing)
{
	struct file *file = file_for(args->a[0], writing);
	u64 count = args->a[2];
	s64 done = 0;

	if (file == NULL)
		return -EBADF;
	if (count > IOV_MAX) {
		file_put(file);
		return -EINVAL;
	}
	for (u64 i = 0; i < count; i++) {
		u64 part[2]; /* struct iovec: base, length */
		s64 n = -EFAULT;

		if (copy_from_user(part, args->a[1] + i * sizeof(part), sizeof(part)) == 0)
			n = transfer(file, part[0], part[1], writing);
		if (n < 0) {
			done = done > 0 ? done : n;
			break;
		}
		done += n;
		if ((u64)n < part[1])
			break;
	}
	file_put(file);
	return done;
}

s64 sys_readv(const struct syscall_args *args)
{
	return read_or_write_vector(args, false);
}

s64 sys_writev(const struct syscall_args *args)
{
	return read_or_write_vector(args, true);
}
