# accrue_library(TARGET [STATIC|SHARED] [INSTALL_OPTIONS option...])
#
# All layers declared so far as one library, installed and exported as accrue::accrue. The layers
# are position independent objects, so a second flavour (tests/packaging makes one) costs a link
# and no compilation. Without a type, BUILD_SHARED_LIBS decides. WITHOUT_CUDA leaves nvcc's part
# out, and is not installed: the host executor takes its place.
function(accrue_library target)
  cmake_parse_arguments(L "STATIC;SHARED;WITHOUT_CUDA" "" "INSTALL_OPTIONS" ${ARGN})
  set(type "")
  if(L_SHARED)
    set(type SHARED)
  elseif(L_STATIC)
    set(type STATIC)
  endif()
  add_library(${target} ${type})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/umbrella>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  get_property(layers GLOBAL PROPERTY ACCRUE_LAYERS)
  foreach(layer IN LISTS layers)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:accrue_${layer}>)
    target_include_directories(${target} PUBLIC
      "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/${layer}>")
  endforeach()
  get_property(libraries GLOBAL PROPERTY ACCRUE_PRIVATE)
  list(REMOVE_DUPLICATES libraries)
  target_link_libraries(${target} PRIVATE ${libraries})
  target_compile_definitions(${target} PUBLIC ${ACCRUE_DEFINITIONS})
  if(L_WITHOUT_CUDA)
    return()
  endif()
  if(ACCRUE_WITH_CUDA)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:accrue_cuda>)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  endif()
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME accrue EXPORT_NAME accrue
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

  install(TARGETS ${target} EXPORT ${target}Targets COMPONENT ${target} ${L_INSTALL_OPTIONS})
  install(EXPORT ${target}Targets NAMESPACE accrue:: FILE accrueTargets.cmake
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/accrue" COMPONENT ${target}
          ${L_INSTALL_OPTIONS})
endfunction()
