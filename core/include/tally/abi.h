/* SPDX-License-Identifier: MIT
 *
 * abi.h: the perf event ABI of Linux, written out.
 *
 * Layouts and numbers that a program sees: perf_event_attr (VER0 to VER7), ioctl commands, read
 * formats, sample bits, record types, the mmap control page. Source: perf_event_open(2). A test
 * compares every size, offset and number here with the system's <linux/perf_event.h>. Nothing in
 * this file depends on the rest of Tally, and it may be included by a program that talks to Tally.
 */
#ifndef TALLY_ABI_H
#define TALLY_ABI_H

#include <stddef.h>
#include <stdint.h>

enum tally_type {
	TALLY_TYPE_HARDWARE = 0,
	TALLY_TYPE_SOFTWARE = 1,
	TALLY_TYPE_TRACEPOINT = 2,
	TALLY_TYPE_HW_CACHE = 3,
	TALLY_TYPE_RAW = 4,
	TALLY_TYPE_BREAKPOINT = 5,
	TALLY_TYPE_DYNAMIC = 6, /* the first number a registered PMU gets */
};

enum tally_hw_id {
	TALLY_HW_CPU_CYCLES = 0,
	TALLY_HW_INSTRUCTIONS = 1,
	TALLY_HW_CACHE_REFERENCES = 2,
	TALLY_HW_CACHE_MISSES = 3,
	TALLY_HW_BRANCH_INSTRUCTIONS = 4,
	TALLY_HW_BRANCH_MISSES = 5,
	TALLY_HW_BUS_CYCLES = 6,
	TALLY_HW_STALLED_CYCLES_FRONTEND = 7,
	TALLY_HW_STALLED_CYCLES_BACKEND = 8,
	TALLY_HW_REF_CPU_CYCLES = 9,
	TALLY_HW_MAX = 10,
};

/* sample_type */
#define TALLY_SAMPLE_IP             (UINT64_C(1) << 0)
#define TALLY_SAMPLE_TID            (UINT64_C(1) << 1)
#define TALLY_SAMPLE_TIME           (UINT64_C(1) << 2)
#define TALLY_SAMPLE_ADDR           (UINT64_C(1) << 3)
#define TALLY_SAMPLE_READ           (UINT64_C(1) << 4)
#define TALLY_SAMPLE_CALLCHAIN      (UINT64_C(1) << 5)
#define TALLY_SAMPLE_ID             (UINT64_C(1) << 6)
#define TALLY_SAMPLE_CPU            (UINT64_C(1) << 7)
#define TALLY_SAMPLE_PERIOD         (UINT64_C(1) << 8)
#define TALLY_SAMPLE_STREAM_ID      (UINT64_C(1) << 9)
#define TALLY_SAMPLE_RAW            (UINT64_C(1) << 10)
#define TALLY_SAMPLE_BRANCH_STACK   (UINT64_C(1) << 11)
#define TALLY_SAMPLE_REGS_USER      (UINT64_C(1) << 12)
#define TALLY_SAMPLE_STACK_USER     (UINT64_C(1) << 13)
#define TALLY_SAMPLE_WEIGHT         (UINT64_C(1) << 14)
#define TALLY_SAMPLE_DATA_SRC       (UINT64_C(1) << 15)
#define TALLY_SAMPLE_IDENTIFIER     (UINT64_C(1) << 16)
#define TALLY_SAMPLE_TRANSACTION    (UINT64_C(1) << 17)
#define TALLY_SAMPLE_REGS_INTR      (UINT64_C(1) << 18)
#define TALLY_SAMPLE_PHYS_ADDR      (UINT64_C(1) << 19)
#define TALLY_SAMPLE_AUX            (UINT64_C(1) << 20)
#define TALLY_SAMPLE_CGROUP         (UINT64_C(1) << 21)
#define TALLY_SAMPLE_DATA_PAGE_SIZE (UINT64_C(1) << 22)
#define TALLY_SAMPLE_CODE_PAGE_SIZE (UINT64_C(1) << 23)
#define TALLY_SAMPLE_WEIGHT_STRUCT  (UINT64_C(1) << 24)
#define TALLY_SAMPLE_MAX            (UINT64_C(1) << 25)

/* read_format */
#define TALLY_FORMAT_TOTAL_TIME_ENABLED (UINT64_C(1) << 0)
#define TALLY_FORMAT_TOTAL_TIME_RUNNING (UINT64_C(1) << 1)
#define TALLY_FORMAT_ID                 (UINT64_C(1) << 2)
#define TALLY_FORMAT_GROUP              (UINT64_C(1) << 3)
#define TALLY_FORMAT_LOST               (UINT64_C(1) << 4)
#define TALLY_FORMAT_MAX                (UINT64_C(1) << 5)

/* attr.flags: the bit-fields of perf_event_attr, as bits of one u64 (little endian: bit 0 is
 * `disabled`) */
#define TALLY_ATTR_DISABLED            (UINT64_C(1) << 0)
#define TALLY_ATTR_INHERIT             (UINT64_C(1) << 1)
#define TALLY_ATTR_PINNED              (UINT64_C(1) << 2)
#define TALLY_ATTR_EXCLUSIVE           (UINT64_C(1) << 3)
#define TALLY_ATTR_EXCLUDE_USER        (UINT64_C(1) << 4)
#define TALLY_ATTR_EXCLUDE_KERNEL      (UINT64_C(1) << 5)
#define TALLY_ATTR_EXCLUDE_HV          (UINT64_C(1) << 6)
#define TALLY_ATTR_EXCLUDE_IDLE        (UINT64_C(1) << 7)
#define TALLY_ATTR_MMAP                (UINT64_C(1) << 8)
#define TALLY_ATTR_COMM                (UINT64_C(1) << 9)
#define TALLY_ATTR_FREQ                (UINT64_C(1) << 10)
#define TALLY_ATTR_INHERIT_STAT        (UINT64_C(1) << 11)
#define TALLY_ATTR_ENABLE_ON_EXEC      (UINT64_C(1) << 12)
#define TALLY_ATTR_TASK                (UINT64_C(1) << 13)
#define TALLY_ATTR_WATERMARK           (UINT64_C(1) << 14)
#define TALLY_ATTR_PRECISE_IP          (UINT64_C(3) << 15)
#define TALLY_ATTR_MMAP_DATA           (UINT64_C(1) << 17)
#define TALLY_ATTR_SAMPLE_ID_ALL       (UINT64_C(1) << 18)
#define TALLY_ATTR_EXCLUDE_HOST        (UINT64_C(1) << 19)
#define TALLY_ATTR_EXCLUDE_GUEST       (UINT64_C(1) << 20)
#define TALLY_ATTR_EXCLUDE_CALL_KERNEL (UINT64_C(1) << 21)
#define TALLY_ATTR_EXCLUDE_CALL_USER   (UINT64_C(1) << 22)
#define TALLY_ATTR_MMAP2               (UINT64_C(1) << 23)
#define TALLY_ATTR_COMM_EXEC           (UINT64_C(1) << 24)
#define TALLY_ATTR_USE_CLOCKID         (UINT64_C(1) << 25)
#define TALLY_ATTR_CONTEXT_SWITCH      (UINT64_C(1) << 26)
#define TALLY_ATTR_WRITE_BACKWARD      (UINT64_C(1) << 27)
#define TALLY_ATTR_NAMESPACES          (UINT64_C(1) << 28)
#define TALLY_ATTR_KSYMBOL             (UINT64_C(1) << 29)
#define TALLY_ATTR_BPF_EVENT           (UINT64_C(1) << 30)
#define TALLY_ATTR_AUX_OUTPUT          (UINT64_C(1) << 31)
#define TALLY_ATTR_CGROUP              (UINT64_C(1) << 32)
#define TALLY_ATTR_TEXT_POKE           (UINT64_C(1) << 33)
#define TALLY_ATTR_BUILD_ID            (UINT64_C(1) << 34)
#define TALLY_ATTR_INHERIT_THREAD      (UINT64_C(1) << 35)
#define TALLY_ATTR_REMOVE_ON_EXEC      (UINT64_C(1) << 36)
#define TALLY_ATTR_SIGTRAP             (UINT64_C(1) << 37)
#define TALLY_ATTR_FLAGS_RESERVED      (~UINT64_C(0) << 38)

struct tally_attr {
	uint32_t type;
	uint32_t size;
	uint64_t config;
	uint64_t sample_period; /* or sample_freq, with TALLY_ATTR_FREQ */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t flags;
	uint32_t wakeup_events; /* or wakeup_watermark in bytes, with TALLY_ATTR_WATERMARK */
	uint32_t bp_type;
	uint64_t config1;
	uint64_t config2;
	uint64_t branch_sample_type;
	uint64_t sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack;
	uint16_t reserved_2;
	uint32_t aux_sample_size;
	uint32_t reserved_3;
	uint64_t sig_data;
};

#define TALLY_ATTR_SIZE_VER0 64u
#define TALLY_ATTR_SIZE_VER7 128u
_Static_assert(
	sizeof(struct tally_attr) == TALLY_ATTR_SIZE_VER7, "perf_event_attr VER7 is 128 bytes");
_Static_assert(offsetof(struct tally_attr, reserved_2) == 110, "perf_event_attr layout");
_Static_assert(offsetof(struct tally_attr, sig_data) == 120, "perf_event_attr layout");

/* flags of perf_event_open */
#define TALLY_FLAG_FD_NO_GROUP UINT64_C(1)
#define TALLY_FLAG_FD_OUTPUT   UINT64_C(2)
#define TALLY_FLAG_PID_CGROUP  UINT64_C(4)
#define TALLY_FLAG_FD_CLOEXEC  UINT64_C(8)
#define TALLY_FLAG_ALL         UINT64_C(15)

/* ioctl commands: the whole 32-bit value must match */
#define TALLY_IOC_ENABLE            0x00002400u
#define TALLY_IOC_DISABLE           0x00002401u
#define TALLY_IOC_REFRESH           0x00002402u
#define TALLY_IOC_RESET             0x00002403u
#define TALLY_IOC_PERIOD            0x40082404u
#define TALLY_IOC_SET_OUTPUT        0x00002405u
#define TALLY_IOC_SET_FILTER        0x40082406u
#define TALLY_IOC_ID                0x80082407u
#define TALLY_IOC_SET_BPF           0x40042408u
#define TALLY_IOC_PAUSE_OUTPUT      0x40042409u
#define TALLY_IOC_QUERY_BPF         0xc008240au
#define TALLY_IOC_MODIFY_ATTRIBUTES 0x4008240bu
#define TALLY_IOC_FLAG_GROUP        1u

enum tally_record_type {
	TALLY_RECORD_MMAP = 1,
	TALLY_RECORD_LOST = 2,
	TALLY_RECORD_COMM = 3,
	TALLY_RECORD_EXIT = 4,
	TALLY_RECORD_THROTTLE = 5,
	TALLY_RECORD_UNTHROTTLE = 6,
	TALLY_RECORD_FORK = 7,
	TALLY_RECORD_READ = 8,
	TALLY_RECORD_SAMPLE = 9,
	TALLY_RECORD_MMAP2 = 10,
};

#define TALLY_MISC_KERNEL 1u
#define TALLY_MISC_USER   2u

struct tally_record_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* bytes, this header included; a multiple of 8 */
};
_Static_assert(sizeof(struct tally_record_header) == 8, "perf_event_header");

/* The first page of a mapping. Fields of the data ring begin at byte 1024. */
struct tally_control_page {
	uint32_t version;
	uint32_t compat_version;
	uint32_t lock;
	uint32_t index;
	int64_t offset;
	uint64_t time_enabled;
	uint64_t time_running;
	uint64_t capabilities;
	uint16_t pmc_width;
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_offset;
	uint64_t time_zero;
	uint32_t size;
	uint32_t reserved_1;
	uint64_t time_cycles;
	uint64_t time_mask;
	uint8_t reserved[1024 - 96];
	uint64_t data_head;
	uint64_t data_tail;
	uint64_t data_offset;
	uint64_t data_size;
	uint64_t aux_head;
	uint64_t aux_tail;
	uint64_t aux_offset;
	uint64_t aux_size;
};
_Static_assert(offsetof(struct tally_control_page, size) == 72, "perf_event_mmap_page");
_Static_assert(offsetof(struct tally_control_page, data_head) == 1024, "perf_event_mmap_page");
_Static_assert(offsetof(struct tally_control_page, data_size) == 1048, "perf_event_mmap_page");

#endif
