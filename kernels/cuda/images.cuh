// From a number to a pixel of a batch of images [n, c, h, w], and from there to its place in
// memory. Division takes a GPU some seventy instructions, for 64 bits; by a number that is known
// when a kernel is launched it takes four. Now read: pool.cu.
#pragma once
#include <cstdint>

#include <accrue/core/dims.h>

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

template <class I>
struct Pixel {
  I image, channel, row, column;
};

/// The pixels of an [n, c, h, w] tensor in row-major order, numbered by int where these suffice.
class Pixels {
 public:
  explicit Pixels(const Dims& shape) : channels_(shape[1]), rows_(shape[2]), columns_(shape[3]) {}
  template <class I>
  __device__ Pixel<I> operator[](I i) const {
    const I row = columns_(i), plane = rows_(row), image = channels_(plane);
    return {image, plane - channels_.times(image), row - rows_.times(plane),
            i - columns_.times(row)};
  }
  __device__ long plane(const Pixel<long>& p) const { return channels_.times(p.image) + p.channel; }

 private:
  Divisor channels_, rows_, columns_;
};

/// Where a pixel lies, in elements.
struct Places4 {
  long image, channel, row, column;  // strides

  explicit Places4(const Dims& strides)
      : image(strides[0]), channel(strides[1]), row(strides[2]), column(strides[3]) {}
  __device__ long plane(const Pixel<long>& p) const {
    return p.image * image + p.channel * channel;
  }
  template <class I>
  __device__ long operator()(const Pixel<I>& p) const {
    return p.image * image + p.channel * channel + p.row * row + p.column * column;
  }
};

}  // namespace accrue::kernels::cuda
