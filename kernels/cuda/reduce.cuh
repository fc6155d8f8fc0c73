// Sums, maxima and other folds over the lanes of a warp or the threads of a block. Everybody gets
// the result, and the same bits: values are exchanged pairwise, in an order that depends on nothing
// but the number of threads. Now read: softmax.cu, a user.
//
// A fold is f(a, b), equal to f(b, a) in every bit. All threads of the warp or block take part.
#pragma once
#include <cstring>
#include <type_traits>

#include <accrue/kernels/cuda/launch.cuh>

namespace accrue::kernels::cuda {

/// The value of the lane whose number differs from the caller's in `bits`. A T that is not a number
/// is sent in words.
template <class T>
__device__ T from_lane(T v, int bits) {
  if constexpr (std::is_arithmetic_v<T>) {
    return __shfl_xor_sync(kFullMask, v, bits);
  } else {
    static_assert(sizeof(T) % sizeof(unsigned) == 0);
    constexpr int words = sizeof(T) / sizeof(unsigned);
    unsigned word[words];
    std::memcpy(word, &v, sizeof v);
#pragma unroll
    for (int i = 0; i < words; ++i) word[i] = __shfl_xor_sync(kFullMask, word[i], bits);
    std::memcpy(&v, word, sizeof v);
    return v;
  }
}

template <class T, class Fold>
__device__ T warp_fold(T v, const Fold& fold) {
#pragma unroll
  for (int bits = 16; bits > 0; bits /= 2) v = fold(v, from_lane(v, bits));
  return v;
}

/// In a block of one dimension, of whole warps. `nothing` is what changes no value in a fold.
template <class T, class Fold>
__device__ T block_fold(T v, T nothing, const Fold& fold) {
  SIMT_SHARED(T, part, [32]);
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int warps = blockDim.x >> 5;
  v = warp_fold(v, fold);
  __syncthreads();  // nobody reads the parts of an earlier fold any more
  if (lane == 0) part[warp] = v;
  __syncthreads();
  return warp_fold(lane < warps ? part[lane] : nothing, fold);
}

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

template <class T>
__device__ T warp_sum(T v) {
  return warp_fold(v, Add());
}
template <class T>
__device__ T block_sum(T v) {
  return block_fold(v, T(0), Add());
}

/// Two sums at the price of one.
struct TwoSums {
  double a, b;
  __device__ TwoSums operator+(const TwoSums& o) const { return {a + o.a, b + o.b}; }
};

/// Whichever is larger; a NaN if there is one.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

template <class T>
__device__ T warp_max(T v) {
  return warp_fold(v, Larger());
}
/// `least` is no larger than any v.
template <class T>
__device__ T block_max(T v, T least) {
  return block_fold(v, least, Larger());
}

}  // namespace accrue::kernels::cuda
