// gradcheck: compares a function's backward with finite differences. For tests of operators, ours
// and a user's.
#pragma once
#include <functional>
#include <vector>

#include <accrue/core/tensor.h>

namespace accrue {

struct GradcheckOptions {
  double step = 6e-6;  ///< central difference; times max(1, |x|)
  double atol = 1e-7;
  double rtol = 1e-6;
};

using TensorFunction = std::function<Tensor(const std::vector<Tensor>&)>;

/// Compares the whole Jacobian: every element of the output against every element of every input
/// that requires grad, |analytic - numeric| ≤ atol + rtol · |numeric|. Returns the largest
/// difference. The inputs are float64, and not within a step of a kink of f.
/// Throws AutogradError naming the first entry that differs, DTypeError for other dtypes.
double gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
                 const GradcheckOptions& options = {});

}  // namespace accrue
