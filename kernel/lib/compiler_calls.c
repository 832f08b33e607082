/* SPDX-License-Identifier: MIT
 *
 * compiler_calls.c: functions that compiled code refers to though no source names them.
 *
 * __stack_chk_*: the distribution's libfdt is compiled with a stack protector; the kernel itself is
 * not. One constant guard serves: libfdt runs at boot only, on what the firmware gave us.
 */
#include <kernel/printk.h>

extern u64 __stack_chk_guard;
_Noreturn void __stack_chk_fail(void);

u64 __stack_chk_guard = 0x595a5b5c5d5e0a00ull;

_Noreturn void __stack_chk_fail(void)
{
	panic("stack protector: overwritten near %p", __builtin_return_address(0));
}
