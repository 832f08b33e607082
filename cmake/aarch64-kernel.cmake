# Toolchain of the kernel and the engine inside it: Debian's cross gcc by default,
# clang with -DTALLY_KERNEL_CC=clang-14.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TALLY_KERNEL_CC "aarch64-linux-gnu-gcc" CACHE STRING "cross compiler of the kernel")
set(CMAKE_C_COMPILER ${TALLY_KERNEL_CC})
set(CMAKE_ASM_COMPILER ${TALLY_KERNEL_CC})
if(TALLY_KERNEL_CC MATCHES "clang")
	set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
	set(CMAKE_ASM_COMPILER_TARGET aarch64-linux-gnu)
endif()
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TALLY_KERNEL_CC)
