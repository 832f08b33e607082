# The engine with its seeded faults, for the mutation gate: a copy of core/ with tests/mutants/mutants.patch on it, made
# anew whenever either changes, and built as the explorer's engine is.
find_program(TALLY_PATCH patch)

# tally_add_mutated_core(TARGET): the static library. The program that links it defines tally_mutant_chosen (mutants.c).
function(tally_add_mutated_core target)
	set(from "${CMAKE_SOURCE_DIR}/core")
	set(to "${CMAKE_CURRENT_BINARY_DIR}/${target}-sources")
	set(patch "${CMAKE_SOURCE_DIR}/tests/mutants/mutants.patch")
	set(script "${CMAKE_SOURCE_DIR}/cmake/mutate_core.cmake")
	if(NOT TALLY_PATCH)
		message(FATAL_ERROR "the mutation gate needs the program `patch`")
	endif()
	file(GLOB_RECURSE originals CONFIGURE_DEPENDS "${from}/*.[ch]")
	set(copies "${to}/core/mutant.h")
	foreach(original ${originals})
		file(RELATIVE_PATH name "${from}" "${original}")
		list(APPEND copies "${to}/core/${name}")
	endforeach()
	add_custom_command(OUTPUT ${copies}
		COMMAND ${CMAKE_COMMAND} "-DFROM=${from}" "-DTO=${to}" "-DPATCH=${patch}" "-DPROGRAM=${TALLY_PATCH}" -P "${script}"
		DEPENDS ${originals} "${patch}" "${script}"
		COMMENT "Seeding faults into a copy of core/"
		VERBATIM)
	set(sources ${copies})
	list(FILTER sources INCLUDE REGEX "\\.c$")
	add_library(${target} STATIC ${sources} "${to}/core/mutant.h")
	set_target_properties(${target} PROPERTIES C_STANDARD 11)
	target_compile_options(${target} PRIVATE -ffreestanding)
	target_include_directories(${target}
		PRIVATE "${to}/core/include"
		PUBLIC "${CMAKE_SOURCE_DIR}/port/sim/include"
		INTERFACE "${from}/include")
	# mutant.h, for those who choose; not by -I: core/ has an errno.h
	target_compile_options(${target} INTERFACE "SHELL:-iquote ${to}/core")
	tally_instrument(${target})
	target_link_libraries(${target} PRIVATE tally_warnings INTERFACE tally_port_sim)
endfunction()
