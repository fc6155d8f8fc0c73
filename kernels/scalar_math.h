// The functions that functors.h is written with, for one number: float, double, and int64_t where
// it makes sense. For vectors of numbers the same names are in cpu/simd.h.
//
// Now read: functors.h.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <accrue/core/macros.h>

namespace accrue::functor {

// clang-format off
ACCRUE_HD inline float  exp(float x)   { return std::exp(x); }
ACCRUE_HD inline double exp(double x)  { return std::exp(x); }
ACCRUE_HD inline float  log(float x)   { return std::log(x); }
ACCRUE_HD inline double log(double x)  { return std::log(x); }
ACCRUE_HD inline float  sqrt(float x)  { return std::sqrt(x); }
ACCRUE_HD inline double sqrt(double x) { return std::sqrt(x); }
ACCRUE_HD inline float  sin(float x)   { return std::sin(x); }
ACCRUE_HD inline double sin(double x)  { return std::sin(x); }
ACCRUE_HD inline float  cos(float x)   { return std::cos(x); }
ACCRUE_HD inline double cos(double x)  { return std::cos(x); }
ACCRUE_HD inline float  tanh(float x)  { return std::tanh(x); }
ACCRUE_HD inline double tanh(double x) { return std::tanh(x); }
ACCRUE_HD inline float  pow(float x, float y)   { return std::pow(x, y); }
ACCRUE_HD inline double pow(double x, double y) { return std::pow(x, y); }
ACCRUE_HD inline float   abs(float x)   { return std::fabs(x); }
ACCRUE_HD inline double  abs(double x)  { return std::fabs(x); }
ACCRUE_HD inline int64_t abs(int64_t x) { return x < 0 ? -x : x; }
// clang-format on

/// exp(-x²/2), to the last places also where x² has lost some: x = h + l, and h² is exact.
ACCRUE_HD inline double gauss(double x) {
  double a = std::fabs(x);
  a = a > 40.0 ? 40.0 : a;
  const auto h = static_cast<double>(static_cast<float>(a));
  return std::exp(-0.5 * h * h) * std::exp(-0.5 * (a - h) * (a + h));
}
ACCRUE_HD inline float gauss(float x) {
  return static_cast<float>(std::exp(-0.5 * static_cast<double>(x) * static_cast<double>(x)));
}

/// The probability that a standard normal number is below x: (1 + erf(x/√2)) / 2.
ACCRUE_HD inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }
ACCRUE_HD inline float normal_cdf(float x) {
  return static_cast<float>(normal_cdf(static_cast<double>(x)));
}

template <class T>
ACCRUE_HD T where(bool condition, T a, T b) {
  return condition ? a : b;
}

/// A number of Params as a T; what an integer cannot hold becomes the nearest it can.
template <class T>
ACCRUE_HD T as(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (!(value > -0x1p63)) return std::numeric_limits<T>::min();
    if (value >= 0x1p63) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

}  // namespace accrue::functor
