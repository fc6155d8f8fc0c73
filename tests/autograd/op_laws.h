// What every operator's gradient must be, checked on a function of a few tensors: equal to finite
// differences in float64; the same for any layout of the inputs and of dy, for any number of
// threads, and whichever other gradients are wanted; and twice itself after two passes.
#pragma once
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/kernels/cpu/parallel.h>

namespace accrue::testing {

using Values = std::vector<double>;
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

inline Values values(const Tensor& x) { return x.to_vector<double>(); }
inline Tensor make(const Values& v, const Dims& shape, DType dtype = DType::float64) {
  return tensor(std::span<const double>(v), shape, dtype);
}
inline Tensor leaf(const Values& v, const Dims& shape, DType dtype = DType::float64) {
  return make(v, shape, dtype).set_requires_grad();
}
inline Tensor leaf(const Tensor& x) { return leaf(values(x), x.shape(), x.dtype()); }

/// Numbers that look random, in [-2, 2).
inline Values waves(int64_t n, double phase = 0) {
  Values v;
  for (int64_t i = 0; i < n; ++i)
    v.push_back(2 *
                std::sin(static_cast<double>(i * i % 97) + static_cast<double>(i) * 0.7 + phase));
  return v;
}
inline Tensor wavy(const Dims& shape, double phase = 0, DType dtype = DType::float64) {
  return make(waves(numel(shape), phase), shape, dtype);
}

/// The same values in memory whose first dimension runs fastest, with gaps.
inline Tensor scattered(const Tensor& x) {
  Dims around{2};
  Dims order;
  for (int d = x.dim() - 1; d >= 0; --d) around.push_back(x.shape()[d]);
  const Tensor memory = zeros(around, x.dtype());
  Layout l = layout::select(memory.layout(), 0, 1);
  for (int d = x.dim() - 1; d >= 0; --d) order.push_back(d);
  l = layout::permute(l, order);
  Tensor y = memory.alias(l);
  const Values v = values(x);
  visit_any(x.dtype(), [&]<class T>() {
    size_t i = 0;
    layout::for_each_offset(y.layout(), [&](int64_t at) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        y.data<T>()[at] = T(static_cast<float>(v[i++]));
      else
        y.data<T>()[at] = static_cast<T>(v[i++]);
    });
  });
  return y;
}

inline void backward(const Tensor& y, const Tensor& dy) { y.backward({.gradient = dy}); }

/// The gradients of the inputs marked `wanted`, all others empty.
inline std::vector<Values> gradients(const Function& f, std::vector<Tensor> inputs,
                                     const std::vector<bool>& wanted, int passes = 1,
                                     bool scatter_dy = false) {
  for (size_t k = 0; k < inputs.size(); ++k)
    if (wanted[k]) inputs[k].set_requires_grad();
  for (int pass = 0; pass < passes; ++pass) {
    const Tensor y = f(inputs);
    const Tensor dy = wavy(y.shape(), 0.3, y.dtype());
    backward(y, scatter_dy ? scattered(dy) : dy);
  }
  std::vector<Values> found(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k)
    if (wanted[k] && inputs[k].grad().defined()) found[k] = values(inputs[k].grad());
  return found;
}

inline double objective(const Function& f, const std::vector<Tensor>& inputs) {
  const Values y = values(f(inputs));
  const Values dy = waves(static_cast<int64_t>(y.size()), 0.3);
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
  return sum;
}

/// The layout of operands changes no bit on the CPU; on a CUDA device the order of a sum may be
/// that of memory, and the last bits with it.
inline void expect_same_of_any_layout(const Values& got, const Values& right, double last_bits) {
  if (default_device().is_cpu()) last_bits = 0;
  ASSERT_EQ(got.size(), right.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], right[i], last_bits);
}

/// `inputs` are float64, dense, and smooth points of f. Two passes give exactly twice one, except
/// for inputs from `chained` on: their gradient is a sum over rows that goes on from the old
/// content, which rounds otherwise.
inline void expect_gradient_laws(const Function& f, const std::vector<Tensor>& inputs,
                                 size_t chained = 99) {
  const auto fresh = [&] {
    std::vector<Tensor> copies;
    for (const Tensor& x : inputs) copies.push_back(make(values(x), x.shape(), x.dtype()));
    return copies;
  };
  const std::vector<bool> all(inputs.size(), true);
  set_num_threads(1);
  const std::vector<Values> g = gradients(f, fresh(), all);
  for (size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_EQ(g[k].size(), static_cast<size_t>(inputs[k].numel()));
    for (size_t i = 0; i < g[k].size(); ++i) {
      std::vector<Tensor> moved = fresh();
      double& x = moved[k].data<double>()[i];
      const double x0 = x;
      const double h = 6e-6 * std::max(1.0, std::fabs(x0));
      x = x0 + h;
      const double above = objective(f, moved);
      x = x0 - h;
      const double below = objective(f, moved);
      EXPECT_NEAR(g[k][i], (above - below) / (2 * h), 1e-7 + 1e-6 * std::fabs(g[k][i]))
          << "input " << k << ", element " << i;
    }
  }
  const std::vector<Values> twice = gradients(f, fresh(), all, 2);
  for (size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_EQ(twice[k].size(), g[k].size());
    for (size_t i = 0; i < g[k].size(); ++i)
      EXPECT_NEAR(twice[k][i], 2 * g[k][i], k < chained ? 0 : 1e-13)
          << "two passes, input " << k << ", element " << i;
  }
  std::vector<Tensor> other;
  for (const Tensor& x : inputs) other.push_back(scattered(x));
  const std::vector<Values> strided = gradients(f, other, all, 1, true);
  for (size_t k = 0; k < inputs.size(); ++k) {
    SCOPED_TRACE("other strides, input " + std::to_string(k));
    expect_same_of_any_layout(strided[k], g[k], 1e-14);
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    std::vector<bool> one(inputs.size(), false);
    one[k] = true;
    EXPECT_EQ(gradients(f, fresh(), one)[k], g[k]) << "only input " << k;
  }
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(gradients(f, fresh(), all), g) << threads << " threads";
  }
  set_num_threads(2);
}

/// What f throws.
template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace accrue::testing
