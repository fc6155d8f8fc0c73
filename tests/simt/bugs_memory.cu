// Planted bugs: addresses, sizes, values that nobody set.
#include "tests/simt/cases.h"

#include <accrue/kernels/simt/simt.h>

namespace {

using accrue::simt::Fault;
constexpr unsigned kAll = 0xffffffffU;

__global__ void one_past_the_end(float* y, const float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i <= n) y[i] = x[i];
}

__global__ void far_beyond(float* y, int n) { y[n + (1L << 27) + threadIdx.x] = 1; }

__global__ void before_the_begin(float* x) { x[static_cast<int>(threadIdx.x) - 1] = 1; }

__global__ void copy(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x]; }

__global__ void shared_overrun(float* x) {
  SIMT_SHARED(float, a, [32]);
  SIMT_SHARED(float, b, [32]);
  const int t = threadIdx.x;
  b[t] = 0;
  float* next = a + 1;
  next[t] = x[t];
  __syncthreads();
  x[t] = a[t] + b[t];
}

__global__ void shared_array_index(float* x) {
  SIMT_SHARED(float, a, [32]);
  a[threadIdx.x + 1] = x[threadIdx.x];
}

__global__ void dynamic_shared(float* x) {
  SIMT_DYN_SHARED(float, s);
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  x[t] = s[blockDim.x - 1 - t];
}

__global__ void local_array(float* x, int n) {
  float r[4] = {0, 0, 0, 0};
  for (int j = 0; j <= n; ++j) r[j] = x[j];
  x[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}

__device__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(kAll, v, step);
  return v;
}

// Two warps write two of 32 partial sums; the first warp reads all of them.
__global__ void unset_partial_sums(float* x) {
  SIMT_SHARED(float, part, [32]);
  const int t = threadIdx.x;
  float v = warp_sum(x[t]);
  if (t % 32 == 0) part[t / 32] = v;
  __syncthreads();
  if (t < 32) v = warp_sum(part[t]);
  if (t == 0) x[0] = v;
}

__global__ void accumulate(float* y, const float* x) { y[threadIdx.x] += x[threadIdx.x]; }

__global__ void atomic_accumulate(float* y, const float* x) { atomicAdd(y, x[threadIdx.x]); }

__global__ void halves(unsigned short* y) {
  if (threadIdx.x == 0) y[0] = 1;
  __syncthreads();
  if (threadIdx.x == 1) y[2] = y[1];
}

__global__ void vectors(float* x) {
  float4 v = *reinterpret_cast<float4*>(x + 1 + 4 * threadIdx.x);
  v.x += 1;
  *reinterpret_cast<float4*>(x + 1 + 4 * threadIdx.x) = v;
}

__global__ void one_of_a_vector(float* y, const float* x) {
  y[threadIdx.x] = reinterpret_cast<const float2*>(x + 1)[threadIdx.x].y;
}

__global__ void odd_atomic(char* x) { atomicAdd(reinterpret_cast<int*>(x + 2), 1); }

__global__ void row_offset(float* x, int rows, int cols) {
  const int i = (rows - 1) * cols + static_cast<int>(threadIdx.x);
  if (i >= 0 && i < 32) x[i] = 1;
}

__global__ void divide(int* index, int by) { index[threadIdx.x] /= by; }

__global__ void shift(int* index, int by) { index[threadIdx.x] <<= by; }

const float constants[32] = {};
float host_table[32];

__global__ void fill(float* x) { x[threadIdx.x] = 1; }

}  // namespace

std::vector<BugCase> memory_bugs() {
  return {
      {"one past the end", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(one_past_the_end, 8, 128, 0, nullptr, b.y, b.x, b.kCount); }},
      {"far beyond the end", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(far_beyond, 1, 1, 0, nullptr, b.y, b.kCount); }},
      {"before the begin", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(before_the_begin, 1, 32, 0, nullptr, b.x); }},
      {"overrun of a shared variable", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(shared_overrun, 1, 32, 0, nullptr, b.x); }},
      {"index of a shared array", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(shared_array_index, 1, 32, 0, nullptr, b.x); }},
      {"too little dynamic shared memory", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(dynamic_shared, 1, 64, 128, nullptr, b.x); }},
      {"index of a local array", Fault::out_of_bounds,
       [](const Buffers& b) { LAUNCH(local_array, 1, 1, 0, nullptr, b.x, 4); }},
      {"shared memory that nobody set", Fault::uninitialised,
       [](const Buffers& b) { LAUNCH(unset_partial_sums, 1, 64, 0, nullptr, b.x); }},
      {"accumulating into a fresh buffer", Fault::uninitialised,
       [](const Buffers& b) { LAUNCH(accumulate, 1, 32, 0, nullptr, b.y, b.x); }},
      {"atomicAdd into a fresh buffer", Fault::uninitialised,
       [](const Buffers& b) { LAUNCH(atomic_accumulate, 1, 32, 0, nullptr, b.y, b.x); }},
      {"half of a word that nobody set", Fault::uninitialised,
       [](const Buffers& b) {
         LAUNCH(halves, 1, 32, 0, nullptr, reinterpret_cast<unsigned short*>(b.y));
       }},
      {"vectors at an odd offset", Fault::misaligned,
       [](const Buffers& b) { LAUNCH(vectors, 1, 8, 0, nullptr, b.x); }},
      {"one element of a vector at an odd offset", Fault::misaligned,
       [](const Buffers& b) { LAUNCH(one_of_a_vector, 1, 8, 0, nullptr, b.y, b.x); }},
      {"an atomic at half a word", Fault::misaligned,
       [](const Buffers& b) {
         LAUNCH(odd_atomic, 1, 1, 0, nullptr, reinterpret_cast<char*>(b.x));
       }},
      {"an index of int", Fault::arithmetic,
       [](const Buffers& b) { LAUNCH(row_offset, 1, 32, 0, nullptr, b.x, 70000, 70000); }},
      {"a division by zero", Fault::arithmetic,
       [](const Buffers& b) { LAUNCH(divide, 1, 32, 0, nullptr, b.index, 0); }},
      {"a shift by all bits", Fault::arithmetic,
       [](const Buffers& b) { LAUNCH(shift, 1, 32, 0, nullptr, b.index, 32); }},
      {"a pointer to a host array", Fault::host_pointer,
       [](const Buffers& b) { LAUNCH(copy, 1, 32, 0, nullptr, b.y, host_table); }},
      {"a pointer to the host's heap", Fault::host_pointer,
       [](const Buffers& b) {
         const std::vector<float> x(32);
         LAUNCH(copy, 1, 32, 0, nullptr, b.y, x.data());
         cudaDeviceSynchronize();
       }},
      {"a null pointer", Fault::host_pointer,
       [](const Buffers& b) {
         LAUNCH(copy, 1, 32, 0, nullptr, b.y, static_cast<const float*>(nullptr));
       }},
      {"a write to a constant", Fault::host_pointer,
       [](const Buffers&) { LAUNCH(fill, 1, 32, 0, nullptr, const_cast<float*>(constants)); }},
      {"use after cudaFree", Fault::use_after_free,
       [](const Buffers& b) {
         float* gone = nullptr;
         cudaMalloc(&gone, 4000);
         cudaFree(gone);
         LAUNCH(copy, 1, 32, 0, nullptr, gone, b.x);
       }},
      {"use after cudaFreeAsync", Fault::use_after_free,
       [](const Buffers& b) {
         float* gone = nullptr;
         cudaMallocAsync(&gone, 4000, nullptr);
         cudaFreeAsync(gone, nullptr);
         LAUNCH(copy, 1, 32, 0, nullptr, gone, b.x);
       }},
      {"memory of the other device", Fault::wrong_device,
       [](const Buffers& b) {
         float* other = nullptr;
         cudaSetDevice(1);
         cudaMalloc(&other, 128);
         cudaSetDevice(0);
         LAUNCH(copy, 1, 32, 0, nullptr, other, b.x);
         cudaDeviceSynchronize();
         cudaFree(other);
       }},
      {"host code reads device memory", Fault::device_pointer,
       [](const Buffers& b) {
         volatile float value = b.x[3];
         static_cast<void>(value);
       }},
      {"host code writes device memory", Fault::device_pointer,
       [](const Buffers& b) { b.y[5] = 1; }},
  };
}
