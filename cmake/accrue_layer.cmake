# accrue_layer(NAME core BELOW lower... HEADERS ... [INTERNAL ...] SOURCES ... [PRIVATE library...])
#
# One folder, one layer. The public headers are listed, and only a listed header can be included
# as <accrue/NAME/...>: the build writes a one-line forwarder for each, and install copies the
# same list. A layer sees the forwarders of the layers below it and no others, so an include that
# points upward does not compile. INTERNAL headers are included by the same path, but by the
# layer's own sources only, and are not installed; PRIVATE libraries are seen by them only.
function(accrue_layer)
  cmake_parse_arguments(L "" "NAME" "HEADERS;INTERNAL;SOURCES;BELOW;PRIVATE" ${ARGN})
  set(include "${PROJECT_BINARY_DIR}/include/${L_NAME}")
  set(internal "${PROJECT_BINARY_DIR}/include/${L_NAME}-internal")
  foreach(header IN LISTS L_INTERNAL)
    file(CONFIGURE OUTPUT "${internal}/accrue/${L_NAME}/${header}"
         CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${header}\"\n")
  endforeach()
  foreach(header IN LISTS L_HEADERS)
    file(CONFIGURE OUTPUT "${include}/accrue/${L_NAME}/${header}"
         CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${header}\"\n")
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/accrue/${L_NAME}/${folder}"
            COMPONENT accrue_headers)
  endforeach()
  add_library(accrue_${L_NAME} OBJECT ${L_SOURCES})
  target_include_directories(accrue_${L_NAME} PUBLIC "$<BUILD_INTERFACE:${include}>"
                             PRIVATE "${internal}")
  target_compile_features(accrue_${L_NAME} PUBLIC cxx_std_20)
  # A result may not depend on which multiply-adds a compiler chooses to fuse; ours are written
  # out. And an assertion names core/dims.h, not the folder it happened to be built in.
  target_compile_options(accrue_${L_NAME} PRIVATE -ffp-contract=off
                         "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  accrue_warnings(accrue_${L_NAME})
  foreach(lower IN LISTS L_BELOW)
    target_link_libraries(accrue_${L_NAME} PUBLIC accrue_${lower})
  endforeach()
  target_link_libraries(accrue_${L_NAME} PRIVATE ${L_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY ACCRUE_LAYERS ${L_NAME})
  set_property(GLOBAL APPEND PROPERTY ACCRUE_PRIVATE ${L_PRIVATE})
endfunction()
