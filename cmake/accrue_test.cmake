# accrue_test(NAME core SOURCES dims_test.cpp ... [LIBRARIES ...] [LABELS ...] [WHOLE]
#             [ON_EXECUTOR] [BOTH_DEVICES])
#
# The GoogleTest binary of one folder, accrue_NAME_test, and each of its tests as a CTest test
# called NAME.Suite.Test. WHOLE registers the binary as one test, for tables of thousands of
# cases, where a process each would cost more than the cases. Label `slow` keeps it out of a
# plain ./check. ON_EXECUTOR: in this program "device cuda" is the host executor of kernels/simt.
# BOTH_DEVICES: the same objects are linked a second time, as one test NAME.on_cuda, where new
# tensors are made on that device, see tests/cuda/on_cuda.cpp.
include(GoogleTest)
function(accrue_test)
  cmake_parse_arguments(T "WHOLE;ON_EXECUTOR;BOTH_DEVICES" "NAME" "SOURCES;LIBRARIES;LABELS"
                        ${ARGN})
  set(target accrue_${T_NAME}_test)
  set(library accrue::accrue)
  if(T_ON_EXECUTOR)
    set(library accrue_on_executor)
  endif()
  if(T_BOTH_DEVICES)
    set(objects accrue_${T_NAME}_test_objects)
    add_library(${objects} OBJECT ${T_SOURCES})
    accrue_test_options(${objects} ${T_LIBRARIES} ${library})
    set(T_SOURCES $<TARGET_OBJECTS:${objects}>)
    if(TARGET accrue_on_executor AND NOT ACCRUE_SANITIZE)  # which would make minutes of it
      accrue_test_on_cuda(${T_NAME}.on_cuda ${objects} ${T_LIBRARIES})
    endif()
  endif()
  add_executable(${target} ${T_SOURCES})
  accrue_test_options(${target} ${T_LIBRARIES} ${library} GTest::gtest_main)
  if(T_WHOLE)
    add_test(NAME ${T_NAME} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}")
  else()
    gtest_discover_tests(${target} TEST_PREFIX ${T_NAME}. DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()

function(accrue_test_options target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")  # "tests/op_cases.h"
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gmock)
  accrue_warnings(${target})
  # -O1: the library under test is optimised fully, and the tests compile a third faster.
  target_compile_options(${target} PRIVATE -ffp-contract=off $<$<CONFIG:Release>:-O1>)
endfunction()

# Test NAME.on_cuda or NAME_on_cuda, of objects that another program has already.
function(accrue_test_on_cuda test objects)
  string(REPLACE "." "_" target accrue_${test}_test)
  string(REGEX REPLACE "[._]on_cuda$" "" name ${test})
  add_executable(${target} "${PROJECT_SOURCE_DIR}/tests/cuda/on_cuda.cpp"
                 $<TARGET_OBJECTS:${objects}>)
  accrue_test_options(${target} ${ARGN} accrue_on_executor)
  target_compile_definitions(${target} PRIVATE
    ACCRUE_PROGRAM="${name}"
    ACCRUE_NOT_ON_CUDA="${PROJECT_SOURCE_DIR}/tests/cuda/not_on_cuda.txt")
  add_test(NAME ${test} COMMAND ${target} --gtest_brief=1)
endfunction()
