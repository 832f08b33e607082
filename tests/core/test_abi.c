/* SPDX-License-Identifier: MIT
 *
 * test_abi.c: abi.h against the system's <linux/perf_event.h>: every size, offset and number.
 */
#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#include <tally/abi.h>

#define SAME_FIELD(ours, theirs)                                                                   \
	do {                                                                                       \
		cr_assert_eq(offsetof(struct tally_attr, ours),                                    \
			offsetof(struct perf_event_attr, theirs));                                 \
		cr_assert_eq(sizeof(((struct tally_attr *)0)->ours),                               \
			sizeof(((struct perf_event_attr *)0)->theirs));                            \
	} while (0)

Test(abi, attr_fields)
{
	SAME_FIELD(type, type);
	SAME_FIELD(size, size);
	SAME_FIELD(config, config);
	SAME_FIELD(sample_period, sample_freq);
	SAME_FIELD(sample_type, sample_type);
	SAME_FIELD(read_format, read_format);
	SAME_FIELD(wakeup_events, wakeup_watermark);
	SAME_FIELD(bp_type, bp_type);
	SAME_FIELD(config1, config1);
	SAME_FIELD(config2, config2);
	SAME_FIELD(branch_sample_type, branch_sample_type);
	SAME_FIELD(sample_regs_user, sample_regs_user);
	SAME_FIELD(sample_stack_user, sample_stack_user);
	SAME_FIELD(clockid, clockid);
	SAME_FIELD(sample_regs_intr, sample_regs_intr);
	SAME_FIELD(aux_watermark, aux_watermark);
	SAME_FIELD(sample_max_stack, sample_max_stack);
	SAME_FIELD(aux_sample_size, aux_sample_size);
	SAME_FIELD(sig_data, sig_data);
	cr_assert_eq(offsetof(struct tally_attr, flags), 40);
	cr_assert_geq(sizeof(struct perf_event_attr), TALLY_ATTR_SIZE_VER7);
	cr_assert_eq(TALLY_ATTR_SIZE_VER0, PERF_ATTR_SIZE_VER0);
	cr_assert_eq(TALLY_ATTR_SIZE_VER7, PERF_ATTR_SIZE_VER7);
}

/* A bit-field has no offset: set it, and see which bit of the u64 at 40 that is. */
#define SAME_BIT(field, bits, value)                                                               \
	do {                                                                                       \
		struct perf_event_attr attr;                                                       \
		uint64_t flags;                                                                    \
		memset(&attr, 0, sizeof(attr));                                                    \
		attr.field = (value);                                                              \
		memcpy(&flags, (const char *)&attr + 40, sizeof(flags));                           \
		cr_assert_eq(flags, (bits), #field);                                               \
	} while (0)

Test(abi, attr_flags)
{
	SAME_BIT(disabled, TALLY_ATTR_DISABLED, 1);
	SAME_BIT(inherit, TALLY_ATTR_INHERIT, 1);
	SAME_BIT(pinned, TALLY_ATTR_PINNED, 1);
	SAME_BIT(exclusive, TALLY_ATTR_EXCLUSIVE, 1);
	SAME_BIT(exclude_user, TALLY_ATTR_EXCLUDE_USER, 1);
	SAME_BIT(exclude_kernel, TALLY_ATTR_EXCLUDE_KERNEL, 1);
	SAME_BIT(exclude_hv, TALLY_ATTR_EXCLUDE_HV, 1);
	SAME_BIT(exclude_idle, TALLY_ATTR_EXCLUDE_IDLE, 1);
	SAME_BIT(mmap, TALLY_ATTR_MMAP, 1);
	SAME_BIT(comm, TALLY_ATTR_COMM, 1);
	SAME_BIT(freq, TALLY_ATTR_FREQ, 1);
	SAME_BIT(inherit_stat, TALLY_ATTR_INHERIT_STAT, 1);
	SAME_BIT(enable_on_exec, TALLY_ATTR_ENABLE_ON_EXEC, 1);
	SAME_BIT(task, TALLY_ATTR_TASK, 1);
	SAME_BIT(watermark, TALLY_ATTR_WATERMARK, 1);
	SAME_BIT(precise_ip, TALLY_ATTR_PRECISE_IP, 3);
	SAME_BIT(mmap_data, TALLY_ATTR_MMAP_DATA, 1);
	SAME_BIT(sample_id_all, TALLY_ATTR_SAMPLE_ID_ALL, 1);
	SAME_BIT(exclude_host, TALLY_ATTR_EXCLUDE_HOST, 1);
	SAME_BIT(exclude_guest, TALLY_ATTR_EXCLUDE_GUEST, 1);
	SAME_BIT(exclude_callchain_kernel, TALLY_ATTR_EXCLUDE_CALL_KERNEL, 1);
	SAME_BIT(exclude_callchain_user, TALLY_ATTR_EXCLUDE_CALL_USER, 1);
	SAME_BIT(mmap2, TALLY_ATTR_MMAP2, 1);
	SAME_BIT(comm_exec, TALLY_ATTR_COMM_EXEC, 1);
	SAME_BIT(use_clockid, TALLY_ATTR_USE_CLOCKID, 1);
	SAME_BIT(context_switch, TALLY_ATTR_CONTEXT_SWITCH, 1);
	SAME_BIT(write_backward, TALLY_ATTR_WRITE_BACKWARD, 1);
	SAME_BIT(namespaces, TALLY_ATTR_NAMESPACES, 1);
	SAME_BIT(ksymbol, TALLY_ATTR_KSYMBOL, 1);
	SAME_BIT(bpf_event, TALLY_ATTR_BPF_EVENT, 1);
	SAME_BIT(aux_output, TALLY_ATTR_AUX_OUTPUT, 1);
	SAME_BIT(cgroup, TALLY_ATTR_CGROUP, 1);
	SAME_BIT(text_poke, TALLY_ATTR_TEXT_POKE, 1);
	SAME_BIT(build_id, TALLY_ATTR_BUILD_ID, 1);
	SAME_BIT(inherit_thread, TALLY_ATTR_INHERIT_THREAD, 1);
	SAME_BIT(remove_on_exec, TALLY_ATTR_REMOVE_ON_EXEC, 1);
	SAME_BIT(sigtrap, TALLY_ATTR_SIGTRAP, 1);
}

#define SAME_NUMBER(name) cr_assert_eq((uint64_t)TALLY_##name, (uint64_t)PERF_##name, #name)

Test(abi, numbers)
{
	SAME_NUMBER(TYPE_HARDWARE);
	SAME_NUMBER(TYPE_SOFTWARE);
	SAME_NUMBER(TYPE_TRACEPOINT);
	SAME_NUMBER(TYPE_HW_CACHE);
	SAME_NUMBER(TYPE_RAW);
	SAME_NUMBER(TYPE_BREAKPOINT);
	cr_assert_eq((uint32_t)TALLY_TYPE_DYNAMIC, (uint32_t)PERF_TYPE_MAX);
	cr_assert_eq((uint32_t)TALLY_HW_CPU_CYCLES, (uint32_t)PERF_COUNT_HW_CPU_CYCLES);
	cr_assert_eq((uint32_t)TALLY_HW_INSTRUCTIONS, (uint32_t)PERF_COUNT_HW_INSTRUCTIONS);
	cr_assert_eq((uint32_t)TALLY_HW_CACHE_MISSES, (uint32_t)PERF_COUNT_HW_CACHE_MISSES);
	cr_assert_eq((uint32_t)TALLY_HW_BUS_CYCLES, (uint32_t)PERF_COUNT_HW_BUS_CYCLES);
	cr_assert_eq((uint32_t)TALLY_HW_REF_CPU_CYCLES, (uint32_t)PERF_COUNT_HW_REF_CPU_CYCLES);
	cr_assert_eq((uint32_t)TALLY_HW_MAX, (uint32_t)PERF_COUNT_HW_MAX);
	SAME_NUMBER(SAMPLE_IP);
	SAME_NUMBER(SAMPLE_READ);
	SAME_NUMBER(SAMPLE_PERIOD);
	SAME_NUMBER(SAMPLE_STREAM_ID);
	SAME_NUMBER(SAMPLE_RAW);
	SAME_NUMBER(SAMPLE_REGS_USER);
	SAME_NUMBER(SAMPLE_IDENTIFIER);
	SAME_NUMBER(SAMPLE_PHYS_ADDR);
	SAME_NUMBER(SAMPLE_CGROUP);
	SAME_NUMBER(SAMPLE_WEIGHT_STRUCT);
	SAME_NUMBER(SAMPLE_MAX);
	SAME_NUMBER(FORMAT_TOTAL_TIME_ENABLED);
	SAME_NUMBER(FORMAT_TOTAL_TIME_RUNNING);
	SAME_NUMBER(FORMAT_ID);
	SAME_NUMBER(FORMAT_GROUP);
	SAME_NUMBER(FORMAT_LOST);
	SAME_NUMBER(FORMAT_MAX);
	SAME_NUMBER(FLAG_FD_NO_GROUP);
	SAME_NUMBER(FLAG_FD_OUTPUT);
	SAME_NUMBER(FLAG_PID_CGROUP);
	SAME_NUMBER(FLAG_FD_CLOEXEC);
	SAME_NUMBER(RECORD_LOST);
	SAME_NUMBER(RECORD_SAMPLE);
	SAME_NUMBER(RECORD_MMAP2);
	cr_assert_eq(TALLY_MISC_KERNEL, (uint32_t)PERF_RECORD_MISC_KERNEL);
	cr_assert_eq(TALLY_MISC_USER, (uint32_t)PERF_RECORD_MISC_USER);
}

Test(abi, ioctls)
{
	cr_assert_eq(TALLY_IOC_ENABLE, PERF_EVENT_IOC_ENABLE);
	cr_assert_eq(TALLY_IOC_DISABLE, PERF_EVENT_IOC_DISABLE);
	cr_assert_eq(TALLY_IOC_REFRESH, PERF_EVENT_IOC_REFRESH);
	cr_assert_eq(TALLY_IOC_RESET, PERF_EVENT_IOC_RESET);
	cr_assert_eq(TALLY_IOC_PERIOD, PERF_EVENT_IOC_PERIOD);
	cr_assert_eq(TALLY_IOC_SET_OUTPUT, PERF_EVENT_IOC_SET_OUTPUT);
	cr_assert_eq(TALLY_IOC_SET_FILTER, PERF_EVENT_IOC_SET_FILTER);
	cr_assert_eq(TALLY_IOC_ID, PERF_EVENT_IOC_ID);
	cr_assert_eq(TALLY_IOC_SET_BPF, PERF_EVENT_IOC_SET_BPF);
	cr_assert_eq(TALLY_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_PAUSE_OUTPUT);
	cr_assert_eq(TALLY_IOC_QUERY_BPF, PERF_EVENT_IOC_QUERY_BPF);
	cr_assert_eq(TALLY_IOC_MODIFY_ATTRIBUTES, PERF_EVENT_IOC_MODIFY_ATTRIBUTES);
	cr_assert_eq(TALLY_IOC_FLAG_GROUP, (uint32_t)PERF_IOC_FLAG_GROUP);
}

#define SAME_PAGE_FIELD(field)                                                                     \
	cr_assert_eq(offsetof(struct tally_control_page, field),                                   \
		offsetof(struct perf_event_mmap_page, field), #field)

Test(abi, control_page)
{
	SAME_PAGE_FIELD(version);
	SAME_PAGE_FIELD(lock);
	SAME_PAGE_FIELD(index);
	SAME_PAGE_FIELD(offset);
	SAME_PAGE_FIELD(time_enabled);
	SAME_PAGE_FIELD(time_running);
	SAME_PAGE_FIELD(capabilities);
	SAME_PAGE_FIELD(pmc_width);
	SAME_PAGE_FIELD(time_mult);
	SAME_PAGE_FIELD(time_zero);
	SAME_PAGE_FIELD(size);
	SAME_PAGE_FIELD(time_cycles);
	SAME_PAGE_FIELD(data_head);
	SAME_PAGE_FIELD(data_tail);
	SAME_PAGE_FIELD(data_offset);
	SAME_PAGE_FIELD(data_size);
	SAME_PAGE_FIELD(aux_size);
	cr_assert_eq(sizeof(struct tally_record_header), sizeof(struct perf_event_header));
}
