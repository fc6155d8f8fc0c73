#include <limits>

#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/row_math.h>
#include <accrue/kernels/cpu/rows.h>
#include <accrue/kernels/cpu/scratch.h>
#include <accrue/kernels/softmax.h>

namespace accrue::kernels::cpu {
namespace {

/// f(r, room for `buffers` rows) for each row r of n elements.
template <class C, class F>
void for_each_row(int64_t rows, int64_t n, int64_t buffers, const F& f) {
  parallel_for(rows, row_grain(n), [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(buffers * n) * sizeof(C));
    for (int64_t r = begin; r < end; ++r) f(r, scratch.as<C>());
  });
}

/// y's row = f(x's row)
template <class C, class F>
void map_rows(const ConstView& x, int dim, const Dest& y, const F& f) {
  const RowReader<C> in(x, dim, 1);
  const RowWriter<C> out(y, dim, 1);
  const int64_t n = in.length();
  for_each_row<C>(in.rows(), n, 2, [&](int64_t r, C* buffer) {
    C* const to = out.place(r, buffer + n);
    f(in.read(r, buffer), to, n);
    out.put(r, to);
  });
}

/// dx's row = f(dy's row, y's row)
template <class C, class F>
void map_rows(const ConstView& dy, const ConstView& y, int dim, const Dest& dx, const F& f) {
  const RowReader<C> upstream(dy, dim, 1);
  const RowReader<C> saved(y, dim, 1);
  const RowWriter<C> out(dx, dim, 1);
  const int64_t n = saved.length();
  for_each_row<C>(saved.rows(), n, 3, [&](int64_t r, C* buffer) {
    C* const to = out.place(r, buffer + 2 * n);
    f(upstream.read(r, buffer), saved.read(r, buffer + n), to, n);
    out.put(r, to);
  });
}

}  // namespace

void softmax(const ConstView& x, int dim, const Dest& y) {
  visit_compute(x.dtype, [&]<class C>() { map_rows<C>(x, dim, y, row_math<C>().softmax); });
}

void softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx) {
  visit_compute(y.dtype,
                [&]<class C>() { map_rows<C>(dy, y, dim, dx, row_math<C>().softmax_grad); });
}

void log_softmax(const ConstView& x, int dim, const Dest& y) {
  visit_compute(x.dtype, [&]<class C>() { map_rows<C>(x, dim, y, row_math<C>().log_softmax); });
}

void log_softmax_grad(const ConstView& dy, const ConstView& y, int dim, const Dest& dx) {
  visit_compute(y.dtype,
                [&]<class C>() { map_rows<C>(dy, y, dim, dx, row_math<C>().log_softmax_grad); });
}

void logsumexp(const ConstView& x, int dim, const Dest& y) {
  visit_compute(x.dtype, [&]<class C>() {
    const RowReader<C> in(x, dim, 1);
    const RowWriter<C> out(y, dim, 1);
    const int64_t n = in.length();
    for_each_row<C>(in.rows(), n, 2, [&](int64_t r, C* buffer) {
      const auto value = static_cast<C>(row_math<C>().logsumexp(in.read(r, buffer), n, buffer + n));
      out.put(r, &value);
    });
  });
}

void logsumexp_grad(const ConstView& dy, const ConstView& x, int dim, const Dest& dx) {
  visit_compute(x.dtype, [&]<class C>() {
    const RowReader<C> upstream(dy, dim, 1);
    const RowReader<C> in(x, dim, 1);
    const RowWriter<C> out(dx, dim, 1);
    const int64_t n = in.length();
    for_each_row<C>(in.rows(), n, 2, [&](int64_t r, C* buffer) {
      const C* const row = in.read(r, buffer);
      C* const to = out.place(r, buffer + n);
      const double lse = row_math<C>().logsumexp(row, n, to);
      C one = 0;
      const C scale = *upstream.read(r, &one);
      if (lse == -std::numeric_limits<double>::infinity()) {
        std::fill_n(to, n, C(0));
      } else {
        row_math<C>().exp_minus(row, Split<C>(lse), scale, to, n);
      }
      out.put(r, to);
    });
  });
}

}  // namespace accrue::kernels::cpu
