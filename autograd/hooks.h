// Hooks: a user's functions that a backward pass calls.
//
// Order, for a leaf: all contributions of the pass are summed; the gradient hooks see the sum,
// once, in the order they were registered; what the last returns is added to `.grad`; then the
// after_accumulate hooks see `.grad`. For a value in between: hooks see its complete gradient.
#pragma once
#include <accrue/autograd/meta.h>

namespace accrue {

/// Takes a hook away again. Copies refer to the same hook; destroying a handle does nothing.
class HookHandle {
 public:
  HookHandle(Ref<GradTarget> target, std::weak_ptr<void> hook)
      : target_(std::move(target)), hook_(std::move(hook)) {}
  void remove();

 private:
  Ref<GradTarget> target_;
  std::weak_ptr<void> hook_;
};

/// Calls `hook` with x's gradient in every pass; a defined tensor that it returns (of the same
/// shape and dtype) takes the gradient's place. Throws AutogradError if x requires no grad.
HookHandle register_hook(const Tensor& x, GradHook hook);

/// Calls `hook` with `.grad` when a pass has added its last contribution to it (rule R6): where
/// gradients can be sent away under the rest of backward. Throws AutogradError if x is no leaf.
HookHandle after_accumulate(const Tensor& leaf, LeafHook hook);

namespace detail {
/// The gradient that the hooks make of g. They may change what they see: its memory is theirs, and
/// no two of its elements share any.
Tensor run_hooks(const HookList<GradHook>& hooks, Tensor g);
}  // namespace detail

}  // namespace accrue
