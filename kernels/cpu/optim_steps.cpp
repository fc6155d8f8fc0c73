// The vector loops of the optimizers, for every target of targets.h. Multiplies and adds are
// rounded one by one, so every target gives the same bits.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optim_steps.cpp"
#include <cmath>

#include <hwy/foreach_target.h>

#include <accrue/kernels/cpu/optim_steps.h>
#include <accrue/kernels/cpu/simd.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {

// Calls body(i, load, store) for vectors of elements; the last may be a part of one.
template <class T, class Body>
HWY_INLINE void for_each_vector(int64_t n, const Body& body) {
  constexpr int64_t lanes = Vec<T>::lanes;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    body([i](const T* x) { return Vec<T>::load(x + i); },
         [i](T* x, Vec<T> value) { value.store(x + i); });
  if (const int64_t rest = n - i; rest > 0)
    body([i, rest](const T* x) { return Vec<T>::load_first(x + i, rest); },
         [i, rest](T* x, Vec<T> value) { value.store_first(x + i, rest); });
}

template <class T>
void sgd_run(const SgdStep& s, const SgdRun<T>& run) {
  using V = Vec<T>;
  const V lr(s.lr), momentum(s.momentum), damped(1 - s.dampening), decay(s.weight_decay),
      scale(s.grad_scale);
  for_each_vector<T>(run.n, [&](auto load, auto store) {
    V d = load(run.g) * scale;
    const V w = load(run.w);
    if (s.weight_decay != 0) d = d + decay * w;
    if (run.momentum) {
      const V b = run.first ? d : momentum * load(run.momentum) + damped * d;
      store(run.momentum, b);
      d = s.nesterov ? d + momentum * b : b;
    }
    store(run.w, w - lr * d);
  });
}

template <class T>
void adam_run(const AdamStep& s, const AdamRun<T>& run) {
  using V = Vec<T>;
  const auto t = static_cast<double>(run.t);
  const V beta1(s.beta1), beta2(s.beta2), new1(1 - s.beta1), new2(1 - s.beta2), eps(s.eps),
      decay(s.weight_decay), kept(1 - s.lr * s.weight_decay), scale(s.grad_scale),
      rate(s.lr / (1 - std::pow(s.beta1, t))), root_scale(1 / std::sqrt(1 - std::pow(s.beta2, t)));
  const bool decays = s.weight_decay != 0 && !s.decoupled;
  for_each_vector<T>(run.n, [&](auto load, auto store) {
    V d = load(run.g) * scale;
    V w = load(run.w);
    if (s.decoupled) w = w * kept;
    if (decays) d = d + decay * w;
    V m = new1 * d;
    V v = new2 * (d * d);
    if (!run.first) {
      m = beta1 * load(run.m) + m;
      v = beta2 * load(run.v) + v;
    }
    store(run.m, m);
    store(run.v, v);
    if (run.v_max) {
      if (!run.first) {
        const V old = load(run.v_max);
        v = where(old > v, old, v);
      }
      store(run.v_max, v);
    }
    store(run.w, w - rate * (m / (sqrt(v) * root_scale + eps)));
  });
}

void sgd_float(const SgdStep& s, const SgdRun<float>& run) { sgd_run(s, run); }
void sgd_double(const SgdStep& s, const SgdRun<double>& run) { sgd_run(s, run); }
void adam_float(const AdamStep& s, const AdamRun<float>& run) { adam_run(s, run); }
void adam_double(const AdamStep& s, const AdamRun<double>& run) { adam_run(s, run); }

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(sgd_float);
HWY_EXPORT(sgd_double);
HWY_EXPORT(adam_float);
HWY_EXPORT(adam_double);

// clang-format off
void step_run(const SgdStep& s, const SgdRun<float>& run) { HWY_DYNAMIC_DISPATCH(sgd_float)(s, run); }
void step_run(const SgdStep& s, const SgdRun<double>& run) { HWY_DYNAMIC_DISPATCH(sgd_double)(s, run); }
void step_run(const AdamStep& s, const AdamRun<float>& run) { HWY_DYNAMIC_DISPATCH(adam_float)(s, run); }
void step_run(const AdamStep& s, const AdamRun<double>& run) { HWY_DYNAMIC_DISPATCH(adam_double)(s, run); }
// clang-format on

}  // namespace accrue::kernels::cpu
#endif
