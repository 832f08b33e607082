/* SPDX-License-Identifier: MIT
 *
 * chase.pml: an edit always ends, though its task migrates for ever (core/context.c: run_posted(),
 * edit_there(), try_edit()).
 *
 * Liveness: one task is switched between two CPUs without end, an editor chases its context. Checked
 * is `<> finished` under weak fairness. After its first miss the editor posts the edit; whoever takes
 * the owner word next runs it, once.
 *
 * Left out: parking and the gate, which an edit that is not the last meets not (lazy.pml).
 *
 * Mutants:
 *   -DM_NOPOST   the edit is never posted: the editor may run after the task for ever
 *   -DM_LOSTCAS  the edit is posted when it comes too late to a CPU, but not when it finds the
 *                context free and loses the race for the owner word
 */
#define NONE    9
#define FREE    0
#define EDITOR  1
#define CPUN(n) (2 + (n))

byte owner = FREE;
bit taken = 0;       /* a CPU runs the task */
bit at[2];           /* this one does */
byte call_to = NONE;
bit answered = 0;
bit post = 0;        /* ctx->posted */
bit edit_done = 0;   /* edit->done */
byte applied = 0;
bit finished = 0;

/* run() and run_posted(): the owner word is ours */
inline run_edit()
{
	if
	:: edit_done -> skip
	:: !edit_done ->
		post = 0;
		applied++;
		assert(applied == 1);
		edit_done = 1
	fi
}

inline run_posted()
{
	if
	:: post -> run_edit()
	:: !post -> skip
	fi
}

active [2] proctype Cpu()
{
	byte me = _pid;

	do
	/* the task is switched in */
	:: atomic { (!taken && call_to != me) -> taken = 1 };
		atomic { owner == FREE -> owner = CPUN(me) };
		run_posted();
		at[me] = 1;
		/* it runs a while; calls are served with IRQs on */
		do
		:: call_to == me ->
			if
			:: owner == CPUN(me) -> run_edit()
			:: else -> skip
			fi;
			d_step {
				call_to = NONE;
				answered = 1
			}
		:: atomic { (at[me] && call_to != me) -> at[me] = 0 };
			owner = FREE;
			taken = 0;
			break
		od
	/* an edit that came too late */
	:: call_to == me ->
		d_step {
			call_to = NONE;
			answered = 1
		}
	od
}

/* the editor has missed */
inline post_once()
{
	if
#ifndef M_NOPOST
	:: !edit_done && !posted ->
		posted = 1;
		post = 1
#endif
	:: else -> skip
	fi
}

active proctype Editor()
{
	byte seen;
	bit posted = 0;

	do
	:: edit_done -> break
	:: !edit_done ->
		seen = owner;
		if
		:: seen == FREE ->
			if
			:: atomic { owner == FREE -> owner = EDITOR };
				run_edit();
				owner = FREE
#ifdef M_LOSTCAS
			:: owner != FREE -> skip
#else
			:: owner != FREE -> post_once()
#endif
			fi
		:: seen >= CPUN(0) ->
			atomic {
				call_to = seen - CPUN(0);
				answered = 0
			};
			(answered);
			answered = 0;
			post_once()
		fi
	od;
	assert(post == 0);
	finished = 1
}

ltl ends { <> finished }
