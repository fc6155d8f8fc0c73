// The tile engine: products in which each element of the result is one chain of fused
// multiply-adds, from a start value through k = 0, 1, …, K-1. So its bits depend on its row, its
// column and its start value alone, not on the tile, nor on how a long chain is cut over launches.
//
//   y(t, i, j) = start(t, i, j) + Σₖ a(t, i, k) · b(t, j, k)        in order, for every batch t
//
// Where the numbers come from is up to the operands, which need not be matrices (a convolution
// reads an image), and where they go to is up to the result. An operand is a struct, copied to the
// device, in which a *line* is what crosses the chain: a row of A, a column of B.
//
//   struct Rows {                                      // a(t, i, k) = data[t * batch + i * K + k]
//     static constexpr Along along = Along::chain;     // neighbours in memory, see below
//     struct Line {
//       const float* data;
//       __device__ float operator()(long k) const { return data[k]; }       // 0 <= k < K only
//     };
//     __device__ Line line(long t, long i) const { return {data + t * batch + i * K}; }  // any i
//     ...
//   };
//
// A line is made once for all of k: what depends on t and i alone is computed there. The result is
//
//   struct Sums {
//     using Number = float;                                               // of the chains
//     __device__ float start(long t, long i, long j) const;               // old content, bias, 0
//     __device__ void finish(long t, long i, long j, float sum) const;    // writes it
//   };
//
// and launch_product(on, "name", a, b, y, size) does the rest. Now read: matmul.cu.
#pragma once
#include <accrue/kernels/cuda/launch.cuh>
#include <accrue/kernels/cuda/tile_choice.h>

namespace accrue::kernels::cuda {

/// Along what neighbours in an operand's memory lie, so that the threads of a warp fetch them
/// together. Fewest registers: `line`, where a thread fetches from one line only.
enum class Along {
  chain,   ///< one line, successive k
  line,    ///< one k, successive lines
  either,  ///< as `bool along_chain` of the operand says
};

struct ProductSize {
  long batches, m, n, k;
  bool empty() const { return batches <= 0 || m <= 0 || n <= 0; }
};

/// How a block cuts its part of the result: `Rows` x `Columns` elements, a panel of `Depth` steps
/// of k at a time, and `Own` x `Own` elements in the registers of each thread.
template <int Rows, int Columns, int Depth, int Own>
struct Tile {
  static constexpr int rows = Rows, columns = Columns, depth = Depth, own = Own;
  static constexpr int threads = Rows / Own * (Columns / Own);
  static_assert(threads % 32 == 0 && Own % 4 == 0);
};
using SmallTile = Tile<32, 32, 16, 4>;
using MediumTile = Tile<64, 64, 16, 4>;
using LargeTile = Tile<128, 128, 8, 8>;

/// Keeps the columns of a panel in different banks, and groups of four aligned.
inline constexpr int kPanelGap = 4;
template <class C, int Across, int Depth>
using Panel = C[Depth][Across + kPanelGap];

/// One operand on its way to shared memory: this thread's items of each panel. They rest in
/// registers while the block computes with the panel before.
template <class C, class T, int Across, class Operand>
class Fetch {
  static constexpr int kItems = Across * T::depth / T::threads;
  static constexpr int kLines = Operand::along == Along::line ? 1 : kItems;
  static_assert(T::threads % Across == 0 && T::threads % T::depth == 0);
  static_assert(Across * T::depth % T::threads == 0);

 public:
  /// Lines [first, end) of batch t. `beyond` stands in for what lies past the end of the chain.
  __device__ Fetch(const Operand& x, long t, long first, long end, C beyond) : beyond_(beyond) {
    bool along_chain = Operand::along == Along::chain;
    if constexpr (Operand::along == Along::either) along_chain = x.along_chain;
    const int thread = static_cast<int>(threadIdx.x);
    row_ = along_chain ? thread / T::depth : thread % Across;
    row_step_ = along_chain ? T::threads / T::depth : 0;
    k_ = along_chain ? thread % T::depth : thread / Across;
    k_step_ = along_chain ? 0 : T::threads / Across;
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      const long line = first + row_ + i * row_step_;
      line_[i] = x.line(t, line);
      inside_[i] = line < end;
    }
  }
  /// Steps [k, k + depth) of the chain, whose end is at `end`.
  __device__ void load(long k, long end) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const long at = k + k_ + i * k_step_;
      item_[i] = at >= end ? beyond_ : inside_[i % kLines] ? line_[i % kLines](at) : C(0);
    }
  }
  __device__ void store(Panel<C, Across, T::depth>& panel) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) panel[k_ + i * k_step_][row_ + i * row_step_] = item_[i];
  }

 private:
  typename Operand::Line line_[kLines];
  bool inside_[kLines];
  C item_[kItems];
  C beyond_;
  int row_, row_step_, k_, k_step_;
};

__device__ inline float fused(float a, float b, float sum) { return fmaf(a, b, sum); }
__device__ inline double fused(double a, double b, double sum) { return fma(a, b, sum); }

/// The elements of a tile that a thread owns lie in groups of four, the groups apart: so the
/// threads of a warp read different banks. Where `i` of them is, along one side of the tile:
template <int Side, int Own>
__device__ int place_of(int thread, int i) {
  return i / 4 * (Side / (Own / 4)) + thread * 4 + i % 4;
}

/// A block computes one tile of one batch. Two panels of each operand take turns, so one barrier a
/// panel is enough: who stores the next one cannot meet who still reads the one before the last.
template <class T, class A, class B, class Y>
__global__ void __launch_bounds__(T::threads) product_kernel(A a, B b, Y y, ProductSize size) {
  using C = typename Y::Number;
  SIMT_SHARED(C, a_panel, [2][T::depth][T::rows + kPanelGap]);
  SIMT_SHARED(C, b_panel, [2][T::depth][T::columns + kPanelGap]);
  const long tiles_down = (size.m + T::rows - 1) / T::rows;
  const long tiles_across = (size.n + T::columns - 1) / T::columns;
  const long tile = blockIdx.x;
  const long t = tile / (tiles_down * tiles_across);
  const long row = tile / tiles_across % tiles_down * T::rows;
  const long column = tile % tiles_across * T::columns;
  const int down = static_cast<int>(threadIdx.x) / (T::columns / T::own);
  const int across = static_cast<int>(threadIdx.x) % (T::columns / T::own);

  C sum[T::own][T::own];
#pragma unroll
  for (int i = 0; i < T::own; ++i) {
#pragma unroll
    for (int j = 0; j < T::own; ++j) {
      const long at_i = row + place_of<T::rows, T::own>(down, i);
      const long at_j = column + place_of<T::columns, T::own>(across, j);
      sum[i][j] = at_i < size.m && at_j < size.n ? y.start(t, at_i, at_j) : C(0);
    }
  }

  // Past its end a chain goes on with -0 · 0, which changes no sum, be it -0.
  Fetch<C, T, T::rows, A> from_a(a, t, row, size.m, C(-0.0));
  Fetch<C, T, T::columns, B> from_b(b, t, column, size.n, C(0));
  from_a.load(0, size.k);
  from_b.load(0, size.k);
  int turn = 0;
  for (long k = 0; k < size.k; k += T::depth, turn ^= 1) {
    from_a.store(a_panel[turn]);
    from_b.store(b_panel[turn]);
    __syncthreads();
    from_a.load(k + T::depth, size.k);
    from_b.load(k + T::depth, size.k);
#pragma unroll
    for (int step = 0; step < T::depth; ++step) {
      C x[T::own], z[T::own];
#pragma unroll
      for (int i = 0; i < T::own; ++i) {
        x[i] = a_panel[turn][step][place_of<T::rows, T::own>(down, i)];
        z[i] = b_panel[turn][step][place_of<T::columns, T::own>(across, i)];
      }
#pragma unroll
      for (int i = 0; i < T::own; ++i) {
#pragma unroll
        for (int j = 0; j < T::own; ++j) sum[i][j] = fused(x[i], z[j], sum[i][j]);
      }
    }
  }

#pragma unroll
  for (int i = 0; i < T::own; ++i) {
#pragma unroll
    for (int j = 0; j < T::own; ++j) {
      const long at_i = row + place_of<T::rows, T::own>(down, i);
      const long at_j = column + place_of<T::columns, T::own>(across, j);
      if (at_i < size.m && at_j < size.n) y.finish(t, at_i, at_j, sum[i][j]);
    }
  }
}

template <class T, class A, class B, class Y>
void launch_tiles(const Launcher& on, const char* name, const A& a, const B& b, const Y& y,
                  const ProductSize& size) {
  const long tiles = tiles_of(size.m, T::rows) * tiles_of(size.n, T::columns) * size.batches;
  on.check(LAUNCH((product_kernel<T, A, B, Y>), static_cast<unsigned>(tiles), T::threads, 0,
                  on.stream(), a, b, y, size),
           name);
}

/// The product, in tiles as large as still keep the whole device busy. `Largest` bounds the choice
/// where an operand's lines need many registers, or its numbers do.
template <TileChoice Largest = TileChoice::large, class A, class B, class Y>
void launch_product(const Launcher& on, const char* name, const A& a, const B& b, const Y& y,
                    const ProductSize& size) {
  if (size.empty()) return;
  const TileChoice choice = choose_tile(size.batches, size.m, size.n);
  if constexpr (Largest >= TileChoice::large) {
    if (choice == TileChoice::large) return launch_tiles<LargeTile>(on, name, a, b, y, size);
  }
  if constexpr (Largest >= TileChoice::medium) {
    if (choice >= TileChoice::medium) return launch_tiles<MediumTile>(on, name, a, b, y, size);
  }
  launch_tiles<SmallTile>(on, name, a, b, y, size);
}

}  // namespace accrue::kernels::cuda
