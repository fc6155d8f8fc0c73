// From a number to a pixel of a batch of images [n, c, h, w], and from there to its place in
// memory. Now read: pool.cu.
#pragma once
#include <accrue/core/dims.h>

#include <accrue/kernels/cuda/divisor.cuh>

namespace accrue::kernels::cuda {

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
