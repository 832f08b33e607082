/* SPDX-License-Identifier: MIT
 *
 * What the program `work` executes: shared by work.S and count_child_exec.c, so only #defines.
 */
#ifndef PROGRAMS_WORK_H
#define PROGRAMS_WORK_H

#define WORK_ROUNDS 7000000 /* of three instructions */
#define WORK_INSNS  (6 + 3 * WORK_ROUNDS)
#define WORK_STATUS 42
#define WORK_PATH   "/bin/work"

#endif
