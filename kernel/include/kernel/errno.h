/* SPDX-License-Identifier: MIT
 *
 * errno.h: Linux's error numbers, those that this kernel returns.
 */
#ifndef KERNEL_ERRNO_H
#define KERNEL_ERRNO_H

enum {
	EPERM = 1,
	ENOENT = 2,
	ESRCH = 3,
	EINTR = 4,
	EIO = 5,
	ENXIO = 6,
	E2BIG = 7,
	ENOEXEC = 8,
	EBADF = 9,
	ECHILD = 10,
	EAGAIN = 11,
	ENOMEM = 12,
	EACCES = 13,
	EFAULT = 14,
	EBUSY = 16,
	EEXIST = 17,
	ENODEV = 19,
	ENOTDIR = 20,
	EISDIR = 21,
	EINVAL = 22,
	ENFILE = 23,
	EMFILE = 24,
	ENOTTY = 25,
	EFBIG = 27,
	ENOSPC = 28,
	ESPIPE = 29,
	EROFS = 30,
	EPIPE = 32,
	ERANGE = 34,
	ENAMETOOLONG = 36,
	ENOSYS = 38,
	EOVERFLOW = 75,
	EOPNOTSUPP = 95,
};

#endif
