// Numbers at the edges, and what is near enough. Users: special_values_test.cpp,
// special_places_test.cpp.
#pragma once
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>

namespace accrue::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr long double kPi = 3.141592653589793238462643L;
inline constexpr double kFree = 1234567;  ///< nothing is promised here
/// On device cuda, which may be the executor's, fewer: parts of a vector, of a warp, of a block.
inline std::vector<int64_t> lengths() {
  if (default_device().is_cpu()) return {3, 8, 17, 64, 1031};
  return {3, 17, 1031};
}

inline Tensor make(const std::vector<double>& v, const Dims& shape, DType dtype) {
  return tensor(std::span<const double>(v), shape, dtype);
}
inline std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

/// Smallest subnormal and largest finite number of a dtype.
inline double least(DType t) {
  return t == DType::float32 ? double{std::numeric_limits<float>::denorm_min()}
                             : std::numeric_limits<double>::denorm_min();
}
inline double most(DType t) {
  return t == DType::float32 ? double{std::numeric_limits<float>::max()}
                             : std::numeric_limits<double>::max();
}
inline double rounded(double x, DType t) {
  return t == DType::float32 ? static_cast<double>(static_cast<float>(x)) : x;
}

inline ::testing::AssertionResult is(double got, double right, DType t) {
  if (right == kFree) return ::testing::AssertionSuccess();
  const double r = rounded(right, t);
  const double unit = t == DType::float32 ? 0x1p-23 : 0x1p-52;
  const bool same = std::isnan(r)   ? std::isnan(got)
                    : std::isinf(r) ? got == r
                                    : std::abs(got - r) <= 4 * unit * std::abs(r) + least(t);
  if (same) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << got << ", not " << r;
}

}  // namespace accrue::testing
