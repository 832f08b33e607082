/* SPDX-License-Identifier: MIT
 *
 * attr.c: reading and judging perf_event_attr from user memory (perf_event_open(2), and the order
 * of checks that Linux 6.1 makes on arm64). Task context; changes nothing but attr.size in user
 * memory on -E2BIG.
 */
#include "attr.h"

#include "errno.h"
#include "memory.h"
#include "sample.h"

#define ATTR_SIZE_MAX   4096u
#define ATTR_COPY_CHUNK 64u

#define BRANCH_BITS      UINT64_C(0x7ffff)
#define BRANCH_PRIVILEGE UINT64_C(7)
#define BRANCH_USER      UINT64_C(1)
#define STACK_USER_MAX   UINT16_MAX
/* REGS_USER, REGS_INTR: x0 to x30, sp, pc are bits 0 to 32; bit 46 (vg) needs SVE */
#define REGS_BITS ((UINT64_C(1) << 33) - 1)

/* The bytes that this version does not know must all be zero. */
static int check_tail(uint64_t from, uint32_t size)
{
	uint8_t chunk[ATTR_COPY_CHUNK];

	for (uint32_t at = TALLY_ATTR_SIZE_VER7; at < size; at += ATTR_COPY_CHUNK) {
		uint32_t bytes = size - at < ATTR_COPY_CHUNK ? size - at : ATTR_COPY_CHUNK;

		if (hal_copy_from_user(chunk, from + at, bytes) != 0)
			return -TALLY_EFAULT;
		for (uint32_t i = 0; i < bytes; i++)
			if (chunk[i] != 0)
				return -TALLY_E2BIG;
	}
	return 0;
}

static int copy_sized(struct tally_attr *attr, uint64_t from)
{
	const uint32_t known = TALLY_ATTR_SIZE_VER7;
	uint32_t size;
	int error;

	memset(attr, 0, sizeof(*attr));
	if (hal_copy_from_user(&size, from + offsetof(struct tally_attr, size), sizeof(size)) != 0)
		return -TALLY_EFAULT;
	if (size == 0)
		size = TALLY_ATTR_SIZE_VER0;
	error = size < TALLY_ATTR_SIZE_VER0 || size > ATTR_SIZE_MAX ? -TALLY_E2BIG
								    : check_tail(from, size);
	if (error == -TALLY_E2BIG)
		(void)hal_copy_to_user(
			from + offsetof(struct tally_attr, size), &known, sizeof(known));
	if (error != 0)
		return error;
	if (hal_copy_from_user(attr, from, size < known ? size : known) != 0)
		return -TALLY_EFAULT;
	attr->size = size;
	return 0;
}

static bool flags_are_legal(uint64_t flags)
{
	if ((flags & TALLY_ATTR_INHERIT_THREAD) != 0 && (flags & TALLY_ATTR_INHERIT) == 0)
		return false;
	if ((flags & TALLY_ATTR_REMOVE_ON_EXEC) != 0 && (flags & TALLY_ATTR_ENABLE_ON_EXEC) != 0)
		return false;
	return (flags & TALLY_ATTR_SIGTRAP) == 0 || (flags & TALLY_ATTR_REMOVE_ON_EXEC) != 0;
}

static bool regs_are_legal(uint64_t mask)
{
	return mask != 0 && (mask & ~REGS_BITS) == 0;
}

/* Each field is looked at only if its sample bit is set. */
static bool sample_is_legal(const struct tally_attr *attr)
{
	uint64_t type = attr->sample_type;
	const uint64_t both_weights = TALLY_SAMPLE_WEIGHT | TALLY_SAMPLE_WEIGHT_STRUCT;

	if ((type & both_weights) == both_weights || (type & TALLY_SAMPLE_CGROUP) != 0)
		return false;
	if ((type & TALLY_SAMPLE_REGS_USER) != 0 && !regs_are_legal(attr->sample_regs_user))
		return false;
	if ((type & TALLY_SAMPLE_STACK_USER) != 0 &&
		(attr->sample_stack_user >= STACK_USER_MAX || attr->sample_stack_user % 8 != 0))
		return false;
	return (type & TALLY_SAMPLE_REGS_INTR) == 0 || regs_are_legal(attr->sample_regs_intr);
}

/* Branches of the kernel or the hypervisor, asked for or by default, need the kernel's right. */
static int check_branches(const struct tally_attr *attr, bool kernel_allowed)
{
	uint64_t levels = attr->branch_sample_type & BRANCH_PRIVILEGE;
	bool by_default = (attr->flags & TALLY_ATTR_EXCLUDE_KERNEL) == 0 ||
			  (attr->flags & TALLY_ATTR_EXCLUDE_HV) == 0;

	if ((attr->sample_type & TALLY_SAMPLE_BRANCH_STACK) == 0)
		return 0;
	if ((attr->branch_sample_type & ~BRANCH_BITS) != 0 ||
		(attr->branch_sample_type & ~BRANCH_PRIVILEGE) == 0)
		return -TALLY_EINVAL;
	if (!kernel_allowed && (levels == 0 ? by_default : (levels & ~BRANCH_USER) != 0))
		return -TALLY_EACCES;
	return 0;
}

int tally_attr_copy(struct tally_attr *attr, uint64_t from, bool kernel_allowed)
{
	int error = copy_sized(attr, from);

	if (error != 0)
		return error;
	if (attr->reserved_2 != 0 || attr->reserved_3 != 0 ||
		(attr->flags & TALLY_ATTR_FLAGS_RESERVED) != 0 ||
		attr->sample_type >= TALLY_SAMPLE_MAX || attr->read_format >= TALLY_FORMAT_MAX)
		return -TALLY_EINVAL;
	error = check_branches(attr, kernel_allowed);
	if (error != 0)
		return error;
	return flags_are_legal(attr->flags) && sample_is_legal(attr) ? 0 : -TALLY_EINVAL;
}

int tally_attr_supported(const struct tally_attr *attr)
{
	const uint64_t side_records = TALLY_ATTR_MMAP | TALLY_ATTR_COMM | TALLY_ATTR_TASK |
				      TALLY_ATTR_MMAP_DATA | TALLY_ATTR_MMAP2 |
				      TALLY_ATTR_CONTEXT_SWITCH | TALLY_ATTR_NAMESPACES |
				      TALLY_ATTR_KSYMBOL | TALLY_ATTR_BPF_EVENT |
				      TALLY_ATTR_CGROUP | TALLY_ATTR_TEXT_POKE;
	const uint64_t flags = side_records | TALLY_ATTR_INHERIT | TALLY_ATTR_WRITE_BACKWARD |
			       TALLY_ATTR_USE_CLOCKID | TALLY_ATTR_REMOVE_ON_EXEC |
			       TALLY_ATTR_SIGTRAP | TALLY_ATTR_AUX_OUTPUT;

	if ((attr->flags & flags) != 0 || (attr->sample_type & ~TALLY_SAMPLE_KNOWN) != 0)
		return -TALLY_EOPNOTSUPP;
	if ((attr->flags & TALLY_ATTR_FREQ) != 0 && attr->sample_period != 0)
		return -TALLY_EOPNOTSUPP;
	return 0;
}
