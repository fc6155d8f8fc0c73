// Linear: y = x · weightᵀ + bias.
#pragma once
#include <accrue/autograd/ops/matmul.h>

#include <accrue/nn/module.h>

namespace accrue::nn {

struct LinearOptions {
  bool bias = true;
};

class Linear : public Module {
 public:
  /// weight [out, in] and bias [out] start as U(-b, b), b = 1 / √in. Throws ValueError for a
  /// negative size.
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& options = {});
  /// x [.., in] to y [.., out]
  Tensor forward(const Tensor& x) override { return forward(x, Activation::none); }
  /// With an activation behind it, see linear().
  Tensor forward(const Tensor& x, Activation f) { return linear(x, weight, bias, f); }
  using Module::operator();
  Tensor operator()(const Tensor& x, Activation f) { return forward(x, f); }
  std::string extra_repr() const override;

  Tensor weight, bias;
};

}  // namespace accrue::nn
