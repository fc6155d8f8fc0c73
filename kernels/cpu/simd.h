// Vec<T>: the lanes that one instruction handles, with the operators and functions that functors.h
// is written with. The only file of the elementwise kernels that names Highway's operations.
//
// Included again for each target of targets.h, inside hwy/foreach_target.h; so no #pragma once.
// float: exp, log, tanh and the normal distribution are computed here, a few units in the last
// place from the truth everywhere. double, and sin, cos and pow: lane by lane by the C library.
#if defined(ACCRUE_KERNELS_CPU_SIMD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_SIMD_H
#undef ACCRUE_KERNELS_CPU_SIMD_H
#else
#define ACCRUE_KERNELS_CPU_SIMD_H
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <hwy/highway.h>

#include <accrue/kernels/scalar_math.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// clang-format off
template <class T>
struct Mask {
  using D = hn::ScalableTag<T>;
  hn::Mask<D> raw;
  friend HWY_INLINE Mask operator|(Mask a, Mask b) { return {hn::Or(a.raw, b.raw)}; }
  friend HWY_INLINE Mask operator&(Mask a, Mask b) { return {hn::And(a.raw, b.raw)}; }
};

template <class T>
struct Vec {
  using D = hn::ScalableTag<T>;
  using Raw = hn::Vec<D>;
  static constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(D()));
  Raw raw;

  Vec() = default;
  HWY_INLINE explicit Vec(Raw r) : raw(r) {}
  HWY_INLINE explicit Vec(double value) : raw(hn::Set(D(), static_cast<T>(value))) {}

  HWY_INLINE static Vec load(const T* from) { return Vec(hn::LoadU(D(), from)); }
  HWY_INLINE void store(T* to) const { hn::StoreU(raw, D(), to); }
  /// The first n < lanes; the other lanes are 0.
  HWY_INLINE static Vec load_first(const T* from, int64_t n) {
#if HWY_TARGET <= HWY_AVX2
    return Vec(hn::MaskedLoad(hn::FirstN(D(), static_cast<size_t>(n)), D(), from));
#else  // elsewhere a masked load may read past the end
    HWY_ALIGN T buffer[lanes] = {};
    for (int64_t i = 0; i < n; ++i) buffer[i] = from[i];
    return Vec(hn::Load(D(), buffer));
#endif
  }
  HWY_INLINE void store_first(T* to, int64_t n) const {
#if HWY_TARGET <= HWY_AVX2
    hn::BlendedStore(raw, hn::FirstN(D(), static_cast<size_t>(n)), D(), to);
#else
    HWY_ALIGN T buffer[lanes];
    hn::Store(raw, D(), buffer);
    for (int64_t i = 0; i < n; ++i) to[i] = buffer[i];
#endif
  }

  friend HWY_INLINE Vec operator+(Vec a, Vec b) { return Vec(hn::Add(a.raw, b.raw)); }
  friend HWY_INLINE Vec operator-(Vec a, Vec b) { return Vec(hn::Sub(a.raw, b.raw)); }
  friend HWY_INLINE Vec operator*(Vec a, Vec b) { return Vec(hn::Mul(a.raw, b.raw)); }
  friend HWY_INLINE Vec operator/(Vec a, Vec b) { return Vec(hn::Div(a.raw, b.raw)); }
  friend HWY_INLINE Vec operator-(Vec a) { return Vec(hn::Neg(a.raw)); }
  friend HWY_INLINE Mask<T> operator==(Vec a, Vec b) { return {hn::Eq(a.raw, b.raw)}; }
  friend HWY_INLINE Mask<T> operator!=(Vec a, Vec b) { return {hn::Not(hn::Eq(a.raw, b.raw))}; }  // hn::Ne is false for NaN on some targets
  friend HWY_INLINE Mask<T> operator<(Vec a, Vec b) { return {hn::Lt(a.raw, b.raw)}; }
  friend HWY_INLINE Mask<T> operator<=(Vec a, Vec b) { return {hn::Le(a.raw, b.raw)}; }
  friend HWY_INLINE Mask<T> operator>(Vec a, Vec b) { return {hn::Gt(a.raw, b.raw)}; }
  friend HWY_INLINE Mask<T> operator>=(Vec a, Vec b) { return {hn::Ge(a.raw, b.raw)}; }
};

template <class T> HWY_INLINE Vec<T> where(Mask<T> m, Vec<T> a, Vec<T> b) { return Vec<T>(hn::IfThenElse(m.raw, a.raw, b.raw)); }
template <class T> HWY_INLINE Vec<T> abs(Vec<T> x) { return Vec<T>(hn::Abs(x.raw)); }
template <class T> HWY_INLINE Vec<T> sqrt(Vec<T> x) { return Vec<T>(hn::Sqrt(x.raw)); }
/// a * b + c, rounded once where the target can.
template <class T> HWY_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) { return Vec<T>(hn::MulAdd(a.raw, b.raw, c.raw)); }
/// A number of Params in every lane.
template <class V> HWY_INLINE V as(double value) { return V(value); }

/// f of every lane.
template <class T>
HWY_INLINE Vec<T> each(Vec<T> x, T (*f)(T)) {
  HWY_ALIGN T lane[Vec<T>::lanes];
  x.store(lane);
  for (T& v : lane) v = f(v);
  return Vec<T>::load(lane);
}
template <class T> HWY_INLINE Vec<T> sin(Vec<T> x) { return each<T>(x, functor::sin); }
template <class T> HWY_INLINE Vec<T> cos(Vec<T> x) { return each<T>(x, functor::cos); }
template <class T>
HWY_INLINE Vec<T> pow(Vec<T> a, Vec<T> b) {
  HWY_ALIGN T base[Vec<T>::lanes];
  HWY_ALIGN T exponent[Vec<T>::lanes];
  a.store(base);
  b.store(exponent);
  for (int64_t i = 0; i < Vec<T>::lanes; ++i) base[i] = functor::pow(base[i], exponent[i]);
  return Vec<T>::load(base);
}
HWY_INLINE Vec<double> exp(Vec<double> x) { return each<double>(x, functor::exp); }
HWY_INLINE Vec<double> log(Vec<double> x) { return each<double>(x, functor::log); }
HWY_INLINE Vec<double> tanh(Vec<double> x) { return each<double>(x, functor::tanh); }
HWY_INLINE Vec<double> gauss(Vec<double> x) { return each<double>(x, functor::gauss); }
HWY_INLINE Vec<double> normal_cdf(Vec<double> x) { return each<double>(x, functor::normal_cdf); }
// clang-format on

// ---- float ----

using F32 = Vec<float>;
using I32 = hn::RebindToSigned<F32::D>;

/// c0 + c1 x + c2 x² ..., highest coefficient first.
template <class... C>
HWY_INLINE F32 polynomial(F32 x, double highest, C... others) {
  F32 sum(highest);
  ((sum = fma(sum, x, F32(others))), ...);
  return sum;
}

/// e^(x + correction) for |correction| much less than 1: 2^k e^r, k = round(x / ln 2).
HWY_INLINE F32 exp_of_sum(F32 x, F32 correction) {
  // Beyond these it is 0 or infinite; a NaN fails both comparisons and stays.
  x = where(x < F32(-104), F32(-104), where(x > F32(89), F32(89), x));
  const F32 shift(12582912);  // 1.5 * 2^23: adding it leaves a whole number in the low bits
  const F32 shifted = fma(x, F32(1.4426950408889634), shift);
  const F32 k = shifted - shift;
  // ln 2 in two parts; k times the first is exact.
  F32 r = fma(k, F32(-0.693359375), x);
  r = fma(k, F32(2.12194440054690583e-4), r) + correction;
  const F32 p = polynomial(r, 0.00019892991763, 0.00139354518439, 0.00833330908652, 0.0416664483657,
                           0.166666666835, 0.500000001516);
  const F32 y = F32(1) + fma(r * r, p, r);
  // 2^k as two factors, since 2^k alone may overflow or be subnormal.
  const I32 d;
  const auto whole = hn::Sub(hn::BitCast(d, shifted.raw), hn::BitCast(d, shift.raw));
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(d, 127);
  const F32 factor(hn::BitCast(F32::D(), hn::ShiftLeft<23>(hn::Add(half, bias))));
  const F32 other(hn::BitCast(F32::D(), hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias))));
  return y * factor * other;
}
HWY_INLINE F32 exp(F32 x) { return exp_of_sum(x, F32(0)); }

/// ln x = k ln 2 + ln(1 + f), x = 2^k (1 + f), 1 + f between √½ and √2.
HWY_INLINE F32 log(F32 x) {
  const I32 d;
  const double infinity = std::numeric_limits<double>::infinity();
  const Mask<float> tiny = x < F32(0x1p-126);
  const F32 normal = where(tiny, x * F32(0x1p23), x);
  const auto root_half = hn::Set(d, 0x3f3504f3);
  const auto bits = hn::Sub(hn::BitCast(d, normal.raw), root_half);
  const F32 k =
      F32(hn::ConvertTo(F32::D(), hn::ShiftRight<23>(bits))) - where(tiny, F32(23), F32(0));
  const auto mantissa = hn::Add(hn::And(bits, hn::Set(d, 0x7fffff)), root_half);
  const F32 f = F32(hn::BitCast(F32::D(), mantissa)) - F32(1);
  const F32 p =
      polynomial(f, 0.0697161147145, -0.114797338466, 0.116854199235, -0.124256873315,
                 0.142490576457, -0.166678023195, 0.200007157489, -0.24999996958, 0.3333333118);
  const F32 f2 = f * f;
  F32 tail = fma(f2 * f, p, k * F32(-2.12194440054690583e-4));
  tail = fma(f2, F32(-0.5), tail);
  F32 y = fma(k, F32(0.693359375), f + tail);
  y = where(x == F32(infinity), x, y);
  y = where(x == F32(0), F32(-infinity), y);
  return where(x >= F32(0), y, F32(std::numeric_limits<double>::quiet_NaN()));
}

/// Near 0 a polynomial, elsewhere 1 - 2 / (e^2|x| + 1).
HWY_INLINE F32 tanh(F32 x) {
  const F32 a = abs(x);
  const F32 x2 = x * x;
  const F32 p = polynomial(x2, 0.00229274481618, -0.00834394551584, 0.021768918651,
                           -0.0539592595772, 0.133333035569, -0.333333331721);
  const F32 near = where(x2 == F32(0), x, fma(x * x2, p, x));  // -0 stays -0
  const F32 far = F32(1) - F32(2) / (exp(a + a) + F32(1));
  return where(a > F32(0.625), where(x < F32(0), -far, far), near);
}

/// e^(-x²/2). x² is kept in two floats, since an error of x² in the exponent is one of the result.
HWY_INLINE F32 gauss(F32 x) {
  F32 a = abs(x);
  a = where(a > F32(20), F32(20), a);
  const I32 d;
  const F32 head(hn::BitCast(F32::D(), hn::And(hn::BitCast(d, a.raw), hn::Set(d, -4096))));
  const F32 high = F32(-0.5) * head * head;  // exact: head has 12 bits
  const F32 low = F32(-0.5) * (a - head) * (a + head);
  const F32 sum = high + low;
  return exp_of_sum(sum, (high - sum) + low);
}

/// Beyond |x|: e^(-x²/2) times a slowly varying function, fitted in t = 1 / (1 + |x|/4).
HWY_INLINE F32 normal_cdf(F32 x) {
#if HWY_TARGET == HWY_SCALAR  // no fused multiply-add to recover the roundings with
  return each<float>(x, functor::normal_cdf);
#else
  F32 a = abs(x);
  a = where(a > F32(20), F32(20), a);
  const F32 u = fma(a, F32(0.25), F32(1));
  const F32 t = F32(1) / u;
  // What the roundings of u and t have lost, since the result is three times as sensitive to t.
  const F32 u_rest = fma(a, F32(0.25), F32(1) - u);
  const F32 t_rest = t * (fma(-t, u, F32(1)) - t * u_rest);
  const F32 p = polynomial((t - F32(0.609375)) + t_rest, 0.0158099655566, 0.0279527633746,
                           -0.0325512290574, -0.0889162906775, 0.0118039828676, 0.262296870795,
                           0.484247357697, 0.52753675958, 0.403324405524, 0.227220428964);
  const F32 tail = gauss(x) * fma(t, p, t_rest * p);
  return where(x > F32(0), F32(1) - tail, tail);
#endif
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
