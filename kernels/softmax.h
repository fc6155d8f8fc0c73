// Softmax and its relatives along one dimension. A row's result depends on that row alone; the
// exponentials are summed in double.
#pragma once
#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

namespace cpu {
void softmax(const ConstView& x, int dim, const Dest& y);
void softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx);
void log_softmax(const ConstView& x, int dim, const Dest& y);
void log_softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx);
void logsumexp(const ConstView& x, int dim, const Dest& y);
void logsumexp_grad(const ConstView& dy, const ConstView& x, int dim, const Dest& dx);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void softmax(const ConstView& x, int dim, const Dest& y);
ACCRUE_OPTIONAL void softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx);
ACCRUE_OPTIONAL void log_softmax(const ConstView& x, int dim, const Dest& y);
ACCRUE_OPTIONAL void log_softmax_grad(const ConstView& dy, const ConstView& y, int dim,
                                      const Dest& dx);
ACCRUE_OPTIONAL void logsumexp(const ConstView& x, int dim, const Dest& y);
ACCRUE_OPTIONAL void logsumexp_grad(const ConstView& dy, const ConstView& x, int dim,
                                    const Dest& dx);
}  // namespace cuda

/// y = e^(x - m) / Σ e^(x - m), m = max x. A row of nothing but -∞ gives NaN.
inline void softmax(const ConstView& x, int dim, const Dest& y) {
  dispatch("softmax", y.view.device, cpu::softmax, cuda::softmax, x, dim, y);
}
/// dx = y · (dy - Σ dy · y)
inline void softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx) {
  dispatch("softmax_grad", dx.view.device, cpu::softmax_grad, cuda::softmax_grad, dy, y, dim, dx);
}
/// y = x - ln Σ eˣ
inline void log_softmax(const ConstView& x, int dim, const Dest& y) {
  dispatch("log_softmax", y.view.device, cpu::log_softmax, cuda::log_softmax, x, dim, y);
}
/// dx = dy - eʸ · Σ dy
inline void log_softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx) {
  dispatch("log_softmax_grad", dx.view.device, cpu::log_softmax_grad, cuda::log_softmax_grad, dy, y,
           dim, dx);
}
/// y = ln Σ eˣ, of x's shape with `dim` of size 1
inline void logsumexp(const ConstView& x, int dim, const Dest& y) {
  dispatch("logsumexp", y.view.device, cpu::logsumexp, cuda::logsumexp, x, dim, y);
}
/// dx = dy · e^(x - y), with y made again in double; 0 where y is -∞. dy is like y.
inline void logsumexp_grad(const ConstView& dy, const ConstView& x, int dim, const Dest& dx) {
  dispatch("logsumexp_grad", dx.view.device, cpu::logsumexp_grad, cuda::logsumexp_grad, dy, x, dim,
           dx);
}

}  // namespace accrue::kernels
