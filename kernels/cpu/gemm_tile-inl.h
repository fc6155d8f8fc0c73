// One register tile of the matrix product, for each instruction set: MR rows by NV vectors of C
// live in registers while k runs. Included by gemm_run-inl.h inside foreach_target.
#if defined(ACCRUE_KERNELS_CPU_GEMM_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_GEMM_TILE_INL_H
#undef ACCRUE_KERNELS_CPU_GEMM_TILE_INL_H
#else
#define ACCRUE_KERNELS_CPU_GEMM_TILE_INL_H
#endif
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Lanes = hn::FixedTag<T, HWY_LANES(T)>;
template <class T>
inline constexpr int64_t kLanes = HWY_LANES(T);

// 32 vector registers hold 14 x 2 sums, two vectors of B and one of A; 16 hold 6 x 2.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kMaxRows = 14;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kMaxRows = 6;
#else
inline constexpr int kMaxRows = 4;
#endif
inline constexpr int kMaxVectors = 2;
template <class T>
inline constexpr int64_t kMaxCols = kMaxVectors* kLanes<T>;

// c[i, j] = start[i, j] + sum over p of a(i, p) * b[p, j], as one chain in order of p.
template <class T>
struct Tile {
  int64_t k;
  const T* a;     // packed: a[p * rows + i]; in place: a[i * a_row + p]
  int64_t a_row;  // in place only
  const T* b;     // b[p * b_row + j], whole vectors readable
  int64_t b_row;
  const T* start;  // start[i * start_row + j], or null for +0
  int64_t start_row;
  T* c;  // c[i * c_row + j]
  int64_t c_row;
  int64_t cols;     // columns to write: the last vector may be partial
  const T* next_b;  // B of the tile after this one, to be fetched meanwhile; or null
};

HWY_INLINE void prefetch_l1(const void* p) { __builtin_prefetch(p, 0, 3); }
HWY_INLINE void prefetch_l2(const void* p) { __builtin_prefetch(p, 0, 2); }

enum class Left : uint8_t { packed, in_place };
// From one k to the next, in elements of A.
constexpr int64_t step_of(Left left, int64_t rows) { return left == Left::packed ? rows : 1; }

template <class T, int MR, int NV, Left kLeft>
HWY_NOINLINE void compute_tile(const Tile<T>& tile) {
  constexpr Lanes<T> d;
  constexpr int64_t n = kLanes<T>;
  using V = hn::Vec<Lanes<T>>;
  const Tile<T> t = tile;
  const auto last = hn::FirstN(d, static_cast<size_t>(t.cols - (NV - 1) * n));
  V sum[MR][NV];

  HWY_UNROLL(16)
  for (int i = 0; i < MR; ++i) {
    HWY_UNROLL(16)
    for (int v = 0; v < NV; ++v) {
      if (!t.start) {
        sum[i][v] = hn::Zero(d);
      } else {
        const T* row = t.start + i * t.start_row;
        sum[i][v] = v + 1 < NV ? hn::LoadU(d, row + v * n) : hn::MaskedLoad(last, d, row + v * n);
      }
    }
  }
  // In place every third row has a pointer of its own and lends it to the next two, by addressing
  // with a_row and 2 * a_row; hidden from the compiler, which would keep MR pointers and spill.
  constexpr int kPointers = kLeft == Left::packed ? 1 : (MR + 2) / 3;
  const T* a[kPointers];
  for (int g = 0; g < kPointers; ++g) {
    a[g] = t.a + 3 * g * t.a_row;
    if (kLeft == Left::in_place) asm("" : "+r"(a[g]));
  }
  const auto walk = [&](auto fetch) HWY_ATTR {
    const T* b = t.b;
    const T* next_b = t.next_b;
    for (int64_t p = 0; p < t.k; ++p) {
      V right[NV];
      HWY_UNROLL(16)
      for (int v = 0; v < NV; ++v) right[v] = hn::LoadU(d, b + v * n);
      HWY_UNROLL(16)
      for (int i = 0; i < MR; ++i) {
        const V left = hn::Set(d, kLeft == Left::packed ? a[0][i] : a[i / 3][i % 3 * t.a_row]);
        HWY_UNROLL(16)
        for (int v = 0; v < NV; ++v) sum[i][v] = hn::MulAdd(left, right[v], sum[i][v]);
      }
      if constexpr (fetch) {
        HWY_UNROLL(16)
        for (int64_t v = 0; v < NV * n; v += 64 / sizeof(T)) prefetch_l2(next_b + v);
        next_b += t.b_row;
      }
      HWY_UNROLL(8)
      for (int g = 0; g < kPointers; ++g) a[g] += step_of(kLeft, MR);
      b += t.b_row;
    }
  };
  t.next_b ? walk(std::true_type()) : walk(std::false_type());

  HWY_UNROLL(16)
  for (int i = 0; i < MR; ++i) {
    T* row = t.c + i * t.c_row;
    HWY_UNROLL(16)
    for (int v = 0; v + 1 < NV; ++v) hn::StoreU(sum[i][v], d, row + v * n);
    hn::BlendedStore(sum[i][NV - 1], last, d, row + (NV - 1) * n);
  }
}

template <class T>
using TileFunction = void (*)(const Tile<T>&);

// The function for 1..kMaxRows rows and 1..kMaxVectors vectors.
template <class T>
TileFunction<T> tile_function(Left left, int64_t rows, int64_t vectors) {
  static constexpr int kForms = kMaxRows * kMaxVectors;
  static constexpr auto table = []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<TileFunction<T>, size_t{2} * kForms>{
        &compute_tile<T, I / kMaxVectors + 1, I % kMaxVectors + 1, Left::packed>...,
        &compute_tile<T, I / kMaxVectors + 1, I % kMaxVectors + 1, Left::in_place>...};
  }
  (std::make_integer_sequence<int, kForms>{});
  const int64_t form = (rows - 1) * kMaxVectors + vectors - 1;
  return table[static_cast<size_t>(left == Left::packed ? form : kForms + form)];
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
