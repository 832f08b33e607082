# The engine's sources: the one list, for every port and for foreign builds.
set(TALLY_CORE_SOURCES
	attr.c
	check.c
	context.c
	count.c
	cpu.c
	event.c
	group.c
	open.c
	place.c
	pmu.c
	pmuv3.c
	pmuv3_events.c
	read.c
	ring.c
	rotate.c
	sample.c
	slot.c
)
list(TRANSFORM TALLY_CORE_SOURCES PREPEND "${CMAKE_CURRENT_LIST_DIR}/")
set(TALLY_CORE_DIR "${CMAKE_CURRENT_LIST_DIR}")

# tally_add_core(TARGET DIR): a static library of the engine for the port whose hal_port.h is in DIR.
function(tally_add_core target port_include)
	add_library(${target} STATIC ${TALLY_CORE_SOURCES})
	set_target_properties(${target} PROPERTIES C_STANDARD 11)
	target_compile_options(${target} PRIVATE -ffreestanding)
	target_include_directories(${target} PUBLIC "${TALLY_CORE_DIR}/include" "${port_include}")
endfunction()
