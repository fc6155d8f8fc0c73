// Layer normalisation over the last `width` dimensions of x, which form its rows.
//
// Mean and variance are formed in double, in two passes. The gradients of weight and bias are, for
// each element, one chain over the rows in order, in float32 (double for float64), that starts from
// the old content when the destination adds: so a batch may arrive in slices, bit for bit.
#pragma once
#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

namespace cpu {
void layer_norm(const ConstView& x, const ConstView& w, const ConstView& b, int width, double eps,
                const Dest& y, const Dest& mean, const Dest& rstd);
void layer_norm_grad(const ConstView& dy, const ConstView& x, const ConstView& w,
                     const ConstView& mean, const ConstView& rstd, int width, const Dest& dx,
                     const Dest& dw, const Dest& db);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void layer_norm(const ConstView& x, const ConstView& w, const ConstView& b,
                                int width, double eps, const Dest& y, const Dest& mean,
                                const Dest& rstd);
ACCRUE_OPTIONAL void layer_norm_grad(const ConstView& dy, const ConstView& x, const ConstView& w,
                                     const ConstView& mean, const ConstView& rstd, int width,
                                     const Dest& dx, const Dest& dw, const Dest& db);
}  // namespace cuda

/// x̂ = (x - mean) · rstd, rstd = 1 / √(variance + eps), y = x̂ · w + b. w and b have the shape of a
/// row or no data, which stands for 1 and 0; mean and rstd have the shape of the other dimensions.
inline void layer_norm(const ConstView& x, const ConstView& w, const ConstView& b, int width,
                       double eps, const Dest& y, const Dest& mean, const Dest& rstd) {
  dispatch("layer_norm", y.view.device, cpu::layer_norm, cuda::layer_norm, x, w, b, width, eps, y,
           mean, rstd);
}
/// With g = dy · w:  dx = rstd · (g - mean(g) - x̂ · mean(g · x̂)),  dw = Σ dy · x̂,  db = Σ dy,
/// each of which may be unwanted.
inline void layer_norm_grad(const ConstView& dy, const ConstView& x, const ConstView& w,
                            const ConstView& mean, const ConstView& rstd, int width, const Dest& dx,
                            const Dest& dw, const Dest& db) {
  dispatch("layer_norm_grad", x.device, cpu::layer_norm_grad, cuda::layer_norm_grad, dy, x, w, mean,
           rstd, width, dx, dw, db);
}

}  // namespace accrue::kernels
