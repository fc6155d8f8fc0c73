#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/grad_slot.h>

namespace accrue {

const Tensor& GradSlot::value() const {
  check<AutogradError>(
      !spoiled_,
      "grad: a backward pass failed after it had added to this gradient, which is "
      "therefore neither the old nor the new one; call zero_grad() and start again");
  return value_;
}

Tensor GradSlot::take() {
  holds_ = borrowed_ = false;
  return std::move(value_);
}

void GradSlot::bind(const Tensor& buffer) {
  value_ = buffer;
  holds_ = borrowed_ = spoiled_ = false;
}

// Makes value_ memory that this slot may write to, with the content kept if there is any.
void GradSlot::own(const TensorSpec& spec) {
  if (holds_ && !borrowed_) return;
  if (holds_) {  // adopt what was lent, unless it is still read or its elements share memory
    if (!value_.sole_owner() || layout::has_overlap(value_.layout())) {
      Tensor copy = Tensor::empty(spec.shape, spec.dtype, spec.device);
      kernels::copy(value_, accrue::into(copy));
      value_ = std::move(copy);
    }
    borrowed_ = false;
    return;
  }
  if (value_.defined()) return;
  const MemoryKindGuard kind(owner_ == Owner::leaf ? MemoryKind::gradient : MemoryKind::activation);
  value_ = Tensor::empty(spec.shape, spec.dtype, spec.device);
}

Dest GradSlot::into(const TensorSpec& spec) {
  own(spec);
  const Write write = holds_ ? Write::add : Write::overwrite;
  holds_ = true;
  return {value_, write};
}

Dest GradSlot::onto(const TensorSpec& spec) {
  const Dest dest = into(spec);
  if (dest.write == Write::overwrite) kernels::fill(0, dest);
  return {dest.view, Write::add};
}

void GradSlot::add(const Tensor& g, const TensorSpec& spec) {
  if (!holds_ && owner_ == Owner::pass && g.dtype() == spec.dtype && g.shape() == spec.shape) {
    value_ = g;
    holds_ = borrowed_ = true;
    return;
  }
  kernels::copy(g, into(spec));
}

}  // namespace accrue
