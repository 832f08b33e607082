/* SPDX-License-Identifier: MIT
 *
 * hyp.h: the calls that the vector left at EL2 serves (arch/head.S).
 */
#ifndef KERNEL_HYP_H
#define KERNEL_HYP_H

#define HVC_SET_ID 0x54

#endif
