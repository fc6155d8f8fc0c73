// Many tensors made into one. The result's dtype is promote() of all of them.
//
// Both throw ShapeError for an empty list and for shapes that do not fit, naming which tensors, and
// DeviceError if the devices differ. The gradients are views of dy, lent without a copy.
#pragma once
#include <initializer_list>
#include <span>

#include <accrue/core/tensor.h>

namespace accrue {

/// One after another along an existing dimension; all other sizes are equal.
Tensor cat(std::span<const Tensor> pieces, int64_t dim = 0);
Tensor cat(std::initializer_list<Tensor> pieces, int64_t dim = 0);
/// Of equal shape, along a new dimension before `dim`.
Tensor stack(std::span<const Tensor> pieces, int64_t dim = 0);
Tensor stack(std::initializer_list<Tensor> pieces, int64_t dim = 0);

}  // namespace accrue
