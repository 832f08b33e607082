/* SPDX-License-Identifier: MIT
 *
 * defer.pml: a wake that the overflow interrupt puts off, against the event's close.
 *
 * Of the plan: core/ wakes nobody yet. The rule that it shows: deferred work keeps a flag in the
 * object, which it clears as its last access, and close waits for the flag after its edit and before
 * it frees.
 *
 * Mutants:
 *   -DM_NOFLUSH  close frees right after its edit
 */
bit linked = 1;
bit freed = 0;
bit irqs_off = 0;
bit pending = 0;    /* the flag in the object */
bit deferred = 0;   /* the handler is due on this CPU */
bit call = 0;
bit answered = 0;

active proctype Cpu()
{
	byte overflows = 0;

	do
	:: linked && !irqs_off && overflows < 3 ->
		overflows++;
		irqs_off = 1;
		assert(!freed);
		d_step {
			pending = 1;
			deferred = 1
		};
		irqs_off = 0
	:: !irqs_off && call ->
		irqs_off = 1;
		linked = 0;
		d_step {
			call = 0;
			answered = 1
		};
		irqs_off = 0
	:: !irqs_off && deferred -> /* the handler: finds whom to wake, wakes, lets go */
		deferred = 0;
		assert(!freed);
		skip;
		assert(!freed);
		pending = 0
	:: freed && !deferred -> break
	od
}

active proctype Close()
{
	call = 1;
	(answered);
#ifndef M_NOFLUSH
	(!pending);
#endif
	freed = 1
}
