// A CUDA program that links accrue and a runtime of its own: both find the same devices.
#include <cstdio>

#include <cuda_runtime.h>

#include <accrue/core/device.h>

__global__ void one(float* x) { *x = 1; }

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  if (count > 0) one<<<1, 1>>>(nullptr);
  std::printf("%d devices here, %d in accrue\n", count, accrue::cuda_device_count());
  return accrue::cuda_is_built() && accrue::cuda_device_count() == count ? 0 : 1;
}
