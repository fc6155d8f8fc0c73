// Division takes a GPU some seventy instructions, for 64 bits; by a number that is known when a
// kernel is launched it takes four. Now read: images.cuh.
#pragma once
#include <cstdint>

#include <accrue/kernels/simt/simt.h>

namespace accrue::kernels::cuda {

/// n / divisor for n ≥ 0. Below 2³¹ it is n · ⌈2³²⁺ˢ / divisor⌉ / 2³²⁺ˢ, where 2ˢ ≥ divisor
/// (Granlund and Montgomery, Division by invariant integers using multiplication).
class Divisor {
 public:
  explicit Divisor(long divisor) : divisor_(divisor) {
    while (shift_ < 32 && 1L << shift_ < divisor) ++shift_;
    if (shift_ < 32 && divisor > 0)
      multiplier_ = static_cast<unsigned>((((1L << shift_) - divisor) << 32) / divisor + 1);
  }
  __device__ int operator()(int n) const {
    const auto u = static_cast<unsigned>(n);
    return static_cast<int>((uint64_t{__umulhi(u, multiplier_)} + u) >> shift_);
  }
  __device__ long operator()(long n) const {
    return n >> 31 == 0 ? operator()(static_cast<int>(n)) : n / divisor_;
  }
  template <class I>
  __device__ I times(I n) const {
    return n * static_cast<I>(divisor_);
  }

 private:
  long divisor_;
  unsigned multiplier_ = 0;
  int shift_ = 0;
};

}  // namespace accrue::kernels::cuda
