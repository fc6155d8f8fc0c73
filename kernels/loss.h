// Losses that need a kernel of their own. The others are elementwise, see autograd/ops/loss.h.
#pragma once
#include <accrue/kernels/dispatch.h>

namespace accrue {

/// What a loss makes of its items: all of them, their mean, or their sum.
enum class Reduction : uint8_t { none, mean, sum };

}  // namespace accrue

namespace accrue::kernels {

struct CrossEntropy {
  int class_dim = 1;
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;
  double label_smoothing = 0;  ///< ε
};

namespace detail {
/// Throws IndexError unless t, the target of row r, is a class or ignored.
inline void check_target(const CrossEntropy& p, int64_t t, int64_t r, int64_t classes) {
  check<IndexError>(t == p.ignore_index || (t >= 0 && t < classes), "cross_entropy: target ", t,
                    " at position ", r, " is outside [0, ", classes, ") and is not ignore_index ",
                    p.ignore_index);
}
}  // namespace detail

namespace cpu {
void cross_entropy(const CrossEntropy& p, const ConstView& x, const ConstView& target,
                   const ConstView& weight, const Dest& loss, const Dest& lse, const Dest& counted);
void cross_entropy_grad(const CrossEntropy& p, const ConstView& dy, const ConstView& x,
                        const ConstView& target, const ConstView& weight, const ConstView& lse,
                        const ConstView& counted, const Dest& dx);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void cross_entropy(const CrossEntropy& p, const ConstView& x,
                                   const ConstView& target, const ConstView& weight,
                                   const Dest& loss, const Dest& lse, const Dest& counted);
ACCRUE_OPTIONAL void cross_entropy_grad(const CrossEntropy& p, const ConstView& dy,
                                        const ConstView& x, const ConstView& target,
                                        const ConstView& weight, const ConstView& lse,
                                        const ConstView& counted, const Dest& dx);
}  // namespace cuda

/// For each row x of C logits with target t, weights w (1 if there is no `weight`):
///   lse = ln Σ eˣ,
///   loss = (1 - ε) · w_t · (lse - x_t) + ε/C · Σ_c w_c · (lse - x_c), or 0 if t is ignored,
///   counted = the sum of w_t over the rows not ignored.
/// A reduced loss is summed in double in the order of the rows; a mean is divided by `counted`, and
/// is 0 if nothing counts. lse and counted are float64. Throws IndexError, before anything is
/// written, for a target that is neither a class nor ignored.
inline void cross_entropy(const CrossEntropy& p, const ConstView& x, const ConstView& target,
                          const ConstView& weight, const Dest& loss, const Dest& lse,
                          const Dest& counted) {
  dispatch("cross_entropy", loss.view.device, cpu::cross_entropy, cuda::cross_entropy, p, x, target,
           weight, loss, lse, counted);
}
/// dx = dy · ((1 - ε) · w_t · (e^(x - lse) - [c = t]) + ε/C · (e^(x - lse) · Σ w - w_c)), divided
/// by `counted` for a mean; exactly 0 in ignored rows. dy has the target's shape. A row's gradient
/// of a sum depends on that row alone.
inline void cross_entropy_grad(const CrossEntropy& p, const ConstView& dy, const ConstView& x,
                               const ConstView& target, const ConstView& weight,
                               const ConstView& lse, const ConstView& counted, const Dest& dx) {
  dispatch("cross_entropy_grad", dx.view.device, cpu::cross_entropy_grad, cuda::cross_entropy_grad,
           p, dy, x, target, weight, lse, counted, dx);
}

}  // namespace accrue::kernels
