// Pooling: each output is the largest element, or the mean, of a window of the image.
//
// x is [n, c, h, w], y is [n, c, oh, ow], of any strides; the window of y[…, i, j] begins at
// (i, j) · stride - padding. What lies outside of x is never the largest and counts 0 in a mean.
// Every result depends on its own plane of x alone. Now read: cpu/pool.cpp.
#pragma once
#include <array>

#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

struct PoolParams {
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> dilation = {1, 1};  // max only
  bool count_include_pad = true;             // mean only
  int64_t divisor_override = 0;              // mean only; 0: the number of elements
};

namespace cpu {
void max_pool2d(const ConstView& x, const PoolParams& p, const Dest& y, const Dest& index);
void max_pool2d_grad(const ConstView& dy, const ConstView& index, const PoolParams& p,
                     const Dest& dx);
void avg_pool2d(const ConstView& x, const PoolParams& p, const Dest& y);
void avg_pool2d_grad(const ConstView& dy, const PoolParams& p, const Dest& dx);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void max_pool2d(const ConstView& x, const PoolParams& p, const Dest& y,
                                const Dest& index);
ACCRUE_OPTIONAL void max_pool2d_grad(const ConstView& dy, const ConstView& index,
                                     const PoolParams& p, const Dest& dx);
ACCRUE_OPTIONAL void avg_pool2d(const ConstView& x, const PoolParams& p, const Dest& y);
ACCRUE_OPTIONAL void avg_pool2d_grad(const ConstView& dy, const PoolParams& p, const Dest& dx);
}  // namespace cuda

/// y = the largest element of the window, the first NaN if there is one; -∞ if the window holds
/// nothing. index[n, c, oh, ow], dense int32: its row · w + column, the first of equals; or -1.
inline void max_pool2d(const ConstView& x, const PoolParams& p, const Dest& y, const Dest& index) {
  dispatch("max_pool2d", y.view.device, cpu::max_pool2d, cuda::max_pool2d, x, p, y, index);
}
/// dx = the sum of dy over the windows in which this element was chosen, in their order. `p` is
/// that of the maxima: it tells which windows to ask.
inline void max_pool2d_grad(const ConstView& dy, const ConstView& index, const PoolParams& p,
                            const Dest& dx) {
  dispatch("max_pool2d_grad", dx.view.device, cpu::max_pool2d_grad, cuda::max_pool2d_grad, dy,
           index, p, dx);
}
/// y = Σ window / count: its elements within x, or within x and its padding, or the override
inline void avg_pool2d(const ConstView& x, const PoolParams& p, const Dest& y) {
  dispatch("avg_pool2d", y.view.device, cpu::avg_pool2d, cuda::avg_pool2d, x, p, y);
}
/// dx = Σ dy / count over the windows that hold this element
inline void avg_pool2d_grad(const ConstView& dy, const PoolParams& p, const Dest& dx) {
  dispatch("avg_pool2d_grad", dx.view.device, cpu::avg_pool2d_grad, cuda::avg_pool2d_grad, dy, p,
           dx);
}

}  // namespace accrue::kernels
