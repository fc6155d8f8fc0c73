#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/compare.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

Tensor truth_of(Binary f, const Tensor& a, const Tensor& b) {
  ops::check_together(name_of(f), a, b);
  Tensor y = Tensor::empty(broadcast(name_of(f), a.shape(), b.shape()), DType::boolean, a.device());
  kernels::binary(f, a, b, into(y));
  return y;
}

Tensor truth_of(Binary f, const Tensor& a, Scalar b) {
  ops::check_defined(name_of(f), a);
  return truth_of(f, a, scalar(b.value(), b.comparable(a.dtype()), a.device()));
}

Tensor truth_of(Unary f, const Tensor& x) {
  ops::check_defined(name_of(f), x);
  Tensor y = Tensor::empty(x.shape(), DType::boolean, x.device());
  kernels::unary(f, x, into(y));
  return y;
}

// y = condition ? a : b      da = condition ? dy : 0      db = condition ? 0 : dy
struct Where {
  static constexpr const char* name = "where";
  Saved condition;
  Tensor forward(const Tensor& c, const Tensor& a, const Tensor& b) {
    ops::check_together(name, c, a);
    ops::check_together(name, a, b);
    check<DTypeError>(c.dtype() == DType::boolean, name, ": the condition is ", c.dtype(),
                      "; it must be bool: compare something, or cast it");
    const Dims shape = broadcast(name, c.shape(), broadcast(name, a.shape(), b.shape()));
    Tensor y = Tensor::empty(shape, promote(a.dtype(), b.dtype()), a.device());
    kernels::ternary(Ternary::where, c, a, b, into(y));
    if (a.requires_grad() || b.requires_grad()) condition = c;
    return y;
  }
  void backward(const Tensor& dy, GradSink, GradSink da, GradSink db) {
    if (da) kernels::binary(Binary::where_a, condition, dy, into(da));
    if (db) kernels::binary(Binary::where_b, condition, dy, into(db));
  }
};

}  // namespace

Tensor eq(const Tensor& a, const Tensor& b) { return truth_of(Binary::eq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return truth_of(Binary::ne, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return truth_of(Binary::lt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return truth_of(Binary::le, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return truth_of(Binary::gt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return truth_of(Binary::ge, a, b); }
Tensor eq(const Tensor& a, Scalar b) { return truth_of(Binary::eq, a, b); }
Tensor ne(const Tensor& a, Scalar b) { return truth_of(Binary::ne, a, b); }
Tensor lt(const Tensor& a, Scalar b) { return truth_of(Binary::lt, a, b); }
Tensor le(const Tensor& a, Scalar b) { return truth_of(Binary::le, a, b); }
Tensor gt(const Tensor& a, Scalar b) { return truth_of(Binary::gt, a, b); }
Tensor ge(const Tensor& a, Scalar b) { return truth_of(Binary::ge, a, b); }

Tensor logical_and(const Tensor& a, const Tensor& b) { return truth_of(Binary::logical_and, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return truth_of(Binary::logical_or, a, b); }
Tensor logical_not(const Tensor& x) { return truth_of(Unary::logical_not, x); }
Tensor isnan(const Tensor& x) { return truth_of(Unary::isnan, x); }

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return apply(Where{}, condition, a, b);
}
Tensor where(const Tensor& condition, const Tensor& a, Scalar b) {
  ops::check_defined("where", a);
  return where(condition, a, scalar(b.value(), b.promote(a.dtype()), a.device()));
}
Tensor where(const Tensor& condition, Scalar a, const Tensor& b) {
  ops::check_defined("where", b);
  return where(condition, scalar(a.value(), a.promote(b.dtype()), b.device()), b);
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  ops::check_together("masked_fill", x, mask);
  check<DTypeError>(mask.dtype() == DType::boolean, "masked_fill: the mask is ", mask.dtype(),
                    "; it must be bool: compare something, or cast it");
  broadcast("masked_fill", x.shape(), mask.shape());
  return where(mask, value, x);
}

}  // namespace accrue
