#include <accrue/autograd/meta.h>
#include <accrue/autograd/node.h>

namespace accrue {
namespace {

TensorSpec gradient_of(const Tensor& x) {
  return {x.shape(), is_16bit_float(x.dtype()) ? DType::float32 : x.dtype(), x.device()};
}

}  // namespace

bool GradTarget::claim(uint64_t walk, int64_t position) {
  uint64_t before = 0;
  if (!walk_.compare_exchange_strong(before, walk, std::memory_order_acquire)) {
    check<AutogradError>(before == walk,
                         "backward: another pass is on this graph now; walk a graph, and add to a "
                         "leaf, from one thread at a time, and not from a hook of that pass");
    return false;
  }
  position_ = position;
  return true;
}

Leaf::Leaf(const Tensor& value) : GradTarget(gradient_of(value), true) {}

GradTarget* grad_target(const Tensor& x) {
  return x.defined() ? static_cast<GradTarget*>(x.impl().autograd.get()) : nullptr;
}

Leaf* leaf_of(const Tensor& x) {
  GradTarget* target = grad_target(x);
  return target && target->is_leaf() ? static_cast<Leaf*>(target) : nullptr;
}

Node* node_of(const Tensor& x) {
  GradTarget* target = grad_target(x);
  return target && !target->is_leaf() ? static_cast<Node*>(target) : nullptr;
}

Ref<GradTarget> edge_to(const Tensor& x) {
  GradTarget* target = grad_target(x);
  if (!target || (target->is_leaf() && !static_cast<Leaf*>(target)->requires_grad)) return nullptr;
  return Ref<GradTarget>(target);
}

}  // namespace accrue
