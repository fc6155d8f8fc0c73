# ACCRUE_CUDA: AUTO builds the CUDA backend where there is a working nvcc, and says nothing where
# there is none; ON insists; OFF never looks.
#
# The backend is a list of sources, written once in kernels/cuda/CMakeLists.txt. nvcc compiles it
# here; for tests the host compiler compiles it again, for the executor of kernels/simt.
set(ACCRUE_CUDA AUTO CACHE STRING "CUDA backend: AUTO, ON or OFF")
set_property(CACHE ACCRUE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT ACCRUE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ACCRUE_CUDA is \"${ACCRUE_CUDA}\"; it can be AUTO, ON or OFF")
endif()

# accrue_find_cuda(RESULT): enables the language where its compiler works. CMake asks the compiler
# only if it has to find it itself, through CUDACXX, and CMake 3.25 knows no C++20 of nvcc.
function(accrue_find_cuda result)
  set(${result} FALSE PARENT_SCOPE)
  if(NOT DEFINED ENV{CUDACXX} AND NOT CMAKE_CUDA_COMPILER)
    find_program(ACCRUE_NVCC nvcc PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(NOT ACCRUE_NVCC)
      return()
    endif()
    file(REAL_PATH "${ACCRUE_NVCC}" nvcc)
    set(ENV{CUDACXX} "${nvcc}")
  endif()
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER)
    check_language(CUDA)
  endif()
  if(CMAKE_CUDA_COMPILER)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

set(ACCRUE_WITH_CUDA FALSE)
set(ACCRUE_DEFINITIONS "")
if(NOT ACCRUE_CUDA STREQUAL "OFF" AND NOT ACCRUE_SANITIZE)
  accrue_find_cuda(ACCRUE_WITH_CUDA)
endif()
if(ACCRUE_CUDA STREQUAL "ON" AND NOT ACCRUE_WITH_CUDA)
  message(FATAL_ERROR "ACCRUE_CUDA=ON, but no working nvcc was found; name one in CUDACXX, "
                      "or configure with ACCRUE_CUDA=AUTO or OFF")
endif()
if(ACCRUE_WITH_CUDA)
  set(ACCRUE_DEFINITIONS ACCRUE_CUDA=1)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Machine code for Ampere, and for Hopper with what later devices translate.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER} for ${CMAKE_CUDA_ARCHITECTURES}")
endif()
