// Kernels of the optimizers: one parameter's whole update in one pass over memory, and the sums
// that gradient norms are made of.
//
// A parameter in bfloat16 or float16 has a `master`, its value in float32, which is what is
// updated; where master does not round to w somebody else has changed w, and w is taken anew.
// Everything else has the parameter's dtype, float32 or float64; the gradient of a 16-bit parameter
// is float32. Only g and w may have strides. The result is the same for any number of threads.
// Implementation: cpu/optim.cpp. Users of these: optim/sgd.h, optim/adam.h, optim/clip.h.
#pragma once
#include <cstdint>

#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

struct SgdStep {
  double lr = 0, momentum = 0, dampening = 0, weight_decay = 0;
  double grad_scale = 1;  ///< what g is multiplied by; negative to ascend
  bool nesterov = false;
  bool first = false;  ///< momentum holds nothing yet
};

struct AdamStep {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  double grad_scale = 1;   ///< what g is multiplied by; negative to ascend
  int64_t t = 1;           ///< this step's number
  bool decoupled = false;  ///< decay the weight itself, not through the gradient
  bool first = false;      ///< m, v and v_max hold nothing yet
};

namespace cpu {
void sgd(const SgdStep& s, const ConstView& g, const Dest& w, const Dest& momentum,
         const Dest& master);
void adam(const AdamStep& s, const ConstView& g, const Dest& w, const Dest& m, const Dest& v,
          const Dest& v_max, const Dest& master);
void power_sum(double p, double scale, const ConstView& x, const Dest& y);
void max_abs(const ConstView& x, const Dest& y);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void sgd(const SgdStep& s, const ConstView& g, const Dest& w, const Dest& momentum,
                         const Dest& master);
ACCRUE_OPTIONAL void adam(const AdamStep& s, const ConstView& g, const Dest& w, const Dest& m,
                          const Dest& v, const Dest& v_max, const Dest& master);
ACCRUE_OPTIONAL void power_sum(double p, double scale, const ConstView& x, const Dest& y);
ACCRUE_OPTIONAL void max_abs(const ConstView& x, const Dest& y);
}  // namespace cuda

/// d = g · scale + decay · w
/// b = momentum · b + (1 - dampening) · d, or d if first        (if `momentum` is wanted)
/// w = w - lr · (nesterov ? d + momentum · b : b)
inline void sgd(const SgdStep& s, const ConstView& g, const Dest& w, const Dest& momentum,
                const Dest& master) {
  dispatch("sgd", w.view.device, cpu::sgd, cuda::sgd, s, g, w, momentum, master);
}

/// d = g · scale (+ decay · w unless decoupled);   w = w · (1 - lr · decay) if decoupled
/// m = β₁ m + (1 - β₁) d;   v = β₂ v + (1 - β₂) d²;   u = v, or v_max = max(v_max, v) if wanted
/// w = w - lr / (1 - β₁ᵗ) · m / (√u / √(1 - β₂ᵗ) + eps)
inline void adam(const AdamStep& s, const ConstView& g, const Dest& w, const Dest& m, const Dest& v,
                 const Dest& v_max, const Dest& master) {
  dispatch("adam", w.view.device, cpu::adam, cuda::adam, s, g, w, m, v, v_max, master);
}

/// y = Σ |x · scale|ᵖ in float64, p > 0. Squares of floats cannot overflow it.
inline void power_sum(double p, double scale, const ConstView& x, const Dest& y) {
  dispatch("power_sum", y.view.device, cpu::power_sum, cuda::power_sum, p, scale, x, y);
}
/// y = max |x| in float64; 0 over nothing, NaN if any is NaN.
inline void max_abs(const ConstView& x, const Dest& y) {
  dispatch("max_abs", y.view.device, cpu::max_abs, cuda::max_abs, x, y);
}

}  // namespace accrue::kernels
