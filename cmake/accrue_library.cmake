# accrue_library(TARGET [STATIC|SHARED] [WITHOUT_CUDA] [INSTALL_OPTIONS option...])
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
  if(L_WITHOUT_CUDA)
    return()
  endif()
  if(ACCRUE_WITH_CUDA)
    accrue_add_cuda(${target})
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME accrue EXPORT_NAME accrue
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

  install(TARGETS ${target} EXPORT ${target}Targets COMPONENT ${target} ${L_INSTALL_OPTIONS})
  install(EXPORT ${target}Targets NAMESPACE accrue:: FILE accrueTargets.cmake
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/accrue" COMPONENT ${target}
          ${L_INSTALL_OPTIONS})
endfunction()

# accrue_add_cuda(TARGET): the whole CUDA backend as one object file, which has CUDA's runtime
# inside and shows nothing of it.
#
# One, because its functions are weak to whoever calls them, and a linker fetches nothing from an
# archive for a weak name: core/device.cpp, which every program has, names one of them, and so all
# come. And with the runtime inside, whoever links libaccrue.a needs no CUDA toolkit, and may use a
# runtime of another version beside it.
function(accrue_add_cuda target)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.dir")
  add_custom_command(
    OUTPUT "${folder}/cuda.o"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    # The runtime's section groups are dissolved, else they would replace those of another runtime.
    COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o "${folder}/runtime.o"
            --whole-archive "$<TARGET_FILE:CUDA::cudart_static>"
    COMMAND "${CMAKE_LINKER}" -r -o "${folder}/all.o" $<TARGET_OBJECTS:accrue_cuda>
            "${folder}/runtime.o"
    COMMAND "${CMAKE_OBJCOPY}" --wildcard --localize-symbol=cuda* --localize-symbol=__cuda*
            --localize-symbol=libcudart_static_* "${folder}/all.o" "${folder}/cuda.o"
    COMMAND "${CMAKE_COMMAND}" -E rm "${folder}/runtime.o" "${folder}/all.o"
    DEPENDS accrue_cuda $<TARGET_OBJECTS:accrue_cuda>
    COMMENT "Linking the CUDA backend of ${target}"
    COMMAND_EXPAND_LISTS VERBATIM)
  target_sources(${target} PRIVATE "${folder}/cuda.o")
  set_source_files_properties("${folder}/cuda.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} rt)
endfunction()
