/* SPDX-License-Identifier: MIT
 *
 * perf_syscall.c: perf_event_open(2) and its files: descriptors, mappings and reference counts
 * around the engine's calls.
 *
 * A file holds one event; the event is closed with it, when the last descriptor and the last
 * mapping are gone (an area holds its file). A mapping, which munmap may split, holds the ring
 * once. No policy of events is here. All of it runs in task context.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/perf.h>
#include <kernel/printk.h>
#include <kernel/syscall.h>

#include <tally/tally.h>

struct mapping {
	u32 areas; /* atomic */
	struct tally_event *event;
	struct tally_ring *ring;
};

static int ring_area_page(struct area *area, u64 index, struct page **page)
{
	const struct mapping *mapping = area->object;

	*page = page_of_pa(virt_to_phys(tally_ring_page(mapping->ring, index)));
	page_get(*page);
	return 0;
}

static void ring_area_opened(struct area *area)
{
	struct mapping *mapping = area->object;

	__atomic_fetch_add(&mapping->areas, 1, __ATOMIC_RELAXED);
}

static void ring_area_closed(struct area *area)
{
	struct mapping *mapping = area->object;

	if (__atomic_fetch_sub(&mapping->areas, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	tally_ring_unmap(mapping->event, mapping->ring);
	kfree(mapping);
}

static const struct area_ops ring_area_ops = {
	.page = ring_area_page,
	.opened = ring_area_opened,
	.closed = ring_area_closed,
};

static int perf_mmap(struct file *file, struct area_request *request)
{
	struct mapping *mapping = kzalloc(sizeof(*mapping));
	u64 pages = ALIGN_UP(request->size, PAGE_SIZE) >> PAGE_SHIFT;
	int error;

	if (mapping == NULL)
		return -ENOMEM;
	mapping->areas = 1;
	mapping->event = file->object;
	error = tally_event_mmap(mapping->event, request->index, pages,
		(request->flags & AREA_SHARED) != 0, (request->prot & PROT_WRITE) != 0,
		&mapping->ring);
	if (error != 0) {
		kfree(mapping);
		return error;
	}
	request->flags |= AREA_NOFORK;
	request->ops = &ring_area_ops;
	request->file = file;
	request->object = mapping;
	return 0;
}

static s64 perf_read(struct file *file, u64 buffer, u64 size)
{
	return tally_event_read(file->object, buffer, size);
}

static s64 perf_ioctl(struct file *file, u32 command, u64 arg)
{
	return tally_event_ioctl(file->object, command, arg);
}

static void perf_release(struct file *file)
{
	if (file->object != NULL) /* NULL: opening it failed */
		tally_event_close(file->object);
}

static const struct file_ops perf_ops = {
	.name = "anon_inode:[perf_event]",
	.read = perf_read,
	.ioctl = perf_ioctl,
	.mmap = perf_mmap,
	.release = perf_release,
};

/* The file of `group_fd`, held, in *group (NULL for -1): 0 or -EBADF. */
static int find_group(s32 group_fd, struct file **group)
{
	*group = NULL;
	if (group_fd == -1)
		return 0;
	*group = fd_file(group_fd);
	if (*group != NULL && (*group)->ops == &perf_ops)
		return 0;
	if (*group != NULL)
		file_put(*group);
	*group = NULL;
	return -EBADF;
}

/* A file around a new event, or -errno; `group` is held meanwhile. */
static int open_file(const struct tally_open *open, struct file *group, struct file **file)
{
	struct tally_event *event;
	int error;

	*file = file_new(&perf_ops, O_RDWR, NULL);
	if (*file == NULL)
		return -ENOMEM;
	error = tally_open_finish(
		&tally_engine, open, group != NULL ? group->object : NULL, &event);
	if (error == 0)
		(*file)->object = event;
	else
		file_put(*file);
	return error;
}

s64 sys_perf_event_open(const struct syscall_args *args)
{
	struct tally_open open;
	struct file *group, *file;
	int error, fd;

	error = tally_open_begin(
		&tally_engine, &open, args->a[0], (s32)args->a[1], (s32)args->a[2], args->a[4]);
	if (error != 0)
		return error;
	fd = fd_reserve(0, (args->a[4] & TALLY_FLAG_FD_CLOEXEC) != 0);
	if (fd < 0)
		return fd;
	error = find_group((s32)args->a[3], &group);
	if (error == 0) {
		error = open_file(&open, group, &file);
		if (group != NULL)
			file_put(group);
	}
	if (error != 0) {
		fd_cancel((u32)fd);
		return error;
	}
	fd_install((u32)fd, file);
	return fd;
}
