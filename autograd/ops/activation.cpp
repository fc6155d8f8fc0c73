#include <cmath>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/activation.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

enum class Remember : uint8_t { input, output };

// y = f(x)      dx = g(dy, x) or g(dy, y), whichever is remembered
template <Unary F, Binary G, Remember What>
struct Pointwise {
  static constexpr const char* name = functor::Functor<F>::name;
  Saved remembered;

  Tensor forward(const Tensor& x) {
    ops::check_floating(name, x);
    Tensor y = ops::result_of(x);
    kernels::unary(F, x, into(y));
    if (x.requires_grad()) remembered = What == Remember::input ? x : y;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::binary(G, dy, remembered, into(dx));
  }
};

// y = -x      dx = -dy
struct Neg {
  static constexpr const char* name = "neg";
  Tensor forward(const Tensor& x) {
    ops::check_defined(name, x);
    Tensor y = ops::result_of(x);
    kernels::unary(Unary::neg, x, into(y));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::unary(Unary::neg, dy, into(dx));
  }
};

// y = |x|      dx = dy · sign x
struct Abs {
  static constexpr const char* name = "abs";
  Saved saved_x;
  Tensor forward(const Tensor& x) {
    ops::check_defined(name, x);
    Tensor y = ops::result_of(x);
    kernels::unary(Unary::abs, x, into(y));
    if (x.requires_grad()) saved_x = x;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::binary(Binary::abs_grad, dy, saved_x, into(dx));
  }
};

// y = min(max(x, low), high)      dx = dy where low ≤ x ≤ high
struct Clamp {
  static constexpr const char* name = "clamp";
  Params bounds;
  Saved saved_x = {};
  Tensor forward(const Tensor& x) {
    ops::check_floating(name, x);
    check<ValueError>(bounds.a <= bounds.b, "clamp: the bounds are ", bounds.a, " and ", bounds.b,
                      "; the lower must not be above the upper, nor NaN");
    Tensor y = ops::result_of(x);
    kernels::unary(Unary::clamp, x, into(y), bounds);
    if (x.requires_grad()) saved_x = x;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::binary(Binary::clamp_grad, dy, saved_x, into(dx), bounds);
  }
};

// y = ln(1 + e^(beta · x)) / beta      dx = dy · sigmoid(beta · x)
struct Softplus {
  static constexpr const char* name = "softplus";
  Params beta;
  Saved saved_x = {};
  Tensor forward(const Tensor& x) {
    ops::check_floating(name, x);
    check<ValueError>(beta.a > 0 && std::isfinite(beta.a), "softplus: beta is ", beta.a,
                      "; it must be positive and finite");
    Tensor y = ops::result_of(x);
    kernels::unary(Unary::softplus, x, into(y), beta);
    if (x.requires_grad()) saved_x = x;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::binary(Binary::softplus_grad, dy, saved_x, into(dx), beta);
  }
};

template <Unary F, Binary G, Remember What>
Tensor pointwise(const Tensor& x) {
  return apply(Pointwise<F, G, What>{}, x);
}

}  // namespace

Tensor neg(const Tensor& x) { return apply(Neg{}, x); }
Tensor abs(const Tensor& x) { return apply(Abs{}, x); }
Tensor softplus(const Tensor& x, double beta) { return apply(Softplus{{beta}}, x); }
Tensor clamp(const Tensor& x, double low, double high) { return apply(Clamp{{low, high}}, x); }

// clang-format off
Tensor exp(const Tensor& x)     { return pointwise<Unary::exp,     Binary::mul,          Remember::output>(x); }
Tensor log(const Tensor& x)     { return pointwise<Unary::log,     Binary::log_grad,     Remember::input>(x); }
Tensor sqrt(const Tensor& x)    { return pointwise<Unary::sqrt,    Binary::sqrt_grad,    Remember::output>(x); }
Tensor sin(const Tensor& x)     { return pointwise<Unary::sin,     Binary::sin_grad,     Remember::input>(x); }
Tensor cos(const Tensor& x)     { return pointwise<Unary::cos,     Binary::cos_grad,     Remember::input>(x); }
Tensor tanh(const Tensor& x)    { return pointwise<Unary::tanh,    Binary::tanh_grad,    Remember::output>(x); }
Tensor sigmoid(const Tensor& x) { return pointwise<Unary::sigmoid, Binary::sigmoid_grad, Remember::output>(x); }
Tensor relu(const Tensor& x)    { return pointwise<Unary::relu,    Binary::relu_grad,    Remember::output>(x); }
Tensor silu(const Tensor& x)    { return pointwise<Unary::silu,    Binary::silu_grad,    Remember::input>(x); }
// clang-format on

Tensor gelu(const Tensor& x, GeluApproximation approximation) {
  if (approximation == GeluApproximation::tanh)
    return pointwise<Unary::gelu_tanh, Binary::gelu_tanh_grad, Remember::input>(x);
  return pointwise<Unary::gelu, Binary::gelu_grad, Remember::input>(x);
}

}  // namespace accrue
