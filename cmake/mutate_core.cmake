# cmake -DFROM=core -DTO=DIR -DPATCH=FILE -DPROGRAM=patch -P mutate_core.cmake: DIR/core is FROM with PATCH on it. The
# patch must fit exactly: a seeded fault at a place that has changed is another fault, or none.
file(REMOVE_RECURSE "${TO}")
file(GLOB_RECURSE names RELATIVE "${FROM}" "${FROM}/*.[ch]")
foreach(name ${names})
	get_filename_component(folder "${TO}/core/${name}" DIRECTORY)
	file(COPY "${FROM}/${name}" DESTINATION "${folder}")
endforeach()
execute_process(
	COMMAND "${PROGRAM}" -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch --input "${PATCH}"
	WORKING_DIRECTORY "${TO}"
	RESULT_VARIABLE status
	OUTPUT_VARIABLE said
	ERROR_VARIABLE said)
if(NOT status EQUAL 0)
	file(REMOVE_RECURSE "${TO}")
	message(FATAL_ERROR "${said}\n"
		"tests/mutants/mutants.patch does not fit core/ any more: seed those faults into the code as it is now "
		"(tests/mutants/README.md says how)")
endif()
# `patch` keeps the time of what it read for files it leaves alone; all of it is new
file(GLOB_RECURSE names "${TO}/core/*.[ch]")
file(TOUCH_NOCREATE ${names})
