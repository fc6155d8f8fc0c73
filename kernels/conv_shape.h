// The sizes of a convolution, as both backends see them.
#pragma once
#include <accrue/kernels/conv.h>

namespace accrue::kernels {

// One of the two directions of a convolution.
struct ConvAxis {
  int64_t in, kernel, out, stride, padding, dilation;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

struct ConvShape {
  int64_t images, groups;
  int64_t in_channels, out_channels;  // of one group
  ConvAxis y, x;

  int64_t kernel_size() const { return y.kernel * x.kernel; }
};

inline ConvShape conv_shape(const Dims& x, const Dims& w, const ConvParams& p) {
  const auto axis = [&](int i) {
    const auto d = static_cast<size_t>(i);
    ConvAxis a{x[2 + i], w[2 + i], 0, p.stride[d], p.padding[d], p.dilation[d]};
    a.out = (a.in + 2 * a.padding - a.reach()) / a.stride + 1;
    return a;
  };
  return {x[0], p.groups, w[1], w[0] / p.groups, axis(0), axis(1)};
}

}  // namespace accrue::kernels
