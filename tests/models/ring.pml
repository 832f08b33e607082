/* SPDX-License-Identifier: MIT
 *
 * ring.pml: who writes a ring, and who frees it: munmap, close and SET_OUTPUT against writers in
 * three contexts.
 *
 * core/event.c has map(), tally_ring_unmap() and close as they are here; SET_OUTPUT, with which two
 * events share a ring, is of the plan: core/ refuses it yet. Events A, B and D are in the contexts of
 * task X, of task Y and of CPU 0, and all count on CPU 0 alone, so the ring of B has one home. Records
 * are written by their overflow interrupts. Three programs run at once: A's output goes to B and A
 * closes; B's mapping goes and B closes; D's output goes to B and D closes. An edit is exclusive with
 * whoever is inside its context: that is what owner.pml shows.
 *
 * Left out: space, records and the reader (the explorer's ring plan).
 *
 * Options: -DSTEPS=n interrupts and switches of each CPU; -DUNLIMITED any number of them, with which
 * only assertions are checked (pan -E); -DCROSS also B's output goes to A, at the same time.
 *
 * Mutants:
 *   -DM_FREE_AT_MUNMAP  the last munmap frees the ring, whoever else writes it
 *   -DM_TWOMTX          SET_OUTPUT holds two contexts' mutexes
 *   -DM_INHREDIR        an event that may count on any CPU is redirected to the ring
 *   -DM_READEXIT        a record is written where the task is switched out, not at the ring's home
 */
#ifndef STEPS
#define STEPS 1
#endif
#define NONE 15

#define A     0 /* events, and their contexts */
#define B     1
#define D     2
#define CLONE 3

byte current[2];       /* the context loaded on the CPU */
bit taken[4];          /* the context is loaded somewhere */
byte inside[4];        /* somebody with IRQs off is inside the context */
byte ring_of[4];       /* event->ring */
bit mutex[4];

byte refs;             /* of the ring */
byte mappings;
bit freed = 0;
byte writers = 0;      /* in the ring at this moment: at most one */
bit leaf = 0;          /* spin lock: the references of the ring */

bit go = 0;
bit stop = 0;
byte done = 0;

#ifdef UNLIMITED
#define CAN  true
#define SPEND skip
#else
#define CAN  (left > 0)
#define SPEND left--
#endif

/* the filter: which CPU an event counts on */
#ifdef M_INHREDIR
#define COUNTS(event, cpu) ((event) == D -> (cpu) == 0 : true)
#else
#define COUNTS(event, cpu) ((cpu) == 0)
#endif

inline write(event)
{
	if
	:: ring_of[event] != NONE && COUNTS(event, me) ->
		assert(!freed);
		writers++;
		assert(writers == 1);
		assert(!freed);
		writers--
	:: else -> skip
	fi
}

active [2] proctype Cpu()
{
	byte me = _pid;
	byte x;
#ifndef UNLIMITED
	byte left = STEPS;
#endif

	go;
	do
	/* an overflow interrupt of the task's event; of CPU 0's own */
	:: current[me] != NONE && CAN ->
		SPEND;
		x = current[me];
		inside[x]++;
		write(x);
		inside[x]--;
		x = 0
	:: me == 0 && CAN ->
		SPEND;
		inside[D]++;
		write(D);
		inside[D]--
	/* switches */
	:: current[me] != NONE ->
		x = current[me];
		current[me] = NONE;
#ifdef M_READEXIT
		inside[x]++;
		if
		:: ring_of[x] != NONE ->
			writers++;
			assert(writers == 1);
			writers--
		:: else -> skip
		fi;
		inside[x]--;
#endif
		taken[x] = 0;
		x = 0
	:: current[me] == NONE && !stop && CAN ->
		SPEND;
		if
		:: atomic {
			!taken[A] -> taken[A] = 1;
			current[me] = A
		}
		:: atomic {
			!taken[B] -> taken[B] = 1;
			current[me] = B
		}
#ifdef M_INHREDIR
		:: atomic {
			!taken[CLONE] -> taken[CLONE] = 1;
			current[me] = CLONE
		}
#endif
		:: stop -> skip
		fi
	:: stop && current[me] == NONE -> break
	od
}

inline lock(m)
{
	atomic {
		m == 0 -> m = 1
	}
}

/* tally_ring_put(), under the leaf once rings are shared */
inline put()
{
	lock(leaf);
	assert(refs > 0);
	refs--;
	if
	:: refs == 0 -> freed = 1
	:: else -> skip
	fi;
	leaf = 0
}

/* set_ring(): an edit */
inline set_ring(event, ring)
{
	d_step {
		inside[event] == 0 ->
		old = ring_of[event];
		ring_of[event] = ring
	}
}

/* SET_OUTPUT: one context's mutex at a time; the ring is pinned under the leaf */
inline set_output(event, target)
{
#ifdef M_TWOMTX
	lock(mutex[event]);
	lock(mutex[target]);
	ring = ring_of[target];
	if
	:: ring != NONE -> refs++
	:: else -> skip
	fi;
	mutex[target] = 0;
#else
	lock(mutex[target]);
	ring = ring_of[target];
	if
	:: ring != NONE ->
		lock(leaf);
		if
		:: mappings > 0 -> refs++
		:: else -> ring = NONE
		fi;
		leaf = 0
	:: else -> skip
	fi;
	mutex[target] = 0;
	lock(mutex[event]);
#endif
	if
	:: ring != NONE ->
		set_ring(event, ring);
		if
		:: old != NONE -> put()
		:: else -> skip
		fi
	:: else -> skip
	fi;
	mutex[event] = 0;
	ring = NONE;
	old = NONE
}

inline close(event)
{
	lock(mutex[event]);
	set_ring(event, NONE);
	if
	:: old != NONE -> put()
	:: else -> skip
	fi;
	mutex[event] = 0;
	old = NONE
}

active proctype ProgramA()
{
	byte ring = NONE;
	byte old = NONE;

	go;
	set_output(A, B);
#ifdef M_INHREDIR
	set_output(CLONE, B);
#endif
	close(A);
#ifdef M_INHREDIR
	close(CLONE);
#endif
	done++
}

active proctype ProgramB()
{
	byte ring = NONE;
	byte old = NONE;

	go;
#ifdef CROSS
	set_output(B, A);
#endif
#ifdef M_TWOMTX
	set_output(B, A);
#endif
	/* tally_ring_unmap() */
	lock(mutex[B]);
	lock(leaf);
	mappings--;
	leaf = 0;
	set_ring(B, NONE);
#ifdef M_FREE_AT_MUNMAP
	freed = 1;
#else
	if
	:: old != NONE -> put()
	:: else -> skip
	fi;
	put();
#endif
	mutex[B] = 0;
	old = NONE;
	close(B);
	done++
}

active proctype ProgramD()
{
	byte ring = NONE;
	byte old = NONE;

	go;
	set_output(D, B);
	close(D);
	done++
}

active proctype Stop()
{
	done == 3 -> stop = 1
}

init
{
	d_step {
		current[0] = NONE;
		current[1] = NONE;
		ring_of[A] = NONE;
		ring_of[B] = 0;
		ring_of[D] = NONE;
		ring_of[CLONE] = NONE;
		refs = 2;
		mappings = 1;
		go = 1
	};
	timeout -> skip;
#ifndef M_FREE_AT_MUNMAP
	assert(stop && refs == 0 && freed)
#endif
}
