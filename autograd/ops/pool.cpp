#include <limits>

#include <accrue/kernels/pool.h>

#include <accrue/autograd/ops/pool.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

using kernels::PoolParams;

// The kernels know images in batches only.
ConstView batched(const ConstView& x) { return x.shape.size() == 4 ? x : ops::with_dim(x, 0); }
Dest batched(const Dest& y) { return y.view.shape.size() == 4 ? y : ops::with_dim(y, 0); }

int64_t pooled_size(const char* op, const PoolParams& p, size_t d, int64_t in, bool ceil_mode) {
  const int64_t reach = p.dilation[d] * (p.kernel[d] - 1) + 1, padded = in + 2 * p.padding[d];
  check<ShapeError>(padded >= reach, op, ": the kernel is larger than the input: its effective ",
                    d == 0 ? "height" : "width", " is ", reach, ", the padded input's is ", padded,
                    "; pad more or take a smaller kernel");
  const int64_t stride = p.stride[d], left = padded - reach;
  if (!ceil_mode) return left / stride + 1;
  const int64_t out = (left + stride - 1) / stride + 1;
  return (out - 1) * stride >= in + p.padding[d] ? out - 1 : out;
}

// Of the result; checks everything.
Dims pooled_shape(const char* op, const Tensor& x, PoolParams& p, bool ceil_mode) {
  ops::check_defined(op, x);
  check<ShapeError>(x.dim() == 4 || x.dim() == 3, op, ": x has shape ", x.shape(),
                    "; it must be [batch, channels, height, width] or [channels, height, width]");
  check<ShapeError>(x.size(-2) > 0 && x.size(-1) > 0, op, ": x has shape ", x.shape(),
                    "; height and width must be at least 1");
  for (size_t d = 0; d < 2; ++d) {
    if (p.stride[d] == 0) p.stride[d] = p.kernel[d];
    ops::check_window(op, "kernel", p.kernel[d], 1);
    ops::check_window(op, "stride", p.stride[d], 1);
    ops::check_window(op, "dilation", p.dilation[d], 1);
    check<ValueError>(p.padding[d] >= 0 && 2 * p.padding[d] <= p.kernel[d], op, ": the padding is ",
                      p.padding[d], " for a kernel of ", p.kernel[d],
                      "; padding at most half the kernel can be, and not below 0");
  }
  Dims shape = x.shape();
  for (int d = 0; d < 2; ++d) {
    const int at = x.dim() - 2 + d;
    shape[at] = pooled_size(op, p, static_cast<size_t>(d), x.shape()[at], ceil_mode);
  }
  return shape;
}

// y = max of window    dx = dy where x was the first of the largest
struct MaxPool2d {
  static constexpr const char* name = "max_pool2d";
  PoolParams p;
  bool ceil_mode;
  Saved index = {};

  Tensor forward(const Tensor& x) {
    Tensor y = Tensor::empty(pooled_shape(name, x, p, ceil_mode), x.dtype(), x.device());
    check<ShapeError>(
        x.size(-1) == 0 || x.size(-2) <= std::numeric_limits<int32_t>::max() / x.size(-1), name,
        ": an image of ", x.size(-2), " by ", x.size(-1),
        " elements; at most 2^31 - 1 of them can be told apart");
    const Tensor chosen = Tensor::empty(y.shape(), DType::int32, x.device());
    kernels::max_pool2d(batched(ConstView(x)), p, batched(into(y)), batched(into(chosen)));
    if (x.requires_grad()) index = chosen;
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (!dx) return;
    kernels::max_pool2d_grad(batched(ConstView(dy)), batched(ConstView(index)), p,
                             batched(into(dx)));
  }
};

// y = Σ window / count    dx = Σ dy / count
struct AvgPool2d {
  static constexpr const char* name = "avg_pool2d";
  PoolParams p;
  bool ceil_mode;

  Tensor forward(const Tensor& x) {
    ops::check_floating(name, x);
    check<ValueError>(p.divisor_override >= 0, name, ": the divisor is ", p.divisor_override,
                      "; it must be positive, or 0 for the count");
    Tensor y = Tensor::empty(pooled_shape(name, x, p, ceil_mode), x.dtype(), x.device());
    kernels::avg_pool2d(batched(ConstView(x)), p, batched(into(y)));
    return y;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (dx) kernels::avg_pool2d_grad(batched(ConstView(dy)), p, batched(into(dx)));
  }
};

}  // namespace

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& o) {
  return apply(
      MaxPool2d{
          {.kernel = o.kernel, .stride = o.stride, .padding = o.padding, .dilation = o.dilation},
          o.ceil_mode},
      x);
}

Tensor avg_pool2d(const Tensor& x, const AvgPool2dOptions& o) {
  return apply(AvgPool2d{{.kernel = o.kernel,
                          .stride = o.stride,
                          .padding = o.padding,
                          .count_include_pad = o.count_include_pad,
                          .divisor_override = o.divisor_override},
                         o.ceil_mode},
               x);
}

}  // namespace accrue
