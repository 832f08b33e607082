# The warnings that all of our own C is compiled with. Link `tally_warnings` PRIVATE to a target.
add_library(tally_warnings INTERFACE)
target_compile_options(tally_warnings INTERFACE
	$<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
	-Wvla -Werror -fno-common>)
