// Normalisation: over the features of each item, by its own mean and variance.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// y = x̂ · w + b,  x̂ = (x - mean) / √(variance + eps), over the last dimensions of x, which have
/// the shape `normalized`; the variance is the mean square. w and b have that shape too, or are not
/// defined.
///   with g = dy · w:   dx = (g - mean(g) - x̂ · mean(g · x̂)) / √(variance + eps)
///   dw = Σ dy · x̂      db = Σ dy, over the items
/// Throws ShapeError, DTypeError, and ValueError unless eps ≥ 0.
Tensor layer_norm(const Tensor& x, const Dims& normalized, const Tensor& w = {},
                  const Tensor& b = {}, double eps = 1e-5);

}  // namespace accrue
