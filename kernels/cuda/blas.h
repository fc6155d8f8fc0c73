// Products by cuBLAS, for those that need not be chains: in whatever order is fast, sums of a run
// repeating bit for bit all the same. Now read: blas.cpp for how strides become BLAS's flags.
#pragma once
#include <accrue/kernels/matmul_plan.h>

namespace accrue::kernels::cuda {

/// c[t, i, j] = [c[t, i, j] +] [bias[j] +] Σₖ a[t, i, k] · b[t, k, j], one step of a ProductPlan.
/// With `gelu`, c = gelu_tanh(that), and `argument` is that, if it is not null.
struct BlasProduct {
  DType factors, result;
  const void* a;
  const void* b;
  const void* bias;  ///< of the factors' dtype, or null
  long bias_stride;
  void* c;
  bool adds;
  Device device;
  bool gelu = false;
  void* argument = nullptr;  ///< lies like c
};

/// False, and nothing done, where there is no cuBLAS or it cannot take the product as it lies.
/// REQUIRES: the device is current.
bool blas_product(const ProductPlan& plan, const BlasProduct& product);

}  // namespace accrue::kernels::cuda
