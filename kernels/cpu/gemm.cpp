// Cuts a product into parts, one per thread: by batch, and within a product into a grid of blocks
// of C. Never along k, so the cut does not show in the result.
#include <algorithm>
#include <cstdint>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/gemm.h>
#include <accrue/kernels/cpu/gemm_part.h>
#include <accrue/kernels/cpu/parallel.h>

namespace accrue::kernels::cpu {
namespace {

constexpr double kWorthAThread = 200e3;  // multiply-adds: about 2 us of one core, a fork and join
constexpr int64_t kRowUnit = 14;         // blocks begin at multiples, so that tiles stay whole
constexpr int64_t kColumnUnit = 32;

struct Grid {
  int64_t rows, columns;
};

// Of the grids with `parts` blocks, the one that packs least: each of its rows packs all of B, each
// of its columns all of A.
Grid choose_grid(int64_t m, int64_t n, int64_t parts) {
  Grid best{1, 1};
  auto least = static_cast<double>(m + n) * static_cast<double>(parts) * 2;
  for (int64_t rows = 1; rows <= parts; ++rows) {
    if (parts % rows != 0) continue;
    const Grid grid{rows, parts / rows};
    if (rows > 1 && rows > ceil_div(m, kRowUnit)) continue;
    if (grid.columns > 1 && grid.columns > ceil_div(n, kColumnUnit)) continue;
    const double packed = static_cast<double>(n) * static_cast<double>(grid.rows) +
                          static_cast<double>(m) * static_cast<double>(grid.columns);
    if (packed < least) best = grid, least = packed;
  }
  return best;
}

// Where piece i of `pieces` begins in [0, n), at a multiple of unit if there are enough.
int64_t piece_begin(int64_t n, int64_t i, int64_t pieces, int64_t unit) {
  if (i == pieces) return n;
  return std::min(n, ceil_div(n, unit) * i / pieces * unit);
}

}  // namespace

template <class In, class Out>
void gemm(const Gemm<In, Out>& product) {
  Gemm<In, Out> g = product;
  if (g.batches > 1 && g.b.batch == 0 && g.a.batch == g.m * g.a.row && g.c.batch == g.m * g.c.row) {
    g.m *= g.batches, g.batches = 1;  // one B for all: the batches are rows of one product
  }
  if (g.m <= 0 || g.n <= 0 || g.batches <= 0) return;
  const Part<In, Out> whole{g.m,      g.n,     g.k,     g.a.data,     g.a.row, g.a.col,
                            g.b.data, g.b.row, g.b.col, g.c.data,     g.c.row, g.c.col,
                            g.start,  g.bias,  0,       g.bias_stride};
  const double work = static_cast<double>(g.m) * static_cast<double>(g.n) *
                      static_cast<double>(std::max<int64_t>(g.k, 8));
  const double total = work * static_cast<double>(g.batches);
  const int64_t threads = static_cast<int64_t>(
      std::clamp(total / kWorthAThread, 1.0, static_cast<double>(num_threads())));
  const Grid grid = g.batches >= 4 * threads ? Grid{1, 1} : choose_grid(g.m, g.n, threads);
  const int64_t per_batch = grid.rows * grid.columns;
  const int64_t pieces = g.batches * per_batch;
  parallel_for(pieces, ceil_div(pieces, threads), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t batch = piece / per_batch;
      const int64_t row = piece % per_batch / grid.columns, column = piece % grid.columns;
      const int64_t i = piece_begin(g.m, row, grid.rows, kRowUnit);
      const int64_t j = piece_begin(g.n, column, grid.columns, kColumnUnit);
      Part<In, Out> part = whole.block(i, j, piece_begin(g.m, row + 1, grid.rows, kRowUnit) - i,
                                       piece_begin(g.n, column + 1, grid.columns, kColumnUnit) - j);
      part.a += batch * g.a.batch, part.b += batch * g.b.batch, part.c += batch * g.c.batch;
      run_part(part);
    }
  });
}

template void gemm(const Gemm<float, float>&);
template void gemm(const Gemm<double, double>&);
template void gemm(const Gemm<bfloat16, float>&);
template void gemm(const Gemm<bfloat16, bfloat16>&);
template void gemm(const Gemm<float16, float>&);
template void gemm(const Gemm<float16, float16>&);

}  // namespace accrue::kernels::cpu
