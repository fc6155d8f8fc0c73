// The law of a linear operator f: y = f(x) has the gradient dx[i] = <f(eᵢ), dy>, where eᵢ is 1 at
// element i and 0 elsewhere. With small whole numbers in float64 both sides are exact, so every
// element is compared for equality; and with it what each gradient must do in accrue: be the same
// for any layout of x, double bit for bit on a second backward, and add up where x is used twice.
#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/trace.h>

#include <accrue/autograd/ops.h>

namespace accrue::testing::linear {

using Values = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;

inline Values values(const Tensor& x) { return x.to_vector<double>(); }

inline Tensor make(const Values& v, const Dims& shape, DType dtype = DType::float64) {
  return tensor(std::span<const double>(v), shape, dtype);
}
inline Tensor leaf(const Values& v, const Dims& shape, DType dtype = DType::float64) {
  Tensor x = make(v, shape, dtype);
  x.set_requires_grad();
  return x;
}
/// 1, 2, 3, ... with alternating signs: no two sums of few of them are equal by accident.
inline Values counting(int64_t n, double from = 1) {
  Values v;
  for (int64_t i = 0; i < n; ++i)
    v.push_back((i % 2 == 0 ? 1 : -1) * (from + static_cast<double>(i)));
  return v;
}
inline void backward(const Tensor& y, const Values& seed) {
  y.backward({.gradient = make(seed, y.shape(), y.dtype())});
}
inline Values doubled(Values v) {
  for (double& a : v) a *= 2;
  return v;
}

enum class Lie : uint8_t { dense, transposed, every_second, behind };
/// The same values in memory of another layout.
inline Tensor laid(const Values& v, const Dims& shape, Lie lie, DType dtype = DType::float64) {
  Tensor x = make(v, shape, dtype);
  const int rank = shape.size();
  if (lie == Lie::dense || rank == 0) return x;
  Dims around, order;
  for (int d = rank - 1; d >= 0; --d) {
    order.push_back(d);
    around.push_back(shape[d]);
  }
  Dims wide = shape;
  wide[rank - 1] *= 2;
  Dims longer = shape;
  longer[0] += 3;
  const Tensor big = Tensor::empty(lie == Lie::transposed     ? around
                                   : lie == Lie::every_second ? wide
                                                              : longer,
                                   dtype);
  kernels::fill(99, into(big));
  const Layout all = big.layout();
  Tensor y =
      big.alias(lie == Lie::transposed     ? layout::permute(all, order)
                : lie == Lie::every_second ? layout::slice(all, rank - 1, 0, wide[rank - 1], 2)
                                           : layout::narrow(all, 0, 3, shape[0]));
  kernels::copy(x, into(y));
  return y;
}
inline constexpr Lie kLies[] = {Lie::dense, Lie::transposed, Lie::every_second, Lie::behind};

/// <f(eᵢ), dy> for every i.
inline Values gradient_by_definition(const Function& f, const Dims& shape, const Values& dy) {
  const auto n = static_cast<size_t>(numel(shape));
  Values dx;
  for (size_t i = 0; i < n; ++i) {
    Values e(n, 0.0);
    e[i] = 1;
    const Values y = values(f(make(e, shape)));
    double dot = 0;
    for (size_t k = 0; k < y.size(); ++k) dot += y[k] * dy[k];
    dx.push_back(dot);
  }
  return dx;
}

inline std::vector<std::string> kernels_of(const std::function<void()>& f) {
  const kernels::Trace trace;
  f();
  return trace.names();
}

/// The whole law, for a linear f that keeps whole numbers whole.
inline void expect_linear(const std::string& name, const Function& f, const Dims& shape) {
  SCOPED_TRACE(name);
  const Values x = counting(numel(shape), 3);
  const Tensor y = f(make(x, shape));
  const Values dy = counting(y.numel(), 2);
  const Values dx = gradient_by_definition(f, shape, dy);
  for (Lie lie : kLies) {
    SCOPED_TRACE("layout " + std::to_string(static_cast<int>(lie)));
    Tensor w = laid(x, shape, lie);
    w.set_requires_grad();
    const Tensor y1 = f(w);
    ASSERT_EQ(y1.shape(), y.shape());
    EXPECT_EQ(values(y1), values(y)) << "forward";
    backward(y1, dy);
    EXPECT_EQ(w.grad().shape(), shape);
    EXPECT_EQ(values(w.grad()), dx) << "backward";
    const void* place = w.grad().data<double>();
    const auto second = kernels_of([&] { backward(f(w), dy); });
    EXPECT_EQ(values(w.grad()), doubled(dx)) << "second backward";
    EXPECT_EQ(w.grad().data<double>(), place);
    const auto third = kernels_of([&] { backward(f(w), dy); });
    EXPECT_EQ(third, second) << "a later pass runs the same kernels";
    EXPECT_EQ(std::count(third.begin(), third.end(), "fill"), 0) << "and fills nothing";
    w.zero_grad();
    backward(f(w), dy);
    EXPECT_EQ(values(w.grad()), dx) << "after zero_grad";
  }
  // A value in between, used twice: the second contribution meets the first, lent or owned.
  Tensor w = leaf(x, shape);
  const Tensor h = w * 1.0;
  const Tensor twice = f(h) + f(h);
  backward(twice, dy);
  EXPECT_EQ(values(w.grad()), doubled(dx)) << "used twice";
  // dy itself need not be dense.
  w.zero_grad();
  const Tensor y2 = f(w);
  y2.backward({.gradient = laid(dy, y2.shape(), Lie::transposed)});
  EXPECT_EQ(values(w.grad()), dx) << "transposed dy";
  // 16-bit weights collect in float32.
  Tensor half = leaf(x, shape, DType::bfloat16);
  backward(f(half), dy);
  EXPECT_EQ(half.grad().dtype(), DType::float32);
  EXPECT_EQ(values(half.grad()), dx) << "bfloat16";
}

/// What `f` throws as an E, or a failure.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace accrue::testing::linear
