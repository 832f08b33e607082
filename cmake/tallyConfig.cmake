# find_package(tally): the engine's sources, and tally_add_core(TARGET DIR) to build them for the port in DIR.
include("${CMAKE_CURRENT_LIST_DIR}/../../tally/core/files.cmake")
