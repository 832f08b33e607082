// Differential test of the PMU model against an independent one: QEMU's.
//
//   pmu_diff QEMU CPU GUEST OUTPUT SEED STEPS
//
// Runs the guest on QEMU's `virt` with the given CPU, performs the same generated register
// sequence (pmu_diff_steps.h) on the model, and compares after every step: what became of the
// access, the value read, and every watched register and the interrupt line. Any difference
// fails the test, except for the departures below: each is a rule of the Arm ARM that QEMU does
// not follow, and is allowed for only if the step and both sides' values are exactly what that
// fault gives. The model then takes QEMU's value, so that the comparison goes on, over all
// registers. README.md beside this file tells of them.
#include "pmu_diff_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SKIP       77
#define DIFFERENCES_MAX 20 // shown before giving up

#define QEMU_CPU(its_name, its_midr, its_version, its_bits, its_idcode, its_pmceid1)               \
	{                                                                                          \
		.name = (its_name), .midr = (its_midr), .version = (its_version),                  \
		.counter_count = 6, .counter_bits = (its_bits), .hpmn = 6, .implementer = 0x41,    \
		.idcode = (its_idcode), .has_aarch32 = true, .res0_is_stored = true,               \
		.pmceid0 = 0x20001, .pmceid1 = (its_pmceid1),                                      \
	}

// QEMU's CPUs without EL2 and EL3, as `virt` makes them. Events: SW_INCR and CPU_CYCLES; `max`
// also STALL_FRONTEND, STALL_BACKEND and STALL, which never happen.
static const struct pmu_cpu_config qemu_cpus[] = {
	QEMU_CPU("cortex-a53", 0x410fd034, PMU_V3, 32, 0x03, 0),
	QEMU_CPU("cortex-a57", 0x411fd070, PMU_V3, 32, 0x01, 0),
	QEMU_CPU("cortex-a72", 0x410fd083, PMU_V3, 32, 0x02, 0),
	QEMU_CPU("max", 0x000f0510, PMU_V3P5, 64, 0x01, 0x10000018),
};

// Where QEMU departs from the Arm ARM.
enum departure {
	LATE_LINE,   // a write to PMCR_EL0 does not move the interrupt line
	WIDE_EVENTS, // event numbers have 16 bits on CPUs with PMUv3, too
	DEPARTURES
};

static const char *const departure_names[DEPARTURES] = {
	[LATE_LINE] = "the line ignores writes to PMCR_EL0.E until something else moves it",
	[WIDE_EVENTS] = "PMEVTYPER<n>_EL0[15:10] have an effect on PMUv3, where they are RES0",
};

struct comparison {
	const struct pmu_cpu_config *config;
	struct pmu_cpu *cpu;
	struct pmu_diff_shape shape;
	struct pmu_diff_step step;
	uint64_t step_number;
	uint64_t before[PMU_REG_COUNT + 1]; // the model's, before the step
	uint64_t model[PMU_REG_COUNT + 1];  // the model's, after it
	uint64_t qemu[PMU_REG_COUNT + 1];
	bool late_line; // the line as LATE_LINE has it
	unsigned int departures[DEPARTURES];
	unsigned int differences;

	// What the sequence exercised; a sequence without one of these proves too little.
	unsigned int done_at_el0, trapped, undefined, overflows, line_rises;
};

static void describe(const struct comparison *c)
{
	char name[PMU_REG_NAME_MAX] = "?";

	pmu_reg_format((enum pmu_reg)c->step.reg, name);
	printf("step %" PRIu64 ": EL%u %s %s", c->step_number, c->step.el,
		c->step.write ? "writes" : "reads", name);
	if (c->step.write)
		printf(" %#" PRIx64, c->step.value);
	putchar('\n');
}

static void difference(struct comparison *c, const char *what, uint64_t model, uint64_t qemu)
{
	describe(c);
	printf("  %s: model %#" PRIx64 ", QEMU %#" PRIx64 "\n", what, model, qemu);
	c->differences++;
}

// The exception class that an access ends in: SVC for one that was done (the guest's stub).
static uint64_t exception_class(enum pmu_access access)
{
	switch (access) {
	case PMU_ACCESS_DONE:
		return 0x15;
	case PMU_ACCESS_TRAP_EL1:
		return 0x18;
	default:
		return 0;
	}
}

static void read_model(const struct comparison *c, uint64_t values[PMU_REG_COUNT + 1])
{
	for (unsigned int i = 0; i < pmu_diff_watched_count(c->shape); i++) {
		enum pmu_reg reg = pmu_diff_watched(c->shape, i);

		if (pmu_cpu_read(c->cpu, 1, reg, &values[reg]) != PMU_ACCESS_DONE)
			abort();
	}
	values[PMU_DIFF_LINE] = pmu_cpu_line(c->cpu);
}

static unsigned int overflow_bit(const struct comparison *c)
{
	return c->shape.wide && (c->model[PMU_PMCR_EL0] & PMU_PMCR_LP) ? 63 : 31;
}

// Did counter `n` wrap in this step (a software increment)?
static bool wrapped(const struct comparison *c, unsigned int n)
{
	unsigned int reg = PMU_PMEVCNTR0_EL0 + n;

	return (c->before[reg] & ~c->model[reg]) >> overflow_bit(c) & 1;
}

// WIDE_EVENTS: 0x400, say, is SW_INCR for the architecture and another event for QEMU, which
// therefore leaves the counter as it was.
static void allow_wide_events(struct comparison *c)
{
	if (c->config->version >= PMU_V3P1 || c->step.reg != PMU_PMSWINC_EL0)
		return;
	for (unsigned int n = 0; n < c->shape.counter_count; n++) {
		enum pmu_reg reg = (enum pmu_reg)(PMU_PMEVCNTR0_EL0 + n);
		uint64_t typer = c->model[PMU_PMEVTYPER0_EL0 + n];
		uint64_t raised = c->model[PMU_PMOVSSET_EL0] & ~c->before[PMU_PMOVSSET_EL0];

		if ((typer & 0x3ff) != PMU_EVENT_SW_INCR || !(typer & 0xfc00))
			continue;
		if (c->model[reg] != (uint32_t)(c->before[reg] + 1) ||
			c->qemu[reg] != c->before[reg])
			continue;
		c->departures[WIDE_EVENTS]++;
		pmu_cpu_write(c->cpu, 1, reg, c->qemu[reg]);
		pmu_cpu_write(c->cpu, 1, PMU_PMOVSCLR_EL0, raised & (1u << n));
	}
	read_model(c, c->model);
}

// LATE_LINE: QEMU computes the line when an overflow flag or an interrupt enable is written and
// when a counter overflows, not when PMCR_EL0.E changes.
static void allow_late_line(struct comparison *c, bool done)
{
	bool moved = false;

	if (done && c->step.write) {
		moved = c->step.reg == PMU_PMOVSSET_EL0 || c->step.reg == PMU_PMOVSCLR_EL0 ||
			c->step.reg == PMU_PMINTENSET_EL1 || c->step.reg == PMU_PMINTENCLR_EL1;
		if (c->step.reg == PMU_PMSWINC_EL0)
			for (unsigned int n = 0; n < c->shape.counter_count; n++)
				moved |= wrapped(c, n);
	}
	if (moved)
		c->late_line = c->model[PMU_DIFF_LINE];
	if (c->model[PMU_DIFF_LINE] != c->qemu[PMU_DIFF_LINE] &&
		c->qemu[PMU_DIFF_LINE] == c->late_line) {
		c->departures[LATE_LINE]++;
		c->model[PMU_DIFF_LINE] = c->late_line;
	}
}

static void note_exercised(struct comparison *c, enum pmu_access access)
{
	c->done_at_el0 += access == PMU_ACCESS_DONE && c->step.el == 0;
	c->trapped += access == PMU_ACCESS_TRAP_EL1;
	c->undefined += access == PMU_ACCESS_UNDEFINED;
	if (access == PMU_ACCESS_DONE && c->step.write && c->step.reg == PMU_PMSWINC_EL0)
		for (unsigned int n = 0; n < c->shape.counter_count; n++)
			c->overflows += wrapped(c, n);
	c->line_rises += !c->before[PMU_DIFF_LINE] && c->model[PMU_DIFF_LINE];
}

// Compares one step's line of output. False when the output is not of the expected form.
static bool compare_step(struct comparison *c, char *line)
{
	enum pmu_reg reg = (enum pmu_reg)c->step.reg;
	uint64_t value = 0, number, class, read;
	enum pmu_access access;
	int used;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &number, &class, &read, &used) !=
		3)
		return false;
	if (number != c->step_number)
		return false;
	for (line += used; *line && *line != '\n'; line += used) {
		unsigned int which;

		if (sscanf(line, "%x=%" SCNx64 " %n", &which, &value, &used) != 2 ||
			which > PMU_DIFF_LINE)
			return false;
		c->qemu[which] = value;
	}
	value = 0;
	if (c->step.write)
		access = pmu_cpu_write(c->cpu, c->step.el, reg, c->step.value);
	else
		access = pmu_cpu_read(c->cpu, c->step.el, reg, &value);
	read_model(c, c->model);
	allow_wide_events(c);
	allow_late_line(c, access == PMU_ACCESS_DONE);
	note_exercised(c, access);
	if (c->step_number + 1 < pmu_diff_clear_steps(c->shape))
		return true;
	if (exception_class(access) != class)
		difference(c, "exception class", exception_class(access), class);
	else if (value != read)
		difference(c, "value read", value, read);
	return true;
}

static void compare_registers(struct comparison *c)
{
	for (unsigned int i = 0; i <= pmu_diff_watched_count(c->shape); i++) {
		bool is_line = i == pmu_diff_watched_count(c->shape);
		unsigned int reg = is_line ? PMU_DIFF_LINE : pmu_diff_watched(c->shape, i);
		char name[PMU_REG_NAME_MAX] = "the line";

		if (c->model[reg] == c->qemu[reg])
			continue;
		if (!is_line)
			pmu_reg_format((enum pmu_reg)reg, name);
		difference(c, name, c->model[reg], c->qemu[reg]);
	}
}

static bool compare(struct comparison *c, FILE *output, uint64_t seed, uint64_t step_count)
{
	struct pmu_diff_steps steps;
	char line[4096];
	uint64_t midr, version, pmcr;

	if (!fgets(line, sizeof(line), output) ||
		sscanf(line, "pmu %" SCNx64 " %" SCNx64 " %" SCNx64, &midr, &version, &pmcr) != 3)
		return false;
	if (midr != c->config->midr || version != c->config->version) {
		printf("QEMU's CPU is another one: MIDR %#" PRIx64 ", PMUVer %" PRIu64 "\n", midr,
			version);
		return false;
	}
	pmu_diff_begin(&steps, c->shape, seed);
	read_model(c, c->model);
	for (c->step_number = 0; c->step_number < step_count; c->step_number++) {
		if (!fgets(line, sizeof(line), output))
			return false;
		memcpy(c->before, c->model, sizeof(c->before));
		c->step = pmu_diff_next(&steps);
		if (!compare_step(c, line))
			return false;
		if (c->step_number + 1 >= pmu_diff_clear_steps(c->shape))
			compare_registers(c);
		if (c->differences >= DIFFERENCES_MAX) {
			printf("giving up\n");
			return true;
		}
	}
	return true;
}

static int run_qemu(char *arguments[])
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(arguments[0], arguments);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int report(const struct comparison *c, const char *cpu, uint64_t seed)
{
	for (unsigned int i = 0; i < DEPARTURES; i++)
		printf("%s: %u steps allowed for: %s\n", cpu, c->departures[i], departure_names[i]);
	printf("%s: %u accesses done at EL0, %u trapped, %u undefined, %u overflows, "
	       "the line rose %u times\n",
		cpu, c->done_at_el0, c->trapped, c->undefined, c->overflows, c->line_rises);
	printf("%s, seed %" PRIu64 ": %" PRIu64 " steps, %u unexplained differences\n", cpu, seed,
		c->step_number, c->differences);
	if (!c->done_at_el0 || !c->trapped || !c->undefined || !c->overflows || !c->line_rises) {
		printf("%s: the sequence is too tame to prove anything\n", cpu);
		return 1;
	}
	return c->differences ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct comparison c = {0};
	struct pmu_model *model;
	char semihosting[1024];
	FILE *output;
	uint64_t seed, step_count;
	int status;

	if (argc != 7) {
		fprintf(stderr, "usage: pmu_diff QEMU CPU GUEST OUTPUT SEED STEPS\n");
		return 2;
	}
	seed = strtoull(argv[5], NULL, 10);
	step_count = strtoull(argv[6], NULL, 10);
	for (size_t i = 0; i < sizeof(qemu_cpus) / sizeof(qemu_cpus[0]); i++)
		if (!strcmp(qemu_cpus[i].name, argv[2]))
			c.config = &qemu_cpus[i];
	if (!c.config || step_count <= 64) {
		fprintf(stderr, "unknown CPU, or too few steps\n");
		return 2;
	}
	snprintf(semihosting, sizeof(semihosting),
		"enable=on,target=native,arg=%s,arg=%" PRIu64 ",arg=%" PRIu64, argv[4], seed,
		step_count);
	unlink(argv[4]);
	status = run_qemu((char *[]){argv[1], "-nodefaults", "-display", "none", "-M",
		"virt,gic-version=2", "-cpu", argv[2], "-semihosting-config", semihosting,
		"-kernel", argv[3], NULL});
	if (status == 127) {
		printf("SKIPPED: cannot run %s\n", argv[1]);
		return EXIT_SKIP;
	}
	output = fopen(argv[4], "r");
	if (status != 0 || !output) {
		printf("the guest failed: status %d\n", status);
		return 1;
	}
	model = pmu_model_create(&c.config, 1, seed);
	if (!model)
		return 1;
	c.cpu = pmu_model_cpu(model, 0);
	c.shape = (struct pmu_diff_shape){c.config->counter_count, c.config->counter_bits == 64};
	if (!compare(&c, output, seed, step_count)) {
		printf("step %" PRIu64 ": the guest's output ends or makes no sense\n",
			c.step_number);
		c.differences++;
	}
	fclose(output);
	pmu_model_destroy(model);
	return report(&c, argv[2], seed);
}
