# What every target of ours has in common. Consumers of the library see none of it.

find_program(CONCLAVE_CCACHE ccache)
if(CONCLAVE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CONCLAVE_CCACHE}")
endif()

set(CONCLAVE_SOURCE_DIR "${PROJECT_SOURCE_DIR}")

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
  endif()
endfunction()

# conclave_library(name FILES... USES targets...): one room. The directory src/ is its include root.
function(conclave_library name)
  cmake_parse_arguments(arg "" "" "FILES;USES" ${ARGN})
  add_library(${name} STATIC ${arg_FILES})
  string(REPLACE "conclave_" "conclave::" alias ${name})
  add_library(${alias} ALIAS ${name})
  target_include_directories(${name} PRIVATE "${CONCLAVE_SOURCE_DIR}/src")
  target_link_libraries(${name} PUBLIC conclave_include ${arg_USES})
  conclave_target(${name})
endfunction()

# conclave_test(name FILES... USES targets...): a GoogleTest program, each of its tests one of ctest's.
function(conclave_test name)
  cmake_parse_arguments(arg "" "" "FILES;USES" ${ARGN})
  add_executable(${name} ${arg_FILES})
  target_include_directories(${name} PRIVATE "${CONCLAVE_SOURCE_DIR}/src" "${CONCLAVE_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE ${arg_USES} GTest::gtest GTest::gtest_main)
  conclave_target(${name})
  gtest_discover_tests(${name} TEST_PREFIX "${name}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300)
endfunction()
