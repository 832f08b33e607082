/* SPDX-License-Identifier: MIT
 *
 * gic.c: the GICv3 interrupt controller (Arm IHI 0069): distributor, one redistributor per CPU,
 * system registers.
 *
 * All interrupts are non-secure group 1, one priority, level as the device tree's devices are; SPIs
 * go to the boot CPU. The handler table is filled at boot and then constant. SGIs 0-2 are the IPIs.
 */
#include <kernel/arch.h>
#include <kernel/cpu.h>
#include <kernel/irq.h>
#include <kernel/machine.h>
#include <kernel/mmu.h>
#include <kernel/printk.h>

#define GICD_CTLR       0x0000u
#define GICD_TYPER      0x0004u
#define GICD_IGROUPR    0x0080u
#define GICD_ISENABLER  0x0100u
#define GICD_ICENABLER  0x0180u
#define GICD_IPRIORITYR 0x0400u
#define GICD_ICFGR      0x0c00u
#define GICD_IROUTER    0x6000u
#define GICR_TYPER      0x0008u
#define GICR_WAKER      0x0014u
#define GICR_SGI_BASE                                                                              \
	0x10000u /* the SGI frame has the distributor's register layout for INTIDs 0-31 */

#define GICD_CTLR_ENABLE_G1A BIT(1)
#define GICD_CTLR_ARE_NS     BIT(4)
#define GICD_CTLR_RWP        BIT(31)
#define GICR_TYPER_VLPIS     BIT(1)
#define GICR_TYPER_LAST      BIT(4)

#define PRIORITY_ALL 0xa0a0a0a0u

static struct {
	irq_handler fn;
	void *arg;
} handlers[IRQS_MAX];

static u64 dist;
static u64 redist[CPUS_MAX];
static u32 lines;

static u32 read32(u64 at)
{
	return *(volatile u32 *)at;
}

static void write32(u64 at, u32 value)
{
	*(volatile u32 *)at = value;
}

static u64 read64(u64 at)
{
	return *(volatile u64 *)at;
}

static void dist_wait(void)
{
	while (read32(dist + GICD_CTLR) & GICD_CTLR_RWP)
		cpu_relax();
}

void gic_init(void)
{
	u32 typer;

	dist = (u64)mmu_map_device(machine.gic_dist.start, machine.gic_dist.size);
	for (u32 i = 0; i < machine.gic_redists; i++)
		mmu_map_device(machine.gic_redist[i].start, machine.gic_redist[i].size);

	typer = read32(dist + GICD_TYPER);
	lines = MIN(32 * ((typer & 0x1f) + 1), IRQS_MAX);
	write32(dist + GICD_CTLR, 0);
	dist_wait();
	for (u32 i = IRQ_SPI_BASE; i < lines; i += 32) {
		write32(dist + GICD_ICENABLER + i / 8, 0xffffffff);
		write32(dist + GICD_IGROUPR + i / 8, 0xffffffff);
	}
	for (u32 i = IRQ_SPI_BASE; i < lines; i += 4)
		write32(dist + GICD_IPRIORITYR + i, PRIORITY_ALL);
	dist_wait();
	write32(dist + GICD_CTLR, GICD_CTLR_ARE_NS | GICD_CTLR_ENABLE_G1A);
	dist_wait();
	for (u32 i = IRQ_SPI_BASE; i < lines; i++)
		*(volatile u64 *)(dist + GICD_IROUTER + 8ull * i) = cpus[0].mpidr;
}

/* The redistributor whose GICR_TYPER.Affinity_Value is this CPU's. */
static u64 find_redist(u64 mpidr)
{
	u64 affinity = ((mpidr >> 8) & 0xff000000) | (mpidr & 0xffffff);

	for (u32 i = 0; i < machine.gic_redists; i++) {
		u64 at = (u64)phys_to_virt(machine.gic_redist[i].start);
		u64 end = at + machine.gic_redist[i].size;

		while (at < end) {
			u64 typer = read64(at + GICR_TYPER);
			u64 stride = typer & GICR_TYPER_VLPIS ? 0x40000 : 0x20000;

			if (typer >> 32 == affinity)
				return at;
			if (typer & GICR_TYPER_LAST)
				break;
			at += machine.gic_redist_stride != 0 ? machine.gic_redist_stride : stride;
		}
	}
	panic("no redistributor for mpidr %lx", mpidr);
}

void gic_init_this_cpu(void)
{
	u64 at = find_redist(this_cpu()->mpidr);
	u64 sgi = at + GICR_SGI_BASE;

	redist[cpu_index()] = at;
	write32(at + GICR_WAKER, read32(at + GICR_WAKER) & ~(u32)BIT(1)); /* ProcessorSleep */
	while (read32(at + GICR_WAKER) & BIT(2))                          /* ChildrenAsleep */
		cpu_relax();
	write32(sgi + GICD_ICENABLER, 0xffffffff);
	write32(sgi + GICD_IGROUPR, 0xffffffff);
	for (u32 i = 0; i < 32; i += 4)
		write32(sgi + GICD_IPRIORITYR + i, PRIORITY_ALL);
	write32(sgi + GICD_ISENABLER, 0xffff); /* the SGIs */

	SYSREG_WRITE(s3_0_c12_c12_5, SYSREG_READ(s3_0_c12_c12_5) | 1); /* ICC_SRE_EL1.SRE */
	isb();
	SYSREG_WRITE(s3_0_c4_c6_0, 0xff); /* ICC_PMR_EL1: let all priorities through */
	SYSREG_WRITE(s3_0_c12_c12_3, 0);  /* ICC_BPR1_EL1 */
	SYSREG_WRITE(s3_0_c12_c12_4, 0);  /* ICC_CTLR_EL1: EOI also deactivates */
	SYSREG_WRITE(s3_0_c12_c12_7, 1);  /* ICC_IGRPEN1_EL1 */
	isb();
}

void irq_set_handler(u32 intid, irq_handler handler, void *arg)
{
	KASSERT(intid < IRQS_MAX);
	handlers[intid].arg = arg;
	handlers[intid].fn = handler;
}

static u64 line_frame(u32 intid)
{
	return intid < IRQ_SPI_BASE ? redist[cpu_index()] + GICR_SGI_BASE : dist;
}

void irq_enable_line(u32 intid)
{
	write32(line_frame(intid) + GICD_ISENABLER + intid / 32 * 4, 1u << (intid % 32));
}

void irq_dispatch(void)
{
	for (;;) {
		u32 intid = (u32)SYSREG_READ(s3_0_c12_c12_0) & 0xffffff; /* ICC_IAR1_EL1 */

		dsb_sy(); /* the acknowledge takes effect before the handler touches the device */
		if (intid >= 1020)
			return;
		if (handlers[intid].fn != NULL)
			handlers[intid].fn(intid, handlers[intid].arg);
		else
			printk("irq %u: no handler\n", intid);
		SYSREG_WRITE(s3_0_c12_c12_1, intid); /* ICC_EOIR1_EL1 */
		isb();
	}
}

/* ICC_SGI1R_EL1 (IHI 0069, 12.2.19): target list of Aff0 within a range of 16, Aff1, INTID, Aff2,
 * RS, Aff3. */
void ipi_send(u32 cpu, enum ipi kind)
{
	u64 mpidr = cpus[cpu].mpidr;
	u64 aff0 = mpidr & 0xff;
	u64 value = BIT(aff0 % 16) | ((mpidr >> 8 & 0xff) << 16) | ((u64)kind << 24) |
		    ((mpidr >> 16 & 0xff) << 32) | ((aff0 / 16) << 44) |
		    ((mpidr >> 32 & 0xff) << 48);

	__asm__ volatile(
		"dsb ishst" ::
			: "memory"); /* what the target is to see is written before it is told */
	SYSREG_WRITE(s3_0_c12_c11_5, value);
	isb();
}
