/* SPDX-License-Identifier: MIT
 *
 * family.pml: inherited events: fork, exits in any order, read and last close of the root, and the
 * order of their locks.
 *
 * Of the plan: core/ refuses `inherit` yet. One family, its root in the parent's context; the parent
 * forks NCH children, which exit; a controller reads the root and closes it. The mutexes are the
 * family's, the parent's context's and each child's context's: family before context. A deadlock is
 * an invalid end state.
 *
 * Mutants:
 *   -DM_EXIT_CTXFIRST  exit holds its context while it takes the family
 *   -DM_EXIT_TRUST     exit believes the event it saw before it took the family
 *   -DM_EXIT_NOREF     exit does not pin the family across the gap
 *   -DM_FORK_NOCHECK   fork joins a family without asking whether its root has closed
 *   -DM_CLOSE_NOFAM    close walks the children without the family's mutex
 */
#ifndef NCH
#define NCH 2
#endif

bit family = 0;          /* mutexes */
bit parent_ctx = 0;
bit child_ctx[NCH];

byte family_refs = 1;
bit family_freed = 0;
bit family_dead = 0;     /* the root has closed: nobody joins */
bit in_family[NCH];
bit in_ctx[NCH];
bit made[NCH];           /* the child's event was made */
bit event_freed[NCH];
byte folded[NCH];        /* how often the child's count went into the root's */
bit exited[NCH];
bit root_linked = 1;
bit root_freed = 0;

inline lock(mutex)
{
	atomic {
		mutex == 0 -> mutex = 1
	}
}

inline lock_family()
{
	atomic {
		family == 0 ->
		assert(!family_freed);
		family = 1
	}
}

inline put_family()
{
	atomic {
		assert(family_refs > 0);
		family_refs--;
		if
		:: family_refs == 0 -> family_freed = 1
		:: else -> skip
		fi
	}
}

/* the child's event leaves, its count goes to the root */
inline fold(child)
{
	folded[child]++;
	in_family[child] = 0;
	in_ctx[child] = 0;
	event_freed[child] = 1
}

proctype Exit(byte me)
{
#ifdef M_EXIT_CTXFIRST
	lock(child_ctx[me]);
	if
	:: in_ctx[me] ->
		lock_family();
		fold(me);
		family = 0;
		put_family()
	:: else -> skip
	fi;
	child_ctx[me] = 0;
#else
	bit mine;

	/* one edit on its own CPU: stop, detach, tombstone; from here on only bookkeeping */
	lock(child_ctx[me]);
	child_ctx[me] = 0;
	do
	:: true ->
		lock(child_ctx[me]);
		mine = in_ctx[me];
		if
		:: !mine ->
			child_ctx[me] = 0;
			break
		:: else -> skip
		fi;
#ifndef M_EXIT_NOREF
		family_refs++; /* pin the family, not the event */
#endif
		child_ctx[me] = 0;
		lock_family();
		lock(child_ctx[me]);
#ifdef M_EXIT_TRUST
		assert(!event_freed[me]);
		fold(me);
		put_family();
#else
		if
		:: in_ctx[me] -> /* look again */
			assert(!event_freed[me] && in_family[me]);
			fold(me);
			put_family()
		:: else -> skip
		fi;
#endif
		child_ctx[me] = 0;
		family = 0;
#ifndef M_EXIT_NOREF
		put_family()
#endif
	od;
#endif
	exited[me] = 1
}

proctype Parent()
{
	byte i = 0;
	bit have;

	do
	:: i < NCH ->
		lock(parent_ctx);
		have = root_linked;
		if
		:: have -> family_refs++
		:: else -> skip
		fi;
		parent_ctx = 0;
		if
		:: have ->
#ifdef M_FORK_NOCHECK
			lock(child_ctx[i]);
			in_ctx[i] = 1;
			made[i] = 1;
			child_ctx[i] = 0;
			lock_family();
			assert(!family_dead);
			in_family[i] = 1;
			family_refs++;
			family = 0;
#else
			lock_family();
			if
			:: !family_dead ->
				lock(parent_ctx); /* the state as it is, under the family */
				assert(root_linked && !root_freed);
				parent_ctx = 0;
				lock(child_ctx[i]);
				in_ctx[i] = 1;
				in_family[i] = 1;
				made[i] = 1;
				family_refs++;
				child_ctx[i] = 0
			:: else -> skip
			fi;
			family = 0;
#endif
			put_family()
		:: else -> skip
		fi;
		run Exit(i);
		i++
	:: else -> break
	od
}

proctype Controller()
{
	byte i = 0;

	/* read */
	lock_family();
	do
	:: i < NCH ->
		if
		:: in_family[i] ->
			lock(child_ctx[i]);
			assert(!event_freed[i]);
			child_ctx[i] = 0
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	lock(parent_ctx);
	assert(!root_freed);
	parent_ctx = 0;
	family = 0;

	/* close */
	i = 0;
#ifdef M_CLOSE_NOFAM
	do
	:: i < NCH ->
		if
		:: in_family[i] ->
			lock(child_ctx[i]);
			in_ctx[i] = 0;
			event_freed[i] = 1;
			child_ctx[i] = 0;
			lock_family();
			in_family[i] = 0;
			family = 0;
			put_family()
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	lock(parent_ctx);
	root_linked = 0;
	root_freed = 1;
	parent_ctx = 0;
#else
	lock_family();
	family_dead = 1;
	do
	:: i < NCH ->
		if
		:: in_family[i] ->
			lock(child_ctx[i]);
			assert(!event_freed[i] && in_ctx[i]);
			fold(i);
			child_ctx[i] = 0;
			put_family()
		:: else -> skip
		fi;
		i++
	:: else -> break
	od;
	lock(parent_ctx);
	root_linked = 0;
	parent_ctx = 0;
	root_freed = 1;
	family = 0;
#endif
	put_family()
}

init
{
	byte i = 0;

	atomic {
		run Parent();
		run Controller()
	};
	timeout ->
	do
	:: i < NCH ->
		assert(exited[i] && !in_ctx[i] && !in_family[i]);
		assert(!made[i] || (event_freed[i] && folded[i] == 1));
		i++
	:: else -> break
	od;
	assert(family_freed && family_refs == 0 && root_freed)
}
