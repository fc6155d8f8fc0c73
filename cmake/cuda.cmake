# ACCRUE_CUDA: AUTO takes a CUDA backend where one can be built, OFF never looks, ON insists.
# This version has the CPU backend only, so AUTO and OFF are the same.
set(ACCRUE_CUDA AUTO CACHE STRING "CUDA backend: AUTO, ON or OFF")
set_property(CACHE ACCRUE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT ACCRUE_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "ACCRUE_CUDA is \"${ACCRUE_CUDA}\"; it can be AUTO, ON or OFF")
endif()
if(ACCRUE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "ACCRUE_CUDA=ON: accrue ${PROJECT_VERSION} has no CUDA backend; "
                      "configure with ACCRUE_CUDA=AUTO or OFF to build for the CPU")
endif()
