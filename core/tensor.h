// Tensor: a handle to numbers on a device. Copying it shares them.
//
// A tensor is a Layout over a Storage, with a dtype, and perhaps a place in a tape. It has no
// maths: those are free functions, found by argument-dependent lookup (`matmul(x, w)`, `a + b`),
// see autograd/ops.h. Makers are in factories.h, random ones in random.h.
#pragma once
#include <string>
#include <vector>

#include <accrue/core/dtype.h>
#include <accrue/core/layout.h>
#include <accrue/core/ref.h>
#include <accrue/core/storage.h>
#include <accrue/core/view.h>

namespace accrue {

/// What autograd keeps with a tensor that takes part in it: defined in autograd/meta.h, and
/// opaque here, so that core knows nothing of gradients.
class AutogradMeta : public RefCounted {
 protected:
  AutogradMeta() = default;
};

struct TensorImpl final : RefCounted {
  TensorImpl(Ref<Storage> memory, const Layout& where, DType type)
      : storage(std::move(memory)), layout(where), dtype(type) {}
  /// From the start of its memory.
  TensorImpl(Ref<Storage> memory, const Dims& shape, const Dims& strides, DType type)
      : storage(std::move(memory)), layout{shape, strides, 0}, dtype(type) {}

  Ref<Storage> storage;
  Layout layout;
  DType dtype;
  Ref<AutogradMeta> autograd;
};

struct BackwardOptions;

class Tensor {
 public:
  /// No tensor at all; defined() is false.
  Tensor() = default;
  /// Uninitialised memory. Throws ShapeError for a shape that is negative or too large,
  /// OutOfMemory.
  static Tensor empty(const Dims& shape, DType dtype = DType::float32,
                      Device device = default_device());
  /// The same storage under another layout, outside any tape.
  Tensor alias(const Layout& layout) const;

  bool defined() const { return static_cast<bool>(impl_); }
  const Layout& layout() const { return impl_->layout; }
  const Dims& shape() const { return impl_->layout.shape; }
  const Dims& strides() const { return impl_->layout.strides; }
  int dim() const { return shape().size(); }
  /// Size of one dimension; negative ones count from the back.
  int64_t size(int64_t d) const { return shape()[normalize_dim("size", d, dim())]; }
  int64_t numel() const { return accrue::numel(shape()); }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->storage->device(); }
  bool is_contiguous() const { return layout::is_contiguous(impl_->layout); }

  /// The first element, on the tensor's device. Throws DTypeError unless T is the dtype's type.
  template <class T>
  T* data() const {
    check_defined("data");
    check<DTypeError>(dtype_of<T>() == dtype(), "data: asked for ", dtype_of<T>(),
                      ", but the tensor is ", dtype(), "; ask for that, or cast it");
    return static_cast<T*>(data_pointer());
  }
  View view() const { return {data_pointer(), shape(), strides(), dtype(), device()}; }
  operator ConstView() const { return {data_pointer(), shape(), strides(), dtype(), device()}; }

  /// The value of a tensor of one element, on the host. Throws ShapeError for any other,
  /// AutogradError, as at(), to_vector() and data() do, for a tensor that is not defined.
  double item() const;
  /// One element, on the host. Throws IndexError.
  double at(const Dims& index) const;
  /// All elements in row-major order, on the host, converted to T as cast() does.
  template <class T>
  std::vector<T> to_vector() const;
  std::string to_string() const;

  uint32_t version() const { return impl_->storage->version(); }
  /// Nobody else holds this tensor, and no view of it exists.
  bool sole_owner() const { return impl_->use_count() == 1 && impl_->storage->use_count() == 1; }
  bool same_storage(const Tensor& other) const { return impl_->storage == other.impl_->storage; }
  Storage& storage() const { return *impl_->storage; }

  // ---- Autograd: declared here so that users write loss.backward(); defined in autograd/. ----

  bool requires_grad() const;
  /// Whether the user made it, not an operator on a tape: `.grad` may collect here.
  bool is_leaf() const;
  /// Makes a floating leaf collect gradients, or stop. Throws AutogradError on a computed tensor.
  Tensor& set_requires_grad(bool on = true);
  /// What backward() has added up so far; not defined() if nothing yet, which is not the same as
  /// zeros. Its memory belongs to this tensor and does not move.
  Tensor grad() const;
  /// Forgets the gradient in O(1): the memory stays, and the next backward() overwrites it.
  void zero_grad();
  /// Adds d(this)/d(leaf) to the .grad of every leaf that requires grad.
  void backward() const;
  void backward(const BackwardOptions& options) const;

  TensorImpl& impl() const { return *impl_; }
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

 private:
  void check_defined(const char* member) const;
  void* data_pointer() const {
    return static_cast<char*>(impl_->storage->data()) +
           impl_->layout.offset * static_cast<int64_t>(size_of(impl_->dtype));
  }
  Ref<TensorImpl> impl_;
};

/// How a backward pass runs.
struct BackwardOptions {
  /// Keep what the nodes saved, so that the same graph can be walked again.
  bool retain_graph = false;
  /// dL/d(this), of this tensor's shape; 1 if not defined, which needs a tensor of one element.
  Tensor gradient = {};
};

/// Prints like NumPy.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace accrue
