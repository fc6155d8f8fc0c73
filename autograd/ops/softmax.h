// Softmax and its relatives along one dimension; a negative one counts from the back.
//
// All throw DTypeError unless x is floating point, ShapeError for a dimension that x lacks.
#pragma once
#include <accrue/core/tensor.h>

namespace accrue {

/// y = eˣ / Σ eˣ      dx = y · (dy - Σ dy · y)
/// A row of nothing but -∞ has no distribution and gives NaN.
Tensor softmax(const Tensor& x, int64_t dim);
/// y = x - ln Σ eˣ    dx = dy - eʸ · Σ dy
Tensor log_softmax(const Tensor& x, int64_t dim);
/// y = ln Σ eˣ        dx = dy · e^(x - y)
/// Over nothing, or nothing but -∞, it is -∞, with gradient 0. `keepdim` leaves the dimension with
/// size 1.
Tensor logsumexp(const Tensor& x, int64_t dim, bool keepdim = false);

}  // namespace accrue
