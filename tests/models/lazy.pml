/* SPDX-License-Identifier: MIT
 *
 * lazy.pml: core/context.c with one editor at a time: the gate, loading, parking, the edit, and the
 * edit that is posted.
 *
 * One task migrates among NCPU CPUs, or is off. An editor, which runs beside them and holds the
 * context's mutex, opens an event, may disable it, and closes it, OPENS times; the context
 * parks in between.
 * In the code's words: take() and take_posted() in switch_in(), unload() in the switch out,
 * load_here() and edit_there() as calls, try_edit(), settle() and park().
 *
 * Loads of the gate (relaxed) and of task->ctx (acquire) may be stale: each CPU has a view of each
 * that catches up at any time, and must when a call runs there. The owner word is changed by
 * compare-and-swap, or stored by who owns it, so it is always the newest.
 *
 * Left out: other tasks and contexts (owner.pml), CPU contexts (hotplug.pml), exit.
 *
 * Mutants:
 *   -DM_NOBCAST     nobody is told that the context became loadable
 *   -DM_ONECALL     only the CPU where the task runs is asked
 *   -DM_GATEFIRST   the editor lowers the gate, then unloads: not park() after it
 *   -DM_NOPARK      an empty context stays loaded
 *   -DM_BLINDREL    a switch gives prev's context back, not what is loaded here
 *   -DM_FREECTX     an empty context is freed, not parked
 *   -DM_LOADANY     load_here() does not ask whose context the task here has
 *   -DM_KEEPPLACED  park() does not forget the placement
 *   -DM_POSTAGAIN   an edit that misses twice is posted twice
 *   -DM_POSTTWICE   who finds the context asks not whether a posted edit has been run
 *   -DM_POSTEARLY   a posted edit is answered before the placement is forgotten
 *   -DM_POSTLATE    a posted edit is answered after the owner word was given up
 */
#ifndef NCPU
#define NCPU 2
#endif
#ifndef OPENS
#define OPENS 2
#endif

#define NONE    15
#define FREE    0
#define EDITOR  1
#define PARKED  9
#define CPUN(n) (2 + (n))

/* what a call shall do */
#define LOAD_HERE  1
#define EDIT_THERE 2

/* what became of it */
#define RAN 1

/* what an edit does */
#define LINK    0
#define DISABLE 1
#define UNLINK  2

byte owner = PARKED;
byte gate = 0;
bit ctx_made = 0;     /* task->ctx is set */
bit ctx_freed = 0;
bit linked = 0;       /* the event is on a list of the context */
bit on = 0;           /* the event is enabled */
bit placed = 0;       /* the event is in by_slot: survives unloading */
bit post = 0;         /* ctx->posted */
bit edit_done = 1;    /* edit->done */
byte what = LINK;     /* which edit it is */
byte applied = 0;     /* how often the edit ran */
byte touch = 0;       /* who is inside the context: at most one */

byte view_gate[NCPU];
bit view_ctx[NCPU];
bit loaded[NCPU];     /* cpu->loaded */
bit counting[NCPU];   /* the event counts there */
bit in_hook[NCPU];    /* IRQs off */
byte at = NONE;       /* where the task is current; set at the end of the switch */
bit picked = 0;       /* some CPU switches to it, or runs it */

byte call_to = NONE;
byte call_what = 0;
byte call_result = 0;
bit opened = 0;       /* an open returned, its close has not begun */
bit finished = 0;

inline enter()
{
	touch++;
	assert(touch == 1)
}

inline leave()
{
	touch--
}

/* fn of the edit */
inline apply()
{
	applied++;
	assert(applied == 1);
	if
	:: what == LINK ->
		linked = 1;
		on = 1
	:: what == DISABLE -> on = 0
	:: what == UNLINK -> linked = 0
	fi
}

/* tally_place() on CPU c */
inline place(c)
{
	placed = linked && on;
	counting[c] = placed
}

/* run(): the owner word, or a parked context and its mutex, is ours */
inline run_edit()
{
	if
#ifndef M_POSTTWICE
	:: edit_done -> skip
	:: !edit_done ->
#else
	:: true ->
#endif
		post = 0;
		apply();
		edit_done = 1
	fi
}

inline forget()
{
#ifndef M_KEEPPLACED
	placed = 0
#else
	skip
#endif
}

/* the gate, once the context is parked */
inline lower()
{
#ifndef M_GATEFIRST
	gate--
#else
	skip
#endif
}

/* park() on CPU c */
inline park_loaded(c)
{
	counting[c] = 0;
	forget();
	loaded[c] = 0;
	leave();
	owner = PARKED;
	lower()
}

/* tally_context_switch() to the task's context, up to and including tally_place_loaded() */
inline switch_in()
{
#ifdef M_FREECTX
	assert(!ctx_freed);
#endif
	if
	:: atomic { owner == FREE -> owner = CPUN(me) };
		enter();
		loaded[me] = 1;
		if
		:: post ->
			loaded[me] = 0;
			post = 0;
			apply();
#ifdef M_POSTEARLY
			edit_done = 1;
			forget();
#else
			forget();
#ifndef M_POSTLATE
			edit_done = 1;
#endif
#endif
			if
			:: linked -> loaded[me] = 1
			:: !linked -> /* park(ctx, NULL) */
				leave();
				owner = PARKED;
				lower()
			fi;
#ifdef M_POSTLATE
			edit_done = 1
#endif
		:: else -> skip
		fi;
		if
		:: loaded[me] ->
			place(me);
			leave()
		:: else -> skip
		fi
	:: owner == PARKED -> skip
	fi
}

active [NCPU] proctype Cpu()
{
	byte me = _pid;

	do
	/* a view catches up */
	:: d_step {
		(view_gate[me] != gate || view_ctx[me] != ctx_made) ->
		if
		:: view_gate[me] = gate
		:: view_ctx[me] = ctx_made
		fi
	}

	/* a call */
	:: call_to == me && !in_hook[me] ->
		d_step {
			in_hook[me] = 1;
			view_gate[me] = gate;
			view_ctx[me] = ctx_made
		};
		if
#ifdef M_LOADANY
		:: call_what == LOAD_HERE && !loaded[me] -> switch_in()
		:: call_what == LOAD_HERE && loaded[me] -> skip
#else
		:: call_what == LOAD_HERE && at == me && !loaded[me] -> switch_in()
		:: call_what == LOAD_HERE && (at != me || loaded[me]) -> skip
#endif
		:: call_what == EDIT_THERE && loaded[me] ->
			enter();
			assert(owner == CPUN(me));
			assert(at == me); /* or somebody else's events would be changed */
			run_edit();
			if
			:: linked ->
				place(me);
				leave()
			:: !linked ->
#ifdef M_NOPARK
				counting[me] = 0;
				placed = 0;
				leave();
				gate--
#else
				park_loaded(me)
#endif
			fi
		:: call_what == EDIT_THERE && !loaded[me] -> skip
		fi;
		d_step {
			call_to = NONE;
			call_result = RAN;
			in_hook[me] = 0
		}

	/* the task is switched out */
	:: at == me && !in_hook[me] && !finished ->
		in_hook[me] = 1;
		if
#ifdef M_BLINDREL
		:: view_gate[me] > 0 && view_ctx[me] ->
#else
		:: view_gate[me] > 0 && loaded[me] ->
#endif
			enter();
			assert(owner == CPUN(me));
			counting[me] = 0;
			loaded[me] = 0;
			leave();
			owner = FREE
		:: else -> skip
		fi;
		d_step {
			at = NONE;
			picked = 0;
			in_hook[me] = 0
		}

	/* the task is switched in */
	:: atomic {
		!picked && !in_hook[me] && !finished ->
		picked = 1;
		in_hook[me] = 1
	};
		if
		:: view_gate[me] > 0 && view_ctx[me] -> switch_in()
		:: else -> skip
		fi;
		d_step {
			at = me;
			in_hook[me] = 0
		}

	/* at rest: an event of the task counts exactly where the task runs */
	:: at == me && !in_hook[me] && opened -> assert(loaded[me] && counting[me])
	:: !in_hook[me] && counting[me] && at != me -> assert(false)
	:: finished && call_to == NONE -> break
	od
}

inline call(c, what)
{
	atomic {
		call_what = what;
		call_result = 0;
		call_to = c
	};
	(call_result != 0);
	call_result = 0
}

inline missed()
{
	if
#ifdef M_POSTAGAIN
	:: !edit_done -> post = 1
#else
	:: !edit_done && !posted ->
		posted = 1;
		post = 1
#endif
	:: else -> skip
	fi
}

/* tally_context_edit() */
inline edit(change)
{
	d_step {
		what = change;
		edit_done = 0;
		applied = 0
	};
	do
	:: edit_done -> break
	:: !edit_done ->
		seen = owner;
		if
		:: seen == PARKED -> /* the mutex is ours */
			enter();
			run_edit();
			leave()
		:: seen == FREE ->
			if
			:: atomic { owner == FREE -> owner = EDITOR };
				enter();
				run_edit();
				placed = 0; /* settle(), or park() */
				leave();
				if
#ifdef M_NOPARK
				:: linked -> owner = FREE
				:: !linked ->
					owner = FREE;
					gate--
#else
				:: linked -> owner = FREE
				:: !linked ->
					owner = PARKED;
					lower()
#endif
				fi
			:: owner != FREE -> missed()
			fi
		:: seen >= 2 && seen < PARKED ->
			call(seen - 2, EDIT_THERE);
			missed()
		fi
	od;
	assert(applied == 1);
	seen = 0;
	posted = 0
}

/* tally_context_unpark() */
inline unpark()
{
	gate++;
	owner = FREE;
#ifdef M_NOBCAST
	skip;
#else
#ifdef M_ONECALL
	i = at;
	if
	:: i != NONE -> call(i, LOAD_HERE)
	:: else -> skip
	fi;
#else
	do
	:: i < NCPU ->
		call(i, LOAD_HERE);
		i++
	:: else -> break
	od;
#endif
#endif
	i = 0
}

active proctype Editor()
{
	byte k = 0;
	byte i = 0;
	byte seen = 0;
	bit posted = 0;

	do
	:: k < OPENS ->
		ctx_made = 1;
#ifdef M_NOPARK
		gate++;
		if
		:: owner == PARKED -> owner = FREE
		:: else -> skip
		fi;
		do
		:: i < NCPU ->
			call(i, LOAD_HERE);
			i++
		:: else -> break
		od;
		i = 0;
		edit(LINK);
#else
		edit(LINK);
		if
		:: owner == PARKED -> unpark()
		:: else -> skip
		fi;
#endif
		opened = 1;
		skip;
		opened = 0;
		if
		:: true ->
			edit(DISABLE);
			assert(!counting[0] && !counting[1] && !counting[NCPU - 1])
		:: true -> skip
		fi;
#ifdef M_GATEFIRST
		gate--;
#endif
		edit(UNLINK);
		/* the event is freed: nothing may name it */
		assert(!placed);
		assert(post == 0);
		k++
#ifdef M_FREECTX
		;
		if
		:: k == OPENS -> ctx_freed = 1
		:: else -> skip
		fi
#endif
	:: else -> break
	od;
	finished = 1
}
