// Planted bugs: launches that CUDA refuses, or that promise what is not so.
#include "tests/simt/cases.h"

#include <accrue/kernels/simt/simt.h>

namespace {

using accrue::simt::Fault;

__global__ void touch(float* x) { x[0] = 1; }

__global__ void scaled(Restrict<float> y, Restrict<const float> x) {
  y[threadIdx.x] = 2 * x[threadIdx.x];
}

__global__ void large_shared(float* x) {
  SIMT_SHARED(float, a, [8192]);
  SIMT_SHARED(float, b, [8192]);
  if (threadIdx.x == 0) {
    a[0] = b[0] = x[0];
    x[0] = a[0] + b[0];
  }
}

}  // namespace

std::vector<BugCase> launch_bugs() {
  return {
      {"a block of 2048 threads", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(touch, 1, 2048, 0, nullptr, b.x); }},
      {"a block of 65 along z", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(touch, 1, dim3(1, 1, 65), 0, nullptr, b.x); }},
      {"an empty grid", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(touch, 0, 32, 0, nullptr, b.x); }},
      {"an empty block", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(touch, 1, 0, 0, nullptr, b.x); }},
      {"a grid of 70000 along y", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(touch, dim3(1, 70000), 1, 0, nullptr, b.x); }},
      {"dynamic shared memory without leave", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(touch, 1, 1, 64 << 10, nullptr, b.x); }},
      {"64 KB of shared variables", Fault::bad_launch,
       [](const Buffers& b) { LAUNCH(large_shared, 1, 32, 0, nullptr, b.x); }},
      {"Restrict arguments that are one", Fault::overlap,
       [](const Buffers& b) { LAUNCH(scaled, 1, 32, 0, nullptr, b.x, b.x); }},
      {"a stream of the other device", Fault::wrong_device,
       [](const Buffers& b) {
         cudaStream_t stream = nullptr;
         cudaSetDevice(1);
         cudaStreamCreate(&stream);
         cudaSetDevice(0);
         LAUNCH(touch, 1, 1, 0, stream, b.x);
         cudaSetDevice(1);
         cudaStreamDestroy(stream);
         cudaSetDevice(0);
       }},
  };
}
