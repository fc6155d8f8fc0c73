#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/memory.h>
#include <accrue/core/random.h>

#include <accrue/kernels/trace.h>

#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/gradcheck.h>
#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Values = std::vector<double>;
constexpr DType kDouble = DType::float64;

/// Fresh memory is NaN in these tests: a product that leaves an element unwritten shows it.
class Matmul : public testing::Test {
 protected:
  Matmul() { memory_testing::set_poison(true); }
  ~Matmul() override {
#ifdef NDEBUG
    memory_testing::set_poison(false);
#endif
  }
};

TEST_F(Matmul, case_MM_01_InnerSizeZeroGivesZeros) {
  Tensor a = zeros({4, 0}, kDouble).set_requires_grad();
  Tensor b = zeros({0, 4}, kDouble).set_requires_grad();
  const Tensor y = matmul(a, b);
  EXPECT_EQ(y.to_vector<double>(), Values(16, 0));
  sum(y).backward();
  EXPECT_EQ(a.grad().shape(), (Dims{4, 0}));
  EXPECT_EQ(b.grad().shape(), (Dims{0, 4}));
}

TEST_F(Matmul, AGradientOverNoBatchesIsZero) {
  Tensor a = ones({3, 1, 2, 4}, kDouble).set_requires_grad();
  Tensor b = ones({3, 0, 4, 5}, kDouble).set_requires_grad();
  const auto loss = [&] { return sum(matmul(a, b)); };
  loss().backward();
  EXPECT_EQ(a.grad().to_vector<double>(), Values(24, 0));
  set_grad(a, full({3, 1, 2, 4}, 7, kDouble));
  loss().backward();
  EXPECT_EQ(a.grad().to_vector<double>(), Values(24, 7));
}

TEST_F(Matmul, case_MM_03_LinearWithoutInputsIsItsBias) {
  Tensor bias = tensor({1, 2, 3}, kDouble).set_requires_grad();
  const Tensor y = linear(zeros({2, 0}, kDouble), zeros({3, 0}, kDouble), bias);
  EXPECT_EQ(y.to_vector<double>(), (Values{1, 2, 3, 1, 2, 3}));
  sum(y).backward();
  EXPECT_EQ(bias.grad().to_vector<double>(), (Values{2, 2, 2}));
}

TEST_F(Matmul, case_MM_05_SixteenBitOperandsAreSummedInFloat) {
  for (DType dtype : {DType::float16, DType::bfloat16})
    EXPECT_EQ(matmul(ones({1, 4096}, dtype), ones({4096, 1}, dtype)).item(), 4096) << dtype;
}

TEST_F(Matmul, case_MM_06_AVectorOnTheLeftIsARow) {
  Tensor v = tensor({1, 2, 3}, kDouble).set_requires_grad();
  Tensor m = tensor({{1, 2}, {3, 4}, {5, 6}}, kDouble).set_requires_grad();
  const Tensor y = matmul(v, m);
  EXPECT_EQ(y.to_vector<double>(), (Values{22, 28}));
  sum(y).backward();
  EXPECT_EQ(v.grad().to_vector<double>(), (Values{3, 7, 11}));
  EXPECT_EQ(m.grad().to_vector<double>(), (Values{1, 1, 2, 2, 3, 3}));
}

/// y[.., m, n] by three loops, for operands whose batches are already equal.
Values by_loops(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const int64_t batches = a.numel() / (m * k);
  const Values x = a.to_vector<double>(), w = b.to_vector<double>();
  Values y(static_cast<size_t>(batches * m * n));
  for (int64_t t = 0; t < batches; ++t)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t p = 0; p < k; ++p)
          y[static_cast<size_t>((t * m + i) * n + j)] +=
              x[static_cast<size_t>((t * m + i) * k + p)] *
              w[static_cast<size_t>((t * k + p) * n + j)];
  return y;
}

TEST_F(Matmul, BatchesBroadcastAndStridesAreFree) {
  manual_seed(3);
  const Tensor a = transpose(randn({2, 1, 4, 3}, kDouble), 2, 3);  // [2, 1, 3, 4]
  const Tensor b = slice(randn({5, 8, 6}, kDouble), 1, 0, 8, 2);   // [5, 4, 6]
  const Tensor wide_a = expand(a, {2, 5, 3, 4}), wide_b = expand(b, {2, 5, 4, 6});
  const Values right = by_loops(wide_a, wide_b);
  for (const Tensor& y : {matmul(a, b), matmul(wide_a, wide_b)}) {
    EXPECT_EQ(y.shape(), (Dims{2, 5, 3, 6}));
    EXPECT_THAT(y.to_vector<double>(), testing::Pointwise(testing::DoubleNear(1e-12), right));
  }
}

TEST_F(Matmul, GradientsOfBroadcastBatchesAreSummed) {
  manual_seed(4);
  const auto check_gradients = [](const Dims& a, const Dims& b) {
    const std::vector<Tensor> in = {randn(a, kDouble).set_requires_grad(),
                                    randn(b, kDouble).set_requires_grad()};
    EXPECT_NO_THROW(gradcheck([](const auto& v) { return matmul(v[0], v[1]); }, in)) << a << b;
  };
  check_gradients({2, 3, 4}, {4, 2});
  check_gradients({3, 4}, {2, 4, 2});
  check_gradients({2, 1, 3, 4}, {3, 4, 2});
  check_gradients({4}, {4});
  check_gradients({2, 3, 4}, {4});
  check_gradients({4}, {2, 4, 3});
  check_gradients({2, 2, 2, 3, 2}, {2, 1, 2, 3});
}

TEST_F(Matmul, LinearFoldsLeadingDimensionsIntoRows) {
  manual_seed(5);
  const std::vector<Tensor> in = {randn({2, 3, 4}, kDouble).set_requires_grad(),
                                  randn({5, 4}, kDouble).set_requires_grad(),
                                  randn({5}, kDouble).set_requires_grad()};
  const auto f = [](const auto& v) { return linear(v[0], v[1], v[2]); };
  EXPECT_EQ(f(in).shape(), (Dims{2, 3, 5}));
  EXPECT_NO_THROW(gradcheck(f, in));
  const std::vector<Tensor> transposed = {
      detach(transpose(randn({4, 3, 2}, kDouble), 0, 2)).set_requires_grad(), in[1], in[2]};
  EXPECT_NO_THROW(gradcheck(f, transposed));
  EXPECT_EQ(linear(zeros({4}, kDouble), in[1], in[2]).shape(), (Dims{5}));
}

/// Of sum(g · y): y, and the gradients of x, weight and bias.
std::vector<Values> linear_and_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                         DType dtype) {
  manual_seed(6);
  std::vector<Tensor> in;
  for (const Dims& shape : {Dims{2, 3, 7}, Dims{5, 7}, Dims{5}})
    in.push_back(randn(shape, dtype).set_requires_grad());
  const Tensor y = f(in);
  sum(y * randn({2, 3, 5}, dtype)).backward();
  std::vector<Values> all = {y.to_vector<double>()};
  for (const Tensor& x : in) all.push_back(x.grad().to_vector<double>());
  return all;
}

TEST_F(Matmul, AnActivationOfLinearGivesTheBitsOfTheTwoOperators) {
  struct Case {
    Activation activation;
    Tensor (*f)(const Tensor&);
  };
  const Case cases[] = {
      {Activation::none, [](const Tensor& x) { return x; }},
      {Activation::relu, relu},
      {Activation::gelu, [](const Tensor& x) { return gelu(x); }},
      {Activation::gelu_tanh, [](const Tensor& x) { return gelu(x, GeluApproximation::tanh); }}};
  for (DType dtype : {DType::float32, kDouble})
    for (const Case& c : cases)
      EXPECT_EQ(
          linear_and_gradients(
              [&](const auto& v) { return linear(v[0], v[1], v[2], c.activation); }, dtype),
          linear_and_gradients([&](const auto& v) { return c.f(linear(v[0], v[1], v[2])); }, dtype))
          << dtype << " " << static_cast<int>(c.activation);
}

// What the backward needs is the result: no tensor of the size of the argument is made.
TEST_F(Matmul, LinearWithReluKeepsItsResultOnly) {
  const Tensor x = ones({64, 8}), w = ones({32, 8}).set_requires_grad();
  const auto live = [] { return memory_stats(default_device()).total.live; };
  linear(x, w);  // makes the scratch memory that the thread keeps
  const int64_t before = live();
  const Tensor y = linear(x, w, {}, Activation::relu);
  EXPECT_EQ(live() - before, 64 * 32 * 4);
}

TEST_F(Matmul, LinearWithGeluWritesItsArgumentOnlyForABackward) {
  const Tensor x = ones({64, 8}), w = ones({32, 8}).set_requires_grad();
  const auto bytes = [&] {
    const kernels::Trace trace;
    linear(x, w, {}, Activation::gelu_tanh);
    return trace.bytes();
  };
  const int64_t trained = bytes();
  const NoGrad guard;
  EXPECT_EQ(trained - bytes(), 64 * 32 * 4);
}

TEST_F(Matmul, LinearWithReluKeepsNaN) {
  const Tensor y = linear(tensor({std::nan("")}), ones({1, 1}), {}, Activation::relu);
  EXPECT_TRUE(std::isnan(y.item()));
}

TEST_F(Matmul, ErrorsNameBothShapes) {
  EXPECT_THAT(
      [] {
        matmul(zeros({2, 3}), zeros({4, 5}));
      },
      ThrowsMessage<ShapeError>(
          HasSubstr("matmul: inner dimensions differ: a is [2, 3], b is [4, 5]")));
  EXPECT_THROW(matmul(zeros({2, 2, 3}), zeros({3, 3, 4})), ShapeError);
  EXPECT_THROW(matmul(zeros({}), zeros({3})), ShapeError);
  EXPECT_THROW(matmul(zeros({2, 3}), zeros({3, 2}, kDouble)), DTypeError);
  EXPECT_THROW(matmul(arange(3), arange(3)), DTypeError);
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 5})), ShapeError);
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), zeros({3})), ShapeError);
}

}  // namespace
}  // namespace accrue
