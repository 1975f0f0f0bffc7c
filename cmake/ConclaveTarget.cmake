# What every target of ours has in common. Consumers of the library see none of it.

# Paths below our folder count as relative, so that a clone in another folder finds what this one compiled.
find_program(CONCLAVE_CCACHE ccache)
if(CONCLAVE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_NOHASHDIR=true "${CONCLAVE_CCACHE}")
endif()

set(CONCLAVE_SOURCE_DIR "${PROJECT_SOURCE_DIR}")

# Rooms that no user asks for. In a shared build they become part of the library that uses them, so
# only one may: the runtime.
set(CONCLAVE_INNER_ROOMS conclave_core conclave_schedule)

# The library that brings open() and all the stores: conclave::conclave.
set(CONCLAVE_UMBRELLA conclave_open)

# While the first number is 0, every second one is an ABI of its own.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(CONCLAVE_ABI "0.${PROJECT_VERSION_MINOR}")
else()
  set(CONCLAVE_ABI "${PROJECT_VERSION_MAJOR}")
endif()

function(conclave_target name)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(${name} INTERFACE cxx_std_20)
    return()
  endif()
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    # g++ 12 sees uninitialised members in every std::variant that it inlines, and overlaps in strings
    # that it adds.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<BOOL:${CONCLAVE_DEVELOPER}>:-Werror>)
  if(CONCLAVE_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${CONCLAVE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${name} PRIVATE -fsanitize=${CONCLAVE_SANITIZE})
    if(CONCLAVE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name} PRIVATE -Wno-tsan)  # it does not see the fences in Asio; locks do
    endif()
  endif()
endfunction()

# conclave_room(name component): conclave::<component> for who adds us as a subdirectory, and for who
# finds us installed. ConclavePackage.cmake installs all rooms.
function(conclave_room name component)
  add_library(conclave::${component} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${component})
  set_property(GLOBAL APPEND PROPERTY CONCLAVE_ROOMS ${name})
endfunction()

# A shared library shows what is marked CONCLAVE_API, and of that only what is ours: not the templates
# of the standard library and of Boost which it happens to contain.
function(conclave_shared name)
  set(script "${CONCLAVE_SOURCE_DIR}/cmake/conclave.map")
  target_link_options(${name} PRIVATE "LINKER:--version-script=${script}")
  if(NOT CONCLAVE_SANITIZE)
    target_link_options(${name} PRIVATE "LINKER:--no-undefined")
  endif()
  set_target_properties(${name} PROPERTIES LINK_DEPENDS "${script}" DEFINE_SYMBOL ""
    VERSION "${PROJECT_VERSION}" SOVERSION "${CONCLAVE_ABI}")
  # They find each other where they lie. A distribution says CMAKE_SKIP_INSTALL_RPATH.
  if(NOT DEFINED CMAKE_INSTALL_RPATH)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endfunction()

# conclave_library(name FILES... USES targets... HIDES targets...): one room. The directory src/ is its
# include root. Who links it gets what it USES; what it HIDES, as inner rooms always are, is its own
# affair. Static or shared, as BUILD_SHARED_LIBS says.
function(conclave_library name)
  cmake_parse_arguments(arg "" "" "FILES;USES;HIDES" ${ARGN})
  set(kind)
  if(name IN_LIST CONCLAVE_INNER_ROOMS)
    set(kind STATIC)
  endif()
  add_library(${name} ${kind} ${arg_FILES})
  string(REGEX REPLACE "^conclave_" "" component ${name})
  if(name STREQUAL CONCLAVE_UMBRELLA)
    set(component conclave)
    set_target_properties(${name} PROPERTIES OUTPUT_NAME conclave)
  endif()
  conclave_room(${name} ${component})
  target_include_directories(${name} PRIVATE "${CONCLAVE_SOURCE_DIR}/src")
  if(NOT name IN_LIST CONCLAVE_INNER_ROOMS)
    foreach(inner ${CONCLAVE_INNER_ROOMS})
      if(inner IN_LIST arg_USES)
        list(REMOVE_ITEM arg_USES ${inner})
        list(APPEND arg_HIDES ${inner})
      endif()
    endforeach()
  endif()
  target_link_libraries(${name} PUBLIC conclave_include ${arg_USES} PRIVATE ${arg_HIDES})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  conclave_target(${name})
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    conclave_shared(${name})
  endif()
endfunction()

# How many tests that wait for a server or a lease weigh as much as one that computes. Start ctest with
# this many times the cores (scripts/test does): the waiting ones then run side by side, the others never
# more of them than there are cores.
set(CONCLAVE_BUSY_TEST 4)

# conclave_test(name FILES... USES targets... [SHARDS count [LIMIT seconds]]): a GoogleTest program, each of
# its tests one of ctest's. Where its tests share a server that takes its time to start, it runs in so many
# parts instead; these wait for the most part, and begin first.
function(conclave_test name)
  cmake_parse_arguments(arg "" "SHARDS;LIMIT" "FILES;USES" ${ARGN})
  include(GoogleTest)  # here, and by project()'s own name for our folder: another project may call this
  add_executable(${name} ${arg_FILES})
  target_include_directories(${name} PRIVATE "${conclave_SOURCE_DIR}/src" "${conclave_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${arg_USES} GTest::gtest GTest::gtest_main)
  conclave_target(${name})
  if(NOT arg_SHARDS)
    gtest_discover_tests(${name} TEST_PREFIX "${name}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 300 PROCESSORS ${CONCLAVE_BUSY_TEST})
    return()
  endif()
  if(NOT arg_LIMIT)
    set(arg_LIMIT 600)
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.part${shard} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name}.part${shard} PROPERTIES TIMEOUT ${arg_LIMIT} PROCESSORS 1 COST 1000
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
