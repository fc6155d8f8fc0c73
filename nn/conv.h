// Conv2d: a convolution of images with a learned kernel and bias.
#pragma once
#include <accrue/autograd/ops/conv.h>

#include <accrue/nn/module.h>

namespace accrue::nn {

class Conv2d : public Module {
 public:
  using Pair = std::array<int64_t, 2>;
  enum class Bias : uint8_t { yes, no };

  /// weight [out, in / groups, kh, kw] and bias [out] start as U(-b, b) with
  /// b = 1 / √(in / groups · kh · kw). Throws ValueError for sizes that are not positive, and for
  /// groups that do not divide both numbers of channels.
  Conv2d(int64_t in_channels, int64_t out_channels, const Pair& kernel,
         const Conv2dOptions& options = {}, Bias with_bias = Bias::yes);
  Conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel,
         const Conv2dOptions& options = {}, Bias with_bias = Bias::yes)
      : Conv2d(in_channels, out_channels, Pair{kernel, kernel}, options, with_bias) {}
  /// x [n, in, h, w] to y [n, out, oh, ow]
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;

  Tensor weight, bias;

 private:
  Conv2dOptions options_;
};

}  // namespace accrue::nn
