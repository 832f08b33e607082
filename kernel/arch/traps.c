/* SPDX-License-Identifier: MIT
 *
 * traps.c: what each exception means (Arm ARM DDI 0487, D19.2.37, ESR_EL1).
 *
 * Entered from vectors.S with IRQs off and a saved frame. From EL0: system calls, faults and
 * illegal instructions, which are served with IRQs on; the last thing before EL0 is
 * trap_return_to_user(), IRQs off. From EL1: interrupts, and faults on user memory by the
 * instructions in .ex_table; anything else is a panic.
 */
#include <kernel/arch.h>
#include <kernel/cpu.h>
#include <kernel/errno.h>
#include <kernel/irq.h>
#include <kernel/mm.h>
#include <kernel/printk.h>
#include <kernel/syscall.h>
#include <kernel/task.h>
#include <kernel/trap.h>

_Static_assert(sizeof(struct trap_frame) == 304, "FRAME_SIZE in vectors.S");
_Static_assert(offsetof(struct trap_frame, sp) == 248, "FRAME_SP");
_Static_assert(offsetof(struct trap_frame, elr) == 256, "FRAME_ELR");
_Static_assert(offsetof(struct trap_frame, x0_at_entry) == 272, "FRAME_X0");
_Static_assert(offsetof(struct trap_frame, record) == 288, "FRAME_RECORD");

/* ESR_EL1.EC */
enum {
	EC_UNKNOWN = 0x00,
	EC_SVC64 = 0x15,
	EC_SYSREG = 0x18,
	EC_FETCH_EL0 = 0x20,
	EC_FETCH_EL1 = 0x21,
	EC_PC_ALIGN = 0x22,
	EC_DATA_EL0 = 0x24,
	EC_DATA_EL1 = 0x25,
	EC_SP_ALIGN = 0x26,
	EC_FP = 0x2c,
	EC_BRK = 0x3c,
};

#define ESR_EC(esr)  ((u32)((esr) >> 26) & 0x3f)
#define ESR_WNR      BIT(6)
#define ESR_CM       BIT(8)
#define ESR_FSC(esr) ((u32)(esr)&0x3f)
#define FSC_IS_FAULT(fsc)                                                                          \
	(((fsc) >= 0x04 && (fsc) <= 0x0f)) /* translation, access flag, permission */

struct ex_entry {
	s32 insn;
	s32 fixup;
};

extern const struct ex_entry ex_table_start[], ex_table_end[];

/* The address at which to go on after a fault at `pc`, or 0. Entries are relative to their own
 * fields. */
static u64 find_fixup(u64 pc)
{
	for (const struct ex_entry *e = ex_table_start; e < ex_table_end; e++)
		if ((u64)&e->insn + (u64)(s64)e->insn == pc)
			return (u64)&e->fixup + (u64)(s64)e->fixup;
	return 0;
}

void trap_return_to_user(struct trap_frame *frame)
{
	KASSERT(irqs_off() || current->head.preempt_count == 0);
	irq_disable();
	for (;;) {
		if (this_cpu()->need_resched) {
			schedule();
			continue;
		}
		if (!signal_pending())
			break;
		irq_enable();
		signal_deliver(frame);
		irq_disable();
	}
}

static void user_fault(u64 esr, u64 far)
{
	u32 need = ESR_EC(esr) == EC_FETCH_EL0          ? PROT_EXEC
		   : (esr & ESR_WNR) && !(esr & ESR_CM) ? PROT_WRITE
							: PROT_READ;
	int error;

	if (!FSC_IS_FAULT(ESR_FSC(esr)))
		signal_fatal(SIGBUS);
	error = far < USER_END ? mm_fault(current->mm, far, need) : -EFAULT;
	if (error == -EFAULT)
		signal_fatal(SIGSEGV);
	if (error == -ENOMEM)
		signal_fatal(SIGKILL);
	if (error != 0)
		signal_fatal(SIGBUS);
}

void trap_el0_sync(struct trap_frame *frame)
{
	u64 esr = SYSREG_READ(esr_el1);
	u64 far = SYSREG_READ(far_el1);

	irq_enable();
	switch (ESR_EC(esr)) {
	case EC_SVC64:
		frame->x[0] = (u64)syscall_dispatch(frame);
		break;
	case EC_FETCH_EL0:
	case EC_DATA_EL0:
		user_fault(esr, far);
		break;
	case EC_PC_ALIGN:
	case EC_SP_ALIGN:
		signal_fatal(SIGBUS);
	case EC_FP:
		signal_fatal(SIGFPE);
	case EC_BRK:
		signal_fatal(SIGTRAP);
	default: /* undefined, trapped system registers and SVE */
		signal_fatal(SIGILL);
	}
	trap_return_to_user(frame);
}

static void interrupt(struct trap_frame *frame)
{
	struct cpu *cpu = this_cpu();

	cpu->irq_frame = frame;
	irq_dispatch();
	cpu->irq_frame = NULL;
}

void trap_el0_irq(struct trap_frame *frame)
{
	interrupt(frame);
	trap_return_to_user(frame);
}

void trap_el1_irq(struct trap_frame *frame)
{
	interrupt(frame);
	if (this_cpu()->need_resched && current->head.preempt_count == 0)
		preempt_check();
}

/* A fault of a user-memory instruction: serve it if the context allows sleeping, else or failing
 * that, take the fixup. */
static bool kernel_fault(struct trap_frame *frame, u64 esr, u64 far)
{
	struct task *task = current;
	u64 fixup = find_fixup(frame->elr);

	if (fixup == 0 || !FSC_IS_FAULT(ESR_FSC(esr)))
		return false;
	if (!(frame->spsr & DAIF_I) && task->head.preempt_count == 0 && task->nofault == 0 &&
		task->mm != NULL && far < USER_END) {
		bool write = (esr & ESR_WNR) != 0;
		int error;

		irq_enable();
		error = mm_fault(task->mm, far, write ? PROT_WRITE : PROT_READ);
		irq_disable();
		if (error == 0)
			return true;
	}
	frame->elr = fixup;
	return true;
}

void trap_el1_sync(struct trap_frame *frame)
{
	u64 esr = SYSREG_READ(esr_el1);
	u64 far = SYSREG_READ(far_el1);

	if (ESR_EC(esr) == EC_DATA_EL1 && kernel_fault(frame, esr, far))
		return;
	panic_at(frame, "kernel exception: esr %lx far %lx", esr, far);
}

void trap_unexpected(struct trap_frame *frame, u64 vector)
{
	panic_at(frame, "unexpected exception, vector %lu: esr %lx far %lx", vector,
		SYSREG_READ(esr_el1), SYSREG_READ(far_el1));
}

void trap_stack_overflow(u64 sp)
{
	panic("kernel stack overflow: sp %lx elr %lx far %lx task %u", sp, SYSREG_READ(elr_el1),
		SYSREG_READ(far_el1), current->tid);
}
