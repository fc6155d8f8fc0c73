// A product as BLAS sees it: its matrices are stored column by column.
#pragma once
#include <accrue/kernels/cuda/blas_handle.h>

namespace accrue::kernels::cuda {

/// A matrix of which the columns, or those of its transpose, lie `ld` apart.
struct BlasMatrix {
  const void* data;
  cudaDataType type;
  bool transposed;
  int64_t ld;
  int64_t batch;

  cublasOperation_t op() const { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }
};

/// y = [y +] op(left) · op(right), where op(left) is [m, k] and op(right) is [k, n]. If y is
/// `transposed`, it is a C that lies column by column; else it is Cᵀ.
struct BlasCall {
  int64_t m, n, k, batches;
  BlasMatrix left, right, y;
  void* result;  ///< y's data, to be written
  bool adds;
  cublasComputeType_t compute;
};

void multiply(BlasHandle& blas, const BlasCall& call);

/// What cuBLASLt does to the sums before it writes them.
struct BlasEpilogue {
  const void* bias;  ///< of y's type, its m values side by side, or null
  bool gelu;
  void* argument;  ///< where GELU's argument goes too, or null; lies like y
};

/// y = f(bias of the row + op(left) · op(right)). False, and nothing done, if cuBLASLt has no
/// algorithm for it.
bool multiply_with(BlasHandle& blas, const BlasCall& call, const BlasEpilogue& epilogue);

}  // namespace accrue::kernels::cuda
