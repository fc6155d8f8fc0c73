// Reductions over any dimensions: those in which y has size 1 and x more. y has x's rank.
//
// A sum is formed in double (int64 for integers) in an order that follows the logical index of the
// elements, so the same numbers give the same bits whatever their strides and the thread count.
#pragma once
#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

namespace cpu {
void sum(const ConstView& x, double divisor, const Dest& y);
void amax(const ConstView& x, const Dest& y);
void amin(const ConstView& x, const Dest& y);
void argmax(const ConstView& x, const Dest& y);
void argmin(const ConstView& x, const Dest& y);
void extremum_grad(const ConstView& dy, const ConstView& x, const ConstView& y, const Dest& dx);
void cumsum(const ConstView& x, int dim, bool reverse, const Dest& y);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void sum(const ConstView& x, double divisor, const Dest& y);
ACCRUE_OPTIONAL void amax(const ConstView& x, const Dest& y);
ACCRUE_OPTIONAL void amin(const ConstView& x, const Dest& y);
ACCRUE_OPTIONAL void argmax(const ConstView& x, const Dest& y);
ACCRUE_OPTIONAL void argmin(const ConstView& x, const Dest& y);
ACCRUE_OPTIONAL void extremum_grad(const ConstView& dy, const ConstView& x, const ConstView& y,
                                   const Dest& dx);
ACCRUE_OPTIONAL void cumsum(const ConstView& x, int dim, bool reverse, const Dest& y);
}  // namespace cuda

/// y = Σ x / divisor: 1 for the sum, the number of terms for the mean. Over nothing: 0 / divisor.
inline void sum(const ConstView& x, double divisor, const Dest& y) {
  dispatch("sum", y.view.device, cpu::sum, cuda::sum, x, divisor, y);
}
/// y = the largest x; NaN if there is one. Throws ShapeError over nothing, as the next three do.
inline void amax(const ConstView& x, const Dest& y) {
  dispatch("amax", y.view.device, cpu::amax, cuda::amax, x, y);
}
/// y = the smallest x; NaN if there is one.
inline void amin(const ConstView& x, const Dest& y) {
  dispatch("amin", y.view.device, cpu::amin, cuda::amin, x, y);
}
/// y = where the largest x is, as a row-major index over the reduced dimensions: the first of
/// equals; NaN counts as largest.
inline void argmax(const ConstView& x, const Dest& y) {
  dispatch("argmax", y.view.device, cpu::argmax, cuda::argmax, x, y);
}
/// y = where the smallest x is; NaN counts as smallest.
inline void argmin(const ConstView& x, const Dest& y) {
  dispatch("argmin", y.view.device, cpu::argmin, cuda::argmin, x, y);
}
/// dx = dy / (how many equal the extremum y) where x = y, else 0. Equals share evenly.
inline void extremum_grad(const ConstView& dy, const ConstView& x, const ConstView& y,
                          const Dest& dx) {
  dispatch("extremum_grad", dx.view.device, cpu::extremum_grad, cuda::extremum_grad, dy, x, y, dx);
}
/// y[.., j, ..] = Σ x[.., i, ..] over i ≤ j at `dim`, or over i ≥ j if `reverse`: of x's shape.
inline void cumsum(const ConstView& x, int dim, bool reverse, const Dest& y) {
  dispatch("cumsum", y.view.device, cpu::cumsum, cuda::cumsum, x, dim, reverse, y);
}

}  // namespace accrue::kernels
