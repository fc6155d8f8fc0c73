#include <accrue/kernels/cpu/flat.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/row_math.h>
#include <accrue/kernels/norm.h>

namespace accrue::kernels::cpu {
namespace {

/// The dimension at which the rows of x begin.
int first_of(const ConstView& x, int width) { return x.shape.size() - width; }

/// What the backward knows of the rows.
template <class C>
struct Rows {
  RowReader<C> dy, x;
  RowReader<double> mean, rstd;

  Affine<C> affine(int64_t r, const C* w) const {
    double m;
    double s;
    return {Split<C>(*mean.read(r, &m)), static_cast<C>(*rstd.read(r, &s)), w, nullptr};
  }
};

template <class C>
void input_grad(const Rows<C>& rows, const C* w, const RowWriter<C>& dx) {
  const int64_t n = rows.x.length();
  parallel_for(rows.x.rows(), row_grain(n), [&](int64_t begin, int64_t end) {
    const Scratch scratch(static_cast<size_t>(4 * n) * sizeof(C));
    C* const buffer = scratch.as<C>();
    for (int64_t r = begin; r < end; ++r) {
      C* const to = dx.place(r, buffer + 2 * n);
      row_math<C>().normalize_grad(rows.dy.read(r, buffer), rows.x.read(r, buffer + n),
                                   rows.affine(r, w), to, n, buffer + 3 * n);
      dx.put(r, to);
    }
  });
}

/// The old content if `y` adds, else 0.
template <class C>
void start(const Dest& y, int64_t begin, int64_t n, C* sums) {
  if (!y.wanted()) return;
  if (y.write == Write::overwrite) {
    std::fill_n(sums, n, C(0));
    return;
  }
  const C* const old = RowReader<C>(y.view, 0, y.view.shape.size()).read(0, begin, n, sums);
  if (old != sums) std::copy_n(old, n, sums);
}
template <class C>
void finish(const Dest& y, int64_t begin, int64_t n, const C* sums) {
  if (!y.wanted()) return;
  RowWriter<C>({y.view, Write::overwrite}, 0, y.view.shape.size()).put(0, begin, n, sums);
}

/// Threads take columns; each walks all rows, a block of columns at a time.
template <class C>
void affine_grad(const Rows<C>& rows, const Dest& dw, const Dest& db) {
  constexpr int64_t block = 512;
  parallel_for(rows.x.length(), 64, [&](int64_t first, int64_t last) {
    const Scratch scratch(4 * block * sizeof(C));
    C* const buffer = scratch.as<C>();
    C* const w_sums = dw.wanted() ? buffer + 2 * block : nullptr;
    C* const b_sums = db.wanted() ? buffer + 3 * block : nullptr;
    for (int64_t begin = first; begin < last; begin += block) {
      const int64_t n = std::min(block, last - begin);
      start(dw, begin, n, w_sums);
      start(db, begin, n, b_sums);
      for (int64_t r = 0; r < rows.x.rows(); ++r) {
        row_math<C>().affine_grad(rows.dy.read(r, begin, n, buffer),
                                  rows.x.read(r, begin, n, buffer + block), rows.affine(r, nullptr),
                                  w_sums, b_sums, n);
      }
      finish(dw, begin, n, w_sums);
      finish(db, begin, n, b_sums);
    }
  });
}

}  // namespace

void layer_norm(const ConstView& x, const ConstView& w, const ConstView& b, int width, double eps,
                const Dest& y, const Dest& mean, const Dest& rstd) {
  visit_compute(x.dtype, [&]<class C>() {
    const Flat<C> weight(w);
    const Flat<C> bias(b);
    const RowReader<C> in(x, first_of(x, width), width);
    const RowWriter<C> out(y, first_of(x, width), width);
    const RowWriter<double> means(mean, 0, 0);
    const RowWriter<double> rstds(rstd, 0, 0);
    const int64_t n = in.length();
    parallel_for(in.rows(), row_grain(n), [&](int64_t begin, int64_t end) {
      const Scratch scratch(static_cast<size_t>(2 * n) * sizeof(C));
      C* const buffer = scratch.as<C>();
      for (int64_t r = begin; r < end; ++r) {
        const C* const row = in.read(r, buffer);
        const Moments m = row_math<C>().moments(row, n);
        const double scale = 1 / std::sqrt(m.variance + eps);
        C* const to = out.place(r, buffer + n);
        row_math<C>().normalize(
            row, {Split<C>(m.mean), static_cast<C>(scale), weight.data(), bias.data()}, to, n);
        out.put(r, to);
        means.put(r, &m.mean);
        rstds.put(r, &scale);
      }
    });
  });
}

void layer_norm_grad(const ConstView& dy, const ConstView& x, const ConstView& w,
                     const ConstView& mean, const ConstView& rstd, int width, const Dest& dx,
                     const Dest& dw, const Dest& db) {
  const int first = first_of(x, width);
  visit_compute(x.dtype, [&]<class C>() {
    const Flat<C> weight(w);
    const Rows<C> rows{{dy, first, width}, {x, first, width}, {mean, 0, 0}, {rstd, 0, 0}};
    if (dx.wanted()) input_grad(rows, weight.data(), RowWriter<C>(dx, first, width));
    if (dw.wanted() || db.wanted()) affine_grad(rows, dw, db);
  });
}

}  // namespace accrue::kernels::cpu
