// Correct kernels as a backend has them: rows with block reductions, column sums, a tiled product.
#include "tests/simt/cases.h"
#include <math.h>

#include <accrue/kernels/simt/simt.h>

namespace {

constexpr unsigned kAll = 0xffffffffU;

struct Sum {
  static __device__ float start() { return 0; }
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  static __device__ float start() { return -INFINITY; }
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

template <class Op>
__device__ float warp_reduce(float v, Op op) {
  for (int step = 16; step > 0; step /= 2) v = op(v, __shfl_xor_sync(kAll, v, step));
  return v;
}

// All threads of the block get the result. The first barrier is for the call before: `part` may
// still be read.
template <class Op>
__device__ float block_reduce(float v, Op op) {
  SIMT_SHARED(float, part, [32]);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  v = warp_reduce(v, op);
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  return warp_reduce(lane < warps ? part[lane] : Op::start(), op);
}

__global__ void softmax_kernel(float* y, const float* x, int cols) {
  x += static_cast<long>(blockIdx.x) * cols;
  y += static_cast<long>(blockIdx.x) * cols;
  float m = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, x[c]);
  m = block_reduce(m, Max{});
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    y[c] = expf(x[c] - m);
    s += y[c];
  }
  s = 1 / block_reduce(s, Sum{});
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] *= s;
}

__global__ void layer_norm_kernel(float* y, const float* x, int cols) {
  x += static_cast<long>(blockIdx.x) * cols;
  y += static_cast<long>(blockIdx.x) * cols;
  float s = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) s += x[c];
  const float mean = block_reduce(s, Sum{}) / static_cast<float>(cols);
  float q = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) q += (x[c] - mean) * (x[c] - mean);
  const float r = rsqrtf(block_reduce(q, Sum{}) / static_cast<float>(cols) + 1e-5F);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = (x[c] - mean) * r;
}

// 32 columns a block, 8 rows at a time, in a fixed order.
__global__ void column_sums_kernel(float* out, const float* x, int rows, int cols) {
  SIMT_SHARED(float, part, [8][33]);
  const int c = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float s = 0;
  if (c < cols) {
    for (int r = threadIdx.y; r < rows; r += 8) s += x[static_cast<long>(r) * cols + c];
  }
  part[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y != 0 || c >= cols) return;
  for (int i = 1; i < 8; ++i) s += part[i][threadIdx.x];
  out[c] = s;
}

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    matmul_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  SIMT_SHARED(float, as, [kTile][kTile + 1]);
  SIMT_SHARED(float, bs, [kTile][kTile + 1]);
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = static_cast<int>(blockIdx.y) * kTile + ty;
  const int col = static_cast<int>(blockIdx.x) * kTile + tx;
  float s = 0;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    const bool in_a = row < m && k0 + tx < k, in_b = col < n && k0 + ty < k;
    as[ty][tx] = in_a ? a[static_cast<long>(row) * k + k0 + tx] : 0.0F;
    bs[ty][tx] = in_b ? b[static_cast<long>(k0 + ty) * n + col] : 0.0F;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) s += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[static_cast<long>(row) * n + col] = s;
}

unsigned threads_of(int cols) {
  return static_cast<unsigned>(cols > 256 ? 256 : (cols + 31) / 32 * 32);
}
unsigned tiles_of(int n, int tile) { return static_cast<unsigned>((n + tile - 1) / tile); }

}  // namespace

namespace controls {

void softmax(float* y, const float* x, int rows, int cols, cudaStream_t s) {
  LAUNCH(softmax_kernel, static_cast<unsigned>(rows), threads_of(cols), 0, s, y, x, cols);
}
void layer_norm(float* y, const float* x, int rows, int cols, cudaStream_t s) {
  LAUNCH(layer_norm_kernel, static_cast<unsigned>(rows), threads_of(cols), 0, s, y, x, cols);
}
void column_sums(float* out, const float* x, int rows, int cols, cudaStream_t s) {
  LAUNCH(column_sums_kernel, tiles_of(cols, 32), dim3(32, 8), 0, s, out, x, rows, cols);
}
void matmul(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t s) {
  constexpr int kTile = 16;
  LAUNCH((matmul_kernel<kTile>), dim3(tiles_of(n, kTile), tiles_of(m, kTile)), dim3(kTile, kTile),
         0, s, c, a, b, m, n, k);
}

}  // namespace controls
