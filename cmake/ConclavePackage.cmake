# Installs all rooms: libraries, find_package(conclave), pkg-config. What needs what is read from the
# targets themselves, so that a room says it once, in its own CMakeLists.txt.
#
# One export set and one pkg-config file for each component: who asks for one gets what that one needs
# and nothing else, and a distribution may put components into packages of their own.
include(CMakePackageConfigHelpers)

# conclave_foreign(target FIND package... [PKG_REQUIRES modules...] [PKG_LIBS flags...]): what a library of
# somebody else is to find_package() and to pkg-config.
function(conclave_foreign target)
  cmake_parse_arguments(arg "" "" "FIND;PKG_REQUIRES;PKG_LIBS" ${ARGN})
  foreach(what FIND PKG_REQUIRES PKG_LIBS)
    list(JOIN arg_${what} " " text)
    set_property(GLOBAL PROPERTY CONCLAVE_${what}_${target} "${text}")
  endforeach()
endfunction()

conclave_foreign(hiredis::hiredis FIND Hiredis PKG_REQUIRES hiredis)
conclave_foreign(libpq::libpq FIND Libpq PKG_REQUIRES libpq)
conclave_foreign(OpenSSL::SSL FIND OpenSSL PKG_REQUIRES libssl)
conclave_foreign(OpenSSL::Crypto FIND OpenSSL PKG_REQUIRES libcrypto)
conclave_foreign(Threads::Threads FIND Threads PKG_LIBS -pthread)

# The rooms that are installed: an inner one is already inside of the shared libraries.
get_property(rooms GLOBAL PROPERTY CONCLAVE_ROOMS)
if(BUILD_SHARED_LIBS)
  list(REMOVE_ITEM rooms ${CONCLAVE_INNER_ROOMS})
endif()

# What a room links: components of ours that it shows to its users and that it hides, and libraries of
# others that its users have to link.
function(conclave_links room shown_out hidden_out foreign_out)
  get_property(linked TARGET ${room} PROPERTY LINK_LIBRARIES)
  get_property(passed_on TARGET ${room} PROPERTY INTERFACE_LINK_LIBRARIES)
  set(shown)
  set(hidden)
  set(foreign)
  foreach(item ${linked} ${passed_on})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" name "${item}")
    string(REGEX REPLACE "^conclave::" "conclave_" name "${name}")
    if(name STREQUAL "conclave_conclave")
      set(name ${CONCLAVE_UMBRELLA})
    endif()
    if(name MATCHES "^\\$<BUILD_INTERFACE:|^::@" OR (BUILD_SHARED_LIBS AND name IN_LIST CONCLAVE_INNER_ROOMS))
      continue()  # needed to build it, not to use it
    elseif(name IN_LIST rooms)
      get_target_property(component ${name} EXPORT_NAME)
      if(item IN_LIST passed_on AND NOT item MATCHES "LINK_ONLY")
        list(APPEND shown ${component})
      else()
        list(APPEND hidden ${component})
      endif()
    elseif(item IN_LIST passed_on)
      list(APPEND foreign ${name})
    endif()
  endforeach()
  foreach(list shown hidden foreign)
    list(REMOVE_DUPLICATES ${list})
  endforeach()
  list(REMOVE_ITEM hidden ${shown})
  set(${shown_out} "${shown}" PARENT_SCOPE)
  set(${hidden_out} "${hidden}" PARENT_SCOPE)
  set(${foreign_out} "${foreign}" PARENT_SCOPE)
endfunction()

# conclave_gather(WHAT out foreign targets...): what conclave_foreign() said of them.
function(conclave_gather what out)
  set(found)
  foreach(target ${ARGN})
    get_property(known GLOBAL PROPERTY CONCLAVE_${what}_${target} SET)
    if(NOT known)
      message(FATAL_ERROR "cmake/ConclavePackage.cmake does not know how users find ${target}: "
                          "add a conclave_foreign() for it")
    endif()
    get_property(text GLOBAL PROPERTY CONCLAVE_${what}_${target})
    if(text)
      list(APPEND found "${text}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# ---------------------------------------------------------------- where things go

set(cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/conclave")
set(pkg_config_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(made "${PROJECT_BINARY_DIR}/package")

# An installed tree may be moved, so paths in it are relative, unless somebody set an absolute one.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pkg_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pkg_libdir "${CMAKE_INSTALL_LIBDIR}")
else()
  file(RELATIVE_PATH up "/${pkg_config_dir}" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pkg_prefix "\${pcfiledir}/${up}")
  set(pkg_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
cmake_path(APPEND pkg_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pkg_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# conclave_pkg_config(name REQUIRES... REQUIRES_PRIVATE... LIBS... LIBS_PRIVATE...)
function(conclave_pkg_config name)
  cmake_parse_arguments(pkg "" "" "REQUIRES;REQUIRES_PRIVATE;LIBS;LIBS_PRIVATE" ${ARGN})
  foreach(list REQUIRES REQUIRES_PRIVATE LIBS LIBS_PRIVATE)
    list(JOIN pkg_${list} " " pkg_${list})
  endforeach()
  configure_file("${CONCLAVE_SOURCE_DIR}/cmake/conclave.pc.in" "${made}/${name}.pc" @ONLY)
  install(FILES "${made}/${name}.pc" DESTINATION "${pkg_config_dir}" COMPONENT conclave_development)
endfunction()

# conclave.pc is the umbrella; the component x has conclave-x.pc.
function(conclave_pkg_names out)
  list(TRANSFORM ARGN PREPEND "conclave-")
  list(TRANSFORM ARGN REPLACE "^conclave-conclave$" "conclave")
  set(${out} "${ARGN}" PARENT_SCOPE)
endfunction()

# ---------------------------------------------------------------- the components

set(components)  # those that a user may ask for
set(tables)      # for conclaveConfig.cmake
foreach(room ${rooms})
  get_target_property(component ${room} EXPORT_NAME)
  conclave_links(${room} shown hidden foreign)
  conclave_gather(FIND find ${foreign})
  conclave_gather(PKG_REQUIRES pkg_requires ${foreign})
  conclave_gather(PKG_LIBS pkg_libs ${foreign})
  set(needs_${component} ${shown} ${hidden})
  string(APPEND tables "set(_conclave_needs_${component} \"${needs_${component}}\")\n"
                       "set(_conclave_finds_${component} \"${find}\")\n")

  install(TARGETS ${room} EXPORT conclave_${component}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            COMPONENT conclave_runtime NAMELINK_COMPONENT conclave_development
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT conclave_development)
  install(EXPORT conclave_${component} NAMESPACE conclave:: DESTINATION "${cmake_dir}"
    FILE conclave-${component}-targets.cmake COMPONENT conclave_development)

  if(component STREQUAL "include")
    continue()
  endif()
  if(NOT room IN_LIST CONCLAVE_INNER_ROOMS)
    list(APPEND components ${component})
  endif()
  get_target_property(file ${room} OUTPUT_NAME)
  if(NOT file)
    set(file ${room})
  endif()
  list(REMOVE_ITEM shown include)
  conclave_pkg_names(name ${component})
  conclave_pkg_names(shown ${shown})
  conclave_pkg_names(hidden ${hidden})
  if(BUILD_SHARED_LIBS)
    conclave_pkg_config(${name} LIBS "-l${file}" LIBS_PRIVATE ${pkg_libs}
      REQUIRES ${shown} REQUIRES_PRIVATE ${hidden} ${pkg_requires})
  else()  # there are none but static ones: nobody should have to say so
    conclave_pkg_config(${name} LIBS "-l${file}" ${pkg_libs} REQUIRES ${shown} ${hidden} ${pkg_requires})
  endif()
endforeach()

# Until there is an umbrella, conclave.pc is all that a program may use; its tests add conclave-testing.
if(NOT TARGET ${CONCLAVE_UMBRELLA})
  conclave_pkg_names(all ${components})
  list(REMOVE_ITEM all conclave-testing)
  conclave_pkg_config(conclave REQUIRES ${all})
endif()

# ---------------------------------------------------------------- find_package(conclave)

# Who needs another comes after it.
set(left)
foreach(room ${rooms})
  get_target_property(component ${room} EXPORT_NAME)
  list(APPEND left ${component})
endforeach()
set(ordered)
while(left)
  set(before "${left}")
  foreach(component ${left})
    set(missing ${needs_${component}})
    list(REMOVE_ITEM missing ${ordered})
    if(NOT missing)
      list(APPEND ordered ${component})
      list(REMOVE_ITEM left ${component})
    endif()
  endforeach()
  if(left STREQUAL before)
    message(FATAL_ERROR "These components need each other in a circle: ${left}")
  endif()
endwhile()
list(SORT components)

configure_package_config_file("${CONCLAVE_SOURCE_DIR}/cmake/conclaveConfig.cmake.in"
  "${made}/conclaveConfig.cmake" INSTALL_DESTINATION "${cmake_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${made}/conclaveConfigVersion.cmake" COMPATIBILITY ${compatibility})
install(FILES "${made}/conclaveConfig.cmake" "${made}/conclaveConfigVersion.cmake"
  "${CONCLAVE_SOURCE_DIR}/cmake/FindHiredis.cmake" "${CONCLAVE_SOURCE_DIR}/cmake/FindLibpq.cmake"
  DESTINATION "${cmake_dir}" COMPONENT conclave_development)
install(FILES "${CONCLAVE_SOURCE_DIR}/LICENSE" TYPE DOC COMPONENT conclave_development)
