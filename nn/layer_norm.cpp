#include <cmath>

#include <accrue/core/factories.h>

#include <accrue/autograd/ops/norm.h>

#include <accrue/nn/layer_norm.h>

namespace accrue::nn {

LayerNorm::LayerNorm(const Dims& normalized, const LayerNormOptions& options)
    : normalized_(normalized), eps_(options.eps) {
  bool positive = !normalized.empty();
  for (const int64_t size : normalized) positive &= size > 0;
  check<ValueError>(positive, "LayerNorm: the normalized shape is ", normalized,
                    "; it needs at least one dimension, and sizes of at least 1");
  check<ValueError>(std::isfinite(eps_) && eps_ >= 0, "LayerNorm: eps is ", eps_,
                    "; it must be a finite number, at least 0");
  const bool affine = options.elementwise_affine;
  register_parameter("weight", weight, affine ? ones(normalized) : Tensor());
  register_parameter("bias", bias, affine && options.bias ? zeros(normalized) : Tensor());
}

Tensor LayerNorm::forward(const Tensor& x) {
  return layer_norm(x, normalized_, weight, bias, eps_);
}

std::string LayerNorm::extra_repr() const {
  return detail::concat(normalized_, ", eps=", eps_, ", elementwise_affine=", weight.defined());
}

}  // namespace accrue::nn
