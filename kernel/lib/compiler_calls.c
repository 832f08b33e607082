/* SPDX-License-Identifier: MIT
 *
 * compiler_calls.c: functions that compiled code refers to though no source names them.
 *
 * __stack_chk_*: the distribution's libfdt is compiled with a stack protector; the kernel itself is not. One constant
 * guard serves: libfdt runs at boot only, on what the firmware gave us.
 * __popcountdi2: gcc calls it for __builtin_popcountll() under -mgeneral-regs-only, because the machine counts bits in
 * vector registers only.
 */
#include <kernel/printk.h>

extern u64 __stack_chk_guard;
_Noreturn void __stack_chk_fail(void);
int __popcountdi2(u64 bits);

u64 __stack_chk_guard = 0x595a5b5c5d5e0a00ull;

_Noreturn void __stack_chk_fail(void)
{
	panic("stack protector: overwritten near %p", __builtin_return_address(0));
}

/* Sums of bits in fields of 2, 4, then 8 bits; the product adds the bytes up. */
int __popcountdi2(u64 bits)
{
	bits -= (bits >> 1) & 0x5555555555555555ull;
	bits = (bits & 0x3333333333333333ull) + ((bits >> 2) & 0x3333333333333333ull);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (int)(bits * 0x0101010101010101ull >> 56);
}
