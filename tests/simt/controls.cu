// Correct kernels, small: barriers, warps, atomics, vectors, shared and dynamic shared memory.
#include "tests/simt/cases.h"

#include <accrue/kernels/simt/simt.h>

namespace {

constexpr unsigned kAll = 0xffffffffU;

__global__ void reverse_kernel(float* x) {
  SIMT_SHARED(float, s, [64]);
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  x[t] = s[63 - t];
}

__global__ void warp_tree_kernel(float* x) {
  SIMT_SHARED(float, s, [32]);
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  for (int step = 16; step > 0; step /= 2) {
    const float v = t < step ? s[t + step] : 0.0F;
    __syncwarp();
    s[t] += v;
    __syncwarp();
  }
  if (t == 0) x[0] = s[0];
}

// Four elements at a time, then those that are left.
__global__ void __launch_bounds__(256)
    add_kernel(Restrict<float> y, Restrict<const float> a, Restrict<const float> b, long n) {
  const long first = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  auto* y4 = reinterpret_cast<float4*>(static_cast<float*>(y));
  const auto* a4 = reinterpret_cast<const float4*>(static_cast<const float*>(a));
  const auto* b4 = reinterpret_cast<const float4*>(static_cast<const float*>(b));
  for (long i = first; i < n / 4; i += step) {
    const float4 u = a4[i], v = b4[i];
    y4[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  }
  for (long i = n / 4 * 4 + first; i < n; i += step) y[i] = a[i] + b[i];
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(kAll, v, step);
  return v;
}

__global__ void sum_kernel(float* out, const float* x, long n) {
  SIMT_SHARED(float, part, [32]);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float v = 0;
  const long step = static_cast<long>(gridDim.x) * blockDim.x;
  for (long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    v += __ldg(x + i);
  }
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = warp_sum(lane < warps ? part[lane] : 0.0F);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}

__global__ void prefix_kernel(int* x) {
  const int lane = threadIdx.x & 31;
  int v = x[threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int left = __shfl_up_sync(kAll, v, step);
    if (lane >= step) v += left;
  }
  x[threadIdx.x] = v;
}

__global__ void votes_kernel(unsigned* out, const int* x) {
  const bool positive = x[threadIdx.x] > 0;
  const unsigned mask = blockDim.x >= 32 ? kAll : (1U << blockDim.x) - 1;
  const unsigned ballot = __ballot_sync(mask, positive);
  const unsigned any = __any_sync(mask, positive), all = __all_sync(mask, positive);
  const unsigned count = __syncthreads_count(positive);
  if (threadIdx.x != 0) return;
  out[0] = ballot;
  out[1] = any;
  out[2] = all;
  out[3] = count;
  out[4] = __popc(ballot);
}

__global__ void histogram_kernel(int* counts, const int* index, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) atomicAdd(&counts[index[i]], 1);
}

// The maximum of floats by atomicCAS on their bits.
__global__ void maximum_kernel(float* out, const float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  int* bits = reinterpret_cast<int*>(out);
  for (int old = atomicCAS(bits, 0, 0); __int_as_float(old) < x[i];) {
    const int seen = atomicCAS(bits, old, __float_as_int(x[i]));
    if (seen == old) break;
    old = seen;
  }
}

__global__ void bytes_kernel(unsigned char* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = static_cast<unsigned char>(i);
}

// Through dynamic shared memory, only to use it.
__global__ void bfloat16_kernel(unsigned short* y, const float* x, long n) {
  SIMT_DYN_SHARED(float, row);
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) row[threadIdx.x] = x[i];
  __syncthreads();
  if (i >= n) return;
  const unsigned bits = __float_as_uint(row[threadIdx.x]);
  y[i] = static_cast<unsigned short>((bits + 0x7fffU + ((bits >> 16) & 1)) >> 16);
}

__global__ void table_kernel(float* y, const int* index, int n) {
  constexpr float kTable[7] = {0, 1, 4, 9, 16, 25, 36};
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = kTable[index[i]];
}

// Each round another thread writes what all read: two barriers a round.
__global__ void rounds_kernel(int* out) {
  SIMT_SHARED(int, word, );
  int sum = 0;
  for (int round = 0; round < 5; ++round) {
    if (static_cast<int>(threadIdx.x) == static_cast<int>(blockDim.x) - 1 - round) word = round;
    __syncthreads();
    sum += word;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void flag_kernel(int* flag) {
  if (threadIdx.x == 31) atomicExch(flag, 1);
  while (atomicAdd(flag, 0) == 0) {
  }
}

__global__ void scale_kernel(float* x, float factor, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= factor;
}

unsigned blocks_of(long n, long each) { return static_cast<unsigned>((n + each - 1) / each); }

}  // namespace

namespace controls {

void reverse_64(float* x, cudaStream_t s) { LAUNCH(reverse_kernel, 1, 64, 0, s, x); }
void warp_tree_sum(float* x, cudaStream_t s) { LAUNCH(warp_tree_kernel, 1, 32, 0, s, x); }
void add(float* y, const float* a, const float* b, long n, cudaStream_t s) {
  LAUNCH(add_kernel, blocks_of(n, 1024), 256, 0, s, y, a, b, n);
}
void sum(float* out, float* partial, const float* x, long n, cudaStream_t s) {
  const unsigned blocks = blocks_of(n, 1024);
  LAUNCH(sum_kernel, blocks, 256, 0, s, partial, x, n);
  LAUNCH(sum_kernel, 1, 64, 0, s, out, partial, static_cast<long>(blocks));
}
void prefix_sum_of_warp(int* x, cudaStream_t s) { LAUNCH(prefix_kernel, 1, 32, 0, s, x); }
void votes(unsigned* out, const int* x, int block, cudaStream_t s) {
  LAUNCH(votes_kernel, 1, static_cast<unsigned>(block), 0, s, out, x);
}
void histogram(int* counts, const int* index, int n, cudaStream_t s) {
  LAUNCH(histogram_kernel, blocks_of(n, 64), 64, 0, s, counts, index, n);
}
void maximum(float* out, const float* x, int n, cudaStream_t s) {
  LAUNCH(maximum_kernel, blocks_of(n, 128), 128, 0, s, out, x, n);
}
void bytes_side_by_side(unsigned char* x, int n, cudaStream_t s) {
  LAUNCH(bytes_kernel, blocks_of(n, 96), 96, 0, s, x, n);
}
void to_bfloat16(unsigned short* y, const float* x, long n, cudaStream_t s) {
  LAUNCH(bfloat16_kernel, blocks_of(n, 128), 128, 128 * sizeof(float), s, y, x, n);
}
void table_lookup(float* y, const int* index, int n, cudaStream_t s) {
  LAUNCH(table_kernel, blocks_of(n, 64), 64, 0, s, y, index, n);
}
void last_thread_tells_all(int* out, cudaStream_t s) { LAUNCH(rounds_kernel, 1, 96, 0, s, out); }
void wait_for_flag(int* flag, cudaStream_t s) { LAUNCH(flag_kernel, 1, 32, 0, s, flag); }
void scale(float* x, float factor, int n, cudaStream_t s) {
  LAUNCH(scale_kernel, blocks_of(n, 128), 128, 0, s, x, factor, n);
}

}  // namespace controls
