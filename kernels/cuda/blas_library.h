// cuBLAS and cuBLASLt as tables of function pointers. accrue does not link them: they cost half a
// second at the start of every process, and would keep it from starting where they are absent.
// Now read: blas_library.cpp.
#pragma once
#include <string>

#include <cublasLt.h>
#include <cublas_v2.h>

namespace accrue::kernels::cuda {

// Every function that accrue calls, written once: the members below, and the look-up, go by it.
// clang-format off
#define ACCRUE_CUBLAS(USE)           \
  USE(cublasCreate_v2)               \
  USE(cublasDestroy_v2)              \
  USE(cublasSetStream_v2)            \
  USE(cublasSetWorkspace_v2)         \
  USE(cublasSetMathMode)             \
  USE(cublasGetStatusString)         \
  USE(cublasGemmEx_64)               \
  USE(cublasGemmStridedBatchedEx_64)
#define ACCRUE_CUBLASLT(USE)                \
  USE(cublasLtMatmulDescCreate)             \
  USE(cublasLtMatmulDescDestroy)            \
  USE(cublasLtMatmulDescSetAttribute)       \
  USE(cublasLtMatrixLayoutCreate)           \
  USE(cublasLtMatrixLayoutDestroy)          \
  USE(cublasLtMatrixLayoutSetAttribute)     \
  USE(cublasLtMatmulPreferenceCreate)       \
  USE(cublasLtMatmulPreferenceDestroy)      \
  USE(cublasLtMatmulPreferenceSetAttribute) \
  USE(cublasLtMatmulAlgoGetHeuristic)       \
  USE(cublasLtMatmul)
// clang-format on

struct BlasLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member is not declared in parentheses
#define ACCRUE_MEMBER(name) decltype(&::name) name = nullptr;
  ACCRUE_CUBLAS(ACCRUE_MEMBER)
  ACCRUE_CUBLASLT(ACCRUE_MEMBER)
#undef ACCRUE_MEMBER
  size_t workspace_bytes = 0;  ///< scratch memory for each stream; 0 is as much as suits the device
};

/// Opens the two libraries of these names and fills the table. False, with the reason in `why`,
/// where one of them is not found or lacks a function.
bool open_blas(const std::string& cublas, const std::string& cublas_lt, BlasLibrary& library,
               std::string& why);

/// The newest that this system has. The executor has a version of its own, in host/.
bool find_blas(BlasLibrary& library, std::string& why);

}  // namespace accrue::kernels::cuda
