// The vector loops of row_math.h; compiled once per instruction set by row_math.cpp.
#if defined(ACCRUE_KERNELS_CPU_ROW_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_ROW_MATH_INL_H
#undef ACCRUE_KERNELS_CPU_ROW_MATH_INL_H
#else
#define ACCRUE_KERNELS_CPU_ROW_MATH_INL_H
#endif

#include <limits>

#include <accrue/kernels/cpu/row_math.h>
#include <accrue/kernels/cpu/simd.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {

using F64 = Vec<double>;

/// As many numbers as a vector of doubles has lanes, as doubles.
HWY_INLINE F64 load_wide(const double* x) { return F64::load(x); }
HWY_INLINE F64 load_wide(const float* x) {
  const hn::Rebind<float, F64::D> d;
  return F64(hn::PromoteTo(F64::D(), hn::LoadU(d, x)));
}
/// The lanes of x as doubles, added up in as many as there are of those.
HWY_INLINE F64 widened_sum(F64 x) { return x; }
HWY_INLINE F64 widened_sum(F32 x) {
  const F64::D wide;
#if HWY_TARGET == HWY_SCALAR
  return F64(hn::PromoteTo(wide, x.raw));
#else
  const hn::Rebind<float, F64::D> half;
  return F64(hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, x.raw)),
                     hn::PromoteTo(wide, hn::UpperHalf(half, x.raw))));
#endif
}
HWY_INLINE double sum_of_lanes(F64 x) { return hn::GetLane(hn::SumOfLanes(F64::D(), x.raw)); }

/// Sums K quantities over [0, n) in double: vectors(i, term) gives those of the vector at i,
/// scalars(i, term) those of one element. Two vectors at a time, for the latency of an addition.
template <int K, class Vectors, class Scalars>
HWY_INLINE void accumulate(int64_t n, double* sums, const Vectors& vectors,
                           const Scalars& scalars) {
  F64 even[K], odd[K], term[K];
  for (int k = 0; k < K; ++k) even[k] = odd[k] = F64(0.0);
  int64_t i = 0;
  for (; i + 2 * F64::lanes <= n; i += 2 * F64::lanes) {
    vectors(i, term);
    for (int k = 0; k < K; ++k) even[k] = even[k] + term[k];
    vectors(i + F64::lanes, term);
    for (int k = 0; k < K; ++k) odd[k] = odd[k] + term[k];
  }
  for (int k = 0; k < K; ++k) sums[k] = sum_of_lanes(even[k] + odd[k]);
  for (; i < n; ++i) {
    double one[K];
    scalars(i, one);
    for (int k = 0; k < K; ++k) sums[k] += one[k];
  }
}

/// store(i, count) for whole vectors, then for what is left. An element gets the same operations
/// in both.
template <class C, class F>
HWY_INLINE void for_vectors(int64_t n, const F& body) {
  using V = Vec<C>;
  int64_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) {
    body([i](const C* x) HWY_ATTR { return V::load(x + i); },
         [i](C* y, V value) HWY_ATTR { value.store(y + i); });
  }
  const int64_t rest = n - i;
  if (rest > 0) {
    body([i, rest](const C* x) HWY_ATTR { return V::load_first(x + i, rest); },
         [i, rest](C* y, V value) HWY_ATTR { value.store_first(y + i, rest); });
  }
}

template <class C>
double row_sum(const C* x, int64_t n) {
  double sum = 0;
  accumulate<1>(
      n, &sum, [x](int64_t i, F64* t) HWY_ATTR { t[0] = load_wide(x + i); },
      [x](int64_t i, double* t) { t[0] = static_cast<double>(x[i]); });
  return sum;
}

template <class C>
double row_dot(const C* a, const C* b, int64_t n) {
  double sum = 0;
  accumulate<1>(
      n, &sum, [a, b](int64_t i, F64* t) HWY_ATTR { t[0] = load_wide(a + i) * load_wide(b + i); },
      [a, b](int64_t i, double* t) {
        t[0] = static_cast<double>(a[i]) * static_cast<double>(b[i]);
      });
  return sum;
}

/// Two passes; what the rounding of the mean leaves is measured in the second and taken away.
template <class C>
Moments row_moments(const C* x, int64_t n) {
  const auto count = static_cast<double>(n);
  const double mean = row_sum(x, n) / count;
  const F64 m(mean);
  double sums[2];
  accumulate<2>(
      n, sums,
      [x, m](int64_t i, F64* t) HWY_ATTR {
        t[0] = load_wide(x + i) - m;
        t[1] = t[0] * t[0];
      },
      [x, mean](int64_t i, double* t) {
        t[0] = static_cast<double>(x[i]) - mean;
        t[1] = t[0] * t[0];
      });
  const double error = sums[0] / count;
  const double variance = sums[1] / count - error * error;
  return {mean + error, variance > 0 || std::isnan(variance) ? variance : 0};
}

/// The largest; a NaN may be passed over.
template <class C>
C row_max(const C* x, int64_t n) {
  using V = Vec<C>;
  V most(-std::numeric_limits<double>::infinity());
  int64_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) most = V(hn::Max(most.raw, V::load(x + i).raw));
  C max = hn::GetLane(hn::MaxOfLanes(typename V::D(), most.raw));
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;
  return max;
}

template <class C>
HWY_INLINE Vec<C> minus(Vec<C> x, const Split<C>& c) {
  return (x - Vec<C>(static_cast<double>(c.high))) - Vec<C>(static_cast<double>(c.low));
}

template <class C>
void row_exp_minus(const C* x, Split<C> c, C scale, C* y, int64_t n) {
  const Vec<C> factor(static_cast<double>(scale));
  for_vectors<C>(
      n, [=](auto load, auto store) HWY_ATTR { store(y, factor * exp(minus(load(x), c))); });
}

/// y = e^(x - c); returns Σ y. The sum is taken from the registers: reading back what has just been
/// stored costs more than a short row.
template <class C>
HWY_INLINE double exp_minus_and_sum(const C* x, Split<C> c, C* y, int64_t n) {
  using V = Vec<C>;
  F64 sum(0.0);
  int64_t i = 0;
  for (; i + V::lanes <= n; i += V::lanes) {
    const V e = exp(minus(V::load(x + i), c));
    e.store(y + i);
    sum = sum + widened_sum(e);
  }
  const int64_t rest = n - i;
  if (rest > 0) {
    const V e = exp(minus(V::load_first(x + i, rest), c));
    e.store_first(y + i, rest);
    const typename V::D d;
    sum = sum + widened_sum(V(hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(rest)), e.raw)));
  }
  return sum_of_lanes(sum);
}

template <class C>
void row_softmax(const C* x, C* y, int64_t n) {
  const Split<C> max(static_cast<double>(row_max(x, n)));
  const Vec<C> sum(exp_minus_and_sum(x, max, y, n));
  for_vectors<C>(n, [=](auto load, auto store) HWY_ATTR { store(y, load(y) / sum); });
}

template <class C>
void row_softmax_grad(const C* dy, const C* y, C* dx, int64_t n) {
  const Vec<C> mean(row_dot(dy, y, n));
  for_vectors<C>(n,
                 [=](auto load, auto store) HWY_ATTR { store(dx, load(y) * (load(dy) - mean)); });
}

template <class C>
double row_logsumexp(const C* x, int64_t n, C* scratch) {
  const auto max = static_cast<double>(row_max(x, n));
  const double shift = std::isinf(max) ? 0 : max;  // e^-∞ is 0, e^∞ is ∞
  return shift + std::log(exp_minus_and_sum(x, Split<C>(shift), scratch, n));
}

/// The maximum is taken away before the logarithm, which would be lost beside a large one.
template <class C>
void row_log_softmax(const C* x, C* y, int64_t n) {
  const auto max = static_cast<double>(row_max(x, n));
  const double shift = std::isinf(max) ? 0 : max;
  const Vec<C> high(shift), low(std::log(exp_minus_and_sum(x, Split<C>(shift), y, n)));
  for_vectors<C>(n, [=](auto load, auto store) HWY_ATTR { store(y, (load(x) - high) - low); });
}

template <class C>
void row_log_softmax_grad(const C* dy, const C* y, C* dx, int64_t n) {
  const Vec<C> sum(row_sum(dy, n));
  for_vectors<C>(
      n, [=](auto load, auto store) HWY_ATTR { store(dx, fma(-exp(load(y)), sum, load(dy))); });
}

template <class C>
HWY_INLINE Vec<C> standard(Vec<C> x, const Affine<C>& a) {
  return minus(x, a.mean) * Vec<C>(static_cast<double>(a.scale));
}

template <class C>
void row_normalize(const C* x, const Affine<C>& a, C* y, int64_t n) {
  for_vectors<C>(n, [=](auto load, auto store) HWY_ATTR {
    Vec<C> v = standard(load(x), a);
    if (a.w) v = v * load(a.w);
    if (a.b) v = v + load(a.b);
    store(y, v);
  });
}

template <class C>
void row_normalize_grad(const C* dy, const C* x, const Affine<C>& a, C* dx, int64_t n, C* scratch) {
  C* const g = dx;
  C* const xhat = scratch;
  for_vectors<C>(n, [=](auto load, auto store) HWY_ATTR {
    store(g, a.w ? load(dy) * load(a.w) : load(dy));
    store(xhat, standard(load(x), a));
  });
  double sums[2];
  accumulate<2>(
      n, sums,
      [g, xhat](int64_t i, F64* t) HWY_ATTR {
        t[0] = load_wide(g + i);
        t[1] = t[0] * load_wide(xhat + i);
      },
      [g, xhat](int64_t i, double* t) {
        t[0] = static_cast<double>(g[i]);
        t[1] = t[0] * static_cast<double>(xhat[i]);
      });
  const Vec<C> mean_g(sums[0] / static_cast<double>(n));
  const Vec<C> mean_gx(sums[1] / static_cast<double>(n));
  const Vec<C> scale(static_cast<double>(a.scale));
  for_vectors<C>(n, [=](auto load, auto store) HWY_ATTR {
    store(dx, scale * fma(-load(xhat), mean_gx, load(g) - mean_g));
  });
}

template <class C>
void row_affine_grad(const C* dy, const C* x, const Affine<C>& a, C* dw, C* db, int64_t n) {
  for_vectors<C>(n, [=](auto load, auto store) HWY_ATTR {
    const Vec<C> g = load(dy);
    if (dw) store(dw, fma(g, standard(load(x), a), load(dw)));
    if (db) store(db, load(db) + g);
  });
}

template <class C>
const RowMath<C>& row_math_here() {
  static constexpr RowMath<C> table = {
      .sum = row_sum<C>,
      .dot = row_dot<C>,
      .moments = row_moments<C>,
      .softmax = row_softmax<C>,
      .softmax_grad = row_softmax_grad<C>,
      .log_softmax = row_log_softmax<C>,
      .log_softmax_grad = row_log_softmax_grad<C>,
      .logsumexp = row_logsumexp<C>,
      .exp_minus = row_exp_minus<C>,
      .normalize = row_normalize<C>,
      .normalize_grad = row_normalize_grad<C>,
      .affine_grad = row_affine_grad<C>,
  };
  return table;
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
