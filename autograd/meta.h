// What autograd keeps with a tensor: a Leaf, which collects its gradient, or the Node of the
// operator that made it (node.h). Both are places a gradient goes to, so both are GradTargets.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include <accrue/autograd/grad_slot.h>

namespace accrue {

class Node;

/// A function of a gradient; what it returns takes the gradient's place.
using GradHook = std::function<Tensor(const Tensor&)>;
/// A function called when a pass has added all it has to add to a leaf's `.grad`.
using LeafHook = std::function<void(const Tensor& grad)>;

template <class Hook>
using HookList = std::vector<std::shared_ptr<Hook>>;

class GradTarget : public AutogradMeta {
 public:
  /// Of the gradient that comes here.
  const TensorSpec& spec() const { return spec_; }
  bool is_leaf() const { return leaf_; }

  HookList<GradHook> hooks;  ///< see hooks.h

  /// Marks this target as part of a walk, with its place in it; false if it is marked already. A
  /// graph is walked by one thread at a time: throws AutogradError if another walk is on it.
  bool claim(uint64_t walk, int64_t position);
  /// The same for a target that only a claimed one can reach: no other walk can be on it.
  void claim_unshared(uint64_t walk) { walk_.store(walk, std::memory_order_relaxed); }
  /// What this walk wrote is seen by the next one to claim.
  void unclaim() { walk_.store(0, std::memory_order_release); }
  int64_t position() const { return position_; }
  void set_position(int64_t position) { position_ = position; }

 protected:
  GradTarget(const TensorSpec& spec, bool leaf) : spec_(spec), leaf_(leaf) {}

 private:
  TensorSpec spec_;
  bool leaf_;
  std::atomic<uint64_t> walk_ = 0;
  int64_t position_ = 0;
};

/// A tensor that the user made and whose gradient is kept. A 16-bit leaf has a float32 gradient:
/// sums over micro-batches in 16 bits would lose what is added last (rules R1, B23).
class Leaf final : public GradTarget {
 public:
  explicit Leaf(const Tensor& value);

  bool requires_grad = true;
  GradSlot grad{GradSlot::Owner::leaf};
  HookList<LeafHook> after_accumulate;
};

/// The meta of a tensor as what it is, or null.
GradTarget* grad_target(const Tensor& x);
Leaf* leaf_of(const Tensor& x);
Node* node_of(const Tensor& x);
/// Where the gradient of an operator's input goes; null if nobody wants it or x is not defined.
Ref<GradTarget> edge_to(const Tensor& x);

}  // namespace accrue
