#include <accrue/kernels/cpu/flat.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/row_math.h>
#include <accrue/kernels/loss.h>

namespace accrue::kernels::cpu {
namespace {

/// The classes' weights: all 1 without a tensor of them.
class Weights {
 public:
  Weights(const ConstView& weight, int64_t classes) : values_(weight) {
    for (int64_t c = 0; c < classes; ++c) total_ += (*this)[c];
  }
  double operator[](int64_t c) const { return values_.size() > 0 ? values_[c] : 1; }
  double total() const { return total_; }

 private:
  Flat<double> values_;
  double total_ = 0;
};

/// (1 - ε) · w_t · (lse - x_t) + ε/C · Σ_c w_c · (lse - x_c); a class of weight 0 adds nothing.
template <class C>
double row_loss(const CrossEntropy& p, const C* x, int64_t classes, int64_t t, const Weights& w,
                double lse) {
  const auto term = [&](int64_t c) {
    return w[c] == 0 ? 0 : w[c] * (lse - static_cast<double>(x[c]));
  };
  const double loss = term(t);
  if (p.label_smoothing == 0) return loss;
  double smooth = 0;
  for (int64_t c = 0; c < classes; ++c) smooth += term(c);
  return (1 - p.label_smoothing) * loss + p.label_smoothing / static_cast<double>(classes) * smooth;
}

void write_scalar(const Dest& y, double value) {
  RowWriter<double>(y, 0, y.view.shape.size()).put(0, &value);
}

}  // namespace

void cross_entropy(const CrossEntropy& p, const ConstView& x, const ConstView& target,
                   const ConstView& weight, const Dest& loss, const Dest& lse,
                   const Dest& counted) {
  const int64_t classes = x.shape[p.class_dim];
  const Flat<int64_t> targets(target);
  const Weights weights(weight, classes);
  double count = 0;
  for (int64_t r = 0; r < targets.size(); ++r) {
    const int64_t t = targets[r];
    kernels::detail::check_target(p, t, r, classes);
    if (t != p.ignore_index) count += weights[t];
  }
  const Scratch scratch(static_cast<size_t>(targets.size()) * sizeof(double));
  auto* const losses = scratch.as<double>();
  visit_compute(x.dtype, [&]<class C>() {
    const RowReader<C> logits(x, p.class_dim, 1);
    const RowWriter<double> lses(lse, 0, 0);
    const RowWriter<double> each(loss, 0, 0);
    parallel_for(logits.rows(), row_grain(classes), [&](int64_t begin, int64_t end) {
      const Scratch rows(static_cast<size_t>(2 * classes) * sizeof(C));
      C* const buffer = rows.as<C>();
      for (int64_t r = begin; r < end; ++r) {
        const int64_t t = targets[r];
        double row_lse = 0;
        losses[r] = 0;
        if (t != p.ignore_index) {
          const C* const row = logits.read(r, buffer);
          row_lse = row_math<C>().logsumexp(row, classes, buffer + classes);
          losses[r] = row_loss(p, row, classes, t, weights, row_lse);
        }
        lses.put(r, &row_lse);
        if (p.reduction == Reduction::none) each.put(r, &losses[r]);
      }
    });
  });
  write_scalar(counted, count);
  if (p.reduction == Reduction::none) return;
  double sum = 0;
  for (int64_t r = 0; r < targets.size(); ++r) sum += losses[r];
  if (p.reduction == Reduction::mean) sum = count == 0 ? 0 : sum / count;
  write_scalar(loss, sum);
}

void cross_entropy_grad(const CrossEntropy& p, const ConstView& dy, const ConstView& x,
                        const ConstView& target, const ConstView& weight, const ConstView& lse,
                        const ConstView& counted, const Dest& dx) {
  const int64_t classes = x.shape[p.class_dim];
  const Flat<int64_t> targets(target);
  const Weights weights(weight, classes);
  const double count = Flat<double>(counted)[0];
  const double per_item = p.reduction != Reduction::mean ? 1 : count == 0 ? 0 : 1 / count;
  const double smooth = p.label_smoothing / static_cast<double>(classes);
  visit_compute(x.dtype, [&]<class C>() {
    const RowReader<double> upstream(dy, 0, 0);
    const RowReader<double> lses(lse, 0, 0);
    const RowReader<C> logits(x, p.class_dim, 1);
    const RowWriter<C> out(dx, p.class_dim, 1);
    parallel_for(logits.rows(), row_grain(classes), [&](int64_t begin, int64_t end) {
      const Scratch rows(static_cast<size_t>(2 * classes) * sizeof(C));
      C* const buffer = rows.as<C>();
      for (int64_t r = begin; r < end; ++r) {
        const int64_t t = targets[r];
        C* const to = out.place(r, buffer + classes);
        double one;
        const double g = t == p.ignore_index ? 0 : *upstream.read(r, &one) * per_item;
        if (t == p.ignore_index || per_item == 0) {
          std::fill_n(to, classes, C(0));
        } else {
          const double hit = g * (1 - p.label_smoothing) * weights[t];
          const double spread = hit + g * smooth * weights.total();
          row_math<C>().exp_minus(logits.read(r, buffer), Split<C>(*lses.read(r, &one)),
                                  static_cast<C>(spread), to, classes);
          to[t] -= static_cast<C>(hit);
          if (smooth != 0) {
            for (int64_t c = 0; c < classes; ++c) to[c] -= static_cast<C>(g * smooth * weights[c]);
          }
        }
        out.put(r, to);
      }
    });
  });
}

}  // namespace accrue::kernels::cpu
