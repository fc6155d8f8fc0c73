#include <accrue/core/workspace.h>

#include <accrue/kernels/cuda/rows.cuh>
#include <accrue/kernels/optim.h>

// Sums over a gradient for its norm: in double, in pieces whose number depends on the size alone.
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

/// A block folds its share into one number.
template <class C, class X, class F>
__global__ void share_kernel(F f, X x, long n, double* shares) {
  constexpr int N = X::kPack;
  double sum = 0;
  for (long i = 4 * thread_number(); i < n; i += 4 * thread_count()) {
    for_each_part<N>(i, n, [&](long k) {
      const Pack<C, N> v = x.row(0).load(k, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (k + j < n) sum = f.fold(sum, f.of(static_cast<double>(v[j])));
    });
  }
  const double share = block_fold(sum, 0.0, [&](double a, double b) { return f.fold(a, b); });
  if (threadIdx.x == 0) shares[blockIdx.x] = share;
}

/// One block folds the shares.
template <class F>
__global__ void total_kernel(F f, const double* shares, int count, Target<double> y) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum = f.fold(sum, shares[i]);
  const double total = block_fold(sum, 0.0, [&](double a, double b) { return f.fold(a, b); });
  if (threadIdx.x == 0) y.set(0, total);
}

template <class F>
void fold_all(const char* name, const F& f, const ConstView& x, const Dest& y) {
  constexpr long each = 8;  // elements of a thread, until there are blocks enough
  const long n = numel(x.shape);
  const int rank = x.shape.size();
  const unsigned blocks = blocks_for(n, each * kThreads);
  const Launcher on(y.view.device);
  const Workspace shares(blocks * sizeof(double), y.view.device);
  visit_rows(
      x.dtype, 0, rank,
      [&]<class C, class X, class>() {
        on.check(LAUNCH((share_kernel<C, X, F>), blocks, kThreads, 0, on.stream(), f, X(x, 0, rank),
                        n, shares.as<double>()),
                 name);
      },
      x);
  on.check(LAUNCH(total_kernel<F>, 1, kThreads, 0, on.stream(), f, shares.as<double>(),
                  static_cast<int>(blocks), Target<double>(y)),
           name);
}

}  // namespace

void power_sum(double p, double scale, const ConstView& x, const Dest& y) {
  fold_all("power_sum", Powers{p, scale}, x, y);
}

void max_abs(const ConstView& x, const Dest& y) { fold_all("max_abs", Sizes{}, x, y); }

}  // namespace accrue::kernels::cuda
