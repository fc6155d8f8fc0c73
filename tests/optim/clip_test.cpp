#include <cmath>
#include <limits>

#include "tests/optim/support.h"
#include <gmock/gmock.h>

#include <accrue/kernels/trace.h>

#include <accrue/optim/clip.h>
#include <accrue/optim/sgd.h>

namespace accrue {
namespace {

using optim::clip_grad_norm;
using optim::clip_grad_value;
using optim::grad_norm;
using optim::kInfinity;
using test::give;
using test::leaf;
using test::message;
using test::values;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor with_grad(std::initializer_list<double> g, DType dtype = DType::float64) {
  Tensor w = leaf(zeros({static_cast<int64_t>(g.size())}, dtype));
  give(w, g);
  return w;
}

TEST(Clip, OneNormOverAllGradientsReturnedFromBeforeClipping) {
  Tensor a = with_grad({3, 0}), b = with_grad({4}), absent = leaf({7});
  EXPECT_EQ(clip_grad_norm({a, absent, b}, 2.5), 5);
  EXPECT_THAT(values(a.grad()), ElementsAre(1.5, 0));
  EXPECT_THAT(values(b.grad()), ElementsAre(2));
  EXPECT_FALSE(absent.grad().defined());
}

TEST(Clip, BelowTheBoundNothingIsTouched) {
  Tensor a = with_grad({3, 4});
  const kernels::Trace trace;
  EXPECT_EQ(clip_grad_norm({a}, 5), 5);
  EXPECT_THAT(trace.names(), ElementsAre("power_sum"));
  EXPECT_THAT(values(a.grad()), ElementsAre(3, 4));
}

// Two micro-batches with gradients [2, 0] and [0, 2]: clipped once, on the window's gradient.
TEST(Clip, case_B14_TheWindowsGradientIsClippedOnce) {
  Tensor w = with_grad({2, 2});  // their sum
  EXPECT_DOUBLE_EQ(clip_grad_norm({w}, 1, {.grad_scale = 0.5}), std::sqrt(2));
  optim::SGD sgd({w}, {.lr = 1});
  sgd.step({.grad_scale = 0.5});
  EXPECT_THAT(values(w),
              ElementsAre(DoubleNear(-std::sqrt(0.5), 1e-15), DoubleNear(-std::sqrt(0.5), 1e-15)));
}

TEST(Clip, case_GC_01_ANonFiniteGradientIsAnErrorByNameAndNothingIsChanged) {
  for (const double bad : {kInfinity, -kInfinity, kNaN})
    for (const double norm_type : {2.0, 1.0, 3.0, kInfinity}) {
      Tensor fine = with_grad({1}), broken = with_grad({1, bad});
      const optim::Parameters parameters{{"fc1.weight", fine}, {"fc2.bias", broken}};
      EXPECT_THAT(
          message<ValueError>([&] { clip_grad_norm(parameters, 1, {.norm_type = norm_type}); }),
          HasSubstr("clip_grad_norm: the gradient of fc2.bias is not finite"));
      EXPECT_THROW(grad_norm(parameters, {.norm_type = norm_type}), ValueError);
      const double norm =
          clip_grad_norm(parameters, 0.5, {.norm_type = norm_type, .error_if_nonfinite = false});
      EXPECT_FALSE(std::isfinite(norm));
      EXPECT_THAT(values(fine.grad()), ElementsAre(1));
      EXPECT_EQ(values(broken.grad())[0], 1);
    }
}

TEST(Clip, case_GC_03_TheInfinityNormIsTheLargestElement) {
  Tensor w = with_grad({3, -4});
  EXPECT_EQ(clip_grad_norm({w}, 2, {.norm_type = kInfinity}), 4);
  EXPECT_THAT(values(w.grad()), ElementsAre(1.5, -2));
  EXPECT_THAT(message<ValueError>([&] { clip_grad_norm({w}, 2, {.norm_type = 0}); }),
              HasSubstr("norm_type is 0; it must be > 0, or infinity"));
}

TEST(Clip, case_GC_04_NothingZeroAndABoundOfZero) {
  EXPECT_EQ(clip_grad_norm(std::vector<Tensor>{}, 1), 0);
  Tensor zero = with_grad({0, 0});
  EXPECT_EQ(clip_grad_norm({zero}, 1), 0);
  EXPECT_EQ(clip_grad_norm({zero}, 0), 0);
  EXPECT_THAT(values(zero.grad()), ElementsAre(0, 0));
  Tensor w = with_grad({3, 4});
  EXPECT_EQ(clip_grad_norm({w}, 0), 5);
  EXPECT_THAT(values(w.grad()), ElementsAre(0, 0));
  for (const double bad : {-1.0, kNaN}) {
    EXPECT_THAT(message<ValueError>([&] { clip_grad_norm({w}, bad); }), HasSubstr("max_norm is "));
    EXPECT_THAT(message<ValueError>([&] { clip_grad_value({w}, bad); }),
                HasSubstr("max_value is "));
  }
}

TEST(Clip, case_GC_06_TheNormIsThatOfTheUnscaledGradient) {
  Tensor w = with_grad({3 * 65536.0, 4 * 65536.0});
  EXPECT_EQ(clip_grad_norm({w}, 1, {.grad_scale = 1 / 65536.0}), 5);
  optim::SGD sgd({w}, {.lr = 1});
  sgd.step({.grad_scale = 1 / 65536.0});
  EXPECT_THAT(values(w), ElementsAre(DoubleNear(-0.6, 1e-15), DoubleNear(-0.8, 1e-15)));
}

// Micro-batches with gradients [3, 4] and [-3, -3.5]: their mean is [0, .25], below the bound.
TEST(Clip, case_GC_07_AMicroBatchAboveTheBoundDoesNotClipTheWindow) {
  Tensor w = leaf({0, 0});
  w.backward({.gradient = tensor({3, 4}, DType::float64)});
  w.backward({.gradient = tensor({-3, -3.5}, DType::float64)});
  EXPECT_EQ(clip_grad_norm({w}, 1, {.grad_scale = 0.5}), 0.25);
  EXPECT_THAT(values(w.grad()), ElementsAre(0, 0.5));
}

TEST(Clip, NeitherHugeNorTinyGradientsOverflowTheNorm) {
  for (const double unit : {1e300, 1e-300, 1.0}) {
    EXPECT_NEAR(grad_norm({with_grad({3 * unit, 4 * unit})}) / unit, 5, 1e-14);
    EXPECT_NEAR(grad_norm({with_grad({unit, unit, unit})}, {.norm_type = 4}) / unit,
                std::pow(3, 0.25), 1e-14);
    EXPECT_NEAR(grad_norm({with_grad({unit, -unit})}, {.norm_type = 1}) / unit, 2, 1e-14);
  }
  EXPECT_NEAR(grad_norm({with_grad({3e38, 3e38}, DType::float32)}) / 3e38, std::sqrt(2), 1e-6);
  for (const double norm_type : {2.0, 1.0, kInfinity})  // 1 / 3e-310 is infinite
    EXPECT_NEAR(grad_norm({with_grad({0, 3e-310})}, {.norm_type = norm_type}) * 1e300, 3e-10,
                1e-20);
}

TEST(Clip, TheNormIsExactInDoubleAndTheSameForEveryThreadCount) {
  manual_seed(5);
  const int64_t n = 300007;
  Tensor w = leaf(zeros({n}));
  set_grad(w, randn({n}));
  long double squares = 0;
  for (const double x : values(w.grad())) squares += static_cast<long double>(x) * x;
  const auto norm = [&](int threads) {
    const test::Threads guard(threads);
    return grad_norm({w});
  };
  EXPECT_NEAR(norm(1), static_cast<double>(std::sqrt(squares)), 1e-10);
  EXPECT_EQ(norm(1), norm(2));
  EXPECT_EQ(norm(1), norm(5));
}

TEST(Clip, AStridedGradientHasTheSameNorm) {
  Tensor w = leaf(zeros({2, 3}, DType::float64));
  const Tensor bucket = zeros({3, 2}, DType::float64);
  bind_grad(w, bucket.alias(layout::transpose(bucket.layout(), 0, 1)));
  give(w, {1, 2, 3, 4, 5, 6});
  EXPECT_DOUBLE_EQ(grad_norm({w}), std::sqrt(91));
  EXPECT_EQ(grad_norm({w}, {.norm_type = kInfinity}), 6);
}

TEST(Clip, ValuesArePutBetweenTheBounds) {
  Tensor w = with_grad({-3, 0.5, 2, kNaN});
  clip_grad_value({w}, 1);
  EXPECT_THAT(values(w.grad()), ElementsAre(-1, 0.5, 1, IsNan()));
  Tensor scaled = with_grad({-8, 4});
  clip_grad_value({scaled}, 1.5, 0.25);  // of -2 and 1
  EXPECT_THAT(values(scaled.grad()), ElementsAre(-6, 4));
}

TEST(Clip, ATensorThatStandsTwiceCountsOnce) {
  Tensor w = with_grad({3, 4});
  EXPECT_EQ(clip_grad_norm({w, w}, 1), 5);
  EXPECT_THAT(values(w.grad()), ElementsAre(DoubleNear(0.6, 1e-15), DoubleNear(0.8, 1e-15)));
}

}  // namespace
}  // namespace accrue
