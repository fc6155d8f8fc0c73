#include <algorithm>

#include <accrue/core/convert.h>

#include <accrue/kernels/cpu/convert.h>
#include <accrue/kernels/cpu/half_rows.h>

namespace accrue::kernels::cpu {
namespace {

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
