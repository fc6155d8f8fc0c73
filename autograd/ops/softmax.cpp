#include <accrue/kernels/softmax.h>

#include <accrue/autograd/ops/softmax.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

int checked_dim(const char* op, const Tensor& x, int64_t dim) {
  ops::check_floating(op, x);
  return normalize_dim(op, dim, x.dim());
}

// y = eˣ / Σ eˣ      dx = y · (dy - Σ dy · y)
struct Softmax {
  static constexpr const char* name = "softmax";
  int dim;
  Saved y = {};
  Tensor forward(const Tensor& x) {
    Tensor out = ops::result_of(x);
    kernels::softmax(x, dim, into(out));
    y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::softmax_grad(dy, y, dim, into(dx));
  }
};

// y = x - ln Σ eˣ    dx = dy - eʸ · Σ dy
struct LogSoftmax {
  static constexpr const char* name = "log_softmax";
  int dim;
  Saved y = {};
  Tensor forward(const Tensor& x) {
    Tensor out = ops::result_of(x);
    kernels::log_softmax(x, dim, into(out));
    y = out;
    return out;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::log_softmax_grad(dy, y, dim, into(dx));
  }
};

// y = ln Σ eˣ        dx = dy · e^(x - y)
struct LogSumExp {
  static constexpr const char* name = "logsumexp";
  int dim;
  bool keepdim;
  Saved saved_x = {};
  Tensor forward(const Tensor& x) {
    Dims shape = x.shape();
    shape[dim] = 1;
    Tensor out = Tensor::empty(shape, x.dtype(), x.device());
    kernels::logsumexp(x, dim, into(out));
    if (x.requires_grad()) saved_x = x;
    return keepdim ? out : out.alias(layout::squeeze(out.layout(), dim));
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (!dx) return;
    const Tensor kept = keepdim ? dy : dy.alias(layout::unsqueeze(dy.layout(), dim));
    kernels::logsumexp_grad(kept, saved_x, dim, into(dx));
  }
};

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim) {
  return apply(Softmax{checked_dim(Softmax::name, x, dim)}, x);
}
Tensor log_softmax(const Tensor& x, int64_t dim) {
  return apply(LogSoftmax{checked_dim(LogSoftmax::name, x, dim)}, x);
}
Tensor logsumexp(const Tensor& x, int64_t dim, bool keepdim) {
  return apply(LogSumExp{checked_dim(LogSumExp::name, x, dim), keepdim}, x);
}

}  // namespace accrue
