// What the kernels of attention are made of: tiles of the operands in shared memory, and two
// products of tiles.
//
// A block is 16 x 16 threads and makes a square tile of scores at a time: kSize rows of one operand
// by kSize of another. A thread owns kOwn x kOwn of them, in registers, and keeps kOwn rows of the
// result with them. Now read: attention_scores.cuh.
#pragma once
#include <cmath>

#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/launch.cuh>

namespace accrue::kernels::cuda {

/// Four numbers that shared memory gives at once.
template <class C>
struct alignas(16) Quad {
  C x, y, z, w;
};

template <class C>
struct AttentionTile {
  static constexpr int kSide = 16;                      // threads
  static constexpr int kOwn = sizeof(C) == 4 ? 4 : 2;   // rows, and columns, of a thread
  static constexpr int kSize = kSide * kOwn;            // rows, and columns, of a tile
  static constexpr int kPiece = 32;                     // terms of a sum staged at a time
  static constexpr int kPanel = 4 * kSide;              // columns of a result: four of a thread,
  static constexpr int kPanels = kOwn / 2;              // in each of so many panels
  static constexpr int kWidth = kPanels * kPanel;       // of a block
  static constexpr int kStageRow = kPiece / 4 + 1;      // quads; the last one is a gap, so that
  static constexpr int kWeightRow = kSize / 4 + 1;      // rows begin in different banks
  static constexpr int kStage = 2 * kSize * kStageRow;  // quads
  static constexpr int kWeights = kSize * kWeightRow;   // quads
  /// How many quads hold the next terms of a sum of which n are left.
  ACCRUE_HD static int quads_of(long n) {
    return n < kPiece ? static_cast<int>(n + 3) / 4 : kPiece / 4;
  }
  static_assert(kPiece * kWidth <= 4 * kStage, "a piece of a second factor fits");
};

/// The row of a tile that is number i of this thread's own, and the column that is number j.
template <class C>
__device__ int own_row(int i) {
  return static_cast<int>(threadIdx.x) / AttentionTile<C>::kSide * AttentionTile<C>::kOwn + i;
}
template <class C>
__device__ int own_column(int j) {
  return static_cast<int>(threadIdx.x) % AttentionTile<C>::kSide + AttentionTile<C>::kSide * j;
}

/// Whether rows of this thread's warp are among the first n of a tile. If not, the warp has nothing
/// to do but to stage what others need.
template <class C>
__device__ bool has_rows(long n) {
  return static_cast<int>(threadIdx.x) / 32 * 2 * AttentionTile<C>::kOwn < n;
}

/// Element [own row i, own column j] of a tile of weights.
template <class C>
__device__ C& own_weight(Quad<C>* weights, int i, int j) {
  return reinterpret_cast<C*>(weights +
                              own_row<C>(i) * AttentionTile<C>::kWeightRow)[own_column<C>(j)];
}

/// Joins what the 16 threads of a row have, in one order for all of them.
template <class T, class F>
__device__ T join_row(T value, F f) {
  for (int distance = 8; distance > 0; distance /= 2)
    value = f(value, __shfl_xor_sync(kFullMask, value, distance));
  return value;
}

/// The matrices [rows, cols] of an operand, one for each head, as numbers of type C. kAny: of any
/// dtype, else of C itself.
template <class C, bool kAny>
struct Matrices {
  const void* data;
  DType dtype;
  long rows = 0, cols = 0, row_stride = 0, col_stride = 0;
  Places heads;

  explicit Matrices(const ConstView& x) : data(x.data), dtype(x.dtype) {
    const int rank = x.shape.size();
    if (rank < 2) return;  // an operand that is not given
    rows = x.shape[rank - 2], cols = x.shape[rank - 1];
    row_stride = x.strides[rank - 2], col_stride = x.strides[rank - 1];
    const auto leading = static_cast<size_t>(rank - 2);
    heads = Places(Dims(std::span(x.shape.begin(), leading)),
                   Dims(std::span(x.strides.begin(), leading)));
  }
  /// Element [i, j] of the matrix at `place`, which heads(..) gave; 0 outside of it.
  __device__ C at(long place, long i, long j) const {
    if (i >= rows || j >= cols) return C(0);
    place += i * row_stride + j * col_stride;
    if constexpr (kAny) {
      return load_as<C>(data, dtype, place);
    } else {
      return static_cast<const C*>(data)[place];
    }
  }
};

/// The matrix of one head from a row on, times a factor.
template <class C, bool kAny>
struct Rows {
  static constexpr int kAtOnce = kAny ? 1 : 8;  // loads of a thread that wait together
  const Matrices<C, kAny>& of;
  long place, first;
  C factor;

  __device__ Rows(const Matrices<C, kAny>& matrices, long head, long first_row, C times = 1)
      : of(matrices), place(matrices.heads(head)), first(first_row), factor(times) {}
  __device__ C at(long i, long j) const { return of.at(place, first + i, j) * factor; }
};

/// Brings rows [row, row + kRows) of x, from `column` on, to shared memory: kCols numbers of each,
/// of which the first `cols` are needed, in rows of kPitch.
template <int kRows, int kCols, int kPitch, class C, class X>
__device__ __forceinline__ void stage_rows(C* to, const X& x, long row, long column, int cols) {
  constexpr int kLoads = X::kAtOnce;
  static_assert(kRows * kCols % (kLoads * kThreads) == 0);
#pragma unroll 1
  for (int t = static_cast<int>(threadIdx.x); t < kRows * kCols; t += kLoads * kThreads) {
    C loaded[kLoads];
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const int at = t + n * kThreads;
      loaded[n] = x.at(row + at / kCols, column + at % kCols);
    }
#pragma unroll
    for (int n = 0; n < kLoads; ++n) {
      const int at = t + n * kThreads;
      if (at % kCols < cols) to[at / kCols * kPitch + at % kCols] = loaded[n];
    }
  }
}

/// dots[i][j] = a[own_row(i), :] · b[own_column(j), :], each one chain.
/// Ends with a barrier: `stage`, and what was read before the call, may be written again; and has
/// one before: what was written before the call may be read.
template <class C, class A, class B>
__device__ __forceinline__ void multiply_rows(
    Quad<C>* stage, const A& a, const B& b,
    C (&dots)[AttentionTile<C>::kOwn][AttentionTile<C>::kOwn]) {
  using T = AttentionTile<C>;
  Quad<C>* const left = stage;
  Quad<C>* const right = stage + T::kSize * T::kStageRow;
  const bool works = has_rows<C>(a.of.rows - a.first);
  for (auto& row : dots)
    for (C& dot : row) dot = 0;
  for (long piece = 0; piece == 0 || piece < a.of.cols; piece += T::kPiece) {
    const int quads = T::quads_of(a.of.cols - piece);
    constexpr int kPitch = 4 * T::kStageRow;
    stage_rows<T::kSize, T::kPiece, kPitch>(reinterpret_cast<C*>(left), a, 0, piece, 4 * quads);
    stage_rows<T::kSize, T::kPiece, kPitch>(reinterpret_cast<C*>(right), b, 0, piece, 4 * quads);
    __syncthreads();
#pragma unroll 1
    for (int t = 0; t < quads && works; ++t) {
      Quad<C> y[T::kOwn];
#pragma unroll
      for (int j = 0; j < T::kOwn; ++j) y[j] = right[own_column<C>(j) * T::kStageRow + t];
#pragma unroll
      for (int i = 0; i < T::kOwn; ++i) {
        const Quad<C> x = left[own_row<C>(i) * T::kStageRow + t];
#pragma unroll
        for (int j = 0; j < T::kOwn; ++j) {
          C& dot = dots[i][j];
          dot = std::fma(x.x, y[j].x, dot);
          dot = std::fma(x.y, y[j].y, dot);
          dot = std::fma(x.z, y[j].z, dot);
          dot = std::fma(x.w, y[j].w, dot);
        }
      }
    }
    __syncthreads();
  }
}

/// The part of a result that a thread keeps: in its own rows, four columns of each panel.
template <class C>
struct Sums {
  Quad<C> at[AttentionTile<C>::kOwn][AttentionTile<C>::kPanels];
};

template <class C>
__device__ void add_multiple(C factor, const Quad<C>& y, Quad<C>& sum) {
  sum.x = std::fma(factor, y.x, sum.x);
  sum.y = std::fma(factor, y.y, sum.y);
  sum.z = std::fma(factor, y.z, sum.z);
  sum.w = std::fma(factor, y.w, sum.w);
}

/// sums += weights · b, in the columns from `column` on: each element's chain goes on.
/// Begins and ends with a barrier, between which `weights` is read. A warp without rows of
/// the result does not work.
template <class C, class B>
__device__ __forceinline__ void add_product(Quad<C>* stage, const Quad<C>* weights, const B& b,
                                            long column, bool works, Sums<C>& sums) {
  using T = AttentionTile<C>;
  constexpr int kRow = T::kWidth / 4;
  const long rows = b.of.rows - b.first, cols = b.of.cols - column;
  for (int piece = 0; piece < T::kSize && piece < rows; piece += T::kPiece) {
    const int quads = T::quads_of(rows - piece);
    for (int p = 0; p < T::kPanels && p * T::kPanel < cols; ++p)
      stage_rows<T::kPiece, T::kPanel, T::kWidth>(reinterpret_cast<C*>(stage) + p * T::kPanel, b,
                                                  piece, column + p * T::kPanel, T::kPanel);
    __syncthreads();
#pragma unroll 1
    for (int t = 0; t < quads && works; ++t) {
      Quad<C> w[T::kOwn];
#pragma unroll
      for (int i = 0; i < T::kOwn; ++i)
        w[i] = weights[own_row<C>(i) * T::kWeightRow + piece / 4 + t];
#pragma unroll
      for (int p = 0; p < T::kPanels; ++p) {
        if (p * T::kPanel >= cols) continue;
        const Quad<C>* const y = stage + 4 * t * kRow + T::kSide * p + own_column<C>(0);
        const Quad<C> y0 = y[0], y1 = y[kRow], y2 = y[2 * kRow], y3 = y[3 * kRow];
#pragma unroll
        for (int i = 0; i < T::kOwn; ++i) {
          add_multiple(w[i].x, y0, sums.at[i][p]);
          add_multiple(w[i].y, y1, sums.at[i][p]);
          add_multiple(w[i].z, y2, sums.at[i][p]);
          add_multiple(w[i].w, y3, sums.at[i][p]);
        }
      }
    }
    __syncthreads();
  }
}

/// Brings sums to rows [first, rows) and columns [column, cols) of the matrix `head` of y, by way
/// of `stage`, so that neighbouring threads write neighbours. REQUIRES and leaves `stage` free.
template <class C>
__device__ __forceinline__ void write_sums(Quad<C>* stage, const Sums<C>& sums, const Target<C>& y,
                                           long head, long first, long rows, long column,
                                           long cols) {
  using T = AttentionTile<C>;
#pragma unroll
  for (int p = 0; p < T::kPanels; ++p, column += T::kPanel) {
    if (p > 0 && column >= cols) continue;
#pragma unroll
    for (int i = 0; i < T::kOwn; ++i)
      stage[own_row<C>(i) * T::kSide + own_column<C>(0)] = sums.at[i][p];
    __syncthreads();
#pragma unroll 1
    for (int t = static_cast<int>(threadIdx.x); t < T::kSize * T::kPanel; t += kThreads) {
      const long i = first + t / T::kPanel, j = column + t % T::kPanel;
      if (i < rows && j < cols)
        y.set((head * rows + i) * cols + j, reinterpret_cast<const C*>(stage)[t]);
    }
    __syncthreads();
  }
}

}  // namespace accrue::kernels::cuda
