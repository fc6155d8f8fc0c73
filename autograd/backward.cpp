// Tensor's autograd members, and grad(): the ways into a Pass.
#include <accrue/core/factories.h>

#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/op.h>
#include <accrue/autograd/pass.h>

namespace accrue {
namespace {

/// The gradient a walk starts from, checked against the value it starts at.
Tensor seed_of(const char* op, const Tensor& root, const Tensor& gradient) {
  check<AutogradError>(root.defined(), op,
                       ": the tensor is not defined and has no graph; call it on ",
                       "a value computed from what requires grad");
  check<AutogradError>(
      root.requires_grad(), op, ": the tensor, shape ", root.shape(),
      ", does not require grad and has no graph; some input must require grad, and "
      "the operators must run outside NoGrad and without detach()");
  if (!gradient.defined()) {
    check<ShapeError>(root.numel() == 1, op, ": the loss must be one number, but has shape ",
                      root.shape(), "; reduce it with sum() or mean(), or pass its gradient");
    return ones(root.shape(), root.dtype(), root.device());
  }
  check<ShapeError>(gradient.shape() == root.shape(), op, ": the gradient passed has shape ",
                    gradient.shape(), ", the tensor ", root.shape(), "; they must be equal");
  check<DTypeError>(gradient.dtype() == root.dtype(), op, ": the gradient passed is ",
                    gradient.dtype(), ", the tensor ", root.dtype(), "; they must be equal");
  check<DeviceError>(gradient.device() == root.device(), op, ": the gradient passed is on ",
                     gradient.device(), ", the tensor on ", root.device(), "; they must be equal");
  return detach(gradient);
}

// y = x      dx = dy
struct Itself {
  static constexpr const char* name = "itself";
  Tensor forward(const Tensor& x) { return x; }
  void backward(const Tensor& dy, GradSink dx) { dx.add(dy); }
};

/// Where a walk from x starts; for a leaf, an operator that does nothing.
Ref<Node> root_of(const Tensor& x) {
  const EnableGrad record;
  return Ref<Node>(node_of(node_of(x) ? x : apply(Itself{}, x)));
}

}  // namespace

bool Tensor::requires_grad() const {
  const GradTarget* target = grad_target(*this);
  return target && (!target->is_leaf() || static_cast<const Leaf*>(target)->requires_grad);
}

bool Tensor::is_leaf() const { return node_of(*this) == nullptr; }

Tensor& Tensor::set_requires_grad(bool on) {
  check<AutogradError>(defined(), "set_requires_grad: the tensor is not defined");
  check<DTypeError>(!on || is_floating(dtype()), "set_requires_grad: the tensor is ", dtype(),
                    "; only floating point tensors have gradients");
  check<AutogradError>(
      !node_of(*this) || on, "set_requires_grad: the tensor was computed by ",
      node_of(*this) ? node_of(*this)->name() : "",
      " and requires grad because an input does; use detach() for one that does not");
  if (node_of(*this)) return *this;
  if (Leaf* leaf = leaf_of(*this))
    leaf->requires_grad = on;
  else if (on)
    impl_->autograd = make_ref<Leaf>(*this);
  return *this;
}

Tensor Tensor::grad() const {
  const GradTarget* target = grad_target(*this);
  if (!target) return {};
  const GradSlot* slot = target->is_leaf() ? &static_cast<const Leaf*>(target)->grad
                                           : static_cast<const Node*>(target)->retained.get();
  return slot && slot->holds() ? slot->value() : Tensor();
}

void Tensor::zero_grad() {
  if (Leaf* leaf = leaf_of(*this))
    leaf->grad.reset();
  else if (Node* node = node_of(*this); node && node->retained)
    node->retained->reset();
}

void Tensor::backward() const { backward({}); }

void Tensor::backward(const BackwardOptions& options) const {
  Tensor seed = seed_of("backward", *this, options.gradient);
  const Ref<Node> root = root_of(*this);
  detail::Pass(root.get()).run(std::move(seed), options.retain_graph);
}

std::vector<Tensor> grad(const Tensor& output, std::span<const Tensor> inputs,
                         const GradOptions& options) {
  Tensor seed = seed_of("grad", output, options.gradient);
  for (size_t i = 0; i < inputs.size(); ++i)
    check<AutogradError>(inputs[i].requires_grad(), "grad: input ", i, " does not require grad; ",
                         "call set_requires_grad() before it is used");
  const Ref<Node> root = root_of(output);
  detail::Pass pass(root.get(), inputs);
  const auto check_used = [&](size_t i, bool used) {
    check<AutogradError>(used || options.allow_unused, "grad: the output does not depend on input ",
                         i, ", shape ", inputs[i].shape(),
                         "; set allow_unused to get an undefined gradient for it");
  };
  for (size_t i = 0; i < inputs.size(); ++i) check_used(i, pass.reaches(i));
  pass.run(std::move(seed), options.retain_graph);
  std::vector<Tensor> results = pass.results();
  for (size_t i = 0; i < inputs.size(); ++i) check_used(i, results[i].defined());
  return results;
}

std::vector<Tensor> grad(const Tensor& output, std::initializer_list<Tensor> inputs,
                         const GradOptions& options) {
  return grad(output, std::span(inputs.begin(), inputs.size()), options);
}

}  // namespace accrue
