# wireproof_module(proto/am DEPENDS core [FOLDERS send …] [LIBS OpenSSL::Crypto]
#                  [STATISTICS …_statistics_test.cpp … [FULL suite…]] [LONG …_long_test.cpp …] [MOST files])
#   Makes one library from the sources of the current folder and its FOLDERS, and one test program
#   from their *_test.cpp. The files of STATISTICS average over millions of packets; they become a
#   second test program with the label statistics, whose suites behind FULL run as those of
#   wireproof_full do. Those of LONG take minutes; they become a third one with the label long.
#   A folder with headers only becomes an interface library. The sources are globbed, so a new file
#   needs no change here. CONFIGURE_DEPENDS makes the build notice it.

add_library(wireproof_options INTERFACE)
target_include_directories(wireproof_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_options(wireproof_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Wcast-align -Wunused -Woverloaded-virtual -Wnull-dereference
  -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough $<$<BOOL:${WIREPROOF_WERROR}>:-Werror>)
# At -O2 and above, and with sanitizers, g++ 12 warns about its own headers after it has inlined them.
# So these warnings are on only in Debug builds without sanitizers.
target_compile_options(wireproof_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-null-dereference -Wno-restrict>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND (NOT CMAKE_BUILD_TYPE STREQUAL "Debug" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize="))
  target_compile_options(wireproof_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()

if(NOT WIREPROOF_UNITY)
  # In a unit, a local name may also be the name of something in another file.
  target_compile_options(wireproof_options INTERFACE -Wshadow)
else()
  # A class with a member of an unnamed namespace is fine in a source file, but g++ takes a file of a unit for a header.
  target_compile_options(wireproof_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# For a library that may become a part of an installed library. Its code is position independent, and
# only functions that are marked with WIREPROOF_EXPORT are visible.
function(wireproof_library name)
  if(WIREPROOF_INSTALL OR WIREPROOF_VERBS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    # Without this option, the compiler could not inline a call of an exported function.
    target_compile_options(${name} PRIVATE -fno-semantic-interposition)
    # The object of all modules has no groups, so unique symbols would clash with those of a program.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    target_compile_definitions(${name} PRIVATE WIREPROOF_BUILDS_LIBRARY)
  endif()
endfunction()

# wireproof_units(target [MOST n])
#   The files of a target are compiled in units of at most n files, in the order of their paths: reading the headers and
#   making code of templates takes longer than the code of these files. So the names in unnamed namespaces must differ
#   within a target. Files with the property SKIP_UNITY_BUILD_INCLUSION are compiled alone, as all files are if
#   WIREPROOF_UNITY is off.
function(wireproof_units target)
  if(NOT WIREPROOF_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "" "MOST" "" ${ARGN})
  if(NOT ARG_MOST)
    set(ARG_MOST 40)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  list(LENGTH sources count)
  math(EXPR units "(${count} + ${ARG_MOST} - 1) / ${ARG_MOST}")
  set(at 0)
  foreach(source ${sources})
    math(EXPR unit "${at} * ${units} / ${count}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${unit})
    math(EXPR at "${at} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(wireproof_module path)
  cmake_parse_arguments(ARG "" "MOST" "DEPENDS;FOLDERS;LIBS;STATISTICS;LONG;FULL" ${ARGN})
  set(units "")
  if(ARG_MOST)
    set(units MOST ${ARG_MOST})
  endif()
  string(REPLACE "/" "_" name "${path}")
  set(patterns *.cpp)
  foreach(folder ${ARG_FOLDERS})
    list(APPEND patterns ${folder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(statistics ${ARG_STATISTICS})
  list(TRANSFORM statistics PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(long ${ARG_LONG})
  list(TRANSFORM long PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  list(REMOVE_ITEM tests ${statistics} ${long})
  set(scope INTERFACE)
  if(sources)
    add_library(wireproof_${name} STATIC ${sources})
    set(scope PUBLIC)
    wireproof_library(wireproof_${name})
    wireproof_units(wireproof_${name} ${units})
  else()
    add_library(wireproof_${name} INTERFACE)
  endif()
  list(TRANSFORM ARG_DEPENDS REPLACE "/" "_")
  list(TRANSFORM ARG_DEPENDS PREPEND wireproof_)
  target_link_libraries(wireproof_${name} ${scope} wireproof_options ${ARG_DEPENDS} ${ARG_LIBS})
  if(WIREPROOF_TESTS AND tests)
    wireproof_test(wireproof_${name}_test LABEL unit SOURCES ${tests} LIBS wireproof_${name})
  endif()
  if(WIREPROOF_TESTS AND statistics)
    wireproof_test(wireproof_${name}_statistics_test LABEL statistics SOURCES ${statistics}
      LIBS wireproof_${name} FULL ${ARG_FULL})
  endif()
  if(WIREPROOF_TESTS AND long)
    wireproof_test(wireproof_${name}_long_test LABEL long SOURCES ${long} LIBS wireproof_${name}
      TIMEOUT 7200)
  endif()
endfunction()

# wireproof_test(name LABEL unit|sim|wire|… SOURCES … LIBS … [TIMEOUT seconds] [FULL suite…])
#   Does nothing if WIREPROOF_TEST_LABELS is set and does not contain LABEL. The suites behind FULL run as those of
#   wireproof_full do.
function(wireproof_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBS;FULL" ${ARGN})
  if(WIREPROOF_TEST_LABELS AND NOT ARG_LABEL IN_LIST WIREPROOF_TEST_LABELS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} wireproof_options GTest::gtest_main)
  # GoogleTest takes most of the time to build a test. So its header is precompiled once, and its macros
  # are not optimised. Fuzz targets need the coverage of the libraries, but nobody needs that of the tests.
  set(options $<$<CONFIG:Debug>:-O0> $<$<BOOL:${WIREPROOF_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
  if(NOT TARGET wireproof_gtest)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gtest.cpp CONTENT "")
    add_library(wireproof_gtest OBJECT ${CMAKE_BINARY_DIR}/gtest.cpp)
    target_link_libraries(wireproof_gtest PRIVATE wireproof_options GTest::gtest_main)
    target_compile_options(wireproof_gtest PRIVATE ${options})
    target_precompile_headers(wireproof_gtest PRIVATE <gtest/gtest.h>)
  endif()
  target_compile_options(${name} PRIVATE ${options})
  target_precompile_headers(${name} REUSE_FROM wireproof_gtest)
  wireproof_units(${name} MOST 14)
  if(NOT WIREPROOF_TEST_SUITES)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
    return()
  endif()
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites)
  list(JOIN ARG_FULL "," full)
  add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${suites}_made.cmake VERBATIM
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/suite.py list
      $<TARGET_FILE:${name}> ${suites}_made.cmake ${ARG_TIMEOUT} "${full}" ${ARG_LABEL})
  file(CONFIGURE OUTPUT ${suites}.cmake @ONLY CONTENT "if(EXISTS [[@suites@_made.cmake]])
  include([[@suites@_made.cmake]])
else()
  add_test(@name@_NOT_BUILT @name@_NOT_BUILT)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites}.cmake)
endfunction()

# wireproof_full(TEST…): these run in ./test --all, and not in ./test. Others show there that tests of this kind pass.
function(wireproof_full)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS full)
endfunction()
