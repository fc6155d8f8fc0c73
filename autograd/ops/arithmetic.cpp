#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/arithmetic.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = a + b      da = dy      db = dy
struct Add {
  static constexpr const char* name = "add";
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = ops::result_of(name, a, b);
    kernels::binary(Binary::add, a, b, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    da.add(dy);
    db.add(dy);
  }
};

// y = a - b      da = dy      db = -dy
struct Sub {
  static constexpr const char* name = "sub";
  Tensor forward(const Tensor& a, const Tensor& b) {
    Tensor y = ops::result_of(name, a, b);
    kernels::binary(Binary::sub, a, b, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    da.add(dy);
    if (db) kernels::unary(Unary::neg, dy, into(db));
  }
};

// y = a · b      da = dy · b      db = dy · a
struct Mul {
  static constexpr const char* name = "mul";
  Saved a, b;
  Tensor forward(const Tensor& x, const Tensor& w) {
    Tensor y = ops::result_of(name, x, w);
    kernels::binary(Binary::mul, x, w, into(y));
    if (w.requires_grad()) a = x;
    if (x.requires_grad()) b = w;
    return y;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    if (da) kernels::binary(Binary::mul, dy, b, into(da));
    if (db) kernels::binary(Binary::mul, dy, a, into(db));
  }
};

// y = a / b      da = dy / b      db = -dy · a / b²
struct Div {
  static constexpr const char* name = "div";
  Saved a, b;
  Tensor forward(const Tensor& x, const Tensor& w) {
    ops::check_together(name, x, w);
    const DType promoted = promote(x.dtype(), w.dtype());
    Tensor y = Tensor::empty(broadcast(name, x.shape(), w.shape()),
                             is_floating(promoted) ? promoted : DType::float32, x.device());
    kernels::binary(Binary::div, x, w, into(y));
    if (w.requires_grad()) a = x;
    if (x.requires_grad() || w.requires_grad()) b = w;
    return y;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    if (da) kernels::binary(Binary::div_grad_a, dy, b, into(da));
    if (db) kernels::ternary(Ternary::div_grad_b, dy, a, b, into(db));
  }
};

// y = aᵇ         da = dy · b · aᵇ⁻¹      db = dy · aᵇ · ln a
struct Pow {
  static constexpr const char* name = "pow";
  Saved a, b;
  Tensor forward(const Tensor& x, const Tensor& p) {
    ops::check_floating(name, x);
    Tensor y = ops::result_of(name, x, p);
    kernels::binary(Binary::pow, x, p, into(y));
    if (x.requires_grad() || p.requires_grad()) a = x, b = p;
    return y;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    if (da) kernels::ternary(Ternary::pow_grad_a, dy, a, b, into(da));
    if (db) kernels::ternary(Ternary::pow_grad_b, dy, a, b, into(db));
  }
};

// y = max(a, b)  da = dy where a > b, dy/2 where equal      db likewise; min the other way round
template <Binary F, Ternary Grad>
struct Extremum {
  static constexpr const char* name = F == Binary::maximum ? "maximum" : "minimum";
  Saved a, b;
  Tensor forward(const Tensor& x, const Tensor& w) {
    Tensor y = ops::result_of(name, x, w);
    kernels::binary(F, x, w, into(y));
    if (x.requires_grad() || w.requires_grad()) a = x, b = w;
    return y;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    if (da) kernels::ternary(Grad, dy, a, b, into(da));
    if (db) kernels::ternary(Grad, dy, b, a, into(db));
  }
};

Tensor result_with(const char* op, const Tensor& x, Scalar s) {
  ops::check_defined(op, x);
  return Tensor::empty(x.shape(), s.promote(x.dtype()), x.device());
}

// y = x + s      dx = dy
struct AddScalar {
  static constexpr const char* name = "add";
  Scalar s;
  Tensor forward(const Tensor& x) {
    Tensor y = result_with(name, x, s);
    kernels::unary(Unary::add_scalar, x, into(y), {s.value()});
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) { dx.add(dy); }
};

// y = s - x      dx = -dy
struct RsubScalar {
  static constexpr const char* name = "sub";
  Scalar s;
  Tensor forward(const Tensor& x) {
    Tensor y = result_with(name, x, s);
    kernels::unary(Unary::rsub_scalar, x, into(y), {s.value()});
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::unary(Unary::neg, dy, into(dx));
  }
};

// y = x · s      dx = dy · s
struct MulScalar {
  static constexpr const char* name = "mul";
  Scalar s;
  Tensor forward(const Tensor& x) {
    Tensor y = result_with(name, x, s);
    kernels::unary(Unary::mul_scalar, x, into(y), {s.value()});
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::unary(Unary::mul_scalar, dy, into(dx), {s.value()});
  }
};

// y = x / s      dx = dy / s
struct DivScalar {
  static constexpr const char* name = "div";
  Scalar s;
  Tensor forward(const Tensor& x) {
    Tensor y = result_with(name, x, s.value());
    kernels::unary(Unary::div_scalar, x, into(y), {s.value()});
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::unary(Unary::div_scalar, dy, into(dx), {s.value()});
  }
};

// An operator of x and a number, whose derivative needs x:
// y = s / x      dx = -dy · s / x²
// y = xˢ         dx = dy · s · xˢ⁻¹
template <Unary F, Binary Grad>
struct WithScalar {
  static constexpr const char* name = F == Unary::rdiv_scalar ? "div" : "pow";
  Scalar s;
  Saved saved_x = {};
  Tensor forward(const Tensor& x) {
    Tensor y = result_with(name, x, s.value());
    kernels::unary(F, x, into(y), {s.value()});
    if (x.requires_grad()) saved_x = x;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::binary(Grad, dy, saved_x, into(dx), {s.value()});
  }
};

// y = sˣ         dx = dy · y · ln s
struct PowOfScalar {
  static constexpr const char* name = "pow";
  Scalar s;
  Saved saved_y = {};
  Tensor forward(const Tensor& x) {
    Tensor y = result_with(name, x, s.value());
    kernels::unary(Unary::rpow_scalar, x, into(y), {s.value()});
    if (x.requires_grad()) saved_y = y;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::binary(Binary::rpow_scalar_grad, dy, saved_y, into(dx), {s.value()});
  }
};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return apply(Add{}, a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return apply(Sub{}, a, b); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply(Mul{}, a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return apply(Div{}, a, b); }
Tensor pow(const Tensor& a, const Tensor& b) { return apply(Pow{}, a, b); }
Tensor maximum(const Tensor& a, const Tensor& b) {
  return apply(Extremum<Binary::maximum, Ternary::maximum_grad>{}, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return apply(Extremum<Binary::minimum, Ternary::minimum_grad>{}, a, b);
}

Tensor add(const Tensor& a, Scalar b) { return apply(AddScalar{b}, a); }
Tensor sub(const Tensor& a, Scalar b) { return apply(AddScalar{-b}, a); }
Tensor sub(Scalar a, const Tensor& b) { return apply(RsubScalar{a}, b); }
Tensor mul(const Tensor& a, Scalar b) { return apply(MulScalar{b}, a); }
Tensor div(const Tensor& a, Scalar b) { return apply(DivScalar{b}, a); }
Tensor div(Scalar a, const Tensor& b) {
  return apply(WithScalar<Unary::rdiv_scalar, Binary::rdiv_scalar_grad>{a}, b);
}
Tensor pow(const Tensor& x, Scalar exponent) {
  return apply(WithScalar<Unary::pow_scalar, Binary::pow_scalar_grad>{exponent}, x);
}
Tensor pow(Scalar base, const Tensor& x) { return apply(PowOfScalar{base}, x); }

}  // namespace accrue
