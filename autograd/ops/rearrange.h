// The elements of a tensor in another order or more than once, in new memory. Views are in shape.h.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// A dense copy with memory of its own.
Tensor clone(const Tensor& x);
/// x laid out times[d] times along each dimension d; more times than dimensions add some in front.
Tensor repeat(const Tensor& x, const Dims& times);
/// y[i] = x[(i - shift) mod n] along one dimension
Tensor roll(const Tensor& x, int64_t shift, int64_t dim);
/// Each named dimension backwards.
Tensor flip(const Tensor& x, const Dims& dims);

}  // namespace accrue
