// Small arithmetic that the kernels share and the standard library lacks.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace accrue::kernels::cpu {

/// a / b rounded up, for b > 0 and a ≥ 0; at most 0 for a < 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// The least multiple of `unit` that is n or more, for n ≥ 0.
constexpr int64_t round_up(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

/// std::isnan, for integers too: none is.
template <class T>
constexpr bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

}  // namespace accrue::kernels::cpu
