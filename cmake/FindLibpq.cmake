# libpq::libpq. CMake's own FindPostgreSQL wants the server's headers, too; libpq-dev is enough for us.
find_path(LIBPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql pgsql)
find_library(LIBPQ_LIBRARY pq)
mark_as_advanced(LIBPQ_INCLUDE_DIR LIBPQ_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libpq REQUIRED_VARS LIBPQ_LIBRARY LIBPQ_INCLUDE_DIR)
if(Libpq_FOUND AND NOT TARGET libpq::libpq)
  add_library(libpq::libpq UNKNOWN IMPORTED GLOBAL)
  set_target_properties(libpq::libpq PROPERTIES
    IMPORTED_LOCATION "${LIBPQ_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${LIBPQ_INCLUDE_DIR}")
endif()
