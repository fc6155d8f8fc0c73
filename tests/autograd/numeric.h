// What the tests of operators share: tensors of random numbers, finite differences, and comparison
// of bits.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/tensor.h>

namespace accrue::testing {

inline Tensor filled(const Dims& shape, DType dtype, const std::function<double()>& next) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (double& v : values) v = next();
  return tensor(std::span<const double>(values), shape, dtype);
}
/// Uniform in [-1, 1).
inline Tensor random(const Dims& shape, uint32_t seed, DType dtype = DType::float64) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> values(-1, 1);
  return filled(shape, dtype, [&] { return values(bits); });
}
/// Whole numbers from -most to most: sums of their products are exact in any order.
inline Tensor whole(const Dims& shape, uint32_t seed, DType dtype = DType::float64, int most = 3) {
  std::mt19937 bits(seed);
  std::uniform_int_distribution<int> values(-most, most);
  return filled(shape, dtype, [&] { return static_cast<double>(values(bits)); });
}

inline std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

/// The same bits, or NaN in both; shapes and dtypes too.
inline void expect_same(const Tensor& a, const Tensor& b, const std::string& what = "") {
  ASSERT_TRUE(a.defined() && b.defined()) << what;
  ASSERT_EQ(a.shape(), b.shape()) << what;
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  const std::vector<double> x = values(a), y = values(b);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    ASSERT_EQ(std::bit_cast<uint64_t>(x[i]), std::bit_cast<uint64_t>(y[i]))
        << what << " element " << i << ": " << x[i] << " and " << y[i];
  }
}

inline void expect_close(const std::vector<double>& got, const std::vector<double>& right,
                         double relative, double absolute, const std::string& what = "") {
  ASSERT_EQ(got.size(), right.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(right[i]) && std::isnan(got[i])) continue;
    ASSERT_NEAR(got[i], right[i], absolute + relative * std::abs(right[i]))
        << what << " element " << i;
  }
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// The gradients of Σ c · f(inputs), by backward().
inline std::vector<Tensor> gradients(const Function& f, const std::vector<Tensor>& inputs,
                                     const Tensor& c) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(x.alias(x.layout()).set_requires_grad());
  f(leaves).backward({.gradient = c});
  std::vector<Tensor> out;
  for (const Tensor& x : leaves) out.push_back(x.grad());
  return out;
}

/// Every gradient of f, which is in float64, against central differences.
inline void check_gradients(const Function& f, const std::vector<Tensor>& inputs,
                            const std::string& what = "") {
  const Tensor c = random(f(inputs).shape(), 99);
  const std::vector<double> weight = values(c);
  const std::vector<Tensor> got = gradients(f, inputs, c);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<double> at = values(inputs[i]);
    std::vector<double> numeric;
    for (size_t e = 0; e < at.size(); ++e) {
      const double h = 6e-6 * std::max(1.0, std::abs(at[e]));
      double difference = 0;
      for (const double side : {h, -h}) {
        std::vector<double> moved = at;
        moved[e] += side;
        std::vector<Tensor> in = inputs;
        in[i] = tensor(std::span<const double>(moved), inputs[i].shape(), DType::float64);
        const std::vector<double> y = values(f(in));
        for (size_t k = 0; k < y.size(); ++k) difference += weight[k] * y[k] / (2 * side);
      }
      numeric.push_back(difference);
    }
    ASSERT_TRUE(got[i].defined()) << what << " input " << i;
    expect_close(values(got[i]), numeric, 1e-6, 1e-7, what + " input " + std::to_string(i));
  }
}

/// A second backward adds to what is there; an input nobody asked for gets nothing, and the others
/// the same. `inputs` hold whole numbers, so that doubling is exact.
inline void check_arrivals(const Function& f, const std::vector<Tensor>& inputs) {
  const Tensor c = whole(f(inputs).shape(), 98, inputs[0].dtype());
  const std::vector<Tensor> once = gradients(f, inputs, c);
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(x.alias(x.layout()).set_requires_grad());
  for (int i = 0; i < 2; ++i) f(leaves).backward({.gradient = c});
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<double> twice = values(once[i]);
    for (double& v : twice) v *= 2;
    EXPECT_EQ(values(leaves[i].grad()), twice) << "input " << i;
  }
  for (size_t unwanted = 0; unwanted < inputs.size(); ++unwanted) {
    std::vector<Tensor> some;
    for (size_t i = 0; i < inputs.size(); ++i) {
      some.push_back(inputs[i].alias(inputs[i].layout()).set_requires_grad(i != unwanted));
    }
    if (inputs.size() == 1) break;
    f(some).backward({.gradient = c});
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == unwanted) {
        EXPECT_FALSE(some[i].grad().defined());
      } else {
        expect_same(some[i].grad(), once[i], "input " + std::to_string(i));
      }
    }
  }
}

/// The message of the error of type E that f throws.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "no exception";
}

}  // namespace accrue::testing
