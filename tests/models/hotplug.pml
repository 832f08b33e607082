/* SPDX-License-Identifier: MIT
 *
 * hotplug.pml: a CPU goes down and comes back while two editors open and close events on its
 * context (core/context.c: load_here(), tally_context_unpark(), tally_context_cpu_down();
 * core/group.c: tally_group_link()).
 *
 * Going down ends every event for good and parks the context; coming up loads nothing; the next open
 * unparks. The HAL runs a call or fails it, exactly one of the two, also when the CPU dies while the
 * call is queued. The two editors share the context's mutex, and each has one event at a time.
 *
 * Left out: the task context that is loaded on the CPU (a plain sched-out, owner.pml).
 *
 * Mutants:
 *   -DM_OWNED     the word stays with the CPU when it goes down, and an editor whose call fails
 *                 changes the context itself
 *   -DM_NODRAIN   a call that is queued when the CPU dies is neither run nor failed
 *   -DM_NOEND     the events of a CPU that goes down are not ended
 *   -DM_LATEGONE  a link that finds its CPU gone down meanwhile succeeds nevertheless
 */
#ifndef DOWNS
#define DOWNS 2 /* how often it goes down */
#endif
#ifndef OPENS
#define OPENS 2 /* by each editor */
#endif

#define FREE   0
#define EDITOR 1
#define CPU    2
#define PARKED 9

#define LOAD_HERE  1
#define EDIT_THERE 2

#define NOT_YET 0
#define RAN     1
#define FAILED  2

#define BIT(e) (1 << (e))

byte owner = PARKED;
byte gate = 0;
bit own_loaded = 0;
bit online = 1;       /* cpu->online */
bit accepts = 1;      /* the HAL takes calls for it */
bit irqs_off = 0;
bit mutex = 0;
byte listed = 0;      /* events on lists of the context */
byte live = 0;        /* those that have not ended */
byte counting = 0;    /* those in slots */
byte freed = 3;
byte opened = 0;      /* open returned, close has not begun */
byte touch = 0;

byte call_what = 0;   /* one call at a time: the mutex */
byte call_result = NOT_YET;
bit edit_done = 1;
bit post = 0;
byte edit_event = 0;
bit edit_links = 0;
byte ended_editors = 0;

inline enter()
{
	touch++;
	assert(touch == 1)
}

inline leave()
{
	touch--
}

inline run_edit()
{
	if
	:: edit_done -> skip
	:: !edit_done ->
		post = 0;
		if
		:: edit_links ->
			listed = listed | BIT(edit_event);
			live = live | BIT(edit_event)
		:: !edit_links ->
			listed = listed & (3 - BIT(edit_event));
			live = live & (3 - BIT(edit_event))
		fi;
		edit_done = 1
	fi
}

/* park(), on the CPU */
inline park_own()
{
	counting = 0;
	own_loaded = 0;
	leave();
	owner = PARKED;
	gate--
}

inline serve()
{
	if
	:: call_what == LOAD_HERE ->
		if
		:: own_loaded -> skip
		:: !own_loaded ->
			if
			:: atomic { owner == FREE -> owner = CPU };
				enter();
				own_loaded = 1;
				counting = live;
				leave()
			:: owner == PARKED -> skip
			fi
		fi
	:: call_what == EDIT_THERE ->
		if
		:: !own_loaded -> skip
		:: own_loaded ->
			enter();
			run_edit();
			if
			:: live == 0 -> park_own()
			:: else ->
				counting = live;
				leave()
			fi
		fi
	fi;
	d_step {
		call_what = 0;
		call_result = RAN
	}
}

active proctype Cpu()
{
	byte downs = 0;

	do
	:: online && !irqs_off && call_what != 0 ->
		irqs_off = 1;
		serve();
		irqs_off = 0
	:: online && !irqs_off && counting != 0 -> /* the overflow interrupt */
		irqs_off = 1;
		enter();
		assert(owner == CPU);
		assert((counting & freed) == 0);
		leave();
		irqs_off = 0
	/* at rest: what is open and has not ended counts */
	:: online && !irqs_off && (opened & live & (3 - counting)) != 0 -> assert(false)
	:: online && !irqs_off && downs < DOWNS ->
		downs++;
		irqs_off = 1;
		if
		:: own_loaded ->
			enter();
#ifdef M_OWNED
			counting = 0;
			leave()
#else
#ifdef M_NOEND
			counting = 0;
			own_loaded = 0;
			leave();
			owner = FREE
#else
			live = 0;
			park_own()
#endif
#endif
		:: else -> skip
		fi;
		online = 0;
		accepts = 0;
#ifndef M_NODRAIN
		if
		:: call_what != 0 ->
			d_step {
				call_what = 0;
				call_result = FAILED
			}
		:: else -> skip
		fi;
#else
		call_what = 0;
#endif
		/* ... and back */
#ifdef M_OWNED
		if
		:: own_loaded ->
			enter();
			counting = live;
			leave()
		:: else -> skip
		fi;
#endif
		accepts = 1;
		online = 1;
		irqs_off = 0
	:: ended_editors == 2 && !irqs_off -> break
	od
}

inline call(what)
{
	if
	:: atomic {
		accepts ->
		call_result = NOT_YET;
		call_what = what
	};
		(call_result != NOT_YET);
		result = call_result;
		call_result = NOT_YET
	:: !accepts -> result = FAILED
	fi
}

/* tally_context_edit() */
inline edit(links)
{
	d_step {
		edit_event = me;
		edit_links = links;
		edit_done = 0
	};
	do
	:: edit_done -> break
	:: !edit_done ->
		seen = owner;
		if
		:: seen == PARKED ->
			enter();
			run_edit();
			leave()
		:: seen == FREE ->
			if
			:: atomic { owner == FREE -> owner = EDITOR };
				enter();
				run_edit();
				leave();
				if
				:: live == 0 ->
					owner = PARKED;
					gate--
				:: else -> owner = FREE
				fi
			:: owner != FREE -> skip
			fi
		:: seen == CPU ->
			call(EDIT_THERE);
			if
#ifdef M_OWNED
			:: result == FAILED ->
				enter();
				run_edit();
				if
				:: live == 0 -> park_own()
				:: else -> leave()
				fi
#endif
			:: result == RAN && !edit_done && !posted ->
				posted = 1;
				post = 1
			:: else -> skip
			fi
		fi
	od;
	assert(post == 0);
	seen = 0;
	posted = 0;
	result = 0
}

/* tally_context_unpark(): `error` when its CPU is gone */
inline unpark()
{
	gate++;
	owner = FREE;
	call(LOAD_HERE);
	if
	:: result == FAILED ->
		error = 1;
		owner = PARKED;
		gate--
	:: else -> skip
	fi;
	result = 0
}

active [2] proctype Editor()
{
	byte me = _pid - 1;
	byte k = 0;
	byte seen = 0;
	byte result = 0;
	bit posted = 0;
	bit error = 0;

	do
	:: k < OPENS ->
		/* open: commit() */
		atomic { !mutex -> mutex = 1 };
		if
		:: !online -> error = 1
		:: online ->
			freed = freed & (3 - BIT(me));
			edit(1);
			if
			:: owner == PARKED && live != 0 -> unpark()
			:: owner == PARKED && live == 0 ->
#ifndef M_LATEGONE
				error = 1
#else
				assert(owner == PARKED && live != 0)
#endif
			:: owner != PARKED -> skip
			fi;
			if
			:: error ->
				edit(0);
				freed = freed | BIT(me)
			:: !error -> opened = opened | BIT(me)
			fi
		fi;
		mutex = 0;
		if
		:: error -> error = 0
		:: !error ->
			opened = opened & (3 - BIT(me));
			atomic { !mutex -> mutex = 1 };
			edit(0);
			mutex = 0;
			freed = freed | BIT(me)
		fi;
		k++
	:: else -> break
	od;
	ended_editors++;
	(ended_editors == 2 && !irqs_off);
	assert(owner == PARKED && gate == 0 && listed == 0 && live == 0)
}
