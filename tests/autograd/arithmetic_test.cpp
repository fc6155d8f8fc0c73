#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Values = std::vector<double>;
constexpr DType kDouble = DType::float64;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, kDouble).set_requires_grad();
}
std::vector<bool> truths(const Tensor& x) { return x.to_vector<bool>(); }

TEST(Compare, case_DT_03_UnsignedBytesAgainstNegativeNumbers) {
  const Tensor x = tensor({1, 2}, DType::uint8);
  EXPECT_EQ(truths(x <= -19), (std::vector<bool>{false, false}));
  EXPECT_EQ(truths(x >= -19), (std::vector<bool>{true, true}));
  EXPECT_EQ(truths(x > 1.5), (std::vector<bool>{false, true}));
  EXPECT_EQ(truths(x == tensor({1, -254}, DType::int64)), (std::vector<bool>{true, false}));
}

TEST(Arithmetic, case_DT_04_AFractionMakesIntegersFloat) {
  const Tensor x = tensor({1, 2, 3}, DType::int64);
  EXPECT_EQ((x * 2.5).dtype(), DType::float32);
  EXPECT_EQ((x * 2.5).to_vector<double>(), (Values{2.5, 5, 7.5}));
  EXPECT_EQ((x / 2).to_vector<double>(), (Values{.5, 1, 1.5}));
  EXPECT_EQ((x / x).dtype(), DType::float32);
  EXPECT_EQ((x * 2).dtype(), DType::int64);
}

TEST(Arithmetic, case_DT_05_ByteSumsAreWideAndSquaresWrap) {
  EXPECT_EQ(sum(ones({5000}, DType::uint8)).item(), 5000);
  EXPECT_EQ(sum(ones({5000}, DType::uint8)).dtype(), DType::int64);
  const Tensor x = tensor({87}, DType::uint8);
  EXPECT_EQ((x * x).item(), 87 * 87 % 256);
  EXPECT_THROW(mean(tensor({1, 2}, DType::int64)), DTypeError);
}

TEST(Arithmetic, DtypesPromoteAndNumbersNeverWiden) {
  const Tensor f = ones({1}), d = ones({1}, kDouble), i = ones({1}, DType::int64);
  EXPECT_EQ((f + d).dtype(), kDouble);
  EXPECT_EQ((i + f).dtype(), DType::float32);
  EXPECT_EQ((f + 1e300).dtype(), DType::float32);
  EXPECT_EQ((ones({1}, DType::bfloat16) + ones({1}, DType::float16)).dtype(), DType::float32);
  EXPECT_EQ((ones({1}, DType::boolean) + 1).dtype(), DType::int64);
}

TEST(Arithmetic, MixedDtypesGiveEachInputAGradientOfItsOwn) {
  Tensor f = tensor({1, 2}).set_requires_grad(), d = leaf({3, 4});
  sum(f * d).backward();
  EXPECT_EQ(f.grad().dtype(), DType::float32);
  EXPECT_EQ(f.grad().to_vector<double>(), (Values{3, 4}));
  EXPECT_EQ(d.grad().dtype(), kDouble);
  EXPECT_EQ(d.grad().to_vector<double>(), (Values{1, 2}));
}

TEST(Arithmetic, ScalarsOnEitherSide) {
  Tensor x = leaf({2, 4});
  const auto gradient = [&](const Tensor& y) {
    x.zero_grad();
    sum(y).backward();
    return x.grad().to_vector<double>();
  };
  EXPECT_EQ(gradient(10 - x), (Values{-1, -1}));
  EXPECT_EQ(gradient(x - 10), (Values{1, 1}));
  EXPECT_EQ((x - 10).to_vector<double>(), (Values{-8, -6}));
  EXPECT_EQ(gradient(8 / x), (Values{-2, -.5}));
  EXPECT_EQ(gradient(x / 4), (Values{.25, .25}));
  EXPECT_EQ(gradient(pow(x, 3)), (Values{12, 48}));
  EXPECT_DOUBLE_EQ(gradient(pow(2, x))[1], 16 * std::log(2));
}

TEST(Arithmetic, case_NW_08_APerfectFitHasNoGradient) {
  Tensor x = leaf({0});
  const Tensor loss = sum(pow(x - tensor({0}, kDouble), 2));
  loss.backward();
  EXPECT_EQ(loss.item(), 0);
  EXPECT_EQ(x.grad().item(), 0);
}

TEST(Arithmetic, case_NW_11_AZeroVectorOverItsNormIsZeroOverTheBound) {
  const double eps = 1e-12;
  const auto direction = [&](const Tensor& x) {
    return x / maximum(sqrt(sum(x * x)), scalar(eps, kDouble));
  };
  Tensor x = leaf({0, 0});
  for (double pass : {1, 2}) {  // the Jacobian is that of x / eps
    const Tensor y = direction(x);
    sum(y).backward();
    EXPECT_EQ(y.to_vector<double>(), (Values{0, 0}));
    EXPECT_EQ(x.grad().to_vector<double>(), (Values{pass / eps, pass / eps}));
  }
  const double h = 1e-14;
  for (double first : {h, 0.0}) {
    const double up = sum(direction(leaf({first, h - first}))).item();
    const double down = sum(direction(leaf({-first, first - h}))).item();
    EXPECT_NEAR((up - down) / (2 * h), 1 / eps, 1e-9 / eps);
  }
}

TEST(Where, case_NW_02_ABranchThatIsNotTakenPoisonsNothing) {
  Tensor x = leaf({16, 0});
  const Tensor naive = where(x == 0, x / 2, sqrt(x) + 1);
  EXPECT_EQ(naive.to_vector<double>(), (Values{5, 0}));
  sum(naive).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{.125, .5}));
  x.zero_grad();
  sum(where(x == 0, x / 2, sqrt(where(x == 0, 1, x)) + 1)).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{.125, .5}));
}

TEST(Where, case_NW_04_MaskingBeforeSquaringIsRight) {
  const Tensor y = tensor({1, kNaN, 3}, kDouble);
  Tensor x = leaf({2, 5, 1});
  const Tensor r = where(isnan(y), 0, x - y);
  sum(r * r).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{2, 0, -4}));
}

TEST(Where, ConditionMustBeBool) {
  EXPECT_THAT([] { where(ones({2}), zeros({2}), zeros({2})); },
              ThrowsMessage<DTypeError>(HasSubstr("where: the condition is float32")));
  EXPECT_THROW(where(ones({3}, DType::boolean), zeros({2}), zeros({2})), ShapeError);
}

TEST(Logic, NonZeroCountsAsTrue) {
  const Tensor a = tensor({0, 2, kNaN}, kDouble);
  EXPECT_EQ(truths(logical_not(a)), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(truths(logical_and(a, ones({3}))), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(truths(logical_or(a, zeros({3}))), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(truths(isnan(a)), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(truths(a == a), (std::vector<bool>{true, true, false}));
}

TEST(Softplus, case_AC_01_NeitherOverflowsNorLosesItsGradient) {
  for (double beta : {1.0, 5.0}) {
    Tensor x = tensor({20, 50, 100, -100}).set_requires_grad();
    const Tensor y = softplus(x, beta);
    sum(y).backward();
    EXPECT_THAT(y.to_vector<double>(),
                testing::Pointwise(testing::DoubleNear(1e-6), Values{20, 50, 100, 0}));
    EXPECT_THAT(x.grad().to_vector<double>(),
                testing::Pointwise(testing::DoubleNear(1e-6), Values{1, 1, 1, 0}));
  }
  Tensor x = tensor({88, 90, 95, 99}).set_requires_grad();
  const Tensor y = softplus(x);
  sum(y).backward();
  EXPECT_EQ(y.to_vector<double>(), (Values{88, 90, 95, 99}));
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{1, 1, 1, 1}));
}

TEST(Softplus, case_AC_06_SiluAndMishDoNotOverflow) {
  const auto mish = [](const Tensor& x) { return x * tanh(softplus(x)); };
  for (const std::function<Tensor(const Tensor&)>& f : {std::function(silu), std::function(mish)}) {
    Tensor x = tensor({-1000, 1000, 20}).set_requires_grad();
    for (double pass : {1, 2}) {
      const Tensor y = f(x);
      sum(y).backward();
      EXPECT_THAT(y.to_vector<double>(),
                  testing::Pointwise(testing::DoubleNear(1e-6), Values{0, 1000, 20}));
      EXPECT_THAT(x.grad().to_vector<double>(),
                  testing::Pointwise(testing::DoubleNear(1e-6), Values{0, pass, pass}));
    }
  }
}

TEST(Cast, RoundsTruncatesAndLetsGradientsBack) {
  Tensor x = leaf({1.75, -1.75, 0.5});
  EXPECT_EQ(cast(x, DType::int64).to_vector<double>(), (Values{1, -1, 0}));
  EXPECT_FALSE(cast(x, DType::int64).requires_grad());
  EXPECT_EQ(truths(cast(x, DType::boolean)), (std::vector<bool>{true, true, true}));
  sum(to(x, DType::bfloat16) * tensor({1, 2, 3}, DType::bfloat16)).backward();
  EXPECT_EQ(x.grad().dtype(), kDouble);
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{1, 2, 3}));
  EXPECT_EQ(to(x, x.device()).view().data, x.view().data);
}

TEST(Arithmetic, ErrorsNameShapesAndDimension) {
  EXPECT_THAT(
      [] {
        zeros({2, 3}) + zeros({2, 4});
      },
      ThrowsMessage<ShapeError>(HasSubstr("add: cannot broadcast [2, 3] with [2, 4]: "
                                          "dimension 1 is 3 on the left and 4")));
  EXPECT_THAT([] { zeros({2}) * Tensor(); },
              ThrowsMessage<AutogradError>(HasSubstr("mul: a tensor is not defined")));
  EXPECT_THAT([] { exp(arange(3)); },
              ThrowsMessage<DTypeError>(HasSubstr("exp: the tensor is int64")));
  EXPECT_THROW(clamp(zeros({1}), 2, 1), ValueError);
  EXPECT_THROW(clamp(zeros({1}), kNaN, 1), ValueError);
}

}  // namespace
}  // namespace accrue
