#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/grad.h>
#include <accrue/autograd/node.h>

namespace accrue {
namespace {

Leaf& require_leaf(const char* op, const Tensor& x) {
  Leaf* leaf = leaf_of(x);
  check<AutogradError>(leaf != nullptr, op,
                       ": the tensor is not a leaf that requires grad; call "
                       "set_requires_grad() on one you made yourself");
  return *leaf;
}

void check_fits(const char* op, const Leaf& leaf, const Tensor& g) {
  check<AutogradError>(g.defined(), op, ": the tensor is not defined");
  check<ShapeError>(g.shape() == leaf.spec().shape, op, ": the tensor has shape ", g.shape(),
                    ", the gradient has ", leaf.spec().shape, "; they must be equal");
  check<DeviceError>(g.device() == leaf.spec().device, op, ": the tensor is on ", g.device(),
                     ", the gradient on ", leaf.spec().device, "; they must be equal");
}

}  // namespace

Tensor detach(const Tensor& x) { return x.alias(x.layout()); }

void retain_grad(const Tensor& x) {
  check<AutogradError>(x.requires_grad(),
                       "retain_grad: the tensor does not require grad, so no "
                       "gradient will ever come; call set_requires_grad() first");
  Node* node = node_of(x);
  if (node && !node->retained) node->retained = std::make_unique<GradSlot>(GradSlot::Owner::leaf);
}

void bind_grad(const Tensor& leaf, const Tensor& buffer) {
  Leaf& meta = require_leaf("bind_grad", leaf);
  check_fits("bind_grad", meta, buffer);
  check<DTypeError>(buffer.dtype() == meta.spec().dtype, "bind_grad: the buffer is ",
                    buffer.dtype(), ", the gradient ", meta.spec().dtype, "; they must be equal");
  check<ShapeError>(!layout::has_overlap(buffer.layout()),
                    "bind_grad: several elements of the buffer, shape ", buffer.shape(),
                    " with strides ", buffer.strides(), ", share memory; clone it first");
  check<AutogradError>(
      !buffer.same_storage(leaf),
      "bind_grad: the buffer lies in the leaf's own memory, which its gradient would "
      "overwrite; take another");
  meta.grad.bind(detach(buffer));
}

void set_grad(const Tensor& leaf, const Tensor& value) {
  Leaf& meta = require_leaf("set_grad", leaf);
  check_fits("set_grad", meta, value);
  Tensor source = value;
  if (meta.grad.is_memory_of(value)) {  // a view of the old gradient, say
    source = Tensor::empty(value.shape(), value.dtype(), value.device());
    kernels::copy(value, into(source));
  }
  meta.grad.reset();
  meta.grad.will_change();
  kernels::copy(source, meta.grad.into(meta.spec()));
}

void release_grad(const Tensor& leaf) { require_leaf("release_grad", leaf).grad.release(); }

}  // namespace accrue
