// Walk: the memory offsets of a range of a strided tensor's elements, in row-major order. For
// kernels whose inner loop wants dense memory and that meet strides seldom.
#pragma once
#include <cstdint>

#include <accrue/core/dims.h>

namespace accrue::kernels::cpu {

class Walk {
 public:
  /// Stands at the element with row-major number `start`.
  Walk(const Dims& shape, const Dims& strides, int64_t start) : shape_(shape), strides_(strides) {
    index_ = Dims::filled(shape.size(), 0);
    for (int d = shape.size() - 1; d >= 0; --d) {
      index_[d] = start % shape[d];
      start /= shape[d];
      offset_ += index_[d] * strides[d];
    }
  }
  /// The offset of this element, in elements; then goes to the next.
  int64_t next() {
    const int64_t here = offset_;
    for (int d = shape_.size() - 1; d >= 0; --d) {
      offset_ += strides_[d];
      if (++index_[d] < shape_[d]) break;
      offset_ -= index_[d] * strides_[d];
      index_[d] = 0;
    }
    return here;
  }

 private:
  Dims shape_, strides_, index_;
  int64_t offset_ = 0;
};

}  // namespace accrue::kernels::cpu
