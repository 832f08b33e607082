// The guest of the differential test: performs the generated register sequence on the PMU that
// QEMU emulates and writes what it sees to a file of the host, by semihosting.
//
// Command line: <output file> <seed> <steps>. Output, all numbers hexadecimal:
//   pmu <MIDR_EL1> <ID_AA64DFR0_EL1.PMUVer> <PMCR_EL0>
//   <step> <exception class> <value> [<register>=<value> ...]   one line per step
// where a step's line lists the watched registers whose value differs from the line before (all
// of them after step 0) by their number in enum pmu_reg, the interrupt line among them.
#include "pmu_diff_steps.h"

#define SYS_OPEN          0x01
#define SYS_WRITE         0x05
#define SYS_GET_CMDLINE   0x15
#define SYS_EXIT_EXTENDED 0x20
#define OPEN_WRITE_BINARY 5
#define EXIT_APPLICATION  0x20026

// The PMU's interrupt on `virt`: PPI 7, INTID 23, of the GICv2 distributor.
#define GICD_ISPENDR0 ((const volatile uint32_t *)0x08000200)
#define PMU_INTID     23

#define EC_SVC 0x15

#define STUB_COUNT (PMU_PMEVTYPER0_EL0 + 8)

struct access {
	uint64_t value;
	uint64_t exception_class;
};

struct stubs {
	uint64_t read, write;
};

extern const struct stubs access_stubs[STUB_COUNT];
struct access guarded_access(uint64_t stub, uint64_t value, uint64_t el);
uint64_t semihosting_call(uint64_t operation, const void *arguments);
void guest_main(void);
void guest_unexpected(uint64_t esr, uint64_t elr);

static char output[65536];
static unsigned int output_used;
static uint64_t output_handle;

static void guest_exit(uint64_t code)
{
	uint64_t arguments[2] = {EXIT_APPLICATION, code};

	semihosting_call(SYS_EXIT_EXTENDED, arguments);
	for (;;)
		;
}

static void output_flush(void)
{
	uint64_t arguments[3] = {output_handle, (uint64_t)output, output_used};

	if (output_used && semihosting_call(SYS_WRITE, arguments) != 0)
		guest_exit(3);
	output_used = 0;
}

static void put_char(char c)
{
	if (output_used == sizeof(output))
		output_flush();
	output[output_used++] = c;
}

static void put_hex(uint64_t value, char after)
{
	unsigned int shift = 60;

	while (shift && !(value >> shift))
		shift -= 4;
	for (;; shift -= 4) {
		put_char("0123456789abcdef"[value >> shift & 0xf]);
		if (!shift)
			break;
	}
	put_char(after);
}

void guest_unexpected(uint64_t esr, uint64_t elr)
{
	put_char('!');
	put_hex(esr, ' ');
	put_hex(elr, '\n');
	output_flush();
	guest_exit(4);
}

static struct access perform(const struct pmu_diff_step *step)
{
	const struct stubs *stubs = &access_stubs[step->reg];

	return guarded_access(step->write ? stubs->write : stubs->read, step->value, step->el);
}

static uint64_t read_watched(enum pmu_reg reg)
{
	struct pmu_diff_step step = {.reg = (uint16_t)reg, .el = 1};
	struct access access = perform(&step);

	if (access.exception_class != EC_SVC)
		guest_unexpected(access.exception_class, reg);
	return access.value;
}

static void put_changes(struct pmu_diff_shape shape, bool first)
{
	static uint64_t before[PMU_REG_COUNT + 1];
	uint64_t line = *GICD_ISPENDR0 >> PMU_INTID & 1;

	for (unsigned int i = 0; i < pmu_diff_watched_count(shape); i++) {
		enum pmu_reg reg = pmu_diff_watched(shape, i);
		uint64_t value = read_watched(reg);

		if (!first && value == before[reg])
			continue;
		before[reg] = value;
		put_hex(reg, '=');
		put_hex(value, ' ');
	}
	if (first || line != before[PMU_DIFF_LINE]) {
		before[PMU_DIFF_LINE] = line;
		put_hex(PMU_DIFF_LINE, '=');
		put_hex(line, ' ');
	}
	put_char('\n');
}

static void run(uint64_t seed, uint64_t step_count)
{
	struct pmu_diff_steps steps;
	struct pmu_diff_shape shape;
	uint64_t midr, dfr0, pmcr = read_watched(PMU_PMCR_EL0), version;

	__asm__ volatile("mrs %0, midr_el1" : "=r"(midr));
	__asm__ volatile("mrs %0, id_aa64dfr0_el1" : "=r"(dfr0));
	version = dfr0 >> 8 & 0xf;
	for (const char *tag = "pmu "; *tag; tag++)
		put_char(*tag);
	put_hex(midr, ' ');
	put_hex(version, ' ');
	put_hex(pmcr, '\n');
	shape.counter_count = (unsigned int)(pmcr >> PMU_PMCR_N_SHIFT & 0x1f);
	shape.wide = version >= PMU_V3P5;
	if (shape.counter_count == 0 || shape.counter_count > 8)
		guest_exit(5);
	pmu_diff_begin(&steps, shape, seed);
	for (uint64_t i = 0; i < step_count; i++) {
		struct pmu_diff_step step = pmu_diff_next(&steps);
		struct access access = perform(&step);

		put_hex(i, ' ');
		put_hex(access.exception_class, ' ');
		put_hex(step.write || access.exception_class != EC_SVC ? 0 : access.value, ' ');
		put_changes(shape, i == 0);
	}
}

// One decimal number, and the text behind it.
static uint64_t parse_number(const char **text)
{
	uint64_t number = 0;

	while (**text == ' ')
		(*text)++;
	for (; **text >= '0' && **text <= '9'; (*text)++)
		number = number * 10 + (uint64_t)(**text - '0');
	return number;
}

void guest_main(void)
{
	static char line[1024];
	uint64_t arguments[3] = {(uint64_t)line, sizeof(line), 0};
	const char *rest = line;
	uint64_t length = 0, seed, step_count;

	if (semihosting_call(SYS_GET_CMDLINE, arguments) != 0)
		guest_exit(1);
	while (line[length] && line[length] != ' ')
		length++;
	rest += length;
	line[length] = 0;
	rest++;
	seed = parse_number(&rest);
	step_count = parse_number(&rest);
	arguments[0] = (uint64_t)line;
	arguments[1] = OPEN_WRITE_BINARY;
	arguments[2] = length;
	output_handle = semihosting_call(SYS_OPEN, arguments);
	if (output_handle == UINT64_MAX)
		guest_exit(2);
	run(seed, step_count);
	output_flush();
	guest_exit(0);
}
