#include <cmath>

#include <accrue/core/random.h>

#include <accrue/nn/linear.h>

namespace accrue::nn {

Linear::Linear(int64_t in_features, int64_t out_features, const LinearOptions& options) {
  check<ValueError>(in_features >= 0 && out_features >= 0, "Linear: in_features is ", in_features,
                    " and out_features ", out_features, "; they must be at least 0");
  const double bound = in_features > 0 ? 1 / std::sqrt(static_cast<double>(in_features)) : 0;
  register_parameter("weight", weight, uniform({out_features, in_features}, -bound, bound));
  register_parameter("bias", bias,
                     options.bias ? uniform({out_features}, -bound, bound) : Tensor());
}

std::string Linear::extra_repr() const {
  return detail::concat("in_features=", weight.size(1), ", out_features=", weight.size(0),
                        ", bias=", bias.defined());
}

}  // namespace accrue::nn
