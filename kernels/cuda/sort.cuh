// Sorting of 64-bit keys that all differ, so that any sort gives the same result: scatter_add puts
// a row's number into the high bits of a key and the term's position into the low ones.
//
// A merge sort in which each key finds its own place: so many keys of its run are before it, and so
// many of the neighbouring run, which a binary search tells. Now read: index.cu.
#pragma once
#include <utility>

#include <accrue/kernels/cuda/launch.cuh>

namespace accrue::kernels::cuda {

using Key = unsigned long long;
inline constexpr long kSortTile = 1024;  ///< keys that one block sorts in shared memory

/// How many of n sorted keys are less than `key`.
__device__ inline long keys_below(const Key* keys, long n, Key key) {
  long low = 0, high = n;
  while (low < high) {
    const long middle = (low + high) / 2;
    if (keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Where key i of n goes when its sorted run of `width` keys is merged with the run beside it. The
/// last run may be shorter, and may have none beside it.
__device__ inline long place_in_merge(const Key* keys, long n, long i, long width) {
  const long run = i / width, own = run * width, other = (run ^ 1) * width;
  const long others = min(max(n - other, 0L), width);
  return min(own, other) + (i - own) + keys_below(keys + other, others, keys[i]);
}

/// A tile of kSortTile keys a block.
static __global__ void sort_tiles_kernel(const Key* keys, long n, Key* sorted) {
  SIMT_SHARED(Key, tile, [2][kSortTile]);
  const long first = blockIdx.x * kSortTile, count = min(n - first, kSortTile);
  for (long i = threadIdx.x; i < count; i += blockDim.x) tile[0][i] = keys[first + i];
  int now = 0;
  for (long width = 1; width < kSortTile; width *= 2, now ^= 1) {
    __syncthreads();
    for (long i = threadIdx.x; i < count; i += blockDim.x)
      tile[now ^ 1][place_in_merge(tile[now], count, i, width)] = tile[now][i];
  }
  __syncthreads();
  for (long i = threadIdx.x; i < count; i += blockDim.x) sorted[first + i] = tile[now][i];
}

/// One key a thread: runs of `width` become runs of twice that.
static __global__ void merge_kernel(const Key* keys, long n, long width, Key* merged) {
  for (long i = thread_number(); i < n; i += thread_count())
    merged[place_in_merge(keys, n, i, width)] = keys[i];
}

/// The n keys in order, in one of the two places, each of n; the other is spoilt. REQUIRES: n > 0.
inline const Key* sort_keys(const Launcher& on, Key* keys, Key* spare, long n) {
  const auto tiles = static_cast<unsigned>((n + kSortTile - 1) / kSortTile);
  on.check(LAUNCH(sort_tiles_kernel, tiles, kThreads, 0, on.stream(), keys, n, spare), "sort");
  for (long width = kSortTile; width < n; width *= 2) {
    std::swap(keys, spare);
    on.check(LAUNCH(merge_kernel, blocks_for(n), kThreads, 0, on.stream(), keys, n, width, spare),
             "sort");
  }
  return spare;
}

}  // namespace accrue::kernels::cuda
