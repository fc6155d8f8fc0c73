// The three broken kernels of docs/cuda.md. The chapter quotes them and their reports;
// report_test.cpp compares. A line that moves here moves there.
#include "tests/simt/cases.h"

#include <accrue/kernels/simt/simt.h>

namespace {

// [one]
__global__ void scale(float* y, const float* x, int n) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = 2 * x[i];
}
// [one]

// [two]
__global__ void reversed(float* y, const float* x, int n) {
  SIMT_SHARED(float, tile, [128]);
  const int t = threadIdx.x;
  if (t < n) tile[t] = x[t];
  if (t < n) y[t] = tile[n - 1 - t];
}
// [two]

// [three]
__global__ void total(float* y, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffU, v, step);
  if (t == 0) y[0] = v;
}
// [three]

}  // namespace

std::vector<BrokenKernel> broken_kernels() {
  return {
      {"one", [](float* y, const float* x, int n) { LAUNCH(scale, 1, 128, 0, nullptr, y, x, n); }},
      {"two",
       [](float* y, const float* x, int n) { LAUNCH(reversed, 1, 128, 0, nullptr, y, x, n); }},
      {"three",
       [](float* y, const float* x, int n) { LAUNCH(total, 1, 32, 0, nullptr, y, x, n % 32); }},
  };
}
