// One number as another element type: the rule behind cast(), to_vector() and every kernel that
// reads one dtype and writes another.
//
// To bool it is `!= 0`. To an integer a fraction is cut towards 0, and what int64 does not hold is
// first its nearest, NaN its 0; narrower integers then wrap around. To 16 bits it is rounded once.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <accrue/core/half.h>

namespace accrue {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

namespace detail {
/// The float next to `value`, and away from a tie of a 16-bit format, so that a double which
/// becomes a 16-bit number by way of it is rounded once.
ACCRUE_HD inline float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1U) return nearest;
  const bool away = std::fabs(static_cast<double>(nearest)) < std::fabs(value);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}
}  // namespace detail

template <class To, class From>
ACCRUE_HD To convert(From value) {
  if constexpr (kIsHalf<From> && !std::is_same_v<To, From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value >= From(0x1p63)) return static_cast<To>(std::numeric_limits<int64_t>::max());
    if (value < From(-0x1p63)) return static_cast<To>(std::numeric_limits<int64_t>::min());
    return static_cast<To>(static_cast<int64_t>(value));
  } else if constexpr (kIsHalf<To> && std::is_same_v<From, double>) {
    return To(detail::round_to_odd(value));
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace accrue
