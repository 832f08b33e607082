/* SPDX-License-Identifier: MIT
 *
 * printk.c: console output and panic.
 *
 * One lock (irq) around the UART, so that lines of different CPUs do not mix; a panic takes it by
 * force after a while. The backtrace follows frame records {fp, lr} (AAPCS64) within the stack that
 * they began in; addresses are printed as they are, for addr2line with the kernel's ELF file.
 */
#include <kernel/arch.h>
#include <kernel/cpu.h>
#include <kernel/irq.h>
#include <kernel/lock.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/printk.h>
#include <kernel/string.h>
#include <kernel/task.h>

#define LINE_MAX   256u
#define FRAMES_MAX 32u

static struct spinlock console_lock;
static bool panicking;

static void put_locked(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\n')
			uart_put('\r');
		uart_put(text[i]);
	}
}

void console_put(const char *text, size_t n)
{
	u64 flags = irq_save();
	u32 tries = 0;
	bool taken = true;

	while (!spin_try_raw(&console_lock)) {
		cpu_relax();
		if (__atomic_load_n(&panicking, __ATOMIC_RELAXED) && ++tries > 1000000) {
			taken = false; /* the holder was stopped */
			break;
		}
	}
	put_locked(text, n);
	if (taken)
		spin_unlock_raw(&console_lock);
	irq_restore(flags);
}

static void print_args(const char *text, va_list args)
{
	char line[LINE_MAX];
	int n = format_args(line, sizeof(line), text, args);

	console_put(line, MIN((size_t)n, sizeof(line) - 1));
}

void printk(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	print_args(text, args);
	va_end(args);
}

static void print_frame(const struct trap_frame *frame)
{
	for (u32 i = 0; i < 31; i++)
		printk("x%-2u %016lx%s", i, frame->x[i], i % 4 == 3 ? "\n" : "  ");
	printk("sp  %016lx\npc  %016lx  spsr %016lx\n", frame->sp, frame->elr, frame->spsr);
}

/* Records rise within a stack; one step to another stack is where an overflow left the old one. */
static void print_backtrace(u64 fp)
{
	for (u32 i = 0; i < FRAMES_MAX; i++) {
		const u64 *record = (const u64 *)fp;
		bool same_stack;

		if (fp == 0 || fp % 8 != 0 || mmu_kernel_walk(fp) == 0 || record[1] == 0)
			break;
		printk("  #%u %016lx\n", i, record[1]);
		same_stack = ALIGN_DOWN(fp, STACK_SLOT) == ALIGN_DOWN(record[0], STACK_SLOT);
		if (same_stack && record[0] <= fp)
			break;
		fp = record[0];
	}
}

static _Noreturn void panic_args(
	const struct trap_frame *frame, u64 fp, const char *text, va_list args)
{
	irq_disable();
	if (__atomic_exchange_n(&panicking, true, __ATOMIC_ACQ_REL)) {
		/* A second panic: somebody else's is being printed, or printing it failed. */
		for (u32 i = 0; i < 100000000; i++)
			cpu_relax();
		psci_system_off();
	}
	smp_stop_others();
	printk("\ntally-panic: ");
	print_args(text, args);
	printk("\ncpu %u task %u \"%s\" preempt %u\n", cpu_index(), current->tid, current->comm,
		current->head.preempt_count);
	if (frame != NULL)
		print_frame(frame);
	printk("backtrace:\n");
	print_backtrace(fp);
	psci_system_off();
}

_Noreturn void panic(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	panic_args(NULL, (u64)__builtin_frame_address(0), text, args);
}

_Noreturn void panic_at(const struct trap_frame *frame, const char *text, ...)
{
	va_list args;

	va_start(args, text);
	panic_args(frame, frame_is_user(frame) ? 0 : (u64)&frame->record, text, args);
}
