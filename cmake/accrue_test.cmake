# accrue_test(NAME core SOURCES dims_test.cpp ... [LIBRARIES ...] [LABELS ...] [WHOLE]
#             [ON_EXECUTOR])
#
# The GoogleTest binary of one folder, accrue_NAME_test, and each of its tests as a CTest test
# called NAME.Suite.Test. WHOLE registers the binary as one test, for tables of thousands of
# cases, where a process each would cost more than the cases. Label `slow` keeps it out of a
# plain ./check. ON_EXECUTOR: in this program "device cuda" is the host executor of kernels/simt.
include(GoogleTest)
function(accrue_test)
  cmake_parse_arguments(T "WHOLE;ON_EXECUTOR" "NAME" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  set(target accrue_${T_NAME}_test)
  add_executable(${target} ${T_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")  # "tests/op_cases.h"
  set(library accrue::accrue)
  if(T_ON_EXECUTOR)
    set(library accrue_on_executor)
  endif()
  target_link_libraries(${target} PRIVATE ${T_LIBRARIES} ${library} GTest::gmock
                        GTest::gtest_main)
  accrue_warnings(${target})
  # -O1: the library under test is optimised fully, and the tests compile a third faster.
  target_compile_options(${target} PRIVATE -ffp-contract=off $<$<CONFIG:Release>:-O1>)
  if(T_WHOLE)
    add_test(NAME ${T_NAME} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}")
  else()
    gtest_discover_tests(${target} TEST_PREFIX ${T_NAME}. DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()
