// What the two parts of the executor's cuBLAS share.
#pragma once
#include <accrue/kernels/simt/gemm.h>

struct cublasContext {
  int device;
  cudaStream_t stream = nullptr;
};

namespace accrue::simt {

// Puts the product on the stream, once everything that can be judged now is right.
cublasStatus_t submit(cublasHandle_t handle, cudaStream_t stream, Gemm gemm);

// The factors alpha and beta are of the compute type.
double scale_at(const void* value, cublasComputeType_t compute);

}  // namespace accrue::simt
