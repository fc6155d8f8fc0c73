#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/rows.cuh>
#include <accrue/kernels/norm.h>
#include <accrue/kernels/split.h>
#include <accrue/kernels/split_invariant.h>

namespace accrue::kernels::cuda {
namespace {

/// x̂ of a row's elements.
template <class C>
struct Standard {
  Split<C> mean;
  C scale;
  __device__ C operator()(C x) const { return ((x - mean.high) - mean.low) * scale; }
};

struct Moments {
  double mean, variance;
};

/// In two passes; what the rounding of the mean leaves is measured in the second and taken away.
template <int N, class Row>
__device__ Moments moments(const Row& x, long n) {
  const auto count = static_cast<double>(n);
  double sum = 0;
  for_each_pack<N>(n, [&](long i) {
    const auto v = x.load(i, n, 0);
#pragma unroll
    for (int j = 0; j < N; ++j) sum += static_cast<double>(v[j]);
  });
  const double mean = team_sum(sum) / count;
  TwoSums rest{0, 0};
  for_each_pack<N>(n, [&](long i) {
    const auto v = x.load(i, n, 0);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const double d = i + j < n ? static_cast<double>(v[j]) - mean : 0.0;
      rest = rest + TwoSums{d, d * d};
    }
  });
  rest = team_sum(rest);
  const double error = rest.a / count;
  const double variance = rest.b / count - error * error;
  return {mean + error, variance < 0 ? 0.0 : variance};
}

/// A team for each row: reads it three times, and writes y in the third.
template <class C, class X, class Y>
__global__ void layer_norm_kernel(X x, X w, X b, double eps, RowCount size, Y y,
                                  Target<double> mean, Target<double> rstd) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long n) {
    const auto from = x.row(r);
    const auto to = y.row(r);
    const Moments m = moments<N>(from, n);
    const double scale = 1 / std::sqrt(m.variance + eps);
    if (threadIdx.x == 0 && r < size.rows) {
      mean.set(r, m.mean);
      rstd.set(r, scale);
    }
    const Standard<C> standard{Split<C>(m.mean), static_cast<C>(scale)};
    for_each_pack<N>(n, [&](long i) {
      Pack<C, N> v = from.load(i, n, C(0));
      const Pack<C, N> weight = w ? w.row(0).load(i, n, C(0)) : Pack<C, N>();
      const Pack<C, N> bias = b ? b.row(0).load(i, n, C(0)) : Pack<C, N>();
#pragma unroll
      for (int j = 0; j < N; ++j) {
        v[j] = standard(v[j]);
        if (w) v[j] = v[j] * weight[j];
        if (b) v[j] = v[j] + bias[j];
      }
      to.store(i, n, v);
    });
  });
}

/// A team for each row: reads it twice, and writes dx in the second.
template <class C, class X, class Y>
__global__ void input_grad_kernel(X dy, X x, X w, Source<double> mean, Source<double> rstd,
                                  RowCount size, Y dx) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long n) {
    const auto upstream = dy.row(r);
    const auto from = x.row(r);
    const auto to = dx.row(r);
    const Standard<C> standard{Split<C>(n > 0 ? mean[r] : 0.0),
                               static_cast<C>(n > 0 ? rstd[r] : 0.0)};
    const auto weighted = [&](long i) {  // 0 beyond the row
      Pack<C, N> g = upstream.load(i, n, C(0));
      if (w) {
        const Pack<C, N> weight = w.row(0).load(i, n, C(0));
#pragma unroll
        for (int j = 0; j < N; ++j) g[j] = g[j] * weight[j];
      }
      return g;
    };
    TwoSums sums{0, 0};
    for_each_pack<N>(n, [&](long i) {
      const Pack<C, N> g = weighted(i);
      const Pack<C, N> v = from.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const auto term = static_cast<double>(g[j]);
        sums = sums + TwoSums{term, term * static_cast<double>(standard(v[j]))};
      }
    });
    sums = team_sum(sums);
    const C mean_g = static_cast<C>(sums.a / static_cast<double>(n));
    const C mean_gx = static_cast<C>(sums.b / static_cast<double>(n));
    for_each_pack<N>(n, [&](long i) {
      Pack<C, N> g = weighted(i);
      const Pack<C, N> v = from.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j)
        g[j] = standard.scale * std::fma(-standard(v[j]), mean_gx, g[j] - mean_g);
      to.store(i, n, g);
    });
  });
}

constexpr int kColumns = 64;  // of a block

/// A thread sums a column over a piece of the rows, in their order. What the block must know of 64
/// rows is brought to shared memory; of dense rows, 16 numbers are on their way at once.
template <class C, class X>
__global__ void affine_grad_kernel(X dy, X x, Source<double> mean, Source<double> rstd,
                                   RowCount size, long piece, Target<C> dw, Target<C> db) {
  SIMT_SHARED(long, dy_start, [kColumns]);
  SIMT_SHARED(long, x_start, [kColumns]);
  SIMT_SHARED(C, high, [kColumns]);
  SIMT_SHARED(C, low, [kColumns]);
  SIMT_SHARED(C, scale, [kColumns]);
  constexpr int ahead = X::kPack > 1 ? 16 : 1;
  const long c = thread_number();
  const long begin = blockIdx.y * piece;
  const long end = begin + piece < size.rows ? begin + piece : size.rows;
  const long place = blockIdx.y * size.length + c;
  const bool inside = c < size.length;
  C w_sum = inside && dw ? dw.start(place) : C(0);
  C b_sum = inside && db ? db.start(place) : C(0);
  for (long first = begin; first < end; first += kColumns) {
    const int rows = static_cast<int>(end - first < kColumns ? end - first : kColumns);
    const int t = threadIdx.x;
    __syncthreads();
    if (t < rows) {
      const Split<C> m(mean[first + t]);
      dy_start[t] = dy.start(first + t);
      x_start[t] = x.start(first + t);
      high[t] = m.high;
      low[t] = m.low;
      scale[t] = static_cast<C>(rstd[first + t]);
    }
    __syncthreads();
    for (int r = 0; inside && r < rows; r += ahead) {
      C g[ahead], v[ahead];
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        if (r + j < rows) {
          g[j] = dy.at(dy_start[r + j], c);
          v[j] = x.at(x_start[r + j], c);
        }
      }
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        if (r + j < rows) {
          w_sum = std::fma(g[j], ((v[j] - high[r + j]) - low[r + j]) * scale[r + j], w_sum);
          b_sum = b_sum + g[j];
        }
      }
    }
  }
  if (inside && dw) dw.finish(place, w_sum);
  if (inside && db) db.finish(place, b_sum);
}

/// A thread goes on from a column's old content with the sums of the pieces.
template <class C>
__global__ void add_pieces_kernel(const C* sums, long pieces, long n, Target<C> y) {
  const long c = thread_number();
  if (c < n) {
    C sum = y.start(c);
    for (long p = 0; p < pieces; ++p) sum = sum + sums[p * n + c];
    y.finish(c, sum);
  }
}

/// Rows that are summed by one thread: all if nobody must see that a batch was cut, else at least
/// 64, in at most 256 pieces.
long piece_of(long rows) {
  if (split_invariant()) return rows;
  const long piece = (rows + 255) / 256;
  return piece > 64 ? piece : 64;
}

}  // namespace

void layer_norm(const ConstView& x, const ConstView& w, const ConstView& b, int width, double eps,
                const Dest& y, const Dest& mean, const Dest& rstd) {
  const int first = x.shape.size() - width;
  const RowCount size(x.shape, first, width);
  if (size.rows == 0) return;
  const Launcher on(y.view.device);
  const Teams teams(size);
  const bool dense = has_dense_rows(x, first, width) && has_dense_rows(w, 0, width) &&
                     has_dense_rows(b, 0, width) && has_dense_rows(y, first, width);
  visit_row_kinds(x.dtype, dense, [&]<class C, class X, class Y>() {
    on.check(LAUNCH((layer_norm_kernel<C, X, Y>), teams.grid, teams.block, 0, on.stream(),
                    X(x, first, width), X(w, 0, width), X(b, 0, width), eps, size,
                    Y(y, first, width), Target<double>(mean), Target<double>(rstd)),
             "layer_norm");
  });
}

namespace {

template <class C, class X>
void affine_grad(const Launcher& on, const X& dy, const X& x, const Source<double>& mean,
                 const Source<double>& rstd, const RowCount& size, const Dest& dw, const Dest& db,
                 Device device) {
  const long n = size.length;
  const long piece = piece_of(size.rows);
  const long pieces = size.rows > piece ? (size.rows + piece - 1) / piece : 1;
  const dim3 grid(blocks_for(n, kColumns, n), static_cast<unsigned>(pieces), 1);
  const auto launch = [&](const Dest& w, const Dest& b) {
    on.check(LAUNCH((affine_grad_kernel<C, X>), grid, kColumns, 0, on.stream(), dy, x, mean, rstd,
                    size, piece, Target<C>(w), Target<C>(b)),
             "layer_norm_grad");
  };
  if (pieces == 1) return launch(dw, db);
  const Workspace sums(static_cast<size_t>(2 * pieces * n) * sizeof(C), device);
  auto* const of_w = sums.as<C>();
  C* const of_b = of_w + pieces * n;
  const auto part = [&](C* data, const Dest& y) {
    return y.wanted()
               ? Dest(View{data, {pieces, n}, {n, 1}, dtype_of<C>(), device}, Write::overwrite)
               : Dest();
  };
  launch(part(of_w, dw), part(of_b, db));
  const auto add = [&](const C* data, const Dest& y) {
    if (y.wanted())
      on.check(LAUNCH(add_pieces_kernel<C>, grid.x, kColumns, 0, on.stream(), data, pieces, n,
                      Target<C>(y)),
               "layer_norm_grad");
  };
  add(of_w, dw);
  add(of_b, db);
}

}  // namespace

void layer_norm_grad(const ConstView& dy, const ConstView& x, const ConstView& w,
                     const ConstView& mean, const ConstView& rstd, int width, const Dest& dx,
                     const Dest& dw, const Dest& db) {
  const int first = x.shape.size() - width;
  const RowCount size(x.shape, first, width);
  if (size.length == 0) return;
  const Launcher on(x.device);
  const Teams teams(size);
  const bool dense = has_dense_rows(dy, first, width) && has_dense_rows(x, first, width) &&
                     has_dense_rows(w, 0, width) && has_dense_rows(dx, first, width);
  visit_row_kinds(x.dtype, dense, [&]<class C, class X, class Y>() {
    const X upstream(dy, first, width), from(x, first, width);
    const Source<double> means(mean), rstds(rstd);
    if (dx.wanted() && size.rows > 0)
      on.check(LAUNCH((input_grad_kernel<C, X, Y>), teams.grid, teams.block, 0, on.stream(),
                      upstream, from, X(w, 0, width), means, rstds, size, Y(dx, first, width)),
               "layer_norm_grad");
    if (dw.wanted() || db.wanted())
      affine_grad<C>(on, upstream, from, means, rstds, size, dw, db, x.device);
  });
}

}  // namespace accrue::kernels::cuda
