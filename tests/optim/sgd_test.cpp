#include <cmath>
#include <limits>

#include "tests/optim/support.h"
#include <gmock/gmock.h>

#include <accrue/optim/sgd.h>

namespace accrue {
namespace {

using optim::SGD;
using optim::SGDOptions;
using test::give;
using test::leaf;
using test::values;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

// w after each of n steps with the same gradient.
std::vector<double> walk(double w0, double g, int n, const SGDOptions& options) {
  Tensor w = leaf({w0});
  SGD sgd({w}, options);
  std::vector<double> seen;
  for (int i = 0; i < n; ++i) {
    give(w, {g});
    sgd.step();
    seen.push_back(w.item());
  }
  return seen;
}

TEST(Sgd, case_OP_01_DampeningSparesTheFirstStepAndDecayNeedsNoMomentum) {
  EXPECT_THAT(
      walk(1, 1, 3, {.lr = 0.1, .momentum = 0.9, .dampening = 0.5}),
      ElementsAre(DoubleNear(0.9, 1e-15), DoubleNear(0.76, 1e-15), DoubleNear(0.584, 1e-15)));
  EXPECT_THAT(walk(1, 0, 2, {.lr = 0.1, .weight_decay = 0.1}),
              ElementsAre(DoubleNear(0.99, 1e-15), DoubleNear(0.9801, 1e-15)));
}

TEST(Sgd, case_OP_02_NesterovLooksAheadAndNeedsMomentumWithoutDampening) {
  EXPECT_THAT(walk(1, 1, 2, {.lr = 0.1, .momentum = 0.9, .nesterov = true}),
              ElementsAre(DoubleNear(0.81, 1e-15), DoubleNear(0.539, 1e-15)));
  for (const SGDOptions& bad : {SGDOptions{.nesterov = true},
                                SGDOptions{.momentum = 0.9, .dampening = 0.1, .nesterov = true}})
    EXPECT_THAT(test::message<ValueError>([&] { SGD({leaf({1})}, bad); }), HasSubstr("nesterov"));
}

TEST(Sgd, WithoutOptionsItSubtractsTheGradientTimesTheRate) {
  Tensor w = leaf({1, 2, -3});
  SGD sgd({w}, {.lr = 0.5});
  give(w, {2, 0, -4});
  sgd.step();
  EXPECT_THAT(values(w), ElementsAre(0, 2, -1));
  EXPECT_THAT(values(w.grad()), ElementsAre(2, 0, -4));  // the gradient itself stays
}

TEST(Sgd, MaximizeAscends) {
  EXPECT_THAT(walk(1, 2, 1, {.lr = 0.25, .maximize = true}), ElementsAre(1.5));
}

// Anchor of the accumulation rules: x = 1..8, y = 2x, w = 0, squared error, four micro-batches of
// two. Their gradients' mean is -102, and one step with rate .02 lands on 2.04.
TEST(Sgd, LateNormalisationByGradScaleEqualsTheMeanOfTheMicroBatches) {
  double sum = 0;  // of d/dw (w x - y)² over all items, at w = 0
  for (int x = 1; x <= 8; ++x) sum += 2.0 * x * (0 - 2 * x);
  Tensor w = leaf({0});
  SGD sgd({w}, {.lr = 0.02});
  give(w, {sum});
  sgd.step({.grad_scale = 1.0 / 8});
  EXPECT_DOUBLE_EQ(w.item(), 2.04);
  EXPECT_DOUBLE_EQ(w.grad().item(), sum);
}

TEST(Sgd, APowerOfTwoAsGradScaleIsExact) {
  manual_seed(1);
  const Tensor start = randn({999}), g = randn({999});
  const auto run = [&](double factor, double scale) {
    Tensor w = leaf(from_data(start.data<float>(), {999}));
    SGD sgd({w}, {.lr = 0.3, .momentum = 0.9, .weight_decay = 0.01});
    for (int i = 0; i < 3; ++i) {
      std::vector<double> scaled = values(g);
      for (double& x : scaled) x *= factor;
      set_grad(w, tensor(scaled, {999}));
      sgd.step({.grad_scale = scale});
    }
    return values(w);
  };
  EXPECT_EQ(run(1, 1), run(8, 1.0 / 8));
  EXPECT_EQ(run(1, 1), run(1.0 / 1024, 1024));
}

TEST(Sgd, GradScaleMustBePositiveAndFinite) {
  Tensor w = leaf({1});
  SGD sgd({w}, {.lr = 1});
  give(w, {1});
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THAT(test::message<ValueError>([&] { sgd.step({.grad_scale = bad}); }),
                HasSubstr("SGD: grad_scale is "));
  EXPECT_EQ(w.item(), 1);
}

TEST(Sgd, FollowsTheFormulaOnEveryElementForOddSizesAndStrides) {
  for (const int64_t n : {1, 3, 7, 8, 17, 1000, 70001}) {
    manual_seed(static_cast<uint64_t>(n));
    const Tensor start = randn({n}, DType::float64);
    Tensor w = leaf(from_data(start.data<double>(), {n}));
    SGD sgd({w}, {.lr = 0.1, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.125});
    std::vector<double> expected = values(start), buffer;
    for (int step = 0; step < 3; ++step) {
      const Tensor g = randn({n}, DType::float64);
      set_grad(w, g);
      sgd.step();
      const std::vector<double> dw = values(g);
      buffer.resize(dw.size());
      for (size_t i = 0; i < dw.size(); ++i) {
        const double d = dw[i] + 0.125 * expected[i];
        buffer[i] = step == 0 ? d : 0.5 * buffer[i] + 0.75 * d;
        expected[i] -= 0.1 * buffer[i];
      }
    }
    const std::vector<double> got = values(w);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], 1e-14) << n << " " << i;
  }
}

TEST(Sgd, AStridedParameterIsUpdatedInPlaceAndItsNeighboursAreNot) {
  Tensor base = tensor({{1, 2, 3}, {4, 5, 6}}, DType::float64);
  Tensor w = leaf(base.alias(layout::transpose(layout::narrow(base.layout(), 1, 1, 2), 0, 1)));
  SGD sgd({w}, {.lr = 1});
  give(w, {1, 2, 3, 4});  // of [[2, 5], [3, 6]]
  sgd.step();
  EXPECT_THAT(values(base), ElementsAre(1, 1, 0, 4, 3, 2));
}

TEST(Sgd, TheUpdateIsTheSameBitsForOneAndManyThreads) {
  manual_seed(3);
  const Tensor start = randn({100003}), g = randn({100003});
  const auto run = [&](int threads) {
    const test::Threads guard(threads);
    Tensor w = leaf(from_data(start.data<float>(), {100003}));
    SGD sgd({w}, {.lr = 0.3, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
    for (int i = 0; i < 3; ++i) {
      set_grad(w, g);
      sgd.step();
    }
    return values(w);
  };
  EXPECT_EQ(run(1), run(2));
  EXPECT_EQ(run(1), run(5));
}

}  // namespace
}  // namespace accrue
