#include <accrue/kernels/norm.h>

#include <accrue/autograd/ops/norm.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// y = x̂ · w + b      dx = (g - mean(g) - x̂ · mean(g · x̂)) · rstd, g = dy · w
// dw = Σ dy · x̂      db = Σ dy
struct LayerNorm {
  static constexpr const char* name = "layer_norm";
  int width;
  double eps;
  Saved x = {}, w = {}, mean = {}, rstd = {};

  Tensor forward(const Tensor& in, const Tensor& weight, const Tensor& bias) {
    Tensor y = ops::result_of(in);
    Dims rows = in.shape();
    for (int i = 0; i < width; ++i) rows.erase(rows.size() - 1);
    const Tensor row_mean = Tensor::empty(rows, DType::float64, in.device());
    const Tensor row_rstd = Tensor::empty(rows, DType::float64, in.device());
    kernels::layer_norm(in, ops::view_of(weight), ops::view_of(bias), width, eps, into(y),
                        into(row_mean), into(row_rstd));
    x = in, mean = row_mean, rstd = row_rstd;
    if (in.requires_grad()) w = weight;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx, GradSink dw, GradSink db) {
    const Dest to_x = into(dx), to_w = into(dw), to_b = into(db);      // in the order of the kernel
    const bool is_one = dw && db && to_w.view.data == to_b.view.data;  // one tensor as both
    kernels::layer_norm_grad(dy, x, w, mean, rstd, width, to_x, to_w, is_one ? Dest() : to_b);
    if (is_one) kernels::layer_norm_grad(dy, x, w, mean, rstd, width, Dest(), Dest(), to_b);
  }
};

void check_affine(const char* what, const Tensor& x, const Dims& normalized, const Tensor& p) {
  if (!p.defined()) return;
  const char* const op = LayerNorm::name;
  ops::check_together(op, x, p);
  ops::check_floating(op, p);
  check<ShapeError>(p.shape() == normalized, op, ": ", what, " has shape ", p.shape(),
                    "; it must be the normalized shape ", normalized);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Dims& normalized, const Tensor& w, const Tensor& b,
                  double eps) {
  const char* const op = LayerNorm::name;
  ops::check_floating(op, x);
  const int width = normalized.size();
  const Dims& shape = x.shape();
  check<ShapeError>(width > 0 && width <= shape.size() &&
                        std::equal(normalized.begin(), normalized.end(), shape.end() - width),
                    op, ": the normalized shape ", normalized,
                    " must be the last dimensions of x, ", shape);
  check<ShapeError>(numel(normalized) > 0, op, ": the normalized shape ", normalized,
                    " is empty; there is nothing to take a mean of");
  check<ValueError>(eps >= 0, op, ": eps is ", eps, "; it must be 0 or positive");
  check_affine("the weight", x, normalized, w);
  check_affine("the bias", x, normalized, b);
  return apply(LayerNorm{width, eps}, x, w, b);
}

}  // namespace accrue
