// GradSlot: a place where contributions to one gradient meet. GradSink: the door to it that an
// operator's backward is handed.
//
// The first contribution overwrites, every later one adds. So nobody fills gradients with zeros,
// and nobody adds two gradients in a kernel of its own: the kernel that computes a contribution
// writes it to its place. A leaf owns its slot for as long as it lives (that is `.grad`); the slots
// of the values in between belong to one backward pass. Now read: node.h, pass.h.
#pragma once
#include <accrue/kernels/dest.h>

namespace accrue {

/// What a tensor looks like, without its values.
struct TensorSpec {
  Dims shape;
  DType dtype = DType::float32;
  Device device;
};

// clang-format off
/// | state                         | into          | onto        | add(g)                     |
/// |-------------------------------|---------------|-------------|----------------------------|
/// | empty                         | overwrite own | fill 0, add | pass: borrow g; leaf: copy |
/// | holds, owned                  | add in place  | the same    | the same                   |
/// | holds, borrowed, lender gone  | adopt, add    | the same    | the same                   |
/// | holds, borrowed, lender reads | copy, add     | the same    | the same                   |
// clang-format on
class GradSlot {
 public:
  enum class Owner : uint8_t { pass, leaf };

  explicit GradSlot(Owner owner = Owner::pass) : owner_(owner) {}

  bool holds() const { return holds_; }
  /// REQUIRES: holds(). Throws AutogradError after a pass that failed half way.
  const Tensor& value() const;
  /// Forgets the gradient; a leaf's memory stays where it is.
  void reset() { holds_ = spoiled_ = false; }
  /// Forgets the gradient and gives its memory back.
  void release() { *this = GradSlot(owner_); }
  /// A pass failed after adding to what was here: unusable until reset().
  void spoil() { spoiled_ = holds_; }
  /// Said before a pass writes here, so that whoever saved this gradient for a backward of theirs
  /// finds it changed.
  void will_change() {
    if (value_.defined()) value_.storage().bump_version();
  }
  /// Whether x lies in the memory of this gradient.
  bool is_memory_of(const Tensor& x) const { return value_.defined() && value_.same_storage(x); }
  /// Hands the gradient over and is empty.
  Tensor take();
  /// Makes `buffer` the memory of this leaf's gradient from now on, and forgets what was held.
  void bind(const Tensor& buffer);

  /// For a kernel that writes every element once.
  Dest into(const TensorSpec& spec);
  /// For a kernel that touches some elements, or some more than once.
  Dest onto(const TensorSpec& spec);
  /// A contribution that exists as a tensor; what `spec` lacks of its shape is summed away.
  void add(const Tensor& g, const TensorSpec& spec);

 private:
  void own(const TensorSpec& spec);

  Tensor value_;
  Owner owner_;
  bool holds_ = false;
  bool borrowed_ = false;  // value_ came by add() and may be shared
  bool spoiled_ = false;
};

/// What an operator's backward is handed for each input. False if nobody asked for that gradient.
class GradSink {
 public:
  GradSink() = default;
  GradSink(GradSlot* slot, const TensorSpec* spec) : slot_(slot), spec_(spec) {}

  explicit operator bool() const { return slot_ != nullptr; }
  const Dims& shape() const { return spec_->shape; }
  DType dtype() const { return spec_->dtype; }
  Dest into() { return slot_ ? slot_->into(*spec_) : Dest(); }
  Dest onto() { return slot_ ? slot_->onto(*spec_) : Dest(); }
  void add(const Tensor& g) {
    if (slot_) slot_->add(g, *spec_);
  }

 private:
  GradSlot* slot_ = nullptr;
  const TensorSpec* spec_ = nullptr;
};

/// A gradient this kernel writes whole: overwritten on first arrival, added to afterwards.
inline Dest into(GradSink& sink) { return sink.into(); }
/// A gradient this kernel touches in part or repeatedly: zero-filled if it is the first, then
/// added.
inline Dest onto(GradSink& sink) { return sink.onto(); }

}  // namespace accrue
