#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/reduce.h>

#include <accrue/autograd/ops/loss.h>
#include <accrue/autograd/ops/support.h>

namespace accrue {
namespace {

// loss = -(1 - ε) · w_t · ln p_t - ε/C · Σ_c w_c · ln p_c,  p = softmax(x)
// dx = dy · ((1 - ε) · w_t · (p - [c = t]) + ε/C · (p · Σ w - w_c))
struct CrossEntropy {
  static constexpr const char* name = "cross_entropy";
  kernels::CrossEntropy p;
  Tensor target, weight;
  Saved x = {}, saved_target = {}, saved_weight = {}, lse = {}, counted = {};

  Tensor forward(const Tensor& logits) {
    const Device device = logits.device();
    const Dims shape = p.reduction == Reduction::none ? target.shape() : Dims{};
    Tensor loss = Tensor::empty(shape, logits.dtype(), device);
    const Tensor row_lse = Tensor::empty(target.shape(), DType::float64, device);
    const Tensor count = Tensor::empty({}, DType::float64, device);
    kernels::cross_entropy(p, logits, target, ops::view_of(weight), into(loss), into(row_lse),
                           into(count));
    if (logits.requires_grad()) {
      x = logits, lse = row_lse, counted = count;
      saved_target = target, saved_weight = weight;
    }
    target = weight = {};
    return loss;
  }
  void backward(const Tensor& dy, GradSink dx) {
    if (!dx) return;
    const Tensor each = dy.alias(layout::expand(dy.layout(), saved_target.shape()));
    kernels::cross_entropy_grad(p, each, x, saved_target, saved_weight, lse, counted, into(dx));
  }
};

// loss = f(a, b), summed or averaged       da = dy · scale · ∂f(a, b)       db = dy · scale · ∂f(b,
// a)
template <Binary F, Ternary Grad>
struct PairwiseLoss {
  static constexpr const char* name = F == Binary::squared_error ? "mse_loss" : "l1_loss";
  Reduction reduction;
  Saved a = {}, b = {};
  double scale = 1;

  Tensor forward(const Tensor& prediction, const Tensor& target) {
    const DType dtype = promote(prediction.dtype(), target.dtype());
    const Device device = prediction.device();
    const Dims& shape = prediction.shape();
    if (prediction.requires_grad() || target.requires_grad()) a = prediction, b = target;
    if (reduction == Reduction::none) {
      Tensor loss = Tensor::empty(shape, dtype, device);
      kernels::binary(F, prediction, target, into(loss));
      return loss;
    }
    const int64_t n = prediction.numel();
    if (reduction == Reduction::mean && n > 0) scale = 1 / static_cast<double>(n);
    const Tensor each =
        Tensor::empty(shape, is_16bit_float(dtype) ? DType::float32 : dtype, device);
    kernels::binary(F, prediction, target, into(each));
    Tensor loss = Tensor::empty({}, dtype, device);
    const Dims ones = Dims::filled(shape.size(), 1);
    kernels::sum(each, reduction == Reduction::mean && n > 0 ? static_cast<double>(n) : 1,
                 into(loss.alias(layout::contiguous(ones))));
    return loss;
  }
  void backward(const Tensor& dy, GradSink da, GradSink db) {
    if (da) kernels::ternary(Grad, dy, a, b, into(da), {scale});
    if (db) kernels::ternary(Grad, dy, b, a, into(db), {scale});
  }
};

void check_pair(const char* op, const Tensor& prediction, const Tensor& target) {
  ops::check_together(op, prediction, target);
  ops::check_floating(op, prediction);
  ops::check_floating(op, target);
  check<ShapeError>(prediction.shape() == target.shape(), op, ": prediction ", prediction.shape(),
                    " and target ", target.shape(), " differ; reshape the target to ",
                    prediction.shape());
}

void check_cross_entropy(const Tensor& logits, const Tensor& target,
                         const CrossEntropyOptions& options) {
  const char* const op = CrossEntropy::name;
  ops::check_together(op, logits, target);
  ops::check_floating(op, logits);
  check<DTypeError>(target.dtype() == DType::int64 || target.dtype() == DType::int32, op,
                    ": the target is ", target.dtype(),
                    "; it must hold class indices as int64 or int32");
  check<ShapeError>(logits.dim() > 0, op,
                    ": logits [] have no classes; they must be [N, C, ...] "
                    "or [C]");
  const int class_dim = logits.dim() == 1 ? 0 : 1;
  const int64_t classes = logits.shape()[class_dim];
  check<ShapeError>(classes > 0, op, ": logits ", logits.shape(), " have no classes; dimension ",
                    class_dim, " must not be empty");
  Dims expected = logits.shape();
  expected.erase(class_dim);
  check<ShapeError>(target.shape() == expected, op, ": logits ", logits.shape(),
                    " need a target of shape ", expected, ", but it is ", target.shape());
  const double smoothing = options.label_smoothing;
  check<ValueError>(smoothing >= 0 && smoothing <= 1, op, ": label_smoothing is ", smoothing,
                    "; it must be in [0, 1]");
  if (!options.weight.defined()) return;
  ops::check_together(op, logits, options.weight);
  ops::check_floating(op, options.weight);
  check<ShapeError>(options.weight.shape() == Dims{classes}, op, ": the class weights are ",
                    options.weight.shape(), "; there must be one for each class, [", classes, "]");
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  check_cross_entropy(logits, target, options);
  const kernels::CrossEntropy p{.class_dim = logits.dim() == 1 ? 0 : 1,
                                .reduction = options.reduction,
                                .ignore_index = options.ignore_index,
                                .label_smoothing = options.label_smoothing};
  return apply(CrossEntropy{p, target, options.weight}, logits);
}

Tensor mse_loss(const Tensor& prediction, const Tensor& target, Reduction reduction) {
  using Mse = PairwiseLoss<Binary::squared_error, Ternary::squared_error_grad>;
  check_pair(Mse::name, prediction, target);
  return apply(Mse{reduction}, prediction, target);
}

Tensor l1_loss(const Tensor& prediction, const Tensor& target, Reduction reduction) {
  using L1 = PairwiseLoss<Binary::absolute_error, Ternary::absolute_error_grad>;
  check_pair(L1::name, prediction, target);
  return apply(L1{reduction}, prediction, target);
}

}  // namespace accrue
