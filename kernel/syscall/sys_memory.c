/* SPDX-License-Identifier: MIT
 *
 * sys_memory.c: system calls on the caller's address space.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/syscall.h>
#include <kernel/task.h>

#define MAP_SHARED          0x01u
#define MAP_PRIVATE         0x02u
#define MAP_SHARED_VALIDATE 0x03u
#define MAP_TYPE            0x0fu
#define MAP_FIXED           0x10u
#define MAP_ANONYMOUS       0x20u
#define MAP_GROWSDOWN       0x100u
#define PROT_KNOWN          (PROT_READ | PROT_WRITE | PROT_EXEC)

s64 sys_brk(const struct syscall_args *args)
{
	return (s64)mm_brk(current->mm, args->a[0]);
}

/* The caller's reference to the object goes to the area, or is dropped. */
static s64 map_object(struct area_request *request)
{
	s64 error = mm_map(current->mm, request);

	if (error == 0)
		return (s64)request->at;
	if (request->ops != NULL && request->ops->closed != NULL) {
		struct area never_mapped = {.file = request->file, .object = request->object};

		request->ops->closed(&never_mapped);
	}
	return error;
}

static s64 map_anonymous(struct area_request *request)
{
	if (request->flags & AREA_SHARED) {
		s64 error = shared_memory_request(request);

		if (error != 0)
			return error;
	}
	return map_object(request);
}

static s64 map_file(struct area_request *request, u64 fd)
{
	struct file *file = fd_file((s32)fd);
	s64 error;

	if (file == NULL)
		return -EBADF;
	if ((file->flags & O_ACCMODE) == O_WRONLY)
		error = -EACCES;
	else
		error = file->ops->mmap != NULL ? file->ops->mmap(file, request) : -ENODEV;
	if (error == 0)
		error = map_object(request); /* the area takes over our reference to the file */
	if (error < 0)
		file_put(file);
	return error;
}

s64 sys_mmap(const struct syscall_args *args)
{
	u32 flags = (u32)args->a[3];
	u32 type = flags & MAP_TYPE;
	struct area_request request = {
		.at = args->a[0],
		.size = args->a[1],
		.prot = (u32)args->a[2] & PROT_KNOWN,
		.fixed = (flags & MAP_FIXED) != 0,
		.index = args->a[5] >> PAGE_SHIFT,
	};

	if (args->a[5] % PAGE_SIZE != 0 || request.size == 0)
		return -EINVAL;
	if (request.size > USER_END)
		return -ENOMEM;
	if (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (request.at % PAGE_SIZE != 0) {
		if (request.fixed)
			return -EINVAL;
		request.at = ALIGN_DOWN(request.at, PAGE_SIZE);
	}
	if (flags & MAP_GROWSDOWN)
		request.flags |= AREA_GROWSDOWN;
	if (type != MAP_PRIVATE)
		request.flags |= AREA_SHARED;
	if (flags & MAP_ANONYMOUS)
		return map_anonymous(&request);
	return map_file(&request, args->a[4]);
}

s64 sys_munmap(const struct syscall_args *args)
{
	return mm_unmap(current->mm, args->a[0], args->a[1]);
}

s64 sys_mprotect(const struct syscall_args *args)
{
	return mm_protect(current->mm, args->a[0], args->a[1], (u32)args->a[2] & PROT_KNOWN);
}
