#include <accrue/kernels/cuda/exp_sum.cuh>
#include <accrue/kernels/softmax.h>

// Each kernel has a team of threads for a row, which reads it twice: for its sum, then for what is
// made of it. A result may replace an operand: a thread writes only what it alone reads.
namespace accrue::kernels::cuda {
namespace {

enum class Form : uint8_t { plain, logarithmic };

/// y = e^(x - max) / Σ e^(x - max), or x - max - ln Σ e^(x - max).
template <class C, class X, class Y>
__global__ void softmax_kernel(X x, Y y, RowCount size, Form form) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long n) {
    const auto from = x.row(r);
    const auto to = y.row(r);
    const ExpSum<C> all = exp_sum<C, N>(from, n);
    const C max = all.max;
    // An infinite maximum minus itself is in the sum, and is NaN.
    const C sum = static_cast<C>(std::isinf(max) ? static_cast<double>(max - max) : all.sum);
    const C shift = all.shift();
    const C log_sum = static_cast<C>(std::log(all.sum));
    for_each_pack<N>(n, [&](long i) {
      Pack<C, N> v = from.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j)
        v[j] = form == Form::plain ? std::exp(v[j] - max) / sum : (v[j] - shift) - log_sum;
      to.store(i, n, v);
    });
  });
}

/// dx = y · (dy - Σ dy · y), or dy - eʸ · Σ dy.
template <class C, class X, class Y>
__global__ void softmax_grad_kernel(X dy, X y, Y dx, RowCount size, Form form) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long n) {
    const auto upstream = dy.row(r);
    const auto saved = y.row(r);
    const auto to = dx.row(r);
    double terms = 0;
    for_each_pack<N>(n, [&](long i) {
      const Pack<C, N> g = upstream.load(i, n, C(0));
      const Pack<C, N> v = saved.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const double factor = form == Form::plain ? static_cast<double>(v[j]) : 1;
        terms += static_cast<double>(g[j]) * factor;
      }
    });
    const C sum = static_cast<C>(team_sum(terms));
    for_each_pack<N>(n, [&](long i) {
      Pack<C, N> g = upstream.load(i, n, C(0));
      const Pack<C, N> v = saved.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j)
        g[j] = form == Form::plain ? v[j] * (g[j] - sum) : std::fma(-std::exp(v[j]), sum, g[j]);
      to.store(i, n, g);
    });
  });
}

template <class C, class X>
__global__ void logsumexp_kernel(X x, Target<C> y, RowCount size) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long n) {
    const double lse = exp_sum<C, N>(x.row(r), n).lse();
    if (threadIdx.x == 0 && r < size.rows) y.set(r, static_cast<C>(lse));
  });
}

/// dx = dy · e^(x - y), 0 where y is -∞.
template <class C, class X, class Y>
__global__ void logsumexp_grad_kernel(Source<C> dy, X x, Y dx, RowCount size) {
  constexpr int N = X::kPack;
  for_each_row(size, [&](long r, long n) {
    const auto from = x.row(r);
    const auto to = dx.row(r);
    const double lse = exp_sum<C, N>(from, n).lse();
    const bool none = lse == -std::numeric_limits<double>::infinity();
    const Split<C> c(lse);
    const C scale = n > 0 ? dy[r] : C(0);
    for_each_pack<N>(n, [&](long i) {
      Pack<C, N> v = from.load(i, n, C(0));
#pragma unroll
      for (int j = 0; j < N; ++j) v[j] = none ? C(0) : scale * exp_minus(v[j], c);
      to.store(i, n, v);
    });
  });
}

void softmax_of(const ConstView& x, int dim, const Dest& y, Form form, const char* name) {
  const RowCount size(x.shape, dim, 1);
  if (size.rows * size.length == 0) return;
  const Launcher on(y.view.device);
  const Teams teams(size);
  visit_rows(
      x.dtype, dim, 1,
      [&]<class C, class X, class Y>() {
        on.check(LAUNCH((softmax_kernel<C, X, Y>), teams.grid, teams.block, 0, on.stream(),
                        X(x, dim, 1), Y(y, dim, 1), size, form),
                 name);
      },
      x, y);
}

void softmax_grad_of(const ConstView& dy, const ConstView& y, int dim, const Dest& dx, Form form,
                     const char* name) {
  const RowCount size(y.shape, dim, 1);
  if (size.rows * size.length == 0) return;
  const Launcher on(dx.view.device);
  const Teams teams(size);
  visit_rows(
      y.dtype, dim, 1,
      [&]<class C, class X, class Y>() {
        on.check(LAUNCH((softmax_grad_kernel<C, X, Y>), teams.grid, teams.block, 0, on.stream(),
                        X(dy, dim, 1), X(y, dim, 1), Y(dx, dim, 1), size, form),
                 name);
      },
      dy, y, dx);
}

}  // namespace

void softmax(const ConstView& x, int dim, const Dest& y) {
  softmax_of(x, dim, y, Form::plain, "softmax");
}
void softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx) {
  softmax_grad_of(dy, y, dim, dx, Form::plain, "softmax_grad");
}
void log_softmax(const ConstView& x, int dim, const Dest& y) {
  softmax_of(x, dim, y, Form::logarithmic, "log_softmax");
}
void log_softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx) {
  softmax_grad_of(dy, y, dim, dx, Form::logarithmic, "log_softmax_grad");
}

void logsumexp(const ConstView& x, int dim, const Dest& y) {
  const RowCount size(x.shape, dim, 1);
  if (size.rows == 0) return;
  const Launcher on(y.view.device);
  const Teams teams(size);
  visit_rows(
      x.dtype, dim, 1,
      [&]<class C, class X, class>() {
        on.check(LAUNCH((logsumexp_kernel<C, X>), teams.grid, teams.block, 0, on.stream(),
                        X(x, dim, 1), Target<C>(y), size),
                 "logsumexp");
      },
      x);
}

void logsumexp_grad(const ConstView& dy, const ConstView& x, int dim, const Dest& dx) {
  const RowCount size(x.shape, dim, 1);
  if (size.rows * size.length == 0) return;
  const Launcher on(dx.view.device);
  const Teams teams(size);
  visit_rows(
      x.dtype, dim, 1,
      [&]<class C, class X, class Y>() {
        on.check(LAUNCH((logsumexp_grad_kernel<C, X, Y>), teams.grid, teams.block, 0, on.stream(),
                        Source<C>(dy), X(x, dim, 1), Y(dx, dim, 1), size),
                 "logsumexp_grad");
      },
      x, dx);
}

}  // namespace accrue::kernels::cuda
