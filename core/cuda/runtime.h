// The CUDA runtime as accrue's host code uses it: an error becomes an exception, and a device is
// current for a scope. The only header of accrue that includes CUDA's; no public header includes
// it.
#pragma once
#include <cuda_runtime.h>

#include <accrue/core/device.h>

namespace accrue::cuda {

/// Throws CudaError, or OutOfMemory: "op: CUDA failed: out of memory (cudaErrorMemoryAllocation)".
void check_cuda(cudaError_t error, const char* op);

/// While it lives, `device` is the one that this thread's calls of CUDA mean.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = 0;
  int now_;
};

/// Where this thread's work for the device goes.
cudaStream_t stream_of(Device device);

}  // namespace accrue::cuda
