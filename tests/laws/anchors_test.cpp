// Small programs with known answers: the hand loop, the anchors and the cases of other systems.
#include <cmath>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/autograd/ops.h>

#include <accrue/optim/sgd.h>

namespace accrue {
namespace {

constexpr DType kDouble = DType::float64;
Tensor parameter(double value) { return scalar(value, kDouble).set_requires_grad(); }

TEST(HandLoop, FourMicroBatchesOfTwoEqualTheFullBatch) {  // x = 1..8, y = 2x, w = 0
  const Tensor x = arange(1, 9, 1, kDouble);
  const Tensor y = x * 2.0;
  const auto train = [&](int64_t steps) {
    Tensor w = parameter(0);
    optim::SGD optimizer({w}, {.lr = 0.02});
    const int64_t size = 8 / steps;
    for (int64_t i = 0; i < steps; ++i) {
      const Tensor part = narrow(x, 0, i * size, size);
      (mse_loss(part * w, narrow(y, 0, i * size, size)) / steps).backward();
    }
    EXPECT_DOUBLE_EQ(w.grad().item(), -102);
    optimizer.step();
    return w.item();
  };
  EXPECT_DOUBLE_EQ(train(1), 2.04);
  EXPECT_DOUBLE_EQ(train(4), 2.04);
}

TEST(HandLoop, TwoLossesAsOneSumOrAsTwoPasses) {
  const Tensor target = tensor({1, 2, 3}, kDouble);
  Tensor once = tensor({0.5, 2.5, 7}, kDouble).set_requires_grad();
  Tensor twice = tensor({0.5, 2.5, 7}, kDouble).set_requires_grad();
  (mse_loss(once, target) + l1_loss(once, target)).backward();
  mse_loss(twice, target).backward();
  l1_loss(twice, target).backward();
  // d/dx = (2 (x - t) + sign(x - t)) / 3
  const std::vector<double> right = {(-1 - 1) / 3.0, (1 + 1) / 3.0, (8 + 1) / 3.0};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(once.grad().to_vector<double>()[i], right[i]);
    EXPECT_DOUBLE_EQ(twice.grad().to_vector<double>()[i], right[i]);
  }
}

TEST(HandLoop, TheLecturesRegressionAndItsTwoTraps) {
  const Tensor x = tensor({1, 2, 3}, {3, 1}, kDouble);
  const Tensor flat = tensor({2, 4, 6}, kDouble);
  const Tensor column = reshape(flat, {3, 1});
  const auto train = [&](double lr) {
    Tensor w = zeros({1, 1}, kDouble).set_requires_grad();
    Tensor b = zeros({1}, kDouble).set_requires_grad();
    optim::SGD optimizer({w, b}, {.lr = lr});
    double last = 0;
    for (int epoch = 0; epoch < 4000 && std::isfinite(last); ++epoch) {
      const Tensor loss = mse_loss(linear(x, w, b), column);
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      last = loss.item();
    }
    return last;
  };
  EXPECT_THROW(mse_loss(linear(x, zeros({1, 1}, kDouble)), flat), ShapeError);
  EXPECT_FALSE(std::isfinite(train(0.4)));
  EXPECT_LT(train(0.03), 1e-9);
}

/// Windows of `steps` linear losses c·w, each the mean over its items, as sums divided late.
double run_windows(const std::vector<double>& c, size_t steps, double lr) {
  Tensor w = parameter(0);
  optim::SGD optimizer({w}, {.lr = lr});
  size_t filled = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    (w * c[i]).backward();
    if (++filled == steps || i + 1 == c.size()) {
      optimizer.step({.grad_scale = 1.0 / static_cast<double>(filled)});
      optimizer.zero_grad();
      filled = 0;
    }
  }
  return w.item();
}

TEST(Windows, case_B7_LastPartialWindowIsDividedByItsOwnItems) {
  EXPECT_DOUBLE_EQ(run_windows({1, 3, 5}, 2, 1), -7);
}

TEST(Windows, case_GA_03_PartialWindowIsNeitherDroppedNorDividedByTheFullCount) {
  EXPECT_DOUBLE_EQ(run_windows({1, 2}, 2, .1), -.15);
  EXPECT_DOUBLE_EQ(run_windows({1, 2, 3, 4}, 2, .1), -.5);
  EXPECT_DOUBLE_EQ(run_windows({1, 2, 3, 4, 6}, 2, .1), -1.1);
}

TEST(Windows, case_B1_TokenMeanOverTheWindow) {
  Tensor w = parameter(0);
  (w * 4.0).backward();                            // one token
  sum(tensor({1, 1, 1}, kDouble) * w).backward();  // three tokens
  EXPECT_DOUBLE_EQ(w.grad().item() / 4, 1.75);
}

TEST(Windows, case_GA_01_MeanOfMeansIsNotTheTokenMean) {
  Tensor w = parameter(1);
  optim::SGD optimizer({w}, {.lr = .1});
  sum(tensor({2, 4}, kDouble) * w).backward();
  sum(tensor({1, 1, 0, 1, 0, 1, 0, 0}, kDouble) * w).backward();
  optimizer.step({.grad_scale = 0.1});
  EXPECT_DOUBLE_EQ(w.item(), .9);
}

TEST(Windows, case_GA_02_IgnoredTokensDoNotCount) {
  const Tensor first = tensor({{1, 2, 3}, {0, 0, 0}}, kDouble).set_requires_grad();
  const Tensor second = tensor({{3, 2, 1}, {1, 0, 1}}, kDouble).set_requires_grad();
  const auto loss = [](const Tensor& logits, std::initializer_list<double> target) {
    return cross_entropy(logits, tensor(target, DType::int64), {.reduction = Reduction::sum});
  };
  const Tensor a = loss(first, {1, -100});
  const Tensor b = loss(second, {0, 2});
  EXPECT_NEAR((a.item() + b.item()) / 3, .8924022443, 1e-9);
  a.backward();
  EXPECT_EQ(select(first.grad(), 0, 1).to_vector<double>(), (std::vector<double>{0, 0, 0}));
}

TEST(Windows, case_GA_10_EqualMicroBatchesGiveTheFullGradient) {
  const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, kDouble);
  const Tensor y = tensor({1, 0, 1, 2}, kDouble);
  for (int64_t steps : {1, 2, 4}) {
    Tensor w = tensor({.5, -.5}, kDouble).set_requires_grad();
    const int64_t size = 4 / steps;
    for (int64_t i = 0; i < steps; ++i)
      (mse_loss(matmul(narrow(x, 0, i * size, size), w), narrow(y, 0, i * size, size)) / steps)
          .backward();
    EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{-14, -17})) << steps;
  }
}

TEST(Windows, case_GA_15_ParametersUsedInSomeMicroBatchesOnly) {
  Tensor a = parameter(1), b = parameter(1), c = parameter(1);
  optim::SGD optimizer({a, b, c}, {.lr = .1, .weight_decay = .1});
  (a * 4.0).backward();
  (b * 6.0).backward();
  optimizer.step({.grad_scale = .5});
  EXPECT_DOUBLE_EQ(a.item(), .79);
  EXPECT_DOUBLE_EQ(b.item(), .69);
  EXPECT_DOUBLE_EQ(c.item(), 1);
  EXPECT_FALSE(c.grad().defined());
}

TEST(Windows, UnequalPiecesAreExactWhenSummedAndWrongWhenAveraged) {  // 8 samples as 3 + 3 + 2
  const Tensor x = tensor({.3, -1.2, .7, 2.1, -.4, .9, 1.6, -2.2}, DType::float32);
  const Tensor y = tensor({1, 0, 1, 1, 0, 0, 1, 0}, DType::float32);
  const auto gradient = [&](const std::vector<int64_t>& sizes, bool averaged) {
    Tensor w = scalar(.5).set_requires_grad();
    int64_t start = 0;
    for (int64_t size : sizes) {
      const Tensor p = narrow(x, 0, start, size) * w, t = narrow(y, 0, start, size);
      if (averaged)
        (mse_loss(p, t) / sizes.size()).backward();
      else
        mse_loss(p, t, Reduction::sum).backward();
      start += size;
    }
    return w.grad().item() / (averaged ? 1 : 8);
  };
  const double whole = gradient({8}, false);
  EXPECT_EQ(gradient({3, 3, 2}, false), whole);
  EXPECT_GT(std::abs(gradient({3, 3, 2}, true) - whole), 1e-3);
}

}  // namespace
}  // namespace accrue
