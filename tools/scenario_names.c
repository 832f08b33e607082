/* SPDX-License-Identifier: MIT
 *
 * scenario_names.c: the names that scenario files use for numbers of the perf ABI and of the Arm
 * architecture.
 *
 * ABI names are those of perf_event_open(2) in lower case without their prefix. PMU events have the
 * names of the Arm ARM (DDI 0487, D13.12 "Common event numbers"), in lower case.
 */
#include <errno.h>

#include "scenario_decode.h"

const struct yaml_name scenario_event_types[] = {
	{"hardware", TALLY_TYPE_HARDWARE},
	{"software", TALLY_TYPE_SOFTWARE},
	{"tracepoint", TALLY_TYPE_TRACEPOINT},
	{"hw_cache", TALLY_TYPE_HW_CACHE},
	{"raw", TALLY_TYPE_RAW},
	{"breakpoint", TALLY_TYPE_BREAKPOINT},
	{NULL, 0},
};

const struct yaml_name scenario_hardware_events[] = {
	{"cpu_cycles", TALLY_HW_CPU_CYCLES},
	{"cycles", TALLY_HW_CPU_CYCLES},
	{"instructions", TALLY_HW_INSTRUCTIONS},
	{"cache_references", TALLY_HW_CACHE_REFERENCES},
	{"cache_misses", TALLY_HW_CACHE_MISSES},
	{"branch_instructions", TALLY_HW_BRANCH_INSTRUCTIONS},
	{"branch_misses", TALLY_HW_BRANCH_MISSES},
	{"bus_cycles", TALLY_HW_BUS_CYCLES},
	{"stalled_cycles_frontend", TALLY_HW_STALLED_CYCLES_FRONTEND},
	{"stalled_cycles_backend", TALLY_HW_STALLED_CYCLES_BACKEND},
	{"ref_cpu_cycles", TALLY_HW_REF_CPU_CYCLES},
	{NULL, 0},
};

const struct yaml_name scenario_software_events[] = {
	{"cpu_clock", 0},
	{"task_clock", 1},
	{"page_faults", 2},
	{"context_switches", 3},
	{"cpu_migrations", 4},
	{"page_faults_min", 5},
	{"page_faults_maj", 6},
	{"alignment_faults", 7},
	{"emulation_faults", 8},
	{"dummy", 9},
	{"bpf_output", 10},
	{"cgroup_switches", 11},
	{NULL, 0},
};

const struct yaml_name scenario_caches[] = {{"l1d", 0}, {"l1i", 1}, {"ll", 2}, {"dtlb", 3},
	{"itlb", 4}, {"bpu", 5}, {"node", 6}, {NULL, 0}};
const struct yaml_name scenario_cache_operations[] = {
	{"read", 0}, {"write", 1}, {"prefetch", 2}, {NULL, 0}};
const struct yaml_name scenario_cache_results[] = {{"access", 0}, {"miss", 1}, {NULL, 0}};

const struct yaml_name scenario_pmu_events[] = {{"sw_incr", 0x00}, {"l1i_cache_refill", 0x01},
	{"l1i_tlb_refill", 0x02}, {"l1d_cache_refill", 0x03}, {"l1d_cache", 0x04},
	{"l1d_tlb_refill", 0x05}, {"ld_retired", 0x06}, {"st_retired", 0x07},
	{"inst_retired", 0x08}, {"exc_taken", 0x09}, {"exc_return", 0x0a},
	{"cid_write_retired", 0x0b}, {"pc_write_retired", 0x0c}, {"br_immed_retired", 0x0d},
	{"br_return_retired", 0x0e}, {"unaligned_ldst_retired", 0x0f}, {"br_mis_pred", 0x10},
	{"cpu_cycles", 0x11}, {"br_pred", 0x12}, {"mem_access", 0x13}, {"l1i_cache", 0x14},
	{"l1d_cache_wb", 0x15}, {"l2d_cache", 0x16}, {"l2d_cache_refill", 0x17},
	{"l2d_cache_wb", 0x18}, {"bus_access", 0x19}, {"memory_error", 0x1a}, {"inst_spec", 0x1b},
	{"ttbr_write_retired", 0x1c}, {"bus_cycles", 0x1d}, {"chain", 0x1e},
	{"l1d_cache_allocate", 0x1f}, {"l2d_cache_allocate", 0x20}, {"br_retired", 0x21},
	{"br_mis_pred_retired", 0x22}, {"stall_frontend", 0x23}, {"stall_backend", 0x24},
	{"l1d_tlb", 0x25}, {"l1i_tlb", 0x26}, {"l3d_cache_allocate", 0x29},
	{"l3d_cache_refill", 0x2a}, {"l3d_cache", 0x2b}, {"l2d_tlb_refill", 0x2d},
	{"l2d_tlb", 0x2f}, {"dtlb_walk", 0x34}, {"itlb_walk", 0x35}, {"ll_cache_rd", 0x36},
	{"ll_cache_miss_rd", 0x37}, {NULL, 0}};

const struct yaml_name scenario_sample_types[] = {
	{"ip", TALLY_SAMPLE_IP},
	{"tid", TALLY_SAMPLE_TID},
	{"time", TALLY_SAMPLE_TIME},
	{"addr", TALLY_SAMPLE_ADDR},
	{"read", TALLY_SAMPLE_READ},
	{"callchain", TALLY_SAMPLE_CALLCHAIN},
	{"id", TALLY_SAMPLE_ID},
	{"cpu", TALLY_SAMPLE_CPU},
	{"period", TALLY_SAMPLE_PERIOD},
	{"stream_id", TALLY_SAMPLE_STREAM_ID},
	{"raw", TALLY_SAMPLE_RAW},
	{"branch_stack", TALLY_SAMPLE_BRANCH_STACK},
	{"regs_user", TALLY_SAMPLE_REGS_USER},
	{"stack_user", TALLY_SAMPLE_STACK_USER},
	{"weight", TALLY_SAMPLE_WEIGHT},
	{"data_src", TALLY_SAMPLE_DATA_SRC},
	{"identifier", TALLY_SAMPLE_IDENTIFIER},
	{"transaction", TALLY_SAMPLE_TRANSACTION},
	{"regs_intr", TALLY_SAMPLE_REGS_INTR},
	{"phys_addr", TALLY_SAMPLE_PHYS_ADDR},
	{"aux", TALLY_SAMPLE_AUX},
	{"cgroup", TALLY_SAMPLE_CGROUP},
	{"data_page_size", TALLY_SAMPLE_DATA_PAGE_SIZE},
	{"code_page_size", TALLY_SAMPLE_CODE_PAGE_SIZE},
	{"weight_struct", TALLY_SAMPLE_WEIGHT_STRUCT},
	{NULL, 0},
};

const struct yaml_name scenario_read_formats[] = {
	{"total_time_enabled", TALLY_FORMAT_TOTAL_TIME_ENABLED},
	{"total_time_running", TALLY_FORMAT_TOTAL_TIME_RUNNING},
	{"id", TALLY_FORMAT_ID},
	{"group", TALLY_FORMAT_GROUP},
	{"lost", TALLY_FORMAT_LOST},
	{NULL, 0},
};

const struct yaml_name scenario_attr_flags[] = {
	{"disabled", TALLY_ATTR_DISABLED},
	{"inherit", TALLY_ATTR_INHERIT},
	{"pinned", TALLY_ATTR_PINNED},
	{"exclusive", TALLY_ATTR_EXCLUSIVE},
	{"exclude_user", TALLY_ATTR_EXCLUDE_USER},
	{"exclude_kernel", TALLY_ATTR_EXCLUDE_KERNEL},
	{"exclude_hv", TALLY_ATTR_EXCLUDE_HV},
	{"exclude_idle", TALLY_ATTR_EXCLUDE_IDLE},
	{"mmap", TALLY_ATTR_MMAP},
	{"comm", TALLY_ATTR_COMM},
	{"inherit_stat", TALLY_ATTR_INHERIT_STAT},
	{"enable_on_exec", TALLY_ATTR_ENABLE_ON_EXEC},
	{"task_records", TALLY_ATTR_TASK}, /* attr.task: `task` names the event's target */
	{"mmap_data", TALLY_ATTR_MMAP_DATA},
	{"sample_id_all", TALLY_ATTR_SAMPLE_ID_ALL},
	{"exclude_host", TALLY_ATTR_EXCLUDE_HOST},
	{"exclude_guest", TALLY_ATTR_EXCLUDE_GUEST},
	{"exclude_callchain_kernel", TALLY_ATTR_EXCLUDE_CALL_KERNEL},
	{"exclude_callchain_user", TALLY_ATTR_EXCLUDE_CALL_USER},
	{"mmap2", TALLY_ATTR_MMAP2},
	{"comm_exec", TALLY_ATTR_COMM_EXEC},
	{"context_switch", TALLY_ATTR_CONTEXT_SWITCH},
	{"write_backward", TALLY_ATTR_WRITE_BACKWARD},
	{"namespaces", TALLY_ATTR_NAMESPACES},
	{"ksymbol", TALLY_ATTR_KSYMBOL},
	{"bpf_event", TALLY_ATTR_BPF_EVENT},
	{"aux_output", TALLY_ATTR_AUX_OUTPUT},
	{"cgroup", TALLY_ATTR_CGROUP},
	{"text_poke", TALLY_ATTR_TEXT_POKE},
	{"build_id", TALLY_ATTR_BUILD_ID},
	{"inherit_thread", TALLY_ATTR_INHERIT_THREAD},
	{"remove_on_exec", TALLY_ATTR_REMOVE_ON_EXEC},
	{"sigtrap", TALLY_ATTR_SIGTRAP},
	{NULL, 0},
};

const struct yaml_name scenario_open_flags[] = {
	{"fd_no_group", TALLY_FLAG_FD_NO_GROUP},
	{"fd_output", TALLY_FLAG_FD_OUTPUT},
	{"pid_cgroup", TALLY_FLAG_PID_CGROUP},
	{"fd_cloexec", TALLY_FLAG_FD_CLOEXEC},
	{NULL, 0},
};

/* The errors that calls on events can give; values positive. */
const struct yaml_name scenario_errors[] = {{"EPERM", EPERM}, {"ENOENT", ENOENT}, {"ESRCH", ESRCH},
	{"ENXIO", ENXIO}, {"E2BIG", E2BIG}, {"EBADF", EBADF}, {"ECHILD", ECHILD},
	{"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EFAULT", EFAULT}, {"EBUSY", EBUSY},
	{"ENODEV", ENODEV}, {"EINVAL", EINVAL}, {"EMFILE", EMFILE}, {"ENOTTY", ENOTTY},
	{"ENOSPC", ENOSPC}, {"EOVERFLOW", EOVERFLOW}, {"EOPNOTSUPP", EOPNOTSUPP}, {NULL, 0}};
