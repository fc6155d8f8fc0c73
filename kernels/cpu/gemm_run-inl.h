// How one thread computes its part of a matrix product, for each instruction set.
//
//   for columns of C            so many that their block of B stays in L2
//     for k                     so many that a few rows of A stay in L1
//       for rows of C           as many as one tile has
//         for panels of B       one tile each: C in registers while k runs
//
// A second round over k starts from C, so each element stays one chain. A and B are read in place
// where their lines lie well; else the block of B, and the rows of A of one tile, are packed first.
// C with strides that vectors cannot write is gathered in T and moved at the end.
#if defined(ACCRUE_KERNELS_CPU_GEMM_RUN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ACCRUE_KERNELS_CPU_GEMM_RUN_INL_H
#undef ACCRUE_KERNELS_CPU_GEMM_RUN_INL_H
#else
#define ACCRUE_KERNELS_CPU_GEMM_RUN_INL_H
#endif
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/gemm_pack-inl.h>
#include <accrue/kernels/cpu/gemm_part.h>
#include <accrue/kernels/cpu/gemm_tile-inl.h>
#include <accrue/kernels/cpu/scratch.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {

inline constexpr int64_t kDepth = 384;             // most k in one round
inline constexpr int64_t kBlockBytes = 800 << 10;  // most of B in one block
inline constexpr int64_t kLongTile = 96;           // least k of a tile that fetches C ahead
inline constexpr int64_t kGatheredRows = 1024;     // most rows of a C that is gathered

// The length of equal pieces of n, none longer than `most`.
inline int64_t even_piece(int64_t n, int64_t most) {
  return n == 0 ? 0 : ceil_div(n, ceil_div(n, most));
}

template <class In, class Out>
class Runner {
  using T = std::conditional_t<std::is_same_v<In, double>, double, float>;
  using P = Part<In, Out>;
  static constexpr int64_t kPanel = kMaxCols<T>;
  static constexpr int64_t kLine = 64 / sizeof(T);  // a line of the cache

 public:
  static void run(P part) {
    if (part.m <= 0 || part.n <= 0 || (part.k == 0 && part.start == Start::old)) return;
    if (const P other = part.transposed(); cost(other) < cost(part)) part = other;
    const int64_t rows = direct(part) ? part.m : even_piece(part.m, kGatheredRows);
    for (int64_t i = 0; i < part.m; i += rows) {
      Runner(part.block(i, 0, std::min(rows, part.m - i), part.n)).run_rows();
    }
  }

 private:
  explicit Runner(const P& part) : p_(part) {}

  static bool direct(const P& p) { return std::is_same_v<T, Out> && (p.c_n == 1 || p.n == 1); }
  // Lines so far apart fall into the same few places of a cache and push one another out.
  static bool collide(int64_t stride, int64_t bytes) {
    return stride * static_cast<int64_t>(sizeof(T)) % bytes == 0;
  }
  static bool a_in_place(const P& p) {
    return std::is_same_v<T, In> && p.a_k == 1 && !collide(p.a_m, 4096);
  }
  static bool b_in_place(const P& p) {
    return std::is_same_v<T, In> && p.b_n == 1 && (!collide(p.b_k, 8192) || p.m <= 4 * kMaxRows);
  }

  // An estimate in cycles at two vector operations each, to choose between C and Cᵀ.
  static double cost(const P& p) {
    const auto tiles = static_cast<double>(ceil_div(p.m, kMaxRows));
    const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
    const auto k = static_cast<double>(p.k);
    const auto panel = [&](double vectors) {
      return k * std::max({m * vectors / 2, (m + tiles * vectors) / 2, 4 * tiles});
    };
    const auto copy = [](int64_t along, int64_t across) {
      return along == 1 ? 0.1 : across == 1 ? 0.2 : 1.0;
    };
    const int64_t whole_panels = p.n / kPanel;
    double cycles = static_cast<double>(whole_panels) * panel(kMaxVectors);
    if (p.n % kPanel != 0) cycles += panel(static_cast<double>(ceil_div(p.n % kPanel, kLanes<T>)));
    if (!a_in_place(p)) cycles += m * k * copy(p.a_m, p.a_k);
    if (!b_in_place(p)) cycles += n * k * copy(p.b_n, p.b_k);
    if (!direct(p)) cycles += m * n * copy(p.c_n, p.c_m) * (p.start == Start::old ? 2 : 1);
    return cycles;
  }

  void run_rows() {
    depth_ = even_piece(p_.k, kDepth);
    const int64_t fit =
        kBlockBytes / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, depth_);
    const int64_t columns = std::min(
        p_.n, round_up(even_piece(p_.n, std::max(fit / kPanel, int64_t{1}) * kPanel), kPanel));
    const bool is_direct = direct(p_);
    const int64_t padded = round_up(columns, kPanel);
    const int64_t b_size = padded * depth_ + kPanel;
    const int64_t a_size = kMaxRows * depth_ + kPanel;
    const int64_t bias_size = p_.start == Start::bias && is_direct && p_.bias_m == 0 ? padded : 0;
    const int64_t c_size = is_direct ? 0 : p_.m * padded;
    const Scratch scratch(static_cast<size_t>(b_size + a_size + bias_size + c_size) * sizeof(T));
    b_packed_ = scratch.template as<T>();
    c_row_ = is_direct ? p_.c_m : padded;
    T* const gathered = b_packed_ + b_size;
    T* const bias_row = gathered + c_size;
    a_packed_ = bias_row + bias_size;
    for (int64_t j = 0; j < p_.n; j += columns) {
      const P block = p_.block(0, j, p_.m, std::min(columns, p_.n - j));
      if (bias_size) {
        rearrange<Margin::keep>(block.bias, 0, block.bias_n, 1, block.n, bias_row, 0);
        run_block(block, in_chain_type(block.c), bias_row, 0);
        continue;
      }
      T* const c = is_direct ? in_chain_type(block.c) : gathered;
      fill_start(block, c);
      run_block(block, c, p_.start == Start::zero ? nullptr : c, c_row_);
      if (!is_direct) scatter(block, c);
    }
  }

  static T* in_chain_type(Out* c) {
    if constexpr (std::is_same_v<T, Out>) return c;
    return nullptr;
  }
  // Puts the start values where the tiles will read them.
  void fill_start(const P& block, T* to) const {
    if (block.start == Start::old && to != in_chain_type(block.c)) {
      rearrange<Margin::keep>(block.c, block.c_m, block.c_n, block.m, block.n, to, c_row_);
    } else if (block.start == Start::bias) {
      rearrange<Margin::keep>(block.bias, block.bias_m, block.bias_n, block.m, block.n, to, c_row_);
    }
  }
  // C takes what was gathered; written along its rows of unit stride if it has them.
  void scatter(const P& block, const T* from) const {
    if (block.c_m == 1) {
      rearrange<Margin::keep>(from, 1, c_row_, block.n, block.m, block.c, block.c_n);
    } else if (block.c_n == 1) {
      rearrange<Margin::keep>(from, c_row_, 1, block.m, block.n, block.c, block.c_m);
    } else {
      for (int64_t i = 0; i < block.m; ++i) {
        for (int64_t j = 0; j < block.n; ++j) {
          block.c[i * block.c_m + j * block.c_n] = static_cast<Out>(from[i * c_row_ + j]);
        }
      }
    }
  }

  // All of k for some columns. The first round starts from `start` (null: +0), later ones from c.
  void run_block(const P& block, T* c, const T* start, int64_t start_row) const {
    int64_t at = 0;
    do {
      const int64_t depth = std::min(depth_, block.k - at);
      run_round(block, at, depth, c, start, start_row);
      start = c, start_row = c_row_;
      at += depth;
    } while (at < block.k);
  }

  void run_round(const P& block, int64_t at, int64_t depth, T* c, const T* start,
                 int64_t start_row) const {
    pack_b(block, at, depth);
    const int64_t tiles = ceil_div(block.m, kMaxRows);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t i = block.m * tile / tiles;
      const int64_t rows = block.m * (tile + 1) / tiles - i;
      Tile<T> t{};
      t.k = depth;
      t.c = c + i * c_row_, t.c_row = c_row_;
      t.start = start ? start + i * start_row : nullptr, t.start_row = start_row;
      const In* a = block.a + i * block.a_m + at * block.a_k;
      if constexpr (std::is_same_v<T, In>) t.a = a, t.a_row = block.a_m;
      if (!a_in_place(block)) {
        rearrange<Margin::spoil>(a, block.a_k, block.a_m, depth, rows, a_packed_, rows);
        t.a = a_packed_;
      }
      run_tiles(block, at, t, rows, tile == 0 && tiles > 4);
    }
  }

  // Rows of B that lie in memory as such are read along their length, a few at a time.
  void pack_b(const P& block, int64_t at, int64_t depth) const {
    const int64_t band = block.b_n == 1 ? 4 : std::max(depth, int64_t{1});
    for (int64_t p = 0; p < depth; p += band) {
      const In* b = block.b + (at + p) * block.b_k;
      for (int64_t j = 0; j < block.n; j += kPanel) {
        const int64_t columns = std::min(kPanel, block.n - j), row = panel_row(columns);
        if (reads_in_place(block, columns)) continue;
        rearrange<Margin::spoil>(b + j * block.b_n, block.b_k, block.b_n, std::min(band, depth - p),
                                 columns, b_packed_ + j * depth + p * row, row);
      }
    }
  }
  // A panel that ends within a vector is packed all the same.
  static bool reads_in_place(const P& block, int64_t columns) {
    return b_in_place(block) && columns % kLanes<T> == 0;
  }

  // The tiles of a few rows, which `t` describes at column 0. The first to read B `fetch` it for
  // the next panel: the processor does not foresee such short lines.
  void run_tiles(const P& block, int64_t at, Tile<T> t, int64_t rows, bool fetch) const {
    const Left left = a_in_place(block) ? Left::in_place : Left::packed;
    const TileFunction<T> whole = tile_function<T>(left, rows, kMaxVectors);
    for (int64_t j = 0; j < block.n; j += kPanel, t.c += kPanel, t.start += t.start ? kPanel : 0) {
      t.cols = std::min(kPanel, block.n - j);
      t.b = b_packed_ + j * t.k;
      t.b_row = panel_row(t.cols);
      t.next_b = nullptr;
      if constexpr (std::is_same_v<T, In>) {
        if (reads_in_place(block, t.cols)) {
          t.b = block.b + at * block.b_k + j, t.b_row = block.b_k;
          if (fetch && j + 2 * kPanel <= block.n) t.next_b = t.b + kPanel;
        }
      }
      // A short tile is over before such a fetch.
      for (int64_t r = 0; t.k >= kLongTile && r < rows; ++r) {
        for (int64_t q = kPanel; q < 2 * kPanel; q += kLine) prefetch_l1(t.c + r * c_row_ + q);
      }
      (t.cols == kPanel ? whole : tile_function<T>(left, rows, ceil_div(t.cols, kLanes<T>)))(t);
    }
  }

  static int64_t panel_row(int64_t columns) { return round_up(columns, kLanes<T>); }

  P p_;
  int64_t depth_ = 0;
  int64_t c_row_ = 0;
  T* a_packed_ = nullptr;
  T* b_packed_ = nullptr;
};

inline void run_f32(const Part<float, float>& p) { Runner<float, float>::run(p); }
inline void run_f64(const Part<double, double>& p) { Runner<double, double>::run(p); }
inline void run_bf16_f32(const Part<bfloat16, float>& p) { Runner<bfloat16, float>::run(p); }
inline void run_bf16(const Part<bfloat16, bfloat16>& p) { Runner<bfloat16, bfloat16>::run(p); }
inline void run_f16_f32(const Part<float16, float>& p) { Runner<float16, float>::run(p); }
inline void run_f16(const Part<float16, float16>& p) { Runner<float16, float16>::run(p); }

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
