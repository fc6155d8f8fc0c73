// Tensors that the tests of row kernels start from.
#pragma once
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>
#include <accrue/core/transfer.h>

#include <accrue/kernels/dest.h>

namespace accrue::testing {

using Tensors = std::vector<Tensor>;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Normally distributed numbers.
inline Tensor normal(const Dims& shape, DType dtype = float32, double scale = 1, uint32_t seed = 1,
                     double mean = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> of(mean, scale);
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (double& v : values) v = of(random);
  return tensor(values, shape, dtype);
}

/// The same numbers in memory of their own.
inline Tensor copy_of(const Tensor& x) {
  return to_device(tensor(x.to_vector<double>(), x.shape(), x.dtype()), x.device());
}

/// Elements [from, to) of dimension d.
inline Tensor part_of(const Tensor& x, int d, int64_t from, int64_t to) {
  return x.alias(layout::slice(x.layout(), d, from, to, 1));
}

/// A view of every second element of x along its last dimension, which becomes the last but one.
inline Tensor strided_part(const Tensor& x) {
  const int last = x.dim() - 1;
  const Layout half = layout::slice(x.layout(), last, 0, x.shape()[last], 2);
  return x.alias(layout::transpose(half, last, last - 1));
}

}  // namespace accrue::testing
