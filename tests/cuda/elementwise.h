// What the tests of the elementwise kernels start from. Users: elementwise_test.cpp,
// elementwise_sum_test.cpp.
#pragma once
#include <limits>

#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>

#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/split_invariant.h>

#include <accrue/autograd/ops/shape.h>

namespace accrue::testing {

using kernels::binary;
using kernels::copy;
using kernels::fill;
using kernels::ternary;
using kernels::unary;
using Tensors = std::vector<Tensor>;
using Values = std::vector<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const std::vector<DType> kAll = {float32, float64, DType::bfloat16, DType::float16,
                                        int64,   int32,   uint8,           DType::boolean};

/// Numbers from -3 to 3 in no order, some of them equal; whole ones where the dtype has no others.
inline Tensor some(const Dims& shape, DType dtype = float32, int seed = 1) {
  Values values(static_cast<size_t>(numel(shape)));
  uint32_t state = 12345U + 777U * static_cast<uint32_t>(seed);
  for (double& v : values) {
    state = state * 1664525U + 1013904223U;
    v = static_cast<double>(state >> 16) / 65536.0 * 6 - 3;
    if (!is_floating(dtype)) v = std::round(v);
    if (dtype == uint8 || dtype == DType::boolean) v = std::abs(v);
  }
  return tensor(values, shape, dtype);
}

/// Floating numbers of so many sizes that every sum of them is rounded.
inline Tensor uneven(const Dims& shape, DType dtype = float32, int seed = 1) {
  Values values = some(shape, dtype, seed).to_vector<double>();
  const int most = is_16bit_float(dtype) ? 6 : is_floating(dtype) ? 30 : 0;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(
        values[i], most == 0 ? 0 : static_cast<int>(i * i * 7 % 61 % (2 * most + 1)) - most);
  return tensor(values, shape, dtype);
}

/// An unset result whose elements lie apart: every second column of every second row.
inline Tensor apart(const Dims& shape, DType dtype, Device device) {
  Dims memory = shape;
  for (int64_t& n : memory) n *= 2;
  Tensor y = empty(memory, dtype, device);
  for (int d = 0; d < shape.size(); ++d) y = slice(y, d, 0, memory[d], 2);
  return y;
}

/// The elements of such a result without the gaps, which stay unset.
inline Tensor together(const Tensor& x) {
  Tensor y = empty(x.shape(), x.dtype(), x.device());
  copy(x, into(y));
  return y;
}

class Elementwise : public OnExecutor {
 protected:
  ~Elementwise() override { set_split_invariant(false); }
};

}  // namespace accrue::testing
