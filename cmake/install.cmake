# What goes beside the library: the umbrella and version headers, and what lets others find it.
include(CMakePackageConfigHelpers)
set(umbrella "${PROJECT_BINARY_DIR}/include/umbrella/accrue")
file(CONFIGURE OUTPUT "${umbrella}/accrue.h"
     CONTENT "#include \"${PROJECT_SOURCE_DIR}/accrue.h\"\n")
configure_file(cmake/version.h.in "${umbrella}/version.h" @ONLY)
install(FILES accrue.h "${umbrella}/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/accrue" COMPONENT accrue_headers)

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/accrue")
configure_package_config_file(cmake/accrueConfig.cmake.in
  "${PROJECT_BINARY_DIR}/package/accrueConfig.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/accrueConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/accrueConfig.cmake"
              "${PROJECT_BINARY_DIR}/package/accrueConfigVersion.cmake"
        DESTINATION "${package}" COMPONENT accrue_headers)

# pkg-config finds the prefix from where accrue.pc lies, so it may be moved.
file(RELATIVE_PATH ACCRUE_PC_TO_PREFIX
     "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" ACCRUE_PC_TO_PREFIX "${ACCRUE_PC_TO_PREFIX}")
set(ACCRUE_PC_CUDA "")
if(ACCRUE_WITH_CUDA)
  set(ACCRUE_PC_CUDA " -ldl -lrt")
endif()
configure_file(cmake/accrue.pc.in "${PROJECT_BINARY_DIR}/package/accrue.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/accrue.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT accrue_headers)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT accrue_headers)
