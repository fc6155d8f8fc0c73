#include "tests/autograd/op_laws.h"

#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using namespace testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// e^x / Σ e^x of n numbers `step` apart, in long double.
std::vector<long double> softmax_of(const double* x, int64_t n, int64_t step) {
  long double max = -kInfinity;
  for (int64_t i = 0; i < n; ++i) max = std::max<long double>(max, x[i * step]);
  long double sum = 0;
  std::vector<long double> y;
  for (int64_t i = 0; i < n; ++i) y.push_back(std::exp(x[i * step] - max));
  for (long double v : y) sum += v;
  for (long double& v : y) v /= sum;
  return y;
}

TEST(Softmax, IsTheFormulaInEveryDimensionAndDtype) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16}) {
    const double tolerance = dtype == DType::float64   ? 1e-15
                             : dtype == DType::float32 ? 3e-7
                                                       : 4e-3;
    const Dims shape{3, 37, 5};
    const Tensor x = wavy(shape, 0, dtype);
    const Values in = values(x);
    for (int dim = 0; dim < 3; ++dim) {
      const int64_t n = shape[dim];
      const int64_t step = row_major(shape)[dim];
      const Values y = values(softmax(x, dim));
      const Values log_y = values(log_softmax(x, dim));
      const Tensor lse = logsumexp(x, dim, true);
      EXPECT_EQ(lse.shape()[dim], 1);
      for (int64_t i = 0; i < x.numel(); ++i) {
        if (i / step % n != 0) continue;
        const auto expected = softmax_of(in.data() + i, n, step);
        for (int64_t j = 0; j < n; ++j) {
          const auto p = static_cast<double>(expected[static_cast<size_t>(j)]);
          const auto at = static_cast<size_t>(i + j * step);
          EXPECT_NEAR(y[at], p, tolerance * p);
          EXPECT_NEAR(log_y[at], std::log(p), tolerance * 6);
        }
      }
      const Values joined = values(logsumexp(x, dim));
      EXPECT_EQ(joined, values(lse));
      size_t r = 0;
      for (int64_t i = 0; i < x.numel(); ++i) {
        if (i / step % n != 0) continue;
        const auto first = static_cast<double>(softmax_of(in.data() + i, n, step)[0]);
        EXPECT_NEAR(joined[r++], in[static_cast<size_t>(i)] - std::log(first), tolerance * 6);
      }
    }
  }
}

TEST(Softmax, GradientLaws) {
  for (int64_t dim : {0, 1, -1}) {
    const std::vector<Tensor> x{wavy({4, 3, 5})};
    expect_gradient_laws([dim](const auto& in) { return softmax(in[0], dim); }, x);
    expect_gradient_laws([dim](const auto& in) { return log_softmax(in[0], dim); }, x);
    expect_gradient_laws([dim](const auto& in) { return logsumexp(in[0], dim); }, x);
    expect_gradient_laws([dim](const auto& in) { return logsumexp(in[0], dim, true); }, x);
  }
}

TEST(Softmax, ARowDoesNotDependOnTheOthersNorOnItsLayoutNorOnThreads) {
  const int64_t n = 1031;
  const Tensor x = wavy({7, n}, 0, DType::float32);
  for (auto f : {softmax, log_softmax}) {
    set_num_threads(1);
    const Values all = values(f(x, 1));
    expect_same_of_any_layout(values(f(scattered(x), 1)), all, 1e-6);
    for (int64_t r = 0; r < 7; ++r) {
      const Tensor row = x.alias(layout::narrow(x.layout(), 0, r, 1));
      EXPECT_EQ(values(f(row, 1)), Values(all.begin() + r * n, all.begin() + (r + 1) * n));
    }
    for (int threads : {2, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(values(f(x, 1)), all);
    }
  }
  set_num_threads(2);
}

TEST(Softmax, AddsInFloat32ForA16BitLeaf) {
  Tensor x = leaf(waves(6), {2, 3}, DType::bfloat16);
  backward(softmax(x, 1), make({1, 0, 0, 0, 1, 0}, {2, 3}, DType::bfloat16));
  const Values once = values(x.grad());
  EXPECT_EQ(x.grad().dtype(), DType::float32);
  backward(softmax(x, 1), make({1, 0, 0, 0, 1, 0}, {2, 3}, DType::bfloat16));
  Values twice = once;
  for (double& v : twice) v *= 2;
  EXPECT_EQ(values(x.grad()), twice);
}

TEST(Softmax, OfNothingIsNothing) {
  for (const Dims& shape : {Dims{0, 3}, Dims{3, 0}}) {
    Tensor x = leaf(Values{}, shape);
    const Tensor y = softmax(x, 1);
    EXPECT_EQ(y.shape(), shape);
    backward(y, zeros(shape, DType::float64));
    EXPECT_EQ(x.grad().shape(), shape);
    EXPECT_EQ(log_softmax(x, 1).shape(), shape);
  }
  EXPECT_EQ(values(logsumexp(zeros({2, 0}, DType::float64), 1)), (Values{-kInfinity, -kInfinity}));
}

TEST(Softmax, RefusesWithASentence) {
  const Tensor x = wavy({2, 3});
  EXPECT_THROW(softmax(x, 2), ShapeError);
  EXPECT_THROW(log_softmax(x, -3), ShapeError);
  EXPECT_THROW(softmax(arange(3), 0), DTypeError);
  EXPECT_NE(message_of<DTypeError>([] {
              logsumexp(arange(3), 0);
            }).find("logsumexp: the tensor is int64"),
            std::string::npos);
}

TEST(Softmax, case_SM_01) {
  for (DType dtype : {DType::float64, DType::float32}) {
    Tensor x = leaf({-kInfinity, -kInfinity}, {2}, dtype);
    const Tensor y = logsumexp(x, 0);
    EXPECT_EQ(y.item(), -kInfinity);
    y.backward();
    EXPECT_EQ(values(x.grad()), (Values{0, 0}));
    EXPECT_TRUE(std::isnan(values(softmax(x, 0))[0]));
  }
}

TEST(Softmax, case_SM_02) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16})
    for (size_t n : {1, 2, 3, 7, 33})
      for (size_t hot = 0; hot < n; ++hot) {
        Values x(n, -kInfinity);
        Values log_y = x;
        Values y(n, 0);
        x[hot] = log_y[hot] = 0;
        y[hot] = 1;
        const Tensor t = make(x, {static_cast<int64_t>(n)}, dtype);
        EXPECT_EQ(values(softmax(t, 0)), y);
        EXPECT_EQ(values(log_softmax(t, 0)), log_y);
      }
}

TEST(Softmax, case_SM_03) {
  Tensor x = leaf({0, -200}, {2}, DType::float32);
  backward(log_softmax(x, 0), ones({2}));
  EXPECT_EQ(values(x.grad()), (Values{-1, 1}));
}

TEST(Softmax, case_SM_05) {
  EXPECT_EQ(values(softmax(zeros({512}, DType::bfloat16), 0)), Values(512, 0.001953125));
}

TEST(Softmax, case_SM_06) {
  for (double big : {1000.0, -1000.0}) {
    Tensor x = leaf({big, big}, {2});
    const Tensor y = logsumexp(x, 0);
    EXPECT_NEAR(y.item(), big + std::log(2.0), 1e-12);
    y.backward();
    EXPECT_NEAR(values(x.grad())[0], 0.5, 1e-12);
    EXPECT_NEAR(values(x.grad())[1], 0.5, 1e-12);
    Tensor x32 = leaf({big, big}, {2}, DType::float32);
    logsumexp(x32, 0).backward();
    EXPECT_NEAR(values(x32.grad())[0], 0.5, 1e-7);
  }
}

TEST(Softmax, case_SM_08) {
  Tensor x = leaf({-kInfinity, 0, 1}, {3});
  backward(log_softmax(x, 0), make({0, 1, 0}, {3}));
  const Values dx = values(x.grad());
  EXPECT_EQ(dx[0], 0);
  EXPECT_NEAR(dx[1], 0.7310585786, 1e-10);
  EXPECT_NEAR(dx[2], -0.7310585786, 1e-10);
}

TEST(Softmax, ANaNReachesItsWholeRowAndNoOther) {
  for (size_t bad : {0, 20, 36}) {
    Values v(74, 1);
    v[bad] = std::nan("");
    const Values y = values(softmax(make(v, {2, 37}, DType::float32), 1));
    for (size_t i = 0; i < 37; ++i) EXPECT_TRUE(std::isnan(y[i]));
    for (size_t i = 37; i < 74; ++i) EXPECT_FALSE(std::isnan(y[i]));
  }
}

}  // namespace
}  // namespace accrue
