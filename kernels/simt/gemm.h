// The product that the executor's cuBLAS computes, on the host and in the order of a stream:
// C = f(alpha · op(A) · op(B) + beta · C + bias of its row), of matrices whose columns lie `ld`
// apart, where f is nothing or GELU. Each operand is checked as a kernel's accesses are. Now read:
// cublas.cpp.
#pragma once
#include <cstdint>
#include <string>

#include <cublas_v2.h>

namespace accrue::simt {

struct GemmMatrix {
  const void* data = nullptr;
  cudaDataType type = CUDA_R_32F;
  int64_t ld = 0;
  int64_t batch = 0;  // from one matrix to the next, in elements
  bool transposed = false;
};

struct Gemm {
  const char* call = "";
  int device = 0;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int64_t m = 0, n = 0, k = 0, batches = 1;
  double alpha = 1, beta = 0;
  GemmMatrix a, b, c;          // op(A) is [m, k], op(B) is [k, n]
  const void* bias = nullptr;  // m values of C's type, for every column
  bool gelu = false;
  GemmMatrix inside;  // where GELU's argument goes too, or null
};

// What cuBLAS returns for such sizes and types. What makes a size wrong is reported.
cublasStatus_t judge(const Gemm& gemm);

// Computes it now. An operand that is not right is reported, and the device dies of it.
void run(const Gemm& gemm);

}  // namespace accrue::simt
