// The register tiles of the convolution, for each instruction set: MR rows by NV vectors of results
// stay in registers while the taps, or the pixels, run. Included by conv_tile.cpp inside
// foreach_target.
#if defined(ACCRUE_KERNELS_CPU_CONV_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_CONV_TILE_INL_H
#undef ACCRUE_KERNELS_CPU_CONV_TILE_INL_H
#else
#define ACCRUE_KERNELS_CPU_CONV_TILE_INL_H
#endif
#include <array>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/conv_tile.h>
#include <accrue/kernels/cpu/gemm_pack-inl.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where one vector of an image reads and writes.
struct ConvPlace {
  int64_t in;
  int64_t out;
  int64_t count;
};

template <class T, int MR, int NV>
HWY_INLINE void conv_tile(const ConvSweep<T>& s, const ConvPlace* place) {
  constexpr Lanes<T> d;
  using V = hn::Vec<Lanes<T>>;
  V sum[MR][NV];
  const T* in[NV];
  HWY_UNROLL(4)
  for (int v = 0; v < NV; ++v) in[v] = s.in + place[v].in;
  HWY_UNROLL(16)
  for (int r = 0; r < MR; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < NV; ++v) sum[r][v] = hn::Set(d, s.start[r]);
  }
  const T* w = s.w;
  for (int64_t p = 0; p < s.taps_count; ++p, w += MR) {
    V x[NV];
    HWY_UNROLL(4)
    for (int v = 0; v < NV; ++v) x[v] = hn::LoadU(d, in[v] + s.taps[p]);
    HWY_UNROLL(16)
    for (int r = 0; r < MR; ++r) {
      const V left = hn::Set(d, w[r]);
      HWY_UNROLL(4)
      for (int v = 0; v < NV; ++v) sum[r][v] = hn::MulAdd(left, x[v], sum[r][v]);
    }
  }
  HWY_UNROLL(4)
  for (int v = 0; v < NV; ++v) {
    T* to = s.out + place[v].out;
    const bool whole = s.whole_vectors || place[v].count == kLanes<T>;
    const auto some = hn::FirstN(d, static_cast<size_t>(place[v].count));
    HWY_UNROLL(16)
    for (int r = 0; r < MR; ++r, to += s.out_channel) {
      if (r == MR - 1 && s.rows_written < MR) break;
      if (whole) {
        hn::StoreU(s.add ? hn::Add(hn::LoadU(d, to), sum[r][v]) : sum[r][v], d, to);
      } else {
        const V value = s.add ? hn::Add(hn::MaskedLoad(some, d, to), sum[r][v]) : sum[r][v];
        hn::BlendedStore(value, some, d, to);
      }
    }
  }
}

template <class T, int MR>
HWY_NOINLINE void conv_sweep(const ConvSweep<T>& sweep) {
  const ConvSweep<T> s = sweep;
  constexpr int64_t n = kLanes<T>;
  const int64_t in_row = ceil_div(s.cols, n);
  int64_t row = s.begin / in_row, col = s.begin % in_row * n;
  const auto next = [&]() -> ConvPlace {
    const ConvPlace at{row * s.in_row + col, row * s.out_row + col, HWY_MIN(n, s.cols - col)};
    col += n;
    if (col >= s.cols) col = 0, ++row;
    return at;
  };
  int64_t j = s.begin;
  for (; j + 1 < s.end; j += 2) {
    const ConvPlace first = next();
    const ConvPlace places[2] = {first, next()};
    conv_tile<T, MR, 2>(s, places);
  }
  if (j < s.end) {
    const ConvPlace place = next();
    conv_tile<T, MR, 1>(s, &place);
  }
}

template <class T, int MR, int NV>
HWY_NOINLINE void conv_weight_sweep(const ConvWeightSweep<T>& sweep) {
  const ConvWeightSweep<T> s = sweep;
  constexpr Lanes<T> d;
  constexpr int64_t n = kLanes<T>;
  using V = hn::Vec<Lanes<T>>;
  V sum[MR][NV];
  int64_t tap[MR];
  HWY_UNROLL(16)
  for (int r = 0; r < MR; ++r) {
    tap[r] = s.taps[r];
    HWY_UNROLL(4)
    for (int v = 0; v < NV; ++v) sum[r][v] = hn::LoadU(d, s.sum + r * s.sum_row + v * n);
  }
  const T* dy = s.dy;
  for (int64_t y = 0; y < s.out_rows; ++y) {
    const T* in = s.in + y * s.in_row;
    for (int64_t x = 0; x < s.cols; ++x, ++in, dy += s.dy_row) {
      V right[NV];
      HWY_UNROLL(4)
      for (int v = 0; v < NV; ++v) right[v] = hn::LoadU(d, dy + v * n);
      HWY_UNROLL(16)
      for (int r = 0; r < MR; ++r) {
        const V left = hn::Set(d, in[tap[r]]);
        HWY_UNROLL(4)
        for (int v = 0; v < NV; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < MR; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < NV; ++v) hn::StoreU(sum[r][v], d, s.sum + r * s.sum_row + v * n);
  }
}

template <class T>
void sweep_image(const ConvSweep<T>& sweep) {
  static constexpr auto table = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<void (*)(const ConvSweep<T>&), sizeof...(I)>{&conv_sweep<T, 2 * I + 2>...};
  }
  (std::make_integer_sequence<int, kMaxRows / 2>{});
  table[static_cast<size_t>(sweep.rows / 2 - 1)](sweep);
}

template <class T>
void sweep_weight(const ConvWeightSweep<T>& sweep) {
  static constexpr auto table = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<void (*)(const ConvWeightSweep<T>&), sizeof...(I)>{
        &conv_weight_sweep<T, I / kMaxVectors * 2 + 2, I % kMaxVectors + 1>...};
  }
  (std::make_integer_sequence<int, kMaxRows / 2 * kMaxVectors>{});
  table[static_cast<size_t>((sweep.rows / 2 - 1) * kMaxVectors + sweep.vectors - 1)](sweep);
}

template <class T>
void transpose_rows(const T* from, int64_t from_row, int64_t rows, int64_t columns, T* to,
                    int64_t to_row) {
  if (to_row % kLanes<T> == 0 && to_row - rows < kLanes<T>) {
    rearrange<Margin::spoil>(from, 1, from_row, columns, rows, to, to_row);
  } else {
    rearrange<Margin::keep>(from, 1, from_row, columns, rows, to, to_row);
  }
}

inline ConvTileShape shape_f32() { return {kMaxRows, kLanes<float>, kMaxVectors}; }
inline ConvTileShape shape_f64() { return {kMaxRows, kLanes<double>, kMaxVectors}; }
inline void sweep_f32(const ConvSweep<float>& s) { sweep_image(s); }
inline void sweep_f64(const ConvSweep<double>& s) { sweep_image(s); }
inline void weight_f32(const ConvWeightSweep<float>& s) { sweep_weight(s); }
inline void weight_f64(const ConvWeightSweep<double>& s) { sweep_weight(s); }
inline void transpose_f32(const float* from, int64_t from_row, int64_t rows, int64_t columns,
                          float* to, int64_t to_row) {
  transpose_rows(from, from_row, rows, columns, to, to_row);
}
inline void transpose_f64(const double* from, int64_t from_row, int64_t rows, int64_t columns,
                          double* to, int64_t to_row) {
  transpose_rows(from, from_row, rows, columns, to, to_row);
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
