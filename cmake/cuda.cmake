# ACCRUE_CUDA: AUTO builds the CUDA backend where there is a working nvcc, and says nothing where
# there is none; ON insists; OFF never looks. ACCRUE_WITH_CUDA is what came of it.
#
# The backend is a list of sources, written once in kernels/cuda/CMakeLists.txt. nvcc compiles it
# here; for tests the host compiler compiles it again, for the executor of kernels/simt. What it
# becomes in the library is in cmake/accrue_library.cmake.
set(ACCRUE_CUDA AUTO CACHE STRING "CUDA backend: AUTO, ON or OFF")
set_property(CACHE ACCRUE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT ACCRUE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ACCRUE_CUDA is \"${ACCRUE_CUDA}\"; it can be AUTO, ON or OFF")
endif()
if(ACCRUE_CUDA STREQUAL "ON" AND ACCRUE_SANITIZE)
  message(FATAL_ERROR "ACCRUE_CUDA=ON and ACCRUE_SANITIZE cannot be combined: nvcc has no sanitizers")
endif()

# accrue_find_nvcc(RESULT): whether there is one that compiles. CMake checks a compiler that it
# finds itself, through CUDACXX, but takes CMAKE_CUDA_COMPILER on trust.
function(accrue_find_nvcc result)
  if(NOT DEFINED ENV{CUDACXX} AND NOT CMAKE_CUDA_COMPILER)
    find_program(ACCRUE_NVCC nvcc PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(ACCRUE_NVCC)
    if(NOT ACCRUE_NVCC)
      set(${result} FALSE PARENT_SCOPE)
      return()
    endif()
    file(REAL_PATH "${ACCRUE_NVCC}" nvcc)
    set(ENV{CUDACXX} "${nvcc}")
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # it may have been mended since
    set(CMAKE_MESSAGE_LOG_LEVEL NOTICE)
    include(CheckLanguage)
    check_language(CUDA)
  endif()
  if(CMAKE_CUDA_COMPILER)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

set(ACCRUE_WITH_CUDA FALSE)
if(NOT ACCRUE_CUDA STREQUAL "OFF" AND NOT ACCRUE_SANITIZE)
  accrue_find_nvcc(ACCRUE_WITH_CUDA)
endif()
if(ACCRUE_WITH_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Machine code for Ampere, and for Hopper with what later devices translate.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
  # cuBLAS itself is looked for when a product is asked for; its headers are needed here.
  find_path(ACCRUE_CUBLAS_HEADERS cublasLt.h PATHS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(ACCRUE_CUBLAS_HEADERS)
  if(ACCRUE_CUBLAS_HEADERS)
    message(STATUS "CUDA backend: nvcc ${CMAKE_CUDA_COMPILER_VERSION} for "
                   "${CMAKE_CUDA_ARCHITECTURES}")
  else()
    set(ACCRUE_WITH_CUDA FALSE)
  endif()
endif()
if(ACCRUE_CUDA STREQUAL "ON" AND NOT ACCRUE_WITH_CUDA)
  message(FATAL_ERROR "ACCRUE_CUDA=ON, but no working nvcc was found with cuBLAS's headers beside "
                      "it; name one in CUDACXX, or configure with ACCRUE_CUDA=AUTO or OFF")
endif()
