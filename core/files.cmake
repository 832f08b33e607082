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
