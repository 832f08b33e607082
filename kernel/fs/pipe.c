/* SPDX-License-Identifier: MIT
 *
 * pipe.c: pipes.
 *
 * 64 KiB between two files, in pages that are taken when data first comes to them. `lock`
 * (sleeping) guards positions and ends; it may be held over user copies, because no mm lock is
 * taken inside out: a fault takes the mm's lock under it, never the other way round. Writes of up
 * to PIPE_BUF bytes are whole. Both ends wait on one queue.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/mm.h>
#include <kernel/page.h>
#include <kernel/printk.h>
#include <kernel/task.h>

#define PIPE_PAGES 16u
#define PIPE_BYTES ((u64)PIPE_PAGES * PAGE_SIZE)
#define PIPE_BUF   4096u /* as Linux's */

struct pipe {
	u32 ends; /* atomic: files that exist */
	bool reader, writer;
	struct mutex lock;
	struct waitqueue changed;
	u64 head, tail;                 /* bytes written and read so far */
	struct page *pages[PIPE_PAGES]; /* under lock; NULL: never used */
};

static u64 used(const struct pipe *pipe)
{
	return __atomic_load_n(&pipe->head, __ATOMIC_RELAXED) -
	       __atomic_load_n(&pipe->tail, __ATOMIC_RELAXED);
}

/* The part of [at, at + size) that lies in one page of the buffer. */
static u64 part_of(u64 at, u64 size)
{
	return MIN(size, PAGE_SIZE - at % PAGE_SIZE);
}

static char *place_of(const struct pipe *pipe, u64 at)
{
	return (char *)page_va(pipe->pages[at / PAGE_SIZE % PIPE_PAGES]) + at % PAGE_SIZE;
}

/* Up to `size` bytes of what is there, to the user; what went before a bad address is taken. Under
 * the lock. */
static s64 copy_out(struct pipe *pipe, u64 buffer, u64 size)
{
	u64 n = MIN(size, used(pipe));
	u64 done = 0;

	while (done < n) {
		u64 part = part_of(pipe->tail, n - done);

		if (copy_to_user(buffer + done, place_of(pipe, pipe->tail), part) != 0)
			return done > 0 ? (s64)done : -EFAULT;
		__atomic_store_n(&pipe->tail, pipe->tail + part, __ATOMIC_RELAXED);
		done += part;
	}
	return (s64)done;
}

/* As much of `size` bytes as there is room for. Under the lock. */
static s64 copy_in(struct pipe *pipe, u64 buffer, u64 size)
{
	u64 n = MIN(size, PIPE_BYTES - used(pipe));
	u64 done = 0;

	while (done < n) {
		struct page **page = &pipe->pages[pipe->head / PAGE_SIZE % PIPE_PAGES];
		u64 part = part_of(pipe->head, n - done);

		if (*page == NULL)
			*page = page_alloc(0);
		if (*page == NULL)
			return done > 0 ? (s64)done : -ENOMEM;
		if (copy_from_user(place_of(pipe, pipe->head), buffer + done, part) != 0)
			return done > 0 ? (s64)done : -EFAULT;
		__atomic_store_n(&pipe->head, pipe->head + part, __ATOMIC_RELAXED);
		done += part;
	}
	return (s64)done;
}

static s64 pipe_read(struct file *file, u64 buffer, u64 size)
{
	struct pipe *pipe = file->object;
	s64 result;

	if (size == 0)
		return 0;
	for (;;) {
		mutex_lock(&pipe->lock);
		result = used(pipe) > 0 ? copy_out(pipe, buffer, size) : pipe->writer ? -EAGAIN : 0;
		mutex_unlock(&pipe->lock);
		if (result > 0)
			waitqueue_wake(&pipe->changed);
		if (result != -EAGAIN || (file->flags & O_NONBLOCK))
			return result;
		if (WAIT_EVENT_INTERRUPTIBLE(&pipe->changed,
			    used(pipe) > 0 || !__atomic_load_n(&pipe->writer, __ATOMIC_RELAXED)) !=
			0)
			return -EINTR;
	}
}

/* Room for the whole of a small write, or for a byte of a large one. */
static bool has_room(const struct pipe *pipe, u64 left)
{
	return PIPE_BYTES - used(pipe) >= (left <= PIPE_BUF ? left : 1);
}

static s64 pipe_write(struct file *file, u64 buffer, u64 size)
{
	struct pipe *pipe = file->object;
	u64 done = 0;
	s64 n = 0;

	while (done < size) {
		mutex_lock(&pipe->lock);
		if (!pipe->reader)
			n = -EPIPE;
		else if (has_room(pipe, size - done))
			n = copy_in(pipe, buffer + done, size - done);
		else
			n = -EAGAIN;
		mutex_unlock(&pipe->lock);
		if (n > 0) {
			done += (u64)n;
			waitqueue_wake(&pipe->changed);
			continue;
		}
		if (n == -EAGAIN && !(file->flags & O_NONBLOCK) &&
			WAIT_EVENT_INTERRUPTIBLE(&pipe->changed,
				has_room(pipe, size - done) ||
					!__atomic_load_n(&pipe->reader, __ATOMIC_RELAXED)) == 0)
			continue;
		if (n == -EAGAIN && !(file->flags & O_NONBLOCK))
			n = -EINTR;
		break;
	}
	if (n == -EPIPE)
		signal_send_process(current->process, SIGPIPE);
	return done > 0 ? (s64)done : n;
}

static void pipe_release(struct file *file)
{
	struct pipe *pipe = file->object;

	mutex_lock(&pipe->lock);
	if ((file->flags & O_ACCMODE) == O_WRONLY)
		pipe->writer = false;
	else
		pipe->reader = false;
	mutex_unlock(&pipe->lock);
	waitqueue_wake(&pipe->changed);
	if (__atomic_fetch_sub(&pipe->ends, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	for (u32 i = 0; i < PIPE_PAGES; i++)
		if (pipe->pages[i] != NULL)
			page_put(pipe->pages[i]);
	kfree(pipe);
}

static const struct file_ops read_ops = {
	.name = "pipe", .read = pipe_read, .release = pipe_release};
static const struct file_ops write_ops = {
	.name = "pipe", .write = pipe_write, .release = pipe_release};

int pipe_open(struct file *ends[2], u32 flags)
{
	struct pipe *pipe = kzalloc(sizeof(*pipe));

	if (pipe == NULL)
		return -ENFILE;
	pipe->ends = 2;
	pipe->reader = true;
	pipe->writer = true;
	mutex_init(&pipe->lock);
	waitqueue_init(&pipe->changed);
	ends[0] = file_new(&read_ops, O_RDONLY | (flags & O_NONBLOCK), pipe);
	if (ends[0] == NULL)
		goto no_reader;
	ends[1] = file_new(&write_ops, O_WRONLY | (flags & O_NONBLOCK), pipe);
	if (ends[1] == NULL)
		goto no_writer;
	return 0;

no_writer:
	kfree(ends[0]); /* not file_put(): its release would count an end */
no_reader:
	kfree(pipe);
	return -ENFILE;
}
