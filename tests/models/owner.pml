/* SPDX-License-Identifier: MIT
 *
 * owner.pml: the owner word of core/context.c, with several editors that are tasks themselves: they
 * run on the CPUs, are preempted in the middle of an edit's tries, and edit each other's contexts.
 *
 * Tasks 0 and 1 have a context each; tasks 0 to EDITORS-1 edit: task 0 the context of 1, the others
 * that of 0. Each owns one event there, which it unlinks and frees, then (OPS=2) links anew. A step of
 * a CPU is a step of its current task, a call that it serves, an overflow interrupt, or a switch.
 * Calls, interrupts and switches come with IRQs on only. Per context one mutex; edits are posted after
 * a miss as in chase.pml.
 *
 * Left out: parking and the gate (lazy.pml); whose events count is a mask of bits, one per editor.
 *
 * Options: -DNCPU, -DEDITORS, -DOPS; -DPREEMPTIONS=n switches away from a task that could go on, and
 * overflow interrupts, in all.
 *
 * Mutants:
 *   -DM_NOLOOK       edit_there() does not look again whether the context is here
 *   -DM_ACQFIRST     a switch takes the next context before it gives the last one back
 *   -DM_EDPREEMPT    an editor can be preempted while the word says EDITOR
 *   -DM_WAITIRQOFF   an editor waits for its call with IRQs off
 *   -DM_EDWAKE       an edit wakes a task, which takes a run queue's lock
 *   -DM_POSTAGAIN    an edit that misses twice is posted twice
 *   -DM_POSTTWICE    who finds the context asks not whether a posted edit has been run
 *   -DM_NOCAS        an editor stores EDITOR over the FREE that it saw
 */
#ifndef NCPU
#define NCPU 2
#endif
#ifndef EDITORS
#define EDITORS 2
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef PREEMPTIONS
#define PREEMPTIONS 2
#endif
#define TASKS    3
#define CONTEXTS 2

#define NONE    15
#define FREE    0
#define EDITOR  1
#define CPUN(n) (2 + (n))

/* where an editor stands */
#define S_START 0
#define S_LOCK  1
#define S_LOOK  2
#define S_CAS   3
#define S_EDIT  4
#define S_GIVE  5
#define S_WAIT  6
#define S_DONE  7
#define S_END   8

/* what came of its call */
#define NOT_YET 0
#define RAN     1

#define CONTEXT_OF(t) ((t) == 0 -> 1 : 0)
#define EVENT_OF(t)   (1 << (t))
#define IS_EDITOR(t)  ((t) < EDITORS)
#define UNLINKS(t)    (op[t] % 2 == 0)

byte owner[CONTEXTS];
byte mutex[CONTEXTS];     /* who holds it, plus 1 */
byte post[CONTEXTS];      /* whose edit is posted, plus 1 */
byte touch[CONTEXTS];     /* who is inside: at most one */
byte linked[CONTEXTS];    /* events on its lists */
byte freed;               /* events whose memory is gone */

byte loaded[NCPU];        /* the context loaded there */
byte current[NCPU];       /* the task */
byte counting[NCPU];      /* events in slots */
bit irqs_off[NCPU];
#ifdef M_EDWAKE
bit run_queue[NCPU];
#endif

bit running[TASKS];
byte state[TASKS];
byte op[TASKS];
byte seen[TASKS];
byte call_to[TASKS];
byte call_result[TASKS];
byte applied[TASKS];      /* how often the edit ran: edit->done */
bit posted[TASKS];
byte left = PREEMPTIONS;

#define CAN_STEP(t)                                                                            \
	(IS_EDITOR(t) &&                                                                       \
		(state[t] == S_START || (state[t] == S_LOCK && mutex[CONTEXT_OF(t)] == 0) ||   \
			(state[t] >= S_LOOK && state[t] <= S_GIVE) ||                          \
			(state[t] == S_WAIT && call_result[t] != NOT_YET) || state[t] == S_DONE))
#define CAN_RUN(t)  (!running[t] && CAN_STEP(t))
#define SOME_CAN    (CAN_RUN(0) || CAN_RUN(1) || CAN_RUN(2))
#define IS_IDLE(c)  (current[c] == NONE || !CAN_STEP(current[c]))
#define ENDED(t)    (!IS_EDITOR(t) || state[t] == S_END)
#define ALL_ENDED   (ENDED(0) && ENDED(1) && ENDED(2))

/* fn of editor e's edit in context k; `on`: the CPU that counts for it, or NONE */
inline apply(e, k, on)
{
	touch[k]++;
	assert(touch[k] == 1);
	if
	:: UNLINKS(e) ->
		linked[k] = linked[k] & (255 - EVENT_OF(e));
		if
		:: on != NONE -> counting[on] = counting[on] & (255 - EVENT_OF(e))
		:: else -> skip
		fi
	:: else ->
		linked[k] = linked[k] | EVENT_OF(e);
		if
		:: on != NONE -> counting[on] = counting[on] | EVENT_OF(e)
		:: else -> skip
		fi
	fi;
	applied[e]++;
	touch[k]--
}

/* run() */
inline run_edit(who, which, where)
{
	if
#ifdef M_POSTTWICE
	:: true ->
#else
	:: applied[who] != 0 -> skip
	:: applied[who] == 0 ->
#endif
		post[which] = 0;
		apply(who, which, where)
	fi
}

/* edit_there(), for the edit of task r */
inline serve(r)
{
	d_step {
		irqs_off[me] = 1;
		x = CONTEXT_OF(r)
	};
	if
#ifdef M_NOLOOK
	:: loaded[me] == x -> run_edit(r, x, me)
	:: loaded[me] != x -> run_edit(r, x, NONE)
#else
	:: loaded[me] == x ->
		assert(owner[x] == CPUN(me));
		run_edit(r, x, me)
	:: loaded[me] != x -> skip
#endif
	fi;
	d_step {
		call_to[r] = NONE;
		call_result[r] = RAN;
		x = 0;
		irqs_off[me] = 0
	}
}

/* one step of the current task, an editor */
inline step()
{
	atomic {
		t = current[me];
		x = CONTEXT_OF(t);
		if
		:: state[t] == S_START ->
			applied[t] = 0;
			posted[t] = 0;
			state[t] = S_LOCK;
			if
			:: !UNLINKS(t) -> freed = freed & (255 - EVENT_OF(t))
			:: else -> skip
			fi
		:: state[t] == S_LOCK && mutex[x] == 0 ->
			mutex[x] = t + 1;
			state[t] = S_LOOK
		:: state[t] == S_LOOK && applied[t] != 0 -> state[t] = S_DONE
		:: state[t] == S_LOOK && applied[t] == 0 ->
			seen[t] = owner[x];
			if
			:: seen[t] == FREE -> state[t] = S_CAS
			:: seen[t] >= CPUN(0) ->
				call_result[t] = NOT_YET;
				call_to[t] = seen[t] - CPUN(0);
				state[t] = S_WAIT;
#ifdef M_WAITIRQOFF
				irqs_off[me] = 1
#endif
			:: seen[t] == EDITOR -> assert(false) /* one editor at a time: the mutex */
			fi
		:: state[t] == S_CAS ->
			if
#ifdef M_NOCAS
			:: true ->
#else
			:: owner[x] == FREE ->
#endif
				owner[x] = EDITOR;
#ifndef M_EDPREEMPT
				irqs_off[me] = 1;
#endif
				state[t] = S_EDIT
#ifndef M_NOCAS
			:: else ->
				miss();
				state[t] = S_LOOK
#endif
			fi
		:: state[t] == S_WAIT && call_result[t] != NOT_YET ->
			miss();
			call_result[t] = NOT_YET;
			state[t] = S_LOOK;
#ifdef M_WAITIRQOFF
			irqs_off[me] = 0
#endif
		:: state[t] == S_DONE ->
			assert(applied[t] == 1);
			assert(post[x] == 0);
			if
			:: UNLINKS(t) -> freed = freed | EVENT_OF(t)
			:: else -> skip
			fi;
			mutex[x] = 0;
			op[t]++;
			seen[t] = 0;
			if
			:: op[t] >= OPS -> state[t] = S_END
			:: else -> state[t] = S_START
			fi
		:: else -> skip
		fi
	};
	if
	:: state[t] == S_EDIT ->
		run_edit(t, x, NONE);
#ifdef M_EDWAKE
		n = 0;
		do
		:: n < NCPU && n != me ->
			atomic { !run_queue[n] -> run_queue[n] = 1 };
			run_queue[n] = 0;
			n++
		:: n < NCPU && n == me -> n++
		:: n >= NCPU -> break
		od;
		n = 0;
#endif
		state[t] = S_GIVE
	:: state[t] == S_GIVE ->
		d_step {
			owner[x] = FREE;
			irqs_off[me] = 0;
			state[t] = S_LOOK
		}
	:: else -> skip
	fi;
	t = 0;
	x = 0
}

/* the edit of task t found nothing to change: it is posted, once. Not one step with the look at
 * `applied` that comes before it in the code: that look is repeated by S_LOOK, and only a second
 * posting could tell. */
inline miss()
{
	if
#ifdef M_POSTAGAIN
	:: applied[t] == 0 -> post[x] = t + 1
#else
	:: applied[t] == 0 && !posted[t] ->
		posted[t] = 1;
		post[x] = t + 1
#endif
	:: else -> skip
	fi
}

/* what this CPU has loaded is given back: unload() */
inline unload()
{
	if
	:: loaded[me] != NONE ->
		x = loaded[me];
		assert(owner[x] == CPUN(me));
		touch[x]++;
		assert(touch[x] == 1);
		counting[me] = 0;
		loaded[me] = NONE;
		touch[x]--;
		owner[x] = FREE;
		x = 0
	:: else -> skip
	fi
}

/* take() */
inline take(which)
{
	atomic { owner[which] == FREE -> owner[which] = CPUN(me) } /* spins while EDITOR */
}

/* the scheduler, with tally_context_switch() in it */
inline switch_task()
{
#ifdef M_EDWAKE
	atomic { !run_queue[me] -> run_queue[me] = 1 };
#endif
#ifndef M_ACQFIRST
	unload();
#endif
	/* only now may prev run elsewhere */
	atomic {
		n = current[me];
		if
		:: !running[0] || n == 0 -> t = 0
		:: !running[1] || n == 1 -> t = 1
		:: !running[2] || n == 2 -> t = 2
		:: t = NONE
		fi;
#ifndef M_ACQFIRST
		if
		:: n != NONE -> running[n] = 0
		:: else -> skip
		fi;
		n = 0;
#endif
		if
		:: t != NONE -> running[t] = 1
		:: else -> skip
		fi;
		current[me] = t
	};
	if
	:: t < CONTEXTS ->
		take(t);
#ifdef M_ACQFIRST
		if
		:: n != t -> unload()
		:: else -> skip
		fi;
		if
		:: n != t && n != NONE -> running[n] = 0
		:: else -> skip
		fi;
#endif
		if
		:: post[t] != 0 -> /* take_posted() */
			atomic {
				x = post[t] - 1;
				post[t] = 0
			};
			apply(x, t, NONE);
			x = 0
		:: else -> skip
		fi;
		touch[t]++;
		assert(touch[t] == 1);
		counting[me] = linked[t];
		loaded[me] = t;
		touch[t]--
	:: else ->
#ifdef M_ACQFIRST
		unload();
		if
		:: n != NONE && n != t -> running[n] = 0
		:: else -> skip
		fi
#else
		skip
#endif
	fi;
	d_step {
		t = 0;
		n = 0;
#ifdef M_EDWAKE
		run_queue[me] = 0;
#endif
		irqs_off[me] = 0
	}
}

proctype Cpu(byte me)
{
	byte t;
	byte x;
	byte n;

	do
	:: !irqs_off[me] && call_to[0] == me -> serve(0)
	:: !irqs_off[me] && call_to[1] == me -> serve(1)
	:: !irqs_off[me] && call_to[2] == me -> serve(2)
	:: d_step { /* overflow */
		!irqs_off[me] && counting[me] != 0 && loaded[me] != NONE && left > 0 ->
		left--;
		irqs_off[me] = 1;
		x = loaded[me]
	};
		touch[x]++;
		assert(touch[x] == 1 && owner[x] == CPUN(me));
		assert((counting[me] & freed) == 0);
		touch[x]--;
		d_step {
			x = 0;
			irqs_off[me] = 0
		}
	:: current[me] != NONE && CAN_STEP(current[me]) -> step()
	:: atomic {
		!irqs_off[me] && (left > 0 || (IS_IDLE(me) && SOME_CAN)) ->
		irqs_off[me] = 1;
		if
		:: !(IS_IDLE(me) && SOME_CAN) -> left--
		:: else -> skip
		fi
	};
		switch_task()
	:: atomic { (ALL_ENDED && !irqs_off[me]) -> break }
	od
}

init
{
	byte i;

	d_step {
		do
		:: i < NCPU ->
			loaded[i] = NONE;
			current[i] = NONE;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < TASKS ->
			call_to[i] = NONE;
			if
			:: IS_EDITOR(i) ->
				linked[CONTEXT_OF(i)] = linked[CONTEXT_OF(i)] | EVENT_OF(i)
			:: else -> state[i] = S_END
			fi;
			i++
		:: else -> break
		od
	};
	atomic {
		run Cpu(0);
#if NCPU > 1
		run Cpu(1);
#endif
#if NCPU > 2
		run Cpu(2);
#endif
	}
}
