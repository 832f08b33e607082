/* SPDX-License-Identifier: MIT
 *
 * errno.h: the error numbers of the Linux ABI that the engine returns, negated
 * (asm-generic/errno*.h).
 */
#ifndef TALLY_CORE_ERRNO_H
#define TALLY_CORE_ERRNO_H

#define TALLY_ENOENT     2
#define TALLY_ESRCH      3
#define TALLY_E2BIG      7
#define TALLY_ENOMEM     12
#define TALLY_EACCES     13
#define TALLY_EFAULT     14
#define TALLY_ENODEV     19
#define TALLY_EINVAL     22
#define TALLY_ENOTTY     25
#define TALLY_ENOSPC     28
#define TALLY_EOPNOTSUPP 95

#endif
