// Saved: a tensor that an operator remembers for its backward.
//
// It keeps the values only, never the graph, so a node that remembers its own output makes no
// cycle. It notices if the values were changed in place since.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

class Saved {
 public:
  /// Not defaulted: an operator that is made as `Mul{}` would be zeroed as a whole beforehand.
  Saved() {}  // NOLINT(modernize-use-equals-default)
  Saved& operator=(const Tensor& x);

  bool defined() const { return static_cast<bool>(storage_); }
  const Dims& shape() const { return layout_.shape; }
  DType dtype() const { return dtype_; }
  /// The values as a tensor outside the tape, or an undefined one if nothing was saved.
  /// Throws AutogradError if they were changed in place.
  Tensor get() const;
  operator ConstView() const;

 private:
  void check_version() const;

  Ref<Storage> storage_;
  Layout layout_;
  DType dtype_ = DType::float32;
  uint32_t version_ = 0;
};

namespace detail {
/// Bytes saved on this thread since start(): what apply() reports for the node it makes.
struct SavedBytes {
  static void start();
  static int64_t total();
};
/// The operator whose backward runs now on this thread, for messages.
class RunningOp {
 public:
  explicit RunningOp(const char* name);
  ~RunningOp();
  RunningOp(const RunningOp&) = delete;
  RunningOp& operator=(const RunningOp&) = delete;

 private:
  const char* before_;
};
}  // namespace detail

}  // namespace accrue
