/* SPDX-License-Identifier: MIT
 *
 * console.c: the UART as a file.
 *
 * Writing goes out at once. Received characters wait in a ring (filled in interrupt context,
 * dropped and counted when it is full) for readers; there is no line editing, and carriage return
 * reads as newline.
 */
#include <kernel/errno.h>
#include <kernel/file.h>
#include <kernel/machine.h>
#include <kernel/mm.h>
#include <kernel/printk.h>
#include <kernel/task.h>

#define RING_BYTES 256u
#define CHUNK      256u

static struct {
	struct spinlock lock; /* irq */
	u32 head, tail;       /* head - tail: characters waiting */
	u64 dropped;
	char ring[RING_BYTES];
	struct waitqueue readable;
} input;

static void received(char c)
{
	u64 flags = spin_lock_irq(&input.lock);

	if (input.head - input.tail < RING_BYTES)
		input.ring[input.head++ % RING_BYTES] = c == '\r' ? '\n' : c;
	else
		input.dropped++;
	spin_unlock_irq(&input.lock, flags);
	waitqueue_wake(&input.readable);
}

static u32 take_input(char *to, u32 size)
{
	u64 flags = spin_lock_irq(&input.lock);
	u32 n = 0;

	while (n < size && input.tail != input.head)
		to[n++] = input.ring[input.tail++ % RING_BYTES];
	spin_unlock_irq(&input.lock, flags);
	return n;
}

static s64 console_read(struct file *file, u64 buffer, u64 size)
{
	char chunk[CHUNK];
	u32 n = 0;
	int error;

	if (size == 0)
		return 0;
	if (file->flags & O_NONBLOCK) {
		n = take_input(chunk, (u32)MIN(size, CHUNK));
		if (n == 0)
			return -EAGAIN;
	} else {
		error = WAIT_EVENT_INTERRUPTIBLE(
			&input.readable, (n = take_input(chunk, (u32)MIN(size, CHUNK))) != 0);
		if (error != 0)
			return error;
	}
	return copy_to_user(buffer, chunk, n) != 0 ? -EFAULT : (s64)n;
}

static s64 console_write(struct file *file, u64 buffer, u64 size)
{
	char chunk[CHUNK];
	u64 done = 0;

	(void)file;
	while (done < size) {
		u64 n = MIN(size - done, CHUNK);

		if (copy_from_user(chunk, buffer + done, n) != 0)
			return done > 0 ? (s64)done : -EFAULT;
		console_put(chunk, n);
		done += n;
	}
	return (s64)done;
}

static const struct file_ops console_ops = {
	.name = "console",
	.read = console_read,
	.write = console_write,
};

struct file *console_open(void)
{
	return file_new(&console_ops, O_RDWR, NULL);
}

void console_init(void)
{
	waitqueue_init(&input.readable);
	uart_enable_rx(received);
}
