# The library for users: wireproof::wireproof. If WIREPROOF_INSTALL is on, also the parts of an
# installation: an archive, a shared library, and the files for find_package(wireproof) and
# pkg-config.

list(TRANSFORM WIREPROOF_LINK_ENGINES PREPEND proto_ OUTPUT_VARIABLE link_engines)
set(parts base core os proto_am ${link_engines} proto_ib wire_memory wire_udp wire_shm
  wire_faulty host front_am front_rdma front_ib front_c)
if(WIREPROOF_LAB)
  list(APPEND parts sim sim_sp2 report lab)
endif()
set(objects "")
foreach(part ${parts})
  get_target_property(type wireproof_${part} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:wireproof_${part}>)
  endif()
endforeach()

function(wireproof_usable name)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# A program in C that links with the archive needs the C++ library and libm.
function(wireproof_usable_in_c name)
  target_link_libraries(${name} INTERFACE $<$<LINK_LANGUAGE:C>:stdc++> $<$<LINK_LANGUAGE:C>:m>)
endfunction()

if(NOT WIREPROOF_INSTALL)
  add_library(wireproof STATIC ${objects})
  add_library(wireproof::wireproof ALIAS wireproof)
  wireproof_usable(wireproof)
  wireproof_usable_in_c(wireproof)
  return()
endif()

# One object of all modules. It is optimised across the modules here, with the flags of this project,
# and not again later. If the archive still had link-time code, each link of a program would compile it
# again with the flags of that program. g++ 12 then makes errors: with -O0, -O1, -Og or
# -fno-strict-aliasing, it merges functions that differ only in the types that they use. But their
# callers were compiled on the assumption that the types differ.
add_executable(wireproof_whole ${objects})
set_target_properties(wireproof_whole PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME wireproof SUFFIX .o
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
target_link_options(wireproof_whole PRIVATE -r -nostdlib)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In one partition, because g++ 12 stops with an internal error (lto-partition.cc:215) if it splits a
  # partial link of hidden inline functions.
  target_link_options(wireproof_whole PRIVATE -flinker-output=nolto-rel -flto-partition=one
    -fno-gnu-unique)
else()
  foreach(part ${parts})
    get_target_property(type wireproof_${part} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      set_target_properties(wireproof_${part} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    endif()
  endforeach()
  set_target_properties(wireproof_whole PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endif()
# Hidden symbols become local to the object. So they cannot clash with symbols of the same name in a
# program, for example of another version of toml++. The groups are removed, because the linker could
# drop a group in favour of another object's group of the same name.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--force-group-allocation WIREPROOF_LINKER_DISSOLVES_GROUPS)
if(WIREPROOF_LINKER_DISSOLVES_GROUPS AND CMAKE_OBJCOPY)
  target_link_options(wireproof_whole PRIVATE -Wl,--force-group-allocation)
  add_custom_command(TARGET wireproof_whole POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden $<TARGET_FILE:wireproof_whole>)
endif()

set(whole ${CMAKE_CURRENT_BINARY_DIR}/wireproof.o)
set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(wireproof STATIC ${whole})
add_library(wireproof_shared SHARED ${whole})
add_dependencies(wireproof wireproof_whole)
add_dependencies(wireproof_shared wireproof_whole)
wireproof_usable(wireproof)
wireproof_usable_in_c(wireproof)
wireproof_usable(wireproof_shared)
set_target_properties(wireproof PROPERTIES EXPORT_NAME static)
set_target_properties(wireproof_shared PROPERTIES EXPORT_NAME shared OUTPUT_NAME wireproof
  VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/wireproof.map)
configure_file(cmake/wireproof.map.in ${CMAKE_CURRENT_BINARY_DIR}/wireproof.map @ONLY)
target_link_options(wireproof_shared PRIVATE -Wl,-z,defs
  -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/wireproof.map)
add_library(wireproof::wireproof ALIAS wireproof)
add_library(wireproof::static ALIAS wireproof)
add_library(wireproof::shared ALIAS wireproof_shared)

add_custom_target(wireproof_installed DEPENDS wireproof wireproof_shared)
if(WIREPROOF_VERBS)
  add_dependencies(wireproof_installed wireproof_libibverbs wireproof_verbs_preload wireproof_hooks)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/wireproof)
install(TARGETS wireproof wireproof_shared EXPORT wireproof-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
set(left_out "")
if(NOT WIREPROOF_LAB)
  set(left_out PATTERN lab.hpp EXCLUDE)
endif()
install(DIRECTORY include/wireproof DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  ${left_out})
install(EXPORT wireproof-targets NAMESPACE wireproof:: DESTINATION ${package} COMPONENT development)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/wireproof-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_file(cmake/wireproof-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/wireproof-config.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wireproof-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/wireproof-config-version.cmake
        DESTINATION ${package} COMPONENT development)

file(RELATIVE_PATH WIREPROOF_PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(WIREPROOF_PC_LIBS "Libs: -L\${libdir} -lwireproof\nLibs.private: -lstdc++ -lm")
configure_file(cmake/wireproof.pc.in ${CMAKE_CURRENT_BINARY_DIR}/wireproof.pc @ONLY)
set(WIREPROOF_PC_LIBS "Libs: \${libdir}/libwireproof.a -lstdc++ -lm")
configure_file(cmake/wireproof.pc.in ${CMAKE_CURRENT_BINARY_DIR}/wireproof-static.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wireproof.pc ${CMAKE_CURRENT_BINARY_DIR}/wireproof-static.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The plugin for Wireshark. With the prefix /usr this is the folder where Wireshark of Debian searches.
set(plugins ${CMAKE_INSTALL_LIBDIR})
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(plugins lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(WIREPROOF_WIRESHARK_PLUGINS ${plugins}/wireshark/plugins CACHE STRING
  "Where the plugin for Wireshark is installed")
install(DIRECTORY tools/wireshark/wireproof DESTINATION ${WIREPROOF_WIRESHARK_PLUGINS} COMPONENT wireshark
  FILES_MATCHING PATTERN "*.lua")
