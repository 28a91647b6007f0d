# The installable library: one archive of the modules that the public headers stand on, and the files
# that find_package(wireproof) and pkg-config look for.

set(parts base core proto_am proto_pcie proto_hippi proto_ib wire_memory wire_udp wire_shm wire_faulty sim sim_sp2
  host front_am front_ib lab)
add_library(wireproof STATIC)
add_library(wireproof::wireproof ALIAS wireproof)
foreach(part ${parts})
  get_target_property(type wireproof_${part} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_sources(wireproof PRIVATE $<TARGET_OBJECTS:wireproof_${part}>)
    # Objects for link-time optimisation serve only the compiler that made them. g++ puts machine
    # code beside them if asked to; others are asked not to begin.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(wireproof_${part} PRIVATE -ffat-lto-objects)
    else()
      set_target_properties(wireproof_${part} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    endif()
  endif()
endforeach()
set_target_properties(wireproof PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(wireproof PUBLIC cxx_std_20)
target_include_directories(wireproof PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS wireproof EXPORT wireproof-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/wireproof DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wireproof-targets NAMESPACE wireproof:: FILE wireproof-config.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wireproof)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/wireproof-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH WIREPROOF_PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/wireproof.pc.in ${CMAKE_CURRENT_BINARY_DIR}/wireproof.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wireproof-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/wireproof)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wireproof.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
