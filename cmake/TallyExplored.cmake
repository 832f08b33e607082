# The engine as the explorer runs it: unmodified, every access a call of sim/explorer/hooks.c.
#
# -fsanitize=thread makes the compiler call __tsan_* before each access; the sanitizer's runtime is not linked.
# Calls of memcpy and the like, which the compiler may also make by itself, go through the hooks as well.
function(tally_instrument target)
	target_compile_options(${target} PRIVATE -fsanitize=thread -fno-omit-frame-pointer -fno-optimize-sibling-calls
		-fno-builtin) # else the compiler expands a small memset after it has put in the calls
	if(CMAKE_C_COMPILER_ID MATCHES "Clang")
		target_compile_options(${target} PRIVATE "SHELL:-mllvm -tsan-instrument-read-before-write=1")
	endif()
	add_custom_command(TARGET ${target} POST_BUILD
		COMMAND ${CMAKE_OBJCOPY} --redefine-sym memcpy=explorer_memcpy --redefine-sym memset=explorer_memset
			--redefine-sym memmove=explorer_memmove --redefine-sym memcmp=explorer_memcmp $<TARGET_FILE:${target}>)
	target_link_libraries(${target} INTERFACE tally_explorer)
endfunction()
