// Initial values, written over a tensor in place, outside any tape. Random ones take their bits
// from the default generator, so manual_seed() repeats them.
//
// fan_in and fan_out are the numbers of inputs an output depends on and the other way round:
// weight.size(1) and weight.size(0), times the elements of a convolution's kernel.
#pragma once
#include <accrue/core/random.h>

namespace accrue::nn::init {

using accrue::normal_;
using accrue::uniform_;

void constant_(Tensor& x, double value);
inline void zeros_(Tensor& x) { constant_(x, 0); }
inline void ones_(Tensor& x) { constant_(x, 1); }

struct Fans {
  int64_t in, out;
};
/// Throws ShapeError for fewer than two dimensions.
Fans fans_of(const Dims& shape);

enum class Nonlinearity : uint8_t { linear, sigmoid, tanh, relu, leaky_relu };
/// How much smaller the variance is behind the function: 1, 1, 5/3, √2, √(2 / (1 + slope²)).
double gain(Nonlinearity f, double slope = 0.01);

enum class Fan : uint8_t { in, out };
struct KaimingOptions {
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
  double slope = 0;  ///< of leaky_relu below 0
  Fan fan = Fan::in;
};
/// U(-b, b), b = gain · √(3 / fan)         (He et al. 2015)
void kaiming_uniform_(Tensor& x, const KaimingOptions& options = {});
/// N(0, s²), s = gain / √fan
void kaiming_normal_(Tensor& x, const KaimingOptions& options = {});
/// U(-b, b), b = gain · √(6 / (fan_in + fan_out))      (Glorot & Bengio 2010)
void xavier_uniform_(Tensor& x, double gain = 1);
/// N(0, s²), s = gain · √(2 / (fan_in + fan_out))
void xavier_normal_(Tensor& x, double gain = 1);

}  // namespace accrue::nn::init
