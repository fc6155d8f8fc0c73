#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <accrue/kernels/cpu/convert.h>
#include <accrue/kernels/cpu/half_rows.h>

namespace accrue::kernels::cpu {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value >= From(0x1p63)) return static_cast<To>(std::numeric_limits<int64_t>::max());
    if (value < From(-0x1p63)) return static_cast<To>(std::numeric_limits<int64_t>::min());
    return static_cast<To>(static_cast<int64_t>(value));
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

// A double becomes a 16-bit number by way of float: from the nearest float away from a tie of the
// 16-bit format, so that the result is rounded once.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1U) return nearest;
  const bool away = std::fabs(static_cast<double>(nearest)) < std::fabs(value);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}
template <>
bfloat16 convert<bfloat16, double>(double value) {
  return bfloat16(round_to_odd(value));
}
template <>
float16 convert<float16, double>(double value) {
  return float16(round_to_odd(value));
}

template <class T, class C>
void gather(const void* from, const Tile& tile, C* to) {
  const T* row = static_cast<const T*>(from);
  for (int64_t r = 0; r < tile.rows; ++r, row += tile.row_stride, to += tile.cols) {
    if (tile.col_stride == 1) {
      if constexpr (kIsHalf<T> && std::is_same_v<C, float>) {
        widen(row, tile.cols, to);
      } else {
        for (int64_t c = 0; c < tile.cols; ++c) to[c] = static_cast<C>(row[c]);
      }
    } else if (tile.col_stride == 0) {
      std::fill_n(to, tile.cols, static_cast<C>(*row));
    } else {
      for (int64_t c = 0; c < tile.cols; ++c) to[c] = static_cast<C>(row[c * tile.col_stride]);
    }
  }
}

template <class T, class C>
void scatter(const C* from, const Tile& tile, void* to, Write write) {
  T* row = static_cast<T*>(to);
  for (int64_t r = 0; r < tile.rows; ++r, row += tile.row_stride, from += tile.cols) {
    if constexpr (kIsHalf<T> && std::is_same_v<C, float>) {
      if (write == Write::overwrite && tile.col_stride == 1) {
        round_to(from, tile.cols, row);
        continue;
      }
    }
    if (write == Write::overwrite) {
      for (int64_t c = 0; c < tile.cols; ++c) row[c * tile.col_stride] = convert<T>(from[c]);
    } else {
      for (int64_t c = 0; c < tile.cols; ++c) {
        T& element = row[c * tile.col_stride];
        element = convert<T>(static_cast<C>(element) + from[c]);
      }
    }
  }
}

}  // namespace

template <class C>
Gather<C> gather_of(DType from) {
  return visit_any(from, []<class T>() -> Gather<C> { return gather<T, C>; });
}
template <class C>
Scatter<C> scatter_of(DType to) {
  return visit_any(to, []<class T>() -> Scatter<C> { return scatter<T, C>; });
}
template Gather<float> gather_of(DType);
template Gather<double> gather_of(DType);
template Gather<int64_t> gather_of(DType);
template Scatter<float> scatter_of(DType);
template Scatter<double> scatter_of(DType);
template Scatter<int64_t> scatter_of(DType);

}  // namespace accrue::kernels::cpu
