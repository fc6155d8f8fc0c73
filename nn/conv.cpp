#include <cmath>

#include <accrue/core/random.h>

#include <accrue/nn/conv.h>
#include <accrue/nn/init.h>

namespace accrue::nn {

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, const Pair& kernel,
               const Conv2dOptions& options, Bias with_bias)
    : options_(options) {
  const auto positive = [](const char* what, int64_t a, int64_t b) {
    check<ValueError>(a > 0 && b > 0, "Conv2d: ", what, " is ", a, " and ", b,
                      "; both must be at least 1");
  };
  positive("in_channels and out_channels", in_channels, out_channels);
  positive("the kernel", kernel[0], kernel[1]);
  positive("the stride", options.stride[0], options.stride[1]);
  positive("the dilation", options.dilation[0], options.dilation[1]);
  check<ValueError>(options.padding[0] >= 0 && options.padding[1] >= 0, "Conv2d: the padding is ",
                    options.padding[0], " and ", options.padding[1], "; both must be at least 0");
  check<ValueError>(
      options.groups > 0 && in_channels % options.groups == 0 && out_channels % options.groups == 0,
      "Conv2d: groups is ", options.groups, "; it must divide in_channels, ", in_channels,
      ", and out_channels, ", out_channels);
  const Dims shape = {out_channels, in_channels / options.groups, kernel[0], kernel[1]};
  const double bound = 1 / std::sqrt(static_cast<double>(init::fans_of(shape).in));
  register_parameter("weight", weight, uniform(shape, -bound, bound));
  register_parameter("bias", bias,
                     with_bias == Bias::yes ? uniform({out_channels}, -bound, bound) : Tensor());
}

Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight, bias, options_); }

std::string Conv2d::extra_repr() const {
  const Conv2dOptions standard;
  const auto pair = [](const Pair& p) { return detail::concat('(', p[0], ", ", p[1], ')'); };
  std::string text = detail::concat(weight.size(1) * options_.groups, ", ", weight.size(0),
                                    ", kernel_size=", pair({weight.size(2), weight.size(3)}),
                                    ", stride=", pair(options_.stride));
  if (options_.padding != standard.padding) text += ", padding=" + pair(options_.padding);
  if (options_.dilation != standard.dilation) text += ", dilation=" + pair(options_.dilation);
  if (options_.groups != 1) text += detail::concat(", groups=", options_.groups);
  if (!bias.defined()) text += ", bias=false";
  return text;
}

}  // namespace accrue::nn
