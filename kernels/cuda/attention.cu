// Attention, forward: tiles of queries, each of which goes over the keys once.
#include <cmath>

#include <accrue/kernels/cuda/attention_scores.cuh>

namespace accrue::kernels::cuda {
namespace {

template <class C>
__device__ void multiply(Quad<C>& x, C factor) {
  x = {x.x * factor, x.y * factor, x.z * factor, x.w * factor};
}

/// A block makes kWidth columns of y for a tile of queries of one head. Of each query it keeps the
/// largest score seen so far, m, Σ e^(score - m) and Σ e^(score - m) · v; a larger score makes the
/// sums fade by e^(old m - new m). At the end y = Σ .. v / Σ .. and lse = m + ln Σ ...
template <class C, bool kAny>
__global__ void __launch_bounds__(kThreads, 2)
    attention_kernel(Scores<C, kAny> in, Target<C> y, double* lse, long tiles, long items) {
  using T = AttentionTile<C>;
  constexpr C kInfinity = std::numeric_limits<C>::infinity();
  SIMT_SHARED(Quad<C>, stage, [T::kStage]);
  SIMT_SHARED(Quad<C>, weights, [T::kWeights]);
  const long column = static_cast<long>(blockIdx.y) * T::kWidth;
  for (long item = blockIdx.x; item < items; item += gridDim.x) {
    const long head = item / tiles, first = item % tiles * T::kSize;
    const bool works = has_rows<C>(in.q.rows - first);
    C most[T::kOwn];
    double sum[T::kOwn];  // of this thread's columns
    Sums<C> sums = {};
    for (int i = 0; i < T::kOwn; ++i) most[i] = -kInfinity, sum[i] = 0;

    const long end = in.visible(first + T::kSize - 1);
    for (long key = 0; key < end; key += T::kSize) {
      const Place<C, false> at{head, first, key};
      C s[T::kOwn][T::kOwn];
      in.stage_mask(weights, at);
      multiply_rows<C>(stage, Rows(in.q, head, first, in.scale), Rows(in.k, head, key), s);
      const unsigned which = in.kept_weights(at);
#pragma unroll
      for (int i = 0; i < T::kOwn && works; ++i) {
        C m = most[i];
#pragma unroll
        for (int j = 0; j < T::kOwn; ++j) {
          s[i][j] = in.masked(s[i][j], weights, at, i, j);
          if (s[i][j] > m) m = s[i][j];
        }
        m = join_row(m, [](C a, C b) { return b > a ? b : a; });
        const C shift = std::isinf(m) ? C(0) : m;  // e^-∞ is 0, e^∞ is ∞
        const C fade = std::exp(most[i] - shift);
        most[i] = m;
        sum[i] *= static_cast<double>(fade);
#pragma unroll
        for (int p = 0; p < T::kPanels; ++p) multiply(sums.at[i][p], fade);
#pragma unroll
        for (int j = 0; j < T::kOwn; ++j) {
          const C w = std::exp(s[i][j] - shift);
          sum[i] += static_cast<double>(w);
          own_weight(weights, i, j) = in.drop(w, which, i, j);
        }
      }
      add_product(stage, weights, Rows(in.v, head, key), column, works, sums);
    }

    for (int i = 0; i < T::kOwn && works; ++i) {
      const double whole = join_row(sum[i], [](double a, double b) { return a + b; });
      for (int p = 0; p < T::kPanels; ++p)
        multiply(sums.at[i][p], whole == 0 ? C(0) : static_cast<C>(1 / whole));
      const long row = first + own_row<C>(i);
      if (column == 0 && own_column<C>(0) == 0 && row < in.q.rows) {
        const double shift = std::isinf(most[i]) ? 0 : static_cast<double>(most[i]);
        lse[head * in.q.rows + row] = shift + std::log(whole);
      }
    }
    write_sums(stage, sums, y, head, first, in.q.rows, column, in.v.cols);
  }
}

}  // namespace

void attention(const ConstView& q, const ConstView& k, const ConstView& v, const ConstView& mask,
               const AttentionParams& p, const Dest& y, const Dest& lse) {
  const Launcher on(y.view.device);
  visit_matrices(
      q.dtype,
      [&]<class C, bool kAny>() {
        using T = AttentionTile<C>;
        const Scores<C, kAny> in(q, k, v, mask, p);
        const long tiles = (in.q.rows + T::kSize - 1) / T::kSize, items = in.heads * tiles;
        if (items == 0) return;
        const dim3 grid(blocks_for(items, 1, kMostTiles), blocks_for(in.v.cols, T::kWidth));
        on.check(LAUNCH((attention_kernel<C, kAny>), grid, kThreads, 0, on.stream(), in,
                        Target<C>(y), static_cast<double*>(lse.view.data), tiles, items),
                 "attention");
      },
      q, k, v);
}

}  // namespace accrue::kernels::cuda
