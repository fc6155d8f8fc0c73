// Sums over gradients for their norm: in double, in shares whose number depends on the gradients'
// sizes alone. One launch folds gradients of one kind into shares, a last one the shares.
#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/parts.cuh>
#include <accrue/kernels/optim.h>

namespace accrue::kernels::cuda {
namespace {

/// |x · scale|ᵖ, summed.
struct Powers {
  double p, scale;
  __device__ double of(double x) const {
    const double v = std::fabs(x * scale);
    return p == 2 ? v * v : p == 1 ? v : std::pow(v, p);
  }
  __device__ double fold(double a, double b) const { return a + b; }
};

/// |x|, the largest; a NaN if there is one.
struct Sizes {
  __device__ double of(double x) const { return std::fabs(x); }
  __device__ double fold(double a, double b) const { return Larger()(a, b); }
};

template <class X>
struct Folded {
  X x;
  long n;
  double* shares;  ///< one for each block
};

/// A block folds its share into one number.
template <class C, class X, class F>
__global__ void share_kernel(const F f, const __grid_constant__ PartList<Folded<X>> parts) {
  constexpr int N = kPackOf<X>;
  const auto mine = parts.mine();
  const Folded<X>& p = mine.part;
  double sum = 0;
  for (long i = 4 * mine.thread; i < p.n; i += 4 * mine.threads) {
    for_each_part<N>(i, p.n, [&](long k) {
      const Pack<C, N> v = load_pack(p.x, k, p.n);
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (k + j < p.n) sum = f.fold(sum, f.of(static_cast<double>(v[j])));
    });
  }
  const double share = block_fold(sum, 0.0, [&](double a, double b) { return f.fold(a, b); });
  if (threadIdx.x == 0) p.shares[mine.thread / blockDim.x] = share;
}

/// One block folds the shares.
template <class F>
__global__ void total_kernel(F f, const double* shares, long count, Target<double> y) {
  double sum = 0;
  for (long i = threadIdx.x; i < count; i += blockDim.x) sum = f.fold(sum, shares[i]);
  const double total = block_fold(sum, 0.0, [&](double a, double b) { return f.fold(a, b); });
  if (threadIdx.x == 0) y.set(0, total);
}

/// Blocks for a gradient.
unsigned share_count(const ConstView& x) {
  constexpr long each = 8;  // elements of a thread, until there are blocks enough
  return blocks_for(numel(x.shape), each * kThreads);
}

/// Those of the gradients whose kind is X; their shares are where their numbers in the list say.
template <class C, class X, class F>
void fold_kind(const char* name, const F& f, const ConstViews& all, const Launcher& on,
               double* shares) {
  Parts<Folded<X>> parts([&](const PartList<Folded<X>>& list, unsigned blocks) {
    on.check(LAUNCH((share_kernel<C, X, F>), blocks, kThreads, 0, on.stream(), f, list), name);
  });
  for (const ConstView& x : all) {
    const unsigned blocks = share_count(x);
    if (is_kind<X>(x.dtype, x)) parts.add({X(x), numel(x.shape), shares}, blocks);
    shares += blocks;
  }
  parts.launch();
}

template <class F>
void fold_all(const char* name, const F& f, const ConstViews& all, const Dest& y) {
  long count = 0;
  for (const ConstView& x : all) count += share_count(x);
  const Launcher on(y.view.device);
  const Workspace shares(static_cast<size_t>(count) * sizeof(double), y.view.device);
  for_each_kind(
      [&]<class C, class X, class>() { fold_kind<C, X>(name, f, all, on, shares.as<double>()); });
  on.check(LAUNCH(total_kernel<F>, 1, kThreads, 0, on.stream(), f, shares.as<double>(), count,
                  Target<double>(y)),
           name);
}

}  // namespace

void power_sum(double p, double scale, const ConstViews& x, const Dest& y) {
  fold_all("power_sum", Powers{p, scale}, x, y);
}

void max_abs(const ConstViews& x, const Dest& y) { fold_all("max_abs", Sizes{}, x, y); }

}  // namespace accrue::kernels::cuda
