/* SPDX-License-Identifier: MIT
 *
 * state.h: what the oracle knows of a run, for the files of this folder only.
 *
 * Time passes per CPU: everything told of a CPU brings it forward (clock.c), and the stretch since
 * it was last told of is one in which nothing changed there. Before and after each operation all
 * CPUs are brought forward. Retirement is told in order with everything else of its CPU, so counts
 * need no clock.
 *
 * The engine names events by ids, and places an event before the call that opened it has returned.
 * So what is placed is a `residence`, kept by id, and an event finds its residence when it becomes
 * known.
 *
 * Calls that overlap: each has a begin and an end in one sequence (`sequence`). An event that two
 * overlapping calls set differently is MAYBE on until a call that overlaps none sets it. What can't
 * be known at all is `unchecked`, and nothing more is said about it.
 */
#ifndef ORACLE_STATE_H
#define ORACLE_STATE_H

#include <oracle/oracle.h>

#include <errno.h>
#include <inttypes.h>
#include <tally/abi.h>

#define ORACLE_TASK_NONE 0u /* no thread has this id */

/* What hal_trace() of the port tells (machine_trace.kind). */
enum trace_kind {
	TRACE_PLACED,
	TRACE_LEFT,
	TRACE_SKIPPED,
};

enum on {
	OFF,
	ON,
	MAYBE,
};

struct oracle_event;

/* An event id in a counter of a CPU. */
struct residence {
	uint64_t id;
	struct oracle_event *event; /* NULL: not known yet */
	uint32_t cpu;               /* ORACLE_NOBODY: in no counter */
	uint32_t slot;
	uint64_t count;     /* occurrences since open */
	uint64_t in_bursts; /* of `count`: in kernel code that took no time */
	uint64_t running_ns;
};

/* One number that a read may give. */
struct range {
	uint64_t least;
	uint64_t most;
};

/* The numbers of a read, in order. */
#define ANSWER_MAX 2064u /* the largest group that can be read, and a header */
struct answer {
	uint32_t count;
	uint32_t events; /* how many of a group it shows */
	bool unsure;     /* which, or in which order, is open */
	struct range word[ANSWER_MAX];
};

/* A record that must be in the ring. */
struct moment {
	uint64_t t_ns;
	uint64_t ip;
	uint64_t lost; /* LOST record: how many; a sample: 0 */
	uint64_t period;
	struct range *reading; /* sample_type READ: its words */
	uint32_t reading_count;
	uint32_t pid, tid;
	uint32_t other_pid, other_tid; /* as good: at a switch */
	uint32_t cpu;
	uint32_t program; /* whose text an inexact ip lies in, if it is not 0 */
	bool exact_ip;
	bool user;
};

struct ring {
	bool mapped;
	bool unsure; /* what fits is open: the records are not predicted any more */
	bool overwrite;
	uint64_t pages;
	uint64_t size; /* bytes of data */
	uint64_t head;
	uint64_t tail;
	uint32_t draining;  /* DRAINs under way */
	uint32_t changing;  /* MMAPs under way */
	bool changing_due;  /* a sample was due meanwhile */
	uint64_t lost;      /* records since the last LOST record */
	uint64_t last_t_ns; /* of records: B7 */
	struct moment *moment;
	uint32_t first;
	uint32_t count;
	uint32_t room;
};

/* A process that keeps an event alive. */
struct holder {
	uint32_t pid;
	bool fd;
	uint32_t mappings;
};

struct oracle_event {
	struct oracle_event *next;          /* of all */
	struct oracle_event *next_in_group; /* of members, by age */
	uint32_t number;
	struct tally_attr attr;
	int32_t cpu;  /* -1: any */
	uint32_t tid; /* target; ORACLE_TASK_NONE: a CPU event */
	bool cloexec;
	struct residence *residence;
	struct holder *holder;
	uint32_t holders;

	struct oracle_event *leader; /* itself: leader or single */
	struct oracle_event *members;
	uint32_t member_count;
	bool order_unsure;
	uint64_t joined;  /* sequence number of the last call that changed this group's members */
	uint64_t grouped; /* ... of the last ended call on this whole group */

	bool closed;
	bool ended;
	bool unchecked;
	bool error;     /* pinned, no room */
	bool may_error; /* ... at this instant, calls overlapping */
	bool on_exec;
	enum on on;
	uint32_t pending;       /* calls under way that set it */
	uint32_t group_pending; /* leader: ... that set its whole group */
	uint64_t set;           /* sequence number of the call that set `on` last */

	uint64_t enabled_least_ns;
	uint64_t enabled_most_ns;
	struct range base;       /* count at the last RESET */
	uint32_t resets_pending; /* RESETs under way, of it or, leader, of its group */
	bool multiplexed;
	uint32_t waited_ticks; /* leader: since it was placed last */
	uint32_t wait_bound;

	/* what reads said last */
	bool was_read;
	uint64_t read_value, read_enabled_ns, read_running_ns;

	/* sampling */
	uint64_t since; /* occurrences in the current period */
	uint64_t due, written, lost, without_ring, skipped, seen;
	uint64_t skipped_told;
	bool lost_unsure;
	struct ring ring;
};

struct task {
	uint32_t tid;
	uint32_t pid;
	uint32_t program;
	bool exited;
	uint64_t executed; /* sequence number of the last ended exec */
};

struct counter {
	bool known;
	uint8_t levels; /* bit n: counts at ELn */
	bool divided;
	uint16_t event;
	uint32_t filter;
	struct residence *holder;
};

struct cpu {
	bool online;
	uint64_t last_ns;
	uint32_t cluster;
	uint32_t present_events; /* event counters */
	uint32_t tid;            /* current; ORACLE_TASK_NONE: idle */
	uint32_t left_tid;       /* who was current before the switch at `switched_ns` */
	uint64_t switched_ns;
	bool judge; /* something changed since the last judgement */
	bool interrupted;
	uint64_t handler_ns; /* when the handler runs */
	uint64_t pc;
	uint8_t el;
	uint64_t went_off; /* sequence number */
	struct counter counter[PMU_COUNTERS_MAX];
};

/* A call under way. */
struct call {
	bool active;
	bool overlapped; /* some other call was under way at some time during it */
	uint64_t begin;  /* sequence number */
	uint64_t begin_ns;
	uint64_t bursts;                 /* the oracle's, then */
	struct oracle_event *event;      /* that it names */
	struct oracle_event *group;      /* OPEN: the one of group_fd */
	struct oracle_event *set_leader; /* whose group_pending or resets_pending it raised */
	struct oracle_event *set_event;  /* whose pending it raised */
	struct answer *answer;           /* READ: as it was at the begin */
	bool held;                       /* the actor's process had the fd at the begin */
};

struct oracle {
	struct machine *machine;
	const struct machine_description *description;
	struct oracle_options options;
	struct oracle_event *events; /* newest first */
	struct oracle_event **numbered;
	uint32_t event_count;
	struct residence **residences; /* by id, open addressing */
	uint32_t residence_room;
	uint32_t residence_count;
	struct task *tasks;
	uint32_t task_count;
	uint32_t task_room;
	struct cpu *cpu;        /* [cpu_count of the description] */
	uint32_t clusters_seen; /* a CPU of it has been online */
	struct call *call;      /* [call_count] */
	uint32_t call_count;
	uint32_t calls_active;
	uint64_t sequence;
	bool concurrent;
	bool may_lack_memory;
	bool ended;
	uint64_t irq_ns;
	uint64_t now_ns;
	uint64_t bursts;   /* stretches of kernel code that took no time */
	struct view *view; /* law.c */
	uint32_t view_room;
	struct oracle_violation *violation; /* [ORACLE_VIOLATIONS_KEPT], once there is one */
	uint64_t violations;
	struct oracle_tally tally;
};

#define FOR_EACH_MEMBER(member, leader)                                                            \
	for (struct oracle_event *member = (leader)->members; member;                              \
		member = member->next_in_group)

/* ---- oracle.c ---- */
void *oracle_allocate(size_t size); /* zeroed; ends the process without memory */
void *oracle_grow(void *memory, size_t size);
/* Report. `event` may be NULL. */
void oracle_violate(struct oracle *o, const char *law, uint32_t cpu,
	const struct oracle_event *event, uint64_t expected, uint64_t found, const char *format,
	...) __attribute__((format(printf, 7, 8)));

/* ---- number.c ---- */
/* What `event` counts on `cluster`: a PMU event number, or negative: it can't be there. */
int number_of(const struct oracle *o, const struct oracle_event *event, uint32_t cluster);
/* Exception levels at which it counts, as bits. */
uint8_t levels_of(const struct oracle_event *event);

/* ---- clock.c ---- */
void clock_cpu(struct oracle *o, uint32_t cpu, uint64_t t_ns);
void clock_all(struct oracle *o, uint64_t t_ns);

/* ---- residency.c ---- */
struct residence *residence_of(struct oracle *o, uint64_t id);
void residency_retire(struct oracle *o, const struct machine_retire *retire);
void residency_trace(struct oracle *o, const struct machine_trace *trace);
void residency_pmu_change(struct oracle *o, const struct pmu_change *change);

/* ---- law.c: one stretch of time on one CPU ---- */
void law_judge(struct oracle *o, uint32_t cpu, bool time_passes);
void law_tick(struct oracle *o, uint32_t cpu);
/* On, its leader too, and not in error. */
enum on event_timed(const struct oracle_event *event);
bool event_is_here(const struct oracle *o, const struct oracle_event *event, uint32_t cpu);
bool event_is_loaded(const struct oracle *o, const struct oracle_event *event, uint32_t cpu);

/* ---- event.c: life of events, groups, processes ---- */
struct task *task_find(struct oracle *o, uint32_t tid);
struct task *task_meet(struct oracle *o, const struct machine_task *task); /* added if new */
void event_opened(struct oracle *o, uint32_t index, const struct operation *operation,
	const struct machine_task *actor);
void event_fd_closed(struct oracle *o, struct oracle_event *event, uint32_t pid);
void event_mapped(struct oracle *o, struct oracle_event *event, uint32_t pid,
	const struct operation_mmap *mmap);
void event_unmapped(struct oracle *o, struct oracle_event *event, uint32_t pid);
struct holder *event_holder(const struct oracle_event *event, uint32_t pid);
void life_fork(
	struct oracle *o, const struct machine_task *parent, const struct machine_task *child);
void life_exec(struct oracle *o, const struct machine_task *task, uint64_t begin);
void life_exit(struct oracle *o, const struct machine_task *task);
void life_cpu(struct oracle *o, uint32_t cpu, bool online);
void event_free(struct oracle_event *event);
/* Set, by a call that began at `begin`. */
void event_set(struct oracle *o, struct oracle_event *event, bool on, uint64_t begin);

/* ---- call.c ---- */
void call_begin(struct oracle *o, uint32_t index, const struct operation *operation,
	const struct machine_task *actor);
void call_end(struct oracle *o, uint32_t index, const struct operation *operation,
	const struct machine_task *actor, const struct operation_result *result);

/* ---- answer.c ---- */
void answer_of(const struct oracle_event *event, struct answer *answer);
uint32_t answer_events(const struct oracle_event *event); /* that it shows */
uint32_t answer_size(const struct oracle_event *event);
void answer_judge(struct oracle *o, struct oracle_event *event, const struct answer *before,
	bool moved_once, const uint8_t *bytes, size_t size);
struct range value_of(const struct oracle_event *event);

/* ---- sample.c ---- */
void sample_settle(struct oracle *o, uint32_t cpu, const uint64_t *pc, uint8_t el);
void sample_leave(struct oracle *o, uint32_t cpu, struct oracle_event *event);
void sample_record(struct oracle *o, uint32_t number, const uint8_t *bytes, size_t size);
void sample_ring_new(struct oracle_event *event, const struct operation_mmap *mmap);
void sample_ring_gone(struct oracle_event *event);
void sample_drained(struct oracle *o, struct oracle_event *event, uint64_t bytes);
bool event_samples(const struct oracle_event *event);

#endif
