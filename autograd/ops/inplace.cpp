#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/ops/inplace.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

void check_writable(const char* op, const Tensor& x) {
  ops::check_defined(op, x);
  check<AutogradError>(!(grad_enabled() && x.requires_grad()), op, ": a ",
                       node_of(x) ? "computed tensor" : "leaf", " of shape ", x.shape(),
                       " that requires grad cannot be changed in place while the tape records; use "
                       "the out-of-place operator, or NoGrad if no gradient shall see the change");
  check<ShapeError>(!layout::has_overlap(x.layout()), op,
                    ": several elements of the tensor, shape ", x.shape(), " with strides ",
                    x.strides(), ", share memory; clone it first");
}

void check_fits(const char* op, const Tensor& x, const Tensor& other) {
  ops::check_together(op, x, other);
  check<ShapeError>(broadcast(op, x.shape(), other.shape()) == x.shape(), op, ": ", other.shape(),
                    " does not fit into ", x.shape(),
                    "; it must broadcast to the shape of what is changed");
}

bool shares_memory(const Tensor& x, const Tensor& other) {
  return x.same_storage(other) && !(x.layout().offset == other.layout().offset &&
                                    x.shape() == other.shape() && x.strides() == other.strides());
}

// The other operand as it was: a copy if it lies in x's memory at other places.
Tensor stable(const Tensor& x, const Tensor& other) {
  if (!shares_memory(x, other)) return other;
  Tensor copy = ops::result_of(other);
  kernels::copy(other, into(copy));
  return copy;
}

// bool, then integers, then floating point: each holds the kinds of numbers before it.
int kind_of(DType t) { return is_floating(t) ? 2 : t == DType::boolean ? 0 : 1; }

Tensor& change(const char* op, Binary f, Tensor& x, const Tensor& other) {
  check_writable(op, x);
  check_fits(op, x, other);
  check<DTypeError>(kind_of(other.dtype()) <= kind_of(x.dtype()), op, ": a ", x.dtype(),
                    " tensor cannot hold the result, with ", other.dtype(),
                    "; cast it first, or use the out-of-place operator");
  kernels::binary(f, x, stable(x, other), into(x));
  x.storage().bump_version();
  return x;
}

Tensor& change(const char* op, Unary f, Tensor& x, Scalar other) {
  check_writable(op, x);
  check<DTypeError>(is_floating(x.dtype()) || (other.is_integral() && f != Unary::div_scalar), op,
                    ": the result is a fraction, which a ", x.dtype(),
                    " tensor cannot hold; cast it to a floating point dtype first");
  kernels::unary(f, x, into(x), {other.value()});
  x.storage().bump_version();
  return x;
}

}  // namespace

Tensor& copy_(Tensor& x, const Tensor& source) {
  check_writable("copy_", x);
  check_fits("copy_", x, source);
  kernels::copy(stable(x, source), into(x));
  x.storage().bump_version();
  return x;
}

Tensor& fill_(Tensor& x, Scalar value) {
  check_writable("fill_", x);
  kernels::fill(value.value(), into(x));
  x.storage().bump_version();
  return x;
}

Tensor& zero_(Tensor& x) { return fill_(x, 0); }
Tensor& add_(Tensor& x, const Tensor& other) { return change("add_", Binary::add, x, other); }
Tensor& sub_(Tensor& x, const Tensor& other) { return change("sub_", Binary::sub, x, other); }
Tensor& mul_(Tensor& x, const Tensor& other) { return change("mul_", Binary::mul, x, other); }
Tensor& div_(Tensor& x, const Tensor& other) { return change("div_", Binary::div, x, other); }
Tensor& add_(Tensor& x, Scalar other) { return change("add_", Unary::add_scalar, x, other); }
Tensor& sub_(Tensor& x, Scalar other) { return change("sub_", Unary::add_scalar, x, -other); }
Tensor& mul_(Tensor& x, Scalar other) { return change("mul_", Unary::mul_scalar, x, other); }
Tensor& div_(Tensor& x, Scalar other) { return change("div_", Unary::div_scalar, x, other); }

}  // namespace accrue
