/* SPDX-License-Identifier: MIT
 *
 * symbols.h: names of addresses in this very program, from its symbol table and debug information.
 */
#ifndef TALLY_TOOLS_SYMBOLS_H
#define TALLY_TOOLS_SYMBOLS_H

/* The function at `address`, or NULL. The text stays valid. */
const char *symbol_name(const void *address);

/* "function (file.c:12)", as far as it is known, for the call that returns to `address`. Valid
 * until the next call. */
const char *symbol_place(const void *address);

#endif
