// Dropout: noise that a network learns to do without.
#pragma once
#include <accrue/core/random.h>

namespace accrue {

/// y = x / (1 - p) where a random number is at least p, else 0      dx = dy / (1 - p) at the same
/// places. Nothing is saved but where the bits come from: element i's depend on the generator's
/// seed, the call, and i. Without `training`, or for p = 0, y is x; for p = 1 all is 0.
/// Throws DTypeError unless x is floating point, ValueError unless p is in [0, 1].
Tensor dropout(const Tensor& x, double p, bool training = true,
               Generator& generator = default_generator());

}  // namespace accrue
