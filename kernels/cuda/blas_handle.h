// cuBLAS at work: found on the first product, with a handle for each stream that products run on.
// Now read: blas.cpp.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include <accrue/core/cuda/runtime.h>

#include <accrue/kernels/cuda/blas_library.h>

namespace accrue::kernels::cuda {

/// What cuBLAS keeps for one stream. Products of one stream take turns, so they share its scratch
/// memory; those of different streams share nothing.
class BlasHandle {
 public:
  /// REQUIRES: the stream's device is current.
  BlasHandle(const BlasLibrary& library, cudaStream_t stream);
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;

  /// Throws CudaError: "matmul: cuBLAS failed: CUBLAS_STATUS_EXECUTION_FAILED".
  void check(cublasStatus_t status) const;

  const BlasLibrary& library;
  cublasHandle_t handle = nullptr;
  cudaStream_t stream;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  std::mutex turn;  ///< held for the length of a call
};

/// The current stream's. Null where there is no cuBLAS, which stderr hears of once.
/// REQUIRES: the device is current.
std::shared_ptr<BlasHandle> blas_handle(Device device);

/// For tests: what was found is forgotten. From now on the library is absent for this reason; with
/// an empty one it is looked for anew.
void forget_blas(const std::string& absent_because);

}  // namespace accrue::kernels::cuda
