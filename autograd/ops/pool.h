// Pooling of images [n, c, h, w] or [c, h, w]: the largest element or the mean of each window.
//
// Output sizes are (h + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down; with
// ceil_mode up, but no window begins in the padding at the end. All throw ShapeError, ValueError
// (a kernel, stride or dilation below 1, a padding that is negative or more than half the kernel),
// DTypeError.
#pragma once
#include <array>

#include <accrue/core/tensor.h>

namespace accrue {

struct Pool2dOptions {
  std::array<int64_t, 2> kernel = {2, 2};  ///< high, wide
  std::array<int64_t, 2> stride = {0, 0};  ///< 0: as the kernel
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> dilation = {1, 1};
  bool ceil_mode = false;
};

/// y = the largest element of each window; NaN if it holds one. dx = dy at the first of the
/// largest, and 0 elsewhere. Padding is never the largest. Integers may be pooled, too.
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);

struct AvgPool2dOptions {
  std::array<int64_t, 2> kernel = {2, 2};
  std::array<int64_t, 2> stride = {0, 0};  ///< 0: as the kernel
  std::array<int64_t, 2> padding = {0, 0};
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< zeros of the padding count as elements
  int64_t divisor_override = 0;   ///< instead of the count; 0: none
};

/// y = Σ window / count    dx = Σ dy / count over the windows that hold x
Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& options);

}  // namespace accrue
