// Flat: all elements of a small tensor, such as weights or labels, as C, one after another.
#pragma once
#include <accrue/kernels/cpu/rows.h>
#include <accrue/kernels/cpu/scratch.h>

namespace accrue::kernels::cpu {

/// No elements for a view of nothing.
template <class C>
class Flat {
 public:
  explicit Flat(const ConstView& x)
      : size_(x.data ? numel(x.shape) : 0),
        scratch_(static_cast<size_t>(size_) * sizeof(C)),
        data_(RowReader<C>(x, 0, x.shape.size()).read(0, 0, size_, scratch_.as<C>())) {}

  int64_t size() const { return size_; }
  const C& operator[](int64_t i) const { return data_[i]; }
  /// Null for a view of nothing.
  const C* data() const { return size_ > 0 ? data_ : nullptr; }

 private:
  int64_t size_;
  Scratch scratch_;
  const C* data_;
};

}  // namespace accrue::kernels::cpu
