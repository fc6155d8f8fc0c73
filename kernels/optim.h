// Kernels of the optimizers: the whole update of many parameters in one pass over their memory, and
// the sums that gradient norms are made of. On a CUDA device dozens of parameters are one launch.
//
// A parameter in bfloat16 or float16 has a `master`, its value in float32, which is what is
// updated; where master does not round to w somebody else has changed w, and w is taken anew.
// Everything else has the parameter's dtype, float32 or float64; the gradient of a 16-bit parameter
// is float32. Only g and w may have strides. The result is the same for any number of threads, and
// whatever other parameters are in the list.
// Implementation: cpu/optim.cpp. Users of these: optim/sgd.h, optim/adam.h, optim/clip.h.
#pragma once
#include <cstdint>
#include <span>
#include <tuple>

#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

struct SgdStep {
  double lr = 0, momentum = 0, dampening = 0, weight_decay = 0;
  double grad_scale = 1;  ///< what g is multiplied by; negative to ascend
  bool nesterov = false;
};
struct SgdParameter {
  ConstView g;
  Dest w, momentum, master;
  bool first = false;  ///< momentum holds nothing yet

  auto operands() const { return std::tie(g, w, momentum, master); }
};
using SgdParameters = std::span<const SgdParameter>;

struct AdamStep {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  double grad_scale = 1;   ///< what g is multiplied by; negative to ascend
  bool decoupled = false;  ///< decay the weight itself, not through the gradient
};
struct AdamParameter {
  ConstView g;
  Dest w, m, v, v_max, master;
  int64_t t = 1;       ///< this step's number
  bool first = false;  ///< m, v and v_max hold nothing yet

  auto operands() const { return std::tie(g, w, m, v, v_max, master); }
};
using AdamParameters = std::span<const AdamParameter>;
using ConstViews = std::span<const ConstView>;

namespace cpu {
void sgd(const SgdStep& s, const SgdParameters& all);
void adam(const AdamStep& s, const AdamParameters& all);
void power_sum(double p, double scale, const ConstViews& x, const Dest& y);
void max_abs(const ConstViews& x, const Dest& y);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void sgd(const SgdStep& s, const SgdParameters& all);
ACCRUE_OPTIONAL void adam(const AdamStep& s, const AdamParameters& all);
ACCRUE_OPTIONAL void power_sum(double p, double scale, const ConstViews& x, const Dest& y);
ACCRUE_OPTIONAL void max_abs(const ConstViews& x, const Dest& y);
}  // namespace cuda

/// For each parameter:
/// d = g · scale + decay · w
/// b = momentum · b + (1 - dampening) · d, or d if first        (if `momentum` is wanted)
/// w = w - lr · (nesterov ? d + momentum · b : b)
inline void sgd(const SgdStep& s, const SgdParameters& all) {
  if (!all.empty()) dispatch("sgd", all.front().w.view.device, cpu::sgd, cuda::sgd, s, all);
}

/// For each parameter:
/// d = g · scale (+ decay · w unless decoupled);   w = w · (1 - lr · decay) if decoupled
/// m = β₁ m + (1 - β₁) d;   v = β₂ v + (1 - β₂) d²;   u = v, or v_max = max(v_max, v) if wanted
/// w = w - lr / (1 - β₁ᵗ) · m / (√u / √(1 - β₂ᵗ) + eps)
inline void adam(const AdamStep& s, const AdamParameters& all) {
  if (!all.empty()) dispatch("adam", all.front().w.view.device, cpu::adam, cuda::adam, s, all);
}

/// y = Σ |x · scale|ᵖ in float64 over all elements of all x, p > 0. Squares of floats cannot
/// overflow it.
inline void power_sum(double p, double scale, const ConstViews& x, const Dest& y) {
  dispatch("power_sum", y.view.device, cpu::power_sum, cuda::power_sum, p, scale, x, y);
}
/// y = max |x| in float64 over all elements of all x; 0 over nothing, NaN if any is NaN.
inline void max_abs(const ConstViews& x, const Dest& y) {
  dispatch("max_abs", y.view.device, cpu::max_abs, cuda::max_abs, x, y);
}

}  // namespace accrue::kernels
