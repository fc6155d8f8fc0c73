// LayerNorm: each item's features, brought to mean 0 and variance 1, then scaled and shifted.
#pragma once
#include <accrue/nn/module.h>

namespace accrue::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;  ///< have a weight
  bool bias = true;                ///< have a bias, if there is a weight
};

class LayerNorm : public Module {
 public:
  /// weight starts as ones, bias as zeros, both of shape `normalized`, which is that of the last
  /// dimensions of x. Throws ValueError for no dimensions, a size below 1 or a bad eps.
  explicit LayerNorm(const Dims& normalized, const LayerNormOptions& options = {});
  explicit LayerNorm(int64_t features, const LayerNormOptions& options = {})
      : LayerNorm(Dims{features}, options) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor weight, bias;

 private:
  Dims normalized_;
  double eps_;
};

}  // namespace accrue::nn
