// Rearranging copies for the matrix product, for each instruction set: packing A and B for the
// tiles, and moving C where the tiles cannot write it. Included inside foreach_target.
#if defined(ACCRUE_KERNELS_CPU_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_GEMM_PACK_INL_H
#undef ACCRUE_KERNELS_CPU_GEMM_PACK_INL_H
#else
#define ACCRUE_KERNELS_CPU_GEMM_PACK_INL_H
#endif
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#include <accrue/core/half.h>

#include <accrue/kernels/cpu/gemm_tile-inl.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What may happen right of the last column of a row of the target: nothing, or anything within one
// vector, since a later row or nobody uses it.
enum class Margin : uint8_t { keep, spoil };

template <Margin kMargin, class V, class D, class T>
HWY_INLINE void store_columns(V value, D d, T* to, int64_t columns) {
  if (kMargin == Margin::spoil || columns >= static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(value, d, to);
  } else {
    hn::BlendedStore(value, hn::FirstN(d, static_cast<size_t>(columns)), d, to);
  }
}

// to[r * to_row + j] = from[r * from_row + j]
template <Margin kMargin, class T>
void copy_rows(const T* from, int64_t from_row, int64_t rows, int64_t columns, T* to,
               int64_t to_row) {
  constexpr Lanes<T> d;
  constexpr int64_t n = kLanes<T>;
  const auto last = hn::FirstN(d, static_cast<size_t>((columns - 1) % n + 1));
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    int64_t j = 0;
    for (; j + n < columns; j += n) hn::StoreU(hn::LoadU(d, from + j), d, to + j);
    store_columns<kMargin>(hn::MaskedLoad(last, d, from + j), d, to + j, columns - j);
  }
}

#if HWY_TARGET == HWY_SCALAR
template <Margin kMargin, class T>
void transpose(const T* from, int64_t from_row, int64_t rows, int64_t columns, T* to,
               int64_t to_row) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) to[r * to_row + j] = from[j * from_row + r];
  }
}
#else
template <class D>
inline constexpr int64_t kInBlock = 16 / sizeof(hn::TFromD<D>);  // numbers in 16 bytes
template <class D>
inline constexpr int64_t kBlocks = static_cast<int64_t>(hn::MaxLanes(D())) / kInBlock<D>;

// Transposes the square of kInBlock numbers in each 16-byte block of v[0], v[1], …
template <class D>
requires(sizeof(hn::TFromD<D>) == 4) HWY_INLINE void transpose_in_blocks(D d, hn::Vec<D>* v) {
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> wide;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1]));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3]));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
  v[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
}
template <class D>
requires(sizeof(hn::TFromD<D>) == 8) HWY_INLINE void transpose_in_blocks(D d, hn::Vec<D>* v) {
  const auto low = hn::InterleaveLower(d, v[0], v[1]);
  v[1] = hn::InterleaveUpper(d, v[0], v[1]);
  v[0] = low;
}

// Transposes the square of 16-byte blocks of v[0], v[step], v[2 * step], …
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>* v, int64_t step) {
  if constexpr (kBlocks<D> == 2) {
    const auto low = hn::ConcatLowerLower(d, v[step], v[0]);
    v[step] = hn::ConcatUpperUpper(d, v[step], v[0]);
    v[0] = low;
  } else if constexpr (kBlocks<D> == 4) {
    const auto low02 = hn::ConcatLowerLower(d, v[2 * step], v[0]);
    const auto low13 = hn::ConcatLowerLower(d, v[3 * step], v[step]);
    const auto high02 = hn::ConcatUpperUpper(d, v[2 * step], v[0]);
    const auto high13 = hn::ConcatUpperUpper(d, v[3 * step], v[step]);
    v[0] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low13), low02);
    v[step] = hn::OddEvenBlocks(low13, hn::SwapAdjacentBlocks(low02));
    v[2 * step] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high13), high02);
    v[3 * step] = hn::OddEvenBlocks(high13, hn::SwapAdjacentBlocks(high02));
  }
}

// The 16 bytes at rows[0], rows[step], rows[2 * step], … side by side in one vector.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* const* rows, int64_t step, int64_t at) {
  if constexpr (kBlocks<D> == 1) {
    return hn::LoadU(d, rows[0] + at);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + kBlocks<D> / 2 * step, step, at),
                       load_blocks(half, rows, step, at));
  }
}

// to[r * to_row + j] = from[j * from_row + r]. Column groups go from right to left, so that what
// one row spoils is written after it.
template <Margin kMargin, class T>
void transpose(const T* from, int64_t from_row, int64_t rows, int64_t columns, T* to,
               int64_t to_row) {
  constexpr Lanes<T> d;
  constexpr int64_t n = kLanes<T>;
  constexpr int64_t in_block = kInBlock<Lanes<T>>;
  for (int64_t j = (columns - 1) / n * n; j >= 0; j -= n) {
    const T* sources[n];
    for (int64_t i = 0; i < n; ++i) sources[i] = from + std::min(j + i, columns - 1) * from_row;
    int64_t r = 0;
    for (; r + n <= rows; r += n) {  // n x n at a time: blocks, then numbers within them
      hn::Vec<Lanes<T>> v[n];
      HWY_UNROLL(16)
      for (int64_t i = 0; i < n; ++i) v[i] = hn::LoadU(d, sources[i] + r);
      HWY_UNROLL(16)
      for (int64_t i = 0; i < n; i += in_block) transpose_in_blocks(d, v + i);
      HWY_UNROLL(16)
      for (int64_t q = 0; q < in_block; ++q) transpose_blocks(d, v + q, in_block);
      HWY_UNROLL(16)
      for (int64_t b = 0; b < n / in_block; ++b) {
        HWY_UNROLL(4)
        for (int64_t q = 0; q < in_block; ++q) {
          const int64_t row = b * in_block + q;
          store_columns<kMargin>(v[row], d, to + (r + row) * to_row + j, columns - j);
        }
      }
    }
    for (; r + in_block <= rows; r += in_block) {
      hn::Vec<Lanes<T>> v[in_block];
      HWY_UNROLL(4)
      for (int64_t q = 0; q < in_block; ++q) v[q] = load_blocks(d, sources + q, in_block, r);
      transpose_in_blocks(d, v);
      HWY_UNROLL(4)
      for (int64_t q = 0; q < in_block; ++q) {
        store_columns<kMargin>(v[q], d, to + (r + q) * to_row + j, columns - j);
      }
    }
    const int64_t width = std::min(n, columns - j);
    for (; r < rows; ++r) {
      for (int64_t i = 0; i < width; ++i) to[r * to_row + j + i] = sources[i][r];
    }
  }
}
#endif

// Where the processor converts; Highway's own conversion of float16 knows no infinity.
template <class From>
inline constexpr bool kWidens = (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 ||
                                 HWY_TARGET == HWY_NEON) &&
                                (std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>);

// to[r * to_row + j] = from[r * from_row + j], 16-bit numbers to float.
template <Margin kMargin, class From>
void widen_rows(const From* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                int64_t to_row) {
  using Half = std::conditional_t<std::is_same_v<From, float16>, hwy::float16_t, hwy::bfloat16_t>;
  constexpr Lanes<float> d;
  constexpr hn::Rebind<Half, Lanes<float>> dh;
  constexpr int64_t n = kLanes<float>;
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    const Half* row = reinterpret_cast<const Half*>(from);
    int64_t j = 0;
    for (; j + n <= columns; j += n)
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, row + j)), d, to + j);
    if (j == columns) continue;
    Half rest[n] = {};
    std::memcpy(rest, row + j, static_cast<size_t>(columns - j) * sizeof(Half));
    store_columns<kMargin>(hn::PromoteTo(d, hn::LoadU(dh, rest)), d, to + j, columns - j);
  }
}

// to[r * to_row + j] = from[j * from_row + r], 16-bit numbers to float.
template <Margin kMargin, class From>
void widen_transposed(const From* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                      int64_t to_row) {
  constexpr int64_t n = kLanes<float>;
  constexpr int64_t most = 64;  // a strip of n x 64 floats stays in L1
  float strip[n * most];
  for (int64_t j = (columns - 1) / n * n; j >= 0; j -= n) {
    const int64_t width = std::min(n, columns - j);
    for (int64_t r = 0; r < rows; r += most) {
      const int64_t length = std::min(most, rows - r);
      widen_rows<Margin::keep>(from + j * from_row + r, from_row, width, length, strip, most);
      transpose<kMargin>(strip, most, length, width, to + r * to_row + j, to_row);
    }
  }
}

// to[r * to_row + j] = from[r * from_row + j * from_column], converted; `to` has unit columns.
// With Margin::spoil up to one vector behind each row of `to` may be overwritten, and rows are
// written in order, so packed rows may be narrower than a vector.
template <Margin kMargin, class From, class To>
void rearrange(const From* from, int64_t from_row, int64_t from_column, int64_t rows,
               int64_t columns, To* to, int64_t to_row) {
  if (rows <= 0 || columns <= 0) return;
  if constexpr (std::is_same_v<From, To> && std::is_floating_point_v<From>) {
    if (from_column == 1) return copy_rows<kMargin>(from, from_row, rows, columns, to, to_row);
    if (from_row == 1) return transpose<kMargin>(from, from_column, rows, columns, to, to_row);
  }
  if constexpr (kWidens<From> && std::is_same_v<To, float>) {
    if (from_column == 1) return widen_rows<kMargin>(from, from_row, rows, columns, to, to_row);
    if (from_row == 1)
      return widen_transposed<kMargin>(from, from_column, rows, columns, to, to_row);
  }
  for (int64_t r = 0; r < rows; ++r) {
    if (from_column == 0) {
      std::fill_n(to + r * to_row, columns, static_cast<To>(from[r * from_row]));
      continue;
    }
    for (int64_t j = 0; j < columns; ++j) {
      to[r * to_row + j] = static_cast<To>(from[r * from_row + j * from_column]);
    }
  }
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
