// Planted bugs: races, barriers, warps, waiting.
#include "tests/simt/cases.h"

#include <accrue/kernels/simt/simt.h>

namespace {

using accrue::simt::Fault;
constexpr unsigned kAll = 0xffffffffU;

__global__ void missing_barrier(float* x) {
  SIMT_SHARED(float, s, [64]);
  const int t = threadIdx.x;
  s[t] = x[t];
  x[t] = s[63 - t];
}

// In forward order the left neighbour has always written already: values alone do not show it.
__global__ void left_neighbour(float* x) {
  SIMT_SHARED(float, s, [64]);
  const int t = threadIdx.x;
  s[t] = x[t];
  x[t] += t > 0 ? s[t - 1] : 0.0F;
}

// The second barrier of the loop is missing: the next tile overwrites what others still read.
__global__ void tile_overwritten_early(float* x, int n) {
  SIMT_SHARED(float, tile, [64]);
  const int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 64) {
    tile[t] = x[k + t];
    __syncthreads();
    for (int j = 0; j < 64; ++j) sum += tile[j];
  }
  x[t] = sum;
}

// As kernels were written when the lanes of a warp moved in lockstep.
__global__ void lockstep(float* x) {
  SIMT_SHARED(float, s, [32]);
  const int t = threadIdx.x;
  s[t] = x[t];
  for (int step = 16; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
  }
  if (t == 0) x[0] = s[0];
}

// A shuffle orders no memory accesses.
__global__ void shuffle_is_no_fence(float* x) {
  SIMT_SHARED(float, s, [32]);
  const int t = threadIdx.x;
  s[t] = x[t];
  const float v = __shfl_xor_sync(kAll, x[t], 1);
  x[t] = v + s[t ^ 1];
}

__global__ void syncwarp_is_no_barrier(float* x) {
  SIMT_SHARED(float, s, [64]);
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  x[t] = s[63 - t];
}

__global__ void scatter(float* y, const float* x, const int* index) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  y[index[i]] += x[i];
}

__global__ void atomic_and_plain(float* x) {
  atomicAdd(x, 1.0F);
  if (threadIdx.x == 40) x[500] = x[0];
}

__global__ void blocks_talk(float* x) {
  if (blockIdx.x == 0) x[threadIdx.x] = 1;
  if (blockIdx.x == 1) x[64 + threadIdx.x] = x[threadIdx.x];
}

__global__ void all_write_one(float* x) { x[0] = 1; }

__global__ void bytes_of_one_word(unsigned char* x) { x[threadIdx.x / 2] = 1; }

__global__ void barrier_in_a_branch(float* x) {
  SIMT_SHARED(float, s, [64]);
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) __syncthreads();
  x[t] = s[t];
}

__global__ void two_barriers(float* x) {
  if (threadIdx.x < 32) {
    x[threadIdx.x] = 1;
    __syncthreads();
  } else {
    x[threadIdx.x] = 2;
    __syncthreads();
  }
}

__global__ void return_before_barrier(float* x, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
  x[threadIdx.x] = 1;
}

__global__ void barrier_against_shuffle(float* x) {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    x[threadIdx.x] = __shfl_xor_sync(kAll, x[threadIdx.x], 1);
  }
}

__global__ void shuffle_in_a_branch(float* x) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < 16) v += __shfl_down_sync(kAll, v, 8);
  x[t] = v;
}

__global__ void mask_without_caller(float* x) {
  x[threadIdx.x] = __shfl_sync(0x0000ffffU, x[threadIdx.x], 0);
}

__global__ void shuffle_after_return(float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(kAll, v, step);
  x[t] = v;
}

__global__ void shuffle_of_any_block(float* x) {
  x[threadIdx.x] = __shfl_down_sync(kAll, x[threadIdx.x], 16);
}

__global__ void different_calls(float* x) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < 16) {
    v = __shfl_xor_sync(kAll, v, 1);
  } else {
    v = static_cast<float>(__ballot_sync(kAll, v > 0));
  }
  x[t] = v;
}

__global__ void different_masks(float* x) {
  const int t = threadIdx.x;
  x[t] = __shfl_sync(t < 8 ? 0x00ffU : 0xffffU, x[t], 0);
}

__global__ void spin(int* flag) {
  const int first = *static_cast<volatile int*>(flag);
  if (threadIdx.x == 1) *static_cast<volatile int*>(flag) = first + 1;
  while (*static_cast<volatile int*>(flag) != first - 1) {
  }
}

}  // namespace

std::vector<BugCase> order_bugs() {
  return {
      {"a missing barrier", Fault::race,
       [](const Buffers& b) { LAUNCH(missing_barrier, 1, 64, 0, nullptr, b.x); }},
      {"a missing barrier that forward order hides", Fault::race,
       [](const Buffers& b) { LAUNCH(left_neighbour, 1, 64, 0, nullptr, b.x); }},
      {"a tile overwritten early", Fault::race,
       [](const Buffers& b) { LAUNCH(tile_overwritten_early, 1, 64, 0, nullptr, b.x, 256); }},
      {"lanes in lockstep", Fault::race,
       [](const Buffers& b) { LAUNCH(lockstep, 1, 32, 0, nullptr, b.x); }},
      {"a shuffle taken for a fence", Fault::race,
       [](const Buffers& b) { LAUNCH(shuffle_is_no_fence, 1, 32, 0, nullptr, b.x); }},
      {"__syncwarp taken for a barrier", Fault::race,
       [](const Buffers& b) { LAUNCH(syncwarp_is_no_barrier, 1, 64, 0, nullptr, b.x); }},
      {"a scatter without atomics", Fault::race,
       [](const Buffers& b) {
         cudaMemset(b.y, 0, 4000);
         LAUNCH(scatter, 4, 64, 0, nullptr, b.y, b.x, b.index);
       }},
      {"an atomic and a plain read", Fault::race,
       [](const Buffers& b) { LAUNCH(atomic_and_plain, 1, 64, 0, nullptr, b.x); }},
      {"blocks that talk", Fault::race,
       [](const Buffers& b) { LAUNCH(blocks_talk, 2, 64, 0, nullptr, b.x); }},
      {"all threads write one place", Fault::race,
       [](const Buffers& b) { LAUNCH(all_write_one, 1, 32, 0, nullptr, b.x); }},
      {"two threads write one byte", Fault::race,
       [](const Buffers& b) {
         LAUNCH(bytes_of_one_word, 1, 64, 0, nullptr, reinterpret_cast<unsigned char*>(b.x));
       }},
      {"a barrier in a branch", Fault::barrier,
       [](const Buffers& b) { LAUNCH(barrier_in_a_branch, 1, 64, 0, nullptr, b.x); }},
      {"two barriers for one", Fault::barrier,
       [](const Buffers& b) { LAUNCH(two_barriers, 1, 64, 0, nullptr, b.x); }},
      {"a return before a barrier", Fault::barrier,
       [](const Buffers& b) { LAUNCH(return_before_barrier, 1, 64, 0, nullptr, b.x, 50); }},
      {"a barrier against a shuffle", Fault::deadlock,
       [](const Buffers& b) { LAUNCH(barrier_against_shuffle, 1, 32, 0, nullptr, b.x); }},
      {"a shuffle in a branch", Fault::warp,
       [](const Buffers& b) { LAUNCH(shuffle_in_a_branch, 1, 32, 0, nullptr, b.x); }},
      {"a mask without its caller", Fault::warp,
       [](const Buffers& b) { LAUNCH(mask_without_caller, 1, 32, 0, nullptr, b.x); }},
      {"a return before a shuffle", Fault::warp,
       [](const Buffers& b) { LAUNCH(shuffle_after_return, 1, 32, 0, nullptr, b.x, 20); }},
      {"a block of part of a warp", Fault::warp,
       [](const Buffers& b) { LAUNCH(shuffle_of_any_block, 1, 20, 0, nullptr, b.x); }},
      {"lanes in different calls", Fault::warp,
       [](const Buffers& b) { LAUNCH(different_calls, 1, 32, 0, nullptr, b.x); }},
      {"lanes with different masks", Fault::warp,
       [](const Buffers& b) { LAUNCH(different_masks, 1, 16, 0, nullptr, b.x); }},
      {"waiting in a loop", Fault::deadlock,
       [](const Buffers& b) { LAUNCH(spin, 1, 32, 0, nullptr, b.index); }},
  };
}
