// Convolution of images: y = bias + w ⋆ x, and its three gradients.
//
// In all of them x is [n, c, h, w], w is [o, c / groups, kh, kw], y is [n, o, oh, ow], of any
// strides; oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1, rounded down, and so for ow.
// Output channels come in `groups` equal runs, and run g reads run g of the input channels.
//
// The law: an element of y is one chain of multiply-adds from its bias over c, then kh, then kw; of
// dw one chain from its old content over images, then rows, then columns. So y and dx of an image
// do not depend on its batch, and a batch cut into pieces adds up to the same dw and db, bit for
// bit; on a CUDA device dw does so if split_invariant(). Now read: cpu/conv.cpp.
#pragma once
#include <array>

#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

struct ConvParams {
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
};

namespace cpu {
void conv2d(const ConstView& x, const ConstView& w, const ConstView& bias, const ConvParams& p,
            const Dest& y);
void conv2d_grad_x(const ConstView& dy, const ConstView& w, const ConvParams& p, const Dest& dx);
void conv2d_grad_w(const ConstView& dy, const ConstView& x, const ConvParams& p, const Dest& dw);
void conv2d_grad_bias(const ConstView& dy, const Dest& db);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void conv2d(const ConstView& x, const ConstView& w, const ConstView& bias,
                            const ConvParams& p, const Dest& y);
ACCRUE_OPTIONAL void conv2d_grad_x(const ConstView& dy, const ConstView& w, const ConvParams& p,
                                   const Dest& dx);
ACCRUE_OPTIONAL void conv2d_grad_w(const ConstView& dy, const ConstView& x, const ConvParams& p,
                                   const Dest& dw);
ACCRUE_OPTIONAL void conv2d_grad_bias(const ConstView& dy, const Dest& db);
}  // namespace cuda

/// y[n, o, i, j] = bias[o] + Σ w[o, c, a, b] · x[n, c, i·stride - padding + a·dilation, …b…],
/// where x is 0 outside. A bias without data is 0.
inline void conv2d(const ConstView& x, const ConstView& w, const ConstView& bias,
                   const ConvParams& p, const Dest& y) {
  dispatch("conv2d", y.view.device, cpu::conv2d, cuda::conv2d, x, w, bias, p, y);
}
/// dx[n, c, …] = Σ dy[n, o, i, j] · w[o, c, a, b] over the places where y read x[n, c, …]
inline void conv2d_grad_x(const ConstView& dy, const ConstView& w, const ConvParams& p,
                          const Dest& dx) {
  dispatch("conv2d_grad_x", dx.view.device, cpu::conv2d_grad_x, cuda::conv2d_grad_x, dy, w, p, dx);
}
/// dw[o, c, a, b] = Σ dy[n, o, i, j] · x[n, c, i·stride - padding + a·dilation, …b…]
inline void conv2d_grad_w(const ConstView& dy, const ConstView& x, const ConvParams& p,
                          const Dest& dw) {
  dispatch("conv2d_grad_w", dw.view.device, cpu::conv2d_grad_w, cuda::conv2d_grad_w, dy, x, p, dw);
}
/// db[o] = Σ dy[n, o, i, j]: over an image first, then over images from the old content
inline void conv2d_grad_bias(const ConstView& dy, const Dest& db) {
  dispatch("conv2d_grad_bias", db.view.device, cpu::conv2d_grad_bias, cuda::conv2d_grad_bias, dy,
           db);
}

}  // namespace accrue::kernels
