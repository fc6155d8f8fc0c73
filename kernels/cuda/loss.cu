#include <accrue/core/cuda/backend.h>
#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/exp_sum.cuh>
#include <accrue/kernels/loss.h>

namespace accrue::kernels::cuda {
namespace {

constexpr unsigned long long kNoRow = ~0ULL;

/// The first row whose target is neither a class nor ignored.
__global__ void find_bad_target_kernel(Source<int64_t> target, long rows, long classes,
                                       int64_t ignored, unsigned long long* first) {
  for (long r = thread_number(); r < rows; r += thread_count()) {
    const int64_t t = target[r];
    if (t != ignored && (t < 0 || t >= classes))
      atomicMin(first, static_cast<unsigned long long>(r));
  }
}

__global__ void read_target_kernel(Source<int64_t> target, long r, int64_t* t) {
  if (threadIdx.x == 0) *t = target[r];
}

void check_targets(const CrossEntropy& p, const ConstView& target, long classes,
                   const Launcher& on) {
  const Device device = target.device;
  const long rows = numel(target.shape);
  if (rows == 0) return;
  const Workspace place(sizeof kNoRow, device);
  auto* const first = place.as<unsigned long long>();
  unsigned long long row = kNoRow;
  accrue::cuda::fill_bytes(first, device, 0xff, sizeof row);
  on.check(LAUNCH(find_bad_target_kernel, blocks_for(rows), kThreads, 0, on.stream(),
                  Source<int64_t>(target), rows, classes, p.ignore_index, first),
           "cross_entropy");
  accrue::cuda::copy(&row, Device::cpu(), first, device, sizeof row, false);
  if (row == kNoRow) return;
  int64_t t = 0;
  const long r = static_cast<long>(row);
  on.check(LAUNCH(read_target_kernel, 1, 32, 0, on.stream(), Source<int64_t>(target), r,
                  place.as<int64_t>()),
           "cross_entropy");
  accrue::cuda::copy(&t, Device::cpu(), first, device, sizeof t, false);
  kernels::detail::check_target(p, t, r, classes);
}

/// x[0] + x[1] + ..., one after another. A warp reads 32 at a time, and each lane adds them all.
template <class X>
__device__ double sum_in_order(const X& x, long n) {
  const int lane = threadIdx.x & 31;
  double sum = 0;
  for (long i = 0; i < n; i += 32) {
    const double mine = i + lane < n ? x[i + lane] : 0.0;
#pragma unroll
    for (int j = 0; j < 32; ++j) sum += __shfl_sync(kFullMask, mine, j);
  }
  return sum;
}

/// (1 - ε) · w_t · (lse - x_t) + ε/C · Σ_c w_c · (lse - x_c); a class of weight 0 adds nothing.
template <class C, int N, class Row>
__device__ double row_loss(const Row& x, long n, int64_t t, const Source<double>& weight,
                           double smoothing, double lse) {
  const auto term = [&](long c, C logit) {
    const double w = weight ? weight[c] : 1.0;
    return w == 0 ? 0.0 : w * (lse - static_cast<double>(logit));
  };
  const double loss = n > 0 ? term(t, x[t]) : 0.0;
  if (smoothing == 0) return loss;
  double smooth = 0;
  for_each_pack<N>(n, [&](long i) {
    const Pack<C, N> v = x.load(i, n, C(0));
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (i + j < n) smooth += term(i + j, v[j]);
  });
  return (1 - smoothing) * loss + smoothing / static_cast<double>(n) * team_sum(smooth);
}

/// A team's row: its lse, its loss, and the weight of its target; zeros if it is ignored.
/// Registers for two of the largest blocks on a multiprocessor, here and below.
template <class C, class X>
__global__ void __launch_bounds__(kMostTeam, 2)
    cross_entropy_kernel(CrossEntropy p, X x, Source<int64_t> target, Source<double> weight,
                         RowCount size, Target<double> each, Target<double> lses, double* losses,
                         double* counts) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long length) {
    const int64_t t = length > 0 ? target[r] : p.ignore_index;
    const bool ignored = t == p.ignore_index;
    const long n = ignored ? 0 : length;
    const auto row = x.row(r);
    const double lse = exp_sum<C, N>(row, n).lse();
    const double loss = row_loss<C, N>(row, n, t, weight, p.label_smoothing, lse);
    if (threadIdx.x == 0 && r < size.rows) {
      losses[r] = ignored ? 0.0 : loss;
      counts[r] = ignored ? 0.0 : weight ? weight[t] : 1.0;
      lses.set(r, ignored ? 0.0 : lse);
      if (each) each.set(r, losses[r]);
    }
  });
}

/// Two warps: one sums the losses, the other the weights of their targets.
__global__ void reduce_kernel(const double* losses, const double* counts, long rows,
                              Reduction reduction, Target<double> loss, Target<double> counted) {
  SIMT_SHARED(double, sums, [2]);
  const int warp = threadIdx.x / 32;
  const double sum = sum_in_order(warp == 0 ? losses : counts, rows);
  if (threadIdx.x % 32 == 0) sums[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    const double count = sums[1];
    counted.set(0, count);
    if (reduction == Reduction::mean) loss.set(0, count == 0 ? 0.0 : sums[0] / count);
    if (reduction == Reduction::sum) loss.set(0, sums[0]);
  }
}

/// One warp: the sum of the classes' weights.
__global__ void total_kernel(Source<double> weight, long classes, double* total) {
  const double sum = sum_in_order(weight, classes);
  if (threadIdx.x == 0) *total = sum;
}

/// A team writes a row.
template <class C, class X, class Y>
__global__ void __launch_bounds__(kMostTeam, 2)
    cross_entropy_grad_kernel(CrossEntropy p, Source<double> dy, X x, Source<int64_t> target,
                              Source<double> weight, const double* total, Source<double> lse,
                              Source<double> counted, RowCount size, Y dx) {
  constexpr int N = X::kPack;
  const double count = counted[0];
  const double per_item = p.reduction != Reduction::mean ? 1 : count == 0 ? 0 : 1 / count;
  const double smooth = p.label_smoothing / static_cast<double>(size.length);
  const double all = weight ? *total : static_cast<double>(size.length);
  for_each_row(size, [&](long r, long n) {
    const int64_t t = n > 0 ? target[r] : p.ignore_index;
    const bool counts = t != p.ignore_index && per_item != 0;
    const double g = counts ? dy[r] * per_item : 0;
    const double hit = counts ? g * (1 - p.label_smoothing) * (weight ? weight[t] : 1) : 0;
    const C spread = static_cast<C>(hit + g * smooth * all);
    const Split<C> c(counts ? lse[r] : 0);
    const auto from = x.row(r);
    const auto to = dx.row(r);
    for_each_pack<N>(n, [&](long i) {
      Pack<C, N> v = from.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j) {
        v[j] = spread * exp_minus(v[j], c);
        if (i + j == t) v[j] -= static_cast<C>(hit);
        if (smooth != 0 && i + j < n)
          v[j] -= static_cast<C>(g * smooth * (weight ? weight[i + j] : 1));
        if (!counts) v[j] = 0;
      }
      to.store(i, n, v);
    });
  });
}

}  // namespace

void cross_entropy(const CrossEntropy& p, const ConstView& x, const ConstView& target,
                   const ConstView& weight, const Dest& loss, const Dest& lse,
                   const Dest& counted) {
  const RowCount size(x.shape, p.class_dim, 1);
  const Device device = loss.view.device;
  const Launcher on(device);
  check_targets(p, target, size.length, on);
  const Workspace scratch(static_cast<size_t>(2 * size.rows) * sizeof(double), device);
  auto* const losses = scratch.as<double>();
  double* const counts = losses + size.rows;
  const bool reduced = p.reduction != Reduction::none;
  if (size.rows > 0) {
    const Teams teams(size);
    visit_rows(
        x.dtype, p.class_dim, 1,
        [&]<class C, class X, class>() {
          on.check(
              LAUNCH((cross_entropy_kernel<C, X>), teams.grid, teams.block, 0, on.stream(), p,
                     X(x, p.class_dim, 1), Source<int64_t>(target), Source<double>(weight), size,
                     Target<double>(reduced ? Dest() : loss), Target<double>(lse), losses, counts),
              "cross_entropy");
        },
        x);
  }
  on.check(LAUNCH(reduce_kernel, 1, 64, 0, on.stream(), losses, counts, size.rows, p.reduction,
                  Target<double>(loss), Target<double>(counted)),
           "cross_entropy");
}

void cross_entropy_grad(const CrossEntropy& p, const ConstView& dy, const ConstView& x,
                        const ConstView& target, const ConstView& weight, const ConstView& lse,
                        const ConstView& counted, const Dest& dx) {
  const RowCount size(x.shape, p.class_dim, 1);
  if (size.rows * size.length == 0) return;
  const Device device = dx.view.device;
  const Launcher on(device);
  const Workspace scratch(sizeof(double), device);
  auto* const total = scratch.as<double>();
  if (weight.data)
    on.check(
        LAUNCH(total_kernel, 1, 32, 0, on.stream(), Source<double>(weight), size.length, total),
        "cross_entropy_grad");
  const Teams teams(size);
  visit_rows(
      x.dtype, p.class_dim, 1,
      [&]<class C, class X, class Y>() {
        on.check(LAUNCH((cross_entropy_grad_kernel<C, X, Y>), teams.grid, teams.block, 0,
                        on.stream(), p, Source<double>(dy), X(x, p.class_dim, 1),
                        Source<int64_t>(target), Source<double>(weight), total, Source<double>(lse),
                        Source<double>(counted), size, Y(dx, p.class_dim, 1)),
                 "cross_entropy_grad");
      },
      x, dx);
}

}  // namespace accrue::kernels::cuda
