#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/reduce.h>

#include <accrue/autograd/ops/index.h>
#include <accrue/autograd/ops/reduce.h>
#include <accrue/autograd/ops/shape.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// Which dimensions go, and whether they leave a 1 behind.
class ReducedDims {
 public:
  ReducedDims(const char* op, const Tensor& x, const Dims& dims, KeepDim keep) : keep_(keep) {
    ops::check_defined(op, x);
    const int rank = x.dim();
    if (dims.empty()) reduced_ = (1U << rank) - 1;
    for (int64_t dim : dims) {
      const int d = normalize_dim(op, dim, rank);
      check<ShapeError>(!reduces(d), op, ": dimension ", d, " comes twice in ", dims,
                        "; name each at most once");
      reduced_ |= 1U << d;
    }
  }

  bool reduces(int d) const { return reduced_ >> d & 1U; }
  /// The shape of x with 1 for each reduced dimension, which is how kernels see the result.
  Dims kept(const Dims& x) const {
    Dims shape = x;
    for (int d = 0; d < x.size(); ++d)
      if (reduces(d)) shape[d] = 1;
    return shape;
  }
  int64_t terms(const Dims& x) const {
    int64_t n = 1;
    for (int d = 0; d < x.size(); ++d)
      if (reduces(d)) n *= x[d];
    return n;
  }
  /// The result in the shape that the user asked for.
  Tensor result(const Tensor& kept) const {
    if (keep_ == KeepDim::yes) return kept;
    Layout y{.offset = kept.layout().offset};
    for (int d = 0; d < kept.dim(); ++d) {
      if (reduces(d)) continue;
      y.shape.push_back(kept.shape()[d]);
      y.strides.push_back(kept.strides()[d]);
    }
    return kept.alias(y);
  }
  /// dy with the reduced dimensions of x back, as 1.
  Tensor restored(const Tensor& dy, const Dims& x) const { return ops::reshaped(dy, kept(x)); }

  void check_not_over_nothing(const char* op, const Dims& x) const {
    for (int d = 0; d < x.size(); ++d)
      check<ShapeError>(!reduces(d) || x[d] > 0, op, ": dimension ", d, " of ", x,
                        " has size 0; there is no ", op, " of nothing");
  }

 private:
  KeepDim keep_;
  unsigned reduced_ = 0;
};

Tensor empty_kept(const ReducedDims& over, const Tensor& x, DType dtype) {
  return Tensor::empty(over.kept(x.shape()), dtype, x.device());
}

// y = Σ x      dx = dy, repeated
struct Sum {
  static constexpr const char* name = "sum";
  ReducedDims over;
  Tensor forward(const Tensor& x) {
    const Tensor y = empty_kept(over, x, is_floating(x.dtype()) ? x.dtype() : DType::int64);
    kernels::sum(x, 1, into(y));
    return over.result(y);
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (!dx) return;
    const Tensor kept = over.restored(dy, dx.shape());
    dx.add(kept.alias(layout::expand(kept.layout(), dx.shape())));
  }
};

// y = Σ x / n      dx = dy / n, repeated
struct Mean {
  static constexpr const char* name = "mean";
  ReducedDims over;
  Tensor forward(const Tensor& x) {
    ops::check_floating(name, x);
    over.check_not_over_nothing(name, x.shape());
    const Tensor y = empty_kept(over, x, x.dtype());
    kernels::sum(x, terms(x.shape()), into(y));
    return over.result(y);
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx)
      kernels::unary(Unary::div_scalar, over.restored(dy, dx.shape()), into(dx),
                     {terms(dx.shape())});
  }
  double terms(const Dims& x) const { return static_cast<double>(over.terms(x)); }
};

// y_j = Σ x_i over i ≤ j      dx_i = Σ dy_j over j ≥ i
struct Cumsum {
  static constexpr const char* name = "cumsum";
  int dim;
  Tensor forward(const Tensor& x) {
    Tensor y =
        Tensor::empty(x.shape(), is_floating(x.dtype()) ? x.dtype() : DType::int64, x.device());
    kernels::cumsum(x, dim, false, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::cumsum(dy, dim, true, into(dx));
  }
};

// y = max x      dx = dy / (how many equal y) where x = y, else 0; min alike
enum class Extreme : uint8_t { largest, smallest };
template <Extreme which>
struct Extremum {
  static constexpr const char* name = which == Extreme::largest ? "amax" : "amin";
  ReducedDims over;
  Saved saved_x = {}, saved_y = {};
  Tensor forward(const Tensor& x) {
    over.check_not_over_nothing(name, x.shape());
    const Tensor y = empty_kept(over, x, x.dtype());
    if constexpr (which == Extreme::largest)
      kernels::amax(x, into(y));
    else
      kernels::amin(x, into(y));
    if (x.requires_grad()) saved_x = x, saved_y = y;
    return over.result(y);
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::extremum_grad(over.restored(dy, dx.shape()), saved_x, saved_y, into(dx));
  }
};

Tensor where_extreme(const char* op, Extreme which, const Tensor& x, const Dims& dims,
                     KeepDim keep) {
  const ReducedDims over(op, x, dims, keep);
  over.check_not_over_nothing(op, x.shape());
  const Tensor y = empty_kept(over, x, DType::int64);
  if (which == Extreme::largest)
    kernels::argmax(x, into(y));
  else
    kernels::argmin(x, into(y));
  return over.result(y);
}

ValuesAndIndices extreme(const char* op, Extreme which, const Tensor& x, int64_t dim,
                         KeepDim keep) {
  const Tensor at = where_extreme(op, which, x, {dim}, KeepDim::yes);
  const Tensor values = gather(x, dim, at);
  if (keep == KeepDim::yes) return {values, at};
  return {squeeze(values, dim), squeeze(at, dim)};
}

}  // namespace

Tensor sum(const Tensor& x, const Dims& dims, KeepDim keep) {
  return apply(Sum{ReducedDims("sum", x, dims, keep)}, x);
}
Tensor mean(const Tensor& x, const Dims& dims, KeepDim keep) {
  return apply(Mean{ReducedDims("mean", x, dims, keep)}, x);
}
Tensor amax(const Tensor& x, const Dims& dims, KeepDim keep) {
  return apply(Extremum<Extreme::largest>{ReducedDims("amax", x, dims, keep)}, x);
}
Tensor amin(const Tensor& x, const Dims& dims, KeepDim keep) {
  return apply(Extremum<Extreme::smallest>{ReducedDims("amin", x, dims, keep)}, x);
}

Tensor cumsum(const Tensor& x, int64_t dim) {
  ops::check_defined("cumsum", x);
  return apply(Cumsum{normalize_dim("cumsum", dim, x.dim())}, x);
}

Tensor argmax(const Tensor& x) {
  return where_extreme("argmax", Extreme::largest, x, {}, KeepDim::no);
}
Tensor argmax(const Tensor& x, int64_t dim, KeepDim keep) {
  return where_extreme("argmax", Extreme::largest, x, {dim}, keep);
}
Tensor argmax(const Tensor& x, const Dims& dims, KeepDim keep) {
  return where_extreme("argmax", Extreme::largest, x, dims, keep);
}
Tensor argmin(const Tensor& x) {
  return where_extreme("argmin", Extreme::smallest, x, {}, KeepDim::no);
}
Tensor argmin(const Tensor& x, int64_t dim, KeepDim keep) {
  return where_extreme("argmin", Extreme::smallest, x, {dim}, keep);
}
Tensor argmin(const Tensor& x, const Dims& dims, KeepDim keep) {
  return where_extreme("argmin", Extreme::smallest, x, dims, keep);
}

Tensor max(const Tensor& x) { return amax(x); }
Tensor min(const Tensor& x) { return amin(x); }
ValuesAndIndices max(const Tensor& x, int64_t dim, KeepDim keep) {
  return extreme("max", Extreme::largest, x, dim, keep);
}
ValuesAndIndices min(const Tensor& x, int64_t dim, KeepDim keep) {
  return extreme("min", Extreme::smallest, x, dim, keep);
}

}  // namespace accrue
