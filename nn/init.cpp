#include <cmath>

#include <accrue/kernels/elementwise.h>

#include <accrue/nn/init.h>

namespace accrue::nn::init {
namespace {

double fan_of(const Tensor& x, Fan which) {
  const Fans fans = fans_of(x.shape());
  return static_cast<double>(which == Fan::in ? fans.in : fans.out);
}
double both_fans(const Tensor& x) {
  const Fans fans = fans_of(x.shape());
  return static_cast<double>(fans.in + fans.out);
}

}  // namespace

void constant_(Tensor& x, double value) {
  check<ShapeError>(!layout::has_overlap(x.layout()),
                    "constant_: several elements of the tensor, shape ", x.shape(),
                    " with strides ", x.strides(), ", share memory; clone it first");
  kernels::fill(value, into(x));
  x.storage().bump_version();
}

Fans fans_of(const Dims& shape) {
  check<ShapeError>(shape.size() >= 2, "fans_of: the shape is ", shape,
                    "; a weight has at least two dimensions, [out, in, ...]");
  int64_t kernel = 1;
  for (int d = 2; d < shape.size(); ++d) kernel *= shape[d];
  return {.in = shape[1] * kernel, .out = shape[0] * kernel};
}

double gain(Nonlinearity f, double slope) {
  switch (f) {
    case Nonlinearity::tanh:
      return 5.0 / 3;
    case Nonlinearity::relu:
      return std::sqrt(2.0);
    case Nonlinearity::leaky_relu:
      return std::sqrt(2 / (1 + slope * slope));
    default:
      return 1;
  }
}

void kaiming_uniform_(Tensor& x, const KaimingOptions& o) {
  const double fan = fan_of(x, o.fan);
  if (x.numel() == 0) return;
  const double bound = gain(o.nonlinearity, o.slope) * std::sqrt(3 / fan);
  uniform_(x, -bound, bound);
}

void kaiming_normal_(Tensor& x, const KaimingOptions& o) {
  const double fan = fan_of(x, o.fan);
  if (x.numel() == 0) return;
  normal_(x, 0, gain(o.nonlinearity, o.slope) / std::sqrt(fan));
}

void xavier_uniform_(Tensor& x, double gain) {
  const double fans = both_fans(x);
  if (x.numel() == 0) return;
  const double bound = gain * std::sqrt(6 / fans);
  uniform_(x, -bound, bound);
}

void xavier_normal_(Tensor& x, double gain) {
  const double fans = both_fans(x);
  if (x.numel() == 0) return;
  normal_(x, 0, gain * std::sqrt(2 / fans));
}

}  // namespace accrue::nn::init
