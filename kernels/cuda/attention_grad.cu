// Attention, backward: with w = softmax(scale · q · kᵀ + mask), made again tile by tile,
//
//   dv = D(w)ᵀ · dy    ds = w · (g - mean)    dq = ds · k    dk = dsᵀ · q
//   g = D(scale · dy · vᵀ)    mean = Σ w · g over the keys of a query
//
// Queries first: one kernel goes over the keys for the mean, then again for dq. A second one makes
// dk and dv, tiles of keys that go over the queries. So every gradient is one chain, in one thread.
#include <cmath>

#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/attention_scores.cuh>
#include <accrue/kernels/split.h>

namespace accrue::kernels::cuda {
namespace {

/// The inputs of backward, all but dy of which are those of forward.
template <class C, bool kAny>
struct Backward {
  Scores<C, kAny> in;
  Matrices<C, kAny> dy;
  const double* lse;
  double* mean;

  /// What `of` has for query i of a head; 0 if there is no such query.
  __device__ double of_query(const double* of, long head, long i) const {
    return i < in.q.rows ? of[head * in.q.rows + i] : 0;
  }
};

/// ln Σ e^score of a query, so that e^(score - lse) loses no digits beside a large one.
template <class C>
struct LogSum {
  Split<C> sum;

  __device__ explicit LogSum(double value) : sum(value) {
    // A query that sees nothing: all weights are 0.
    if (sum.high == -kInfinity) sum.high = kInfinity;
  }
  __device__ C weight(C score) const { return std::exp((score - sum.high) - sum.low); }

  static constexpr C kInfinity = std::numeric_limits<C>::infinity();
};

/// A block makes the mean of a tile of queries of one head, and kWidth columns of dq if wanted.
template <class C, bool kAny>
__global__ void __launch_bounds__(kThreads, 2)
    attention_query_grad_kernel(Backward<C, kAny> b, Target<C> dq, long tiles, long items) {
  using T = AttentionTile<C>;
  SIMT_SHARED(Quad<C>, stage, [T::kStage]);
  SIMT_SHARED(Quad<C>, weights, [T::kWeights]);
  SIMT_SHARED(double, means, [T::kSize]);  // each row's is one thread's
  const Scores<C, kAny>& in = b.in;
  const long column = static_cast<long>(blockIdx.y) * T::kWidth;
  for (long item = blockIdx.x; item < items; item += gridDim.x) {
    const long head = item / tiles, first = item % tiles * T::kSize;
    const long end = in.visible(first + T::kSize - 1);
    const bool works = has_rows<C>(in.q.rows - first);
    const bool owns_rows = own_column<C>(0) == 0;
    for (int i = 0; owns_rows && i < T::kOwn; ++i) means[own_row<C>(i)] = 0;
    Sums<C> sums = {};
#pragma unroll 1
    for (int pass = 0; pass < (dq ? 2 : 1); ++pass) {
#pragma unroll 1
      for (long key = 0; key < end; key += T::kSize) {
        const Place<C, false> at{head, first, key};
        C s[T::kOwn][T::kOwn];
        in.stage_mask(weights, at);
        multiply_rows<C>(stage, Rows(in.q, head, first, in.scale), Rows(in.k, head, key), s);
#pragma unroll
        for (int i = 0; i < T::kOwn && works; ++i) {
          const LogSum<C> log_sum(b.of_query(b.lse, head, at.query(i, 0)));
#pragma unroll
          for (int j = 0; j < T::kOwn; ++j)
            own_weight(weights, i, j) = log_sum.weight(in.masked(s[i][j], weights, at, i, j));
        }
        multiply_rows<C>(stage, Rows(b.dy, head, first, in.scale), Rows(in.v, head, key), s);
        const unsigned which = in.kept_weights(at);
#pragma unroll
        for (int i = 0; i < T::kOwn && works; ++i) {
          double part = 0;
          const C mean = pass == 0 ? C(0) : static_cast<C>(means[own_row<C>(i)]);
#pragma unroll
          for (int j = 0; j < T::kOwn; ++j) {
            C& w = own_weight(weights, i, j);
            const C g = in.drop(s[i][j], which, i, j);
            if (pass == 0) {
              part += static_cast<double>(w) * static_cast<double>(g);
            } else {
              w = w * (g - mean);
            }
          }
          if (pass == 1) continue;
          part = join_row(part, [](double x, double y) { return x + y; });
          if (owns_rows) means[own_row<C>(i)] += part;
        }
        if (pass == 0) {
          __syncthreads();  // the mask of the next tile goes where the weights are
        } else {
          add_product(stage, weights, Rows(in.k, head, key), column, works, sums);
        }
      }
    }
    for (int i = 0; column == 0 && owns_rows && i < T::kOwn; ++i) {
      const long row = first + own_row<C>(i);
      if (row < in.q.rows) b.mean[head * in.q.rows + row] = means[own_row<C>(i)];
    }
    if (dq) write_sums(stage, sums, dq, head, first, in.q.rows, column, in.q.cols);
  }
}

/// A block makes kWidth columns of dv, the first ones of a grid, or of dk, for a tile of keys of
/// one head. Rows of a tile are keys here, and columns queries.
template <class C, bool kAny>
__global__ void __launch_bounds__(kThreads, 2)
    attention_key_grad_kernel(Backward<C, kAny> b, Target<C> dk, Target<C> dv, long v_blocks,
                              long tiles, long items) {
  using T = AttentionTile<C>;
  SIMT_SHARED(Quad<C>, stage, [T::kStage]);
  SIMT_SHARED(Quad<C>, weights, [T::kWeights]);
  const Scores<C, kAny>& in = b.in;
  const bool makes_v = blockIdx.y < v_blocks;
  const long column = (blockIdx.y - (makes_v ? 0 : v_blocks)) * T::kWidth;
  // What the weights are multiplied with: dy for dv, q for dk.
  const Matrices<C, kAny>& factor = makes_v ? b.dy : in.q;
  for (long item = blockIdx.x; item < items; item += gridDim.x) {
    const long head = item / tiles, first = item % tiles * T::kSize;
    const bool works = has_rows<C>(in.k.rows - first);
    Sums<C> sums = {};
    // Queries before the first key see none of these keys if attention is causal.
#pragma unroll 1
    for (long query = in.is_causal ? first : 0; query < in.q.rows; query += T::kSize) {
      const Place<C, true> at{head, query, first};
      C s[T::kOwn][T::kOwn];
      in.stage_mask(weights, at);
      multiply_rows<C>(stage, Rows(in.k, head, first), Rows(in.q, head, query, in.scale), s);
      const unsigned which = in.kept_weights(at);
#pragma unroll
      for (int j = 0; j < T::kOwn && works; ++j) {
        const LogSum<C> log_sum(b.of_query(b.lse, head, at.query(0, j)));
#pragma unroll
        for (int i = 0; i < T::kOwn; ++i) {
          const C w = log_sum.weight(in.masked(s[i][j], weights, at, i, j));
          own_weight(weights, i, j) = makes_v ? in.drop(w, which, i, j) : w;
        }
      }
      if (!makes_v) {
        multiply_rows<C>(stage, Rows(in.v, head, first), Rows(b.dy, head, query, in.scale), s);
#pragma unroll
        for (int j = 0; j < T::kOwn && works; ++j) {
          const C mean = static_cast<C>(b.of_query(b.mean, head, at.query(0, j)));
#pragma unroll
          for (int i = 0; i < T::kOwn; ++i)
            own_weight(weights, i, j) *= in.drop(s[i][j], which, i, j) - mean;
        }
      }
      add_product(stage, weights, Rows(factor, head, query), column, works, sums);
    }
    write_sums(stage, sums, makes_v ? dv : dk, head, first, in.k.rows, column, factor.cols);
  }
}

}  // namespace

void attention_grad(const ConstView& dy, const ConstView& q, const ConstView& k, const ConstView& v,
                    const ConstView& mask, const ConstView& lse, const AttentionParams& p,
                    const Dest& dq, const Dest& dk, const Dest& dv) {
  const Launcher on(dy.device);
  visit_matrices(
      q.dtype,
      [&]<class C, bool kAny>() {
        using T = AttentionTile<C>;
        const Scores<C, kAny> in(q, k, v, mask, p);
        const Workspace mean(static_cast<size_t>(in.heads * in.q.rows) * sizeof(double), dy.device);
        const Backward<C, kAny> b{in, Matrices<C, kAny>(dy), static_cast<const double*>(lse.data),
                                  mean.as<double>()};
        const auto columns_of = [](const Dest& d) {
          return d.wanted() ? (d.view.shape.back() + T::kWidth - 1) / T::kWidth : 0;
        };
        const long q_tiles = (in.q.rows + T::kSize - 1) / T::kSize;
        if ((dq.wanted() || dk.wanted()) && in.heads * q_tiles > 0) {
          const dim3 grid(blocks_for(in.heads * q_tiles, 1, kMostTiles),
                          blocks_for(columns_of(dq), 1));
          on.check(LAUNCH((attention_query_grad_kernel<C, kAny>), grid, kThreads, 0, on.stream(), b,
                          Target<C>(dq), q_tiles, in.heads * q_tiles),
                   "attention_grad");
        }
        const long k_tiles = (in.k.rows + T::kSize - 1) / T::kSize;
        const auto key_grads = [&](const Dest& to_k, const Dest& to_v) {
          const long v_blocks = columns_of(to_v);
          if (v_blocks + columns_of(to_k) == 0 || in.heads * k_tiles == 0) return;
          const dim3 grid(blocks_for(in.heads * k_tiles, 1, kMostTiles),
                          blocks_for(v_blocks + columns_of(to_k), 1));
          on.check(LAUNCH((attention_key_grad_kernel<C, kAny>), grid, kThreads, 0, on.stream(), b,
                          Target<C>(to_k), Target<C>(to_v), v_blocks, k_tiles, in.heads * k_tiles),
                   "attention_grad");
        };
        if (dk.view.data == dv.view.data) {  // one gradient, of a tensor that is key and value
          key_grads(dk, Dest());
          key_grads(Dest(), dv);
        } else {
          key_grads(dk, dv);
        }
      },
      q, k, v, dy);
}

}  // namespace accrue::kernels::cuda
