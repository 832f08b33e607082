/* SPDX-License-Identifier: MIT
 *
 * uart.c: the serial port, PL011 (Arm DDI 0183) or 8250-like (Synopsys DW APB UART), as the device
 * tree says.
 *
 * The firmware has set speed and format. Sending polls; receiving is by interrupt. uart_put() is
 * called under the console lock (proc/printk.c); the receive handler runs in interrupt context.
 */
#include <kernel/arch.h>
#include <kernel/irq.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>

#define PL011_DR   0x00u
#define PL011_FR   0x18u
#define PL011_CR   0x30u
#define PL011_IMSC 0x38u
#define PL011_ICR  0x44u

#define PL011_FR_RXFE BIT(4)
#define PL011_FR_TXFF BIT(5)
#define PL011_RX_IRQS 0x50u /* receive, receive timeout */

#define U8250_DATA 0u
#define U8250_IER  1u
#define U8250_IIR  2u
#define U8250_LSR  5u
#define U8250_USR  31u

#define U8250_LSR_READY BIT(0)
#define U8250_LSR_EMPTY BIT(5)

static volatile u8 *regs;
static void (*on_receive)(char c);

static u32 pl011_read(u32 reg)
{
	return *(volatile u32 *)(volatile void *)(regs + reg);
}

static void pl011_write(u32 reg, u32 value)
{
	*(volatile u32 *)(volatile void *)(regs + reg) = value;
}

static u32 u8250_read(u32 reg)
{
	volatile u8 *at = regs + (reg << machine.uart_reg_shift);

	return machine.uart_reg_shift == 2 ? *(volatile u32 *)(volatile void *)at : *at;
}

static void u8250_write(u32 reg, u32 value)
{
	volatile u8 *at = regs + (reg << machine.uart_reg_shift);

	if (machine.uart_reg_shift == 2)
		*(volatile u32 *)(volatile void *)at = value;
	else
		*at = (u8)value;
}

void uart_init(void)
{
	if (machine.uart == UART_NONE)
		return;
	regs = mmu_map_device(machine.uart_regs.start, machine.uart_regs.size);
	if (machine.uart == UART_PL011)
		pl011_write(PL011_CR, 0x301); /* UARTEN, TXE, RXE */
}

void uart_put(char c)
{
	if (regs == NULL)
		return;
	if (machine.uart == UART_PL011) {
		while (pl011_read(PL011_FR) & PL011_FR_TXFF)
			cpu_relax();
		pl011_write(PL011_DR, (u8)c);
	} else {
		while (!(u8250_read(U8250_LSR) & U8250_LSR_EMPTY))
			cpu_relax();
		u8250_write(U8250_DATA, (u8)c);
	}
}

static void uart_interrupt(u32 intid, void *arg)
{
	(void)intid;
	(void)arg;
	if (machine.uart == UART_PL011) {
		pl011_write(PL011_ICR, PL011_RX_IRQS);
		while (!(pl011_read(PL011_FR) & PL011_FR_RXFE))
			on_receive((char)(pl011_read(PL011_DR) & 0xff));
	} else {
		/* IIR 7 is the Synopsys busy detect, cleared by reading USR. */
		if ((u8250_read(U8250_IIR) & 0xf) == 7)
			u8250_read(U8250_USR);
		while (u8250_read(U8250_LSR) & U8250_LSR_READY)
			on_receive((char)(u8250_read(U8250_DATA) & 0xff));
	}
}

void uart_enable_rx(void (*received)(char c))
{
	if (regs == NULL || machine.uart_intid == 0)
		return;
	on_receive = received;
	irq_set_handler(machine.uart_intid, uart_interrupt, NULL);
	if (machine.uart == UART_PL011)
		pl011_write(PL011_IMSC, PL011_RX_IRQS);
	else
		u8250_write(U8250_IER, 1);
	irq_enable_line(machine.uart_intid);
}
