#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/matmul.h>

#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/ops/activation.h>
#include <accrue/autograd/ops/matmul.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

using kernels::transposed;
using ops::with_dim;

ConstView as_rows(const ConstView& x) { return x.shape.size() == 1 ? with_dim(x, 0) : x; }
ConstView as_columns(const ConstView& x) { return x.shape.size() == 1 ? with_dim(x, 1) : x; }
Dest as_rows(const Dest& d) { return d.view.shape.size() == 1 ? with_dim(d, 0) : d; }
Dest as_columns(const Dest& d) { return d.view.shape.size() == 1 ? with_dim(d, 1) : d; }

void check_product(const char* op, const Tensor& a, const Tensor& b) {
  ops::check_together(op, a, b);
  ops::check_floating(op, a);
  check<DTypeError>(a.dtype() == b.dtype(), op, ": the dtypes differ: ", a.dtype(), " and ",
                    b.dtype(), "; cast one of them");
}

// y = a · b      da = dy · bᵀ      db = aᵀ · dy
struct Matmul {
  static constexpr const char* name = "matmul";
  Saved a, b;
  bool row = false, column = false;  // a, b is a vector

  Tensor forward(const Tensor& x, const Tensor& w) {
    check_product(name, x, w);
    check<ShapeError>(x.dim() >= 1 && w.dim() >= 1, name, ": a has shape ", x.shape(),
                      ", b has shape ", w.shape(), "; both need at least one dimension");
    row = x.dim() == 1;
    column = w.dim() == 1;
    check<ShapeError>(x.size(-1) == w.size(column ? 0 : -2), name,
                      ": inner dimensions differ: a is ", x.shape(), ", b is ", w.shape(),
                      "; the last of a must equal the ", column ? "only" : "second last", " of b");
    Tensor y = Tensor::empty(result_shape(x.shape(), w.shape()), x.dtype(), x.device());
    kernels::matmul(as_rows(x), as_columns(w), {as_matrix(y.view()), Write::overwrite});
    if (w.requires_grad()) a = x;
    if (x.requires_grad()) b = w;
    return y;
  }

  void backward(const Tensor& dy, GradSink da, GradSink db) {
    const ConstView g = as_matrix(dy.view());
    if (da) kernels::matmul(g, transposed(as_columns(b)), as_rows(into(da)));
    if (db) kernels::matmul(transposed(as_rows(a)), g, as_columns(into(db)));
  }

 private:
  static Dims result_shape(const Dims& a, const Dims& b) {
    const auto batch = [](const Dims& d) {
      return Dims(std::span(d.begin(), static_cast<size_t>(std::max(d.size() - 2, 0))));
    };
    Dims shape = broadcast(name, batch(a), batch(b));
    if (a.size() > 1) shape.push_back(a[a.size() - 2]);
    if (b.size() > 1) shape.push_back(b.back());
    return shape;
  }
  // y with the dimensions back that vectors have lost.
  View as_matrix(View y) const {
    if (column) y = with_dim(y, y.shape.size());
    if (row) y = with_dim(y, y.shape.size() - 1);
    return y;
  }
};

// y = f(z),  z = x · wᵀ + b      dz = dy · f'(z)      dx = dz · w      dw = dzᵀ · x      db = Σ dz
struct Linear {
  static constexpr const char* name = "linear";
  Activation activation;
  Saved x = {}, w = {}, y_or_z = {};

  Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    check_product(name, input, weight);
    check<ShapeError>(weight.dim() == 2 && input.dim() >= 1 && input.size(-1) == weight.size(1),
                      name, ": the input ", input.shape(), " does not fit the weight ",
                      weight.shape(), "; they must be [.., in] and [out, in]");
    if (bias.defined()) {
      check_product(name, input, bias);
      check<ShapeError>(bias.shape() == Dims{weight.size(0)}, name, ": the bias is ", bias.shape(),
                        " for the weight ", weight.shape(), "; it must be [", weight.size(0), "]");
    }
    const bool needs_grad = grad_enabled() && (input.requires_grad() || weight.requires_grad() ||
                                               (bias.defined() && bias.requires_grad()));
    Dims shape = input.shape();
    shape[shape.size() - 1] = weight.size(0);
    Tensor y = Tensor::empty(shape, input.dtype(), input.device());
    kernels::Epilogue end;
    if (bias.defined()) end.bias = bias;
    if (activation == Activation::relu) {
      end.f = Unary::relu;
      if (needs_grad) y_or_z = y;
    } else if (activation == Activation::gelu_tanh) {
      end.f = Unary::gelu_tanh;
      if (needs_grad) {
        const Tensor z = ops::result_of(y);
        end.argument = as_rows(into(z));
        y_or_z = z;
      }
    }
    kernels::matmul(as_rows(input), transposed(weight.view()), end, as_rows(into(y)));
    if (weight.requires_grad()) x = input;
    if (input.requires_grad()) w = weight;
    return y;
  }

  void backward(const Tensor& dy, GradSink dx, GradSink dw, GradSink db) {
    if (activation == Activation::none) return backward_of_sums(dy, dx, dw, db);
    const Tensor dz = ops::result_of(dy);
    kernels::binary(activation == Activation::relu ? Binary::relu_grad : Binary::gelu_tanh_grad, dy,
                    y_or_z, into(dz));
    backward_of_sums(dz, dx, dw, db);
  }

 private:
  void backward_of_sums(const Tensor& dz, GradSink dx, GradSink dw, GradSink db) {
    if (dx) kernels::matmul(as_rows(dz), w, as_rows(into(dx)));
    if (dw) kernels::matmul(transposed(as_rows(dz)), as_rows(x), into(dw));
    if (db) kernels::copy(dz, into(db));
  }
};

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) { return apply(Matmul{}, a, b); }
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation f) {
  if (f == Activation::gelu) return gelu(linear(x, weight, bias));
  return apply(Linear{f}, x, weight, bias);
}

}  // namespace accrue
