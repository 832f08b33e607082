/* SPDX-License-Identifier: MIT
 *
 * file.h: open files and descriptor tables.
 *
 * A file is counted by descriptors, by calls in progress and by mappings; the last file_put() calls
 * ops->release, in task context. Operations get user addresses and copy for themselves.
 */
#ifndef KERNEL_FILE_H
#define KERNEL_FILE_H

#include <kernel/list.h>
#include <kernel/lock.h>
#include <kernel/types.h>

struct area_request;
struct file;
struct inode;

struct file_ops {
	const char *name;
	s64 (*read)(struct file *file, u64 buffer, u64 size);
	s64 (*write)(struct file *file, u64 buffer, u64 size);
	s64 (*ioctl)(struct file *file, u32 command, u64 arg);
	/* Fill ops, object and flags of the request (the file's reference is taken by the caller).
	 */
	int (*mmap)(struct file *file, struct area_request *request);
	void (*release)(struct file *file);
};

struct file {
	u32 refs;  /* atomic */
	u32 flags; /* O_ */
	const struct file_ops *ops;
	u64 position; /* under lock */
	struct mutex lock;
	void *object; /* for ops */
};

enum open_flags {
	O_RDONLY = 0,
	O_WRONLY = 1,
	O_RDWR = 2,
	O_ACCMODE = 3,
	O_CREAT = 0100,
	O_TRUNC = 01000,
	O_NONBLOCK = 04000,
	O_DIRECTORY = 040000, /* arm64's value */
	O_CLOEXEC = 02000000,
};

struct file *file_new(const struct file_ops *ops, u32 flags, void *object);
void file_get(struct file *file);
void file_put(struct file *file);

#define FILES_MAX 1024u

struct files;
struct files *files_new(void);
struct files *files_new_with(struct file *file); /* on 0, 1 and 2; takes over the reference */
struct files *files_copy(struct files *from);
void files_get(struct files *files);
void files_put(struct files *files);
void files_close_on_exec(struct files *files);

/* The calling task's table. */
int fd_reserve(u32 from, bool cloexec);     /* a number, or -EMFILE */
void fd_install(u32 fd, struct file *file); /* takes over the reference */
void fd_cancel(u32 fd);                     /* undo fd_reserve() */
struct file *fd_file(s64 fd);               /* with a reference, or NULL: EBADF */
int fd_close(s64 fd);
s64 fd_duplicate(u32 fd, u32 from, bool cloexec);
s64 fd_duplicate_to(u32 fd, u32 to, bool cloexec);
s64 fd_flags(u32 fd, bool set, bool cloexec); /* FD_CLOEXEC */

/* ---- kinds of files ---- */
struct file *console_open(void);
void console_init(void);
int pipe_open(struct file *ends[2], u32 flags);

/* ---- the initramfs (cpio "newc"), in place ---- */
struct inode {
	const char *path; /* without leading slash */
	u32 mode;
	u64 size;
	const u8 *data;
	struct inode *next;
};
void initramfs_init(void);
/* Follow `path` from the root; NULL: ENOENT. */
const struct inode *initramfs_find(const char *path);
int initramfs_open(const char *path, u32 flags, struct file **file);
/* A private mapping of a file's pages. */
const struct inode *file_inode(struct file *file);

#define S_IFMT  0170000u
#define S_IFDIR 0040000u
#define S_IFREG 0100000u
#define S_IFLNK 0120000u

#endif
