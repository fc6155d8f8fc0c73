// Convolution of images and of sequences.
//
// x may lack its first dimension, the batch; y then does too. x, w and bias have one floating
// dtype. All throw ShapeError, ValueError (stride, padding, dilation, groups), DTypeError,
// DeviceError.
#pragma once
#include <array>

#include <accrue/core/tensor.h>

namespace accrue {

struct Conv2dOptions {
  std::array<int64_t, 2> stride = {1, 1};    ///< down, right
  std::array<int64_t, 2> padding = {0, 0};   ///< zeros on either side
  std::array<int64_t, 2> dilation = {1, 1};  ///< from one element of the kernel to the next
  int64_t groups = 1;                        ///< runs of channels; run g of y reads run g of x
};

/// y[n, o, i, j] = bias[o] + Σ w[o, c, a, b] · x[n, c, i·stride - padding + a·dilation, …b…]
/// x [n, c, h, w], w [o, c / groups, kh, kw], bias [o] or not defined, y [n, o, oh, ow] where
/// oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1, rounded down.
/// dx, dw and dbias add up over i, j (and n) what each element took part in.
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const Conv2dOptions& options = {});

struct Conv1dOptions {
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
};

/// The same with one dimension less: x [n, c, l], w [o, c / groups, k], y [n, o, ol].
Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const Conv1dOptions& options = {});

}  // namespace accrue
