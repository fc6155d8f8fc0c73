#include <cmath>

#include "tests/optim/support.h"
#include <gmock/gmock.h>

#include <accrue/core/memory.h>

#include <accrue/kernels/trace.h>

#include <accrue/optim/adam.h>

namespace accrue {
namespace {

using optim::Adam;
using optim::AdamOptions;
using optim::AdamW;
using test::give;
using test::leaf;
using test::values;
using testing::DoubleNear;
using testing::ElementsAre;

// w after each step with the gradients of a list.
template <class Optimizer, class Options>
std::vector<double> walk(double w0, const std::vector<double>& g, const Options& options) {
  Tensor w = leaf({w0});
  Optimizer optimizer({w}, options);
  std::vector<double> seen;
  for (const double x : g) {
    give(w, {x});
    optimizer.step();
    seen.push_back(w.item());
  }
  return seen;
}

TEST(Adam, case_OP_03_EpsilonStandsBesideTheCorrectedRoot) {
  EXPECT_THAT(walk<Adam>(1, {1, 1}, AdamOptions{.lr = 0.1, .eps = 1}),
              ElementsAre(DoubleNear(0.95, 1e-15), DoubleNear(0.90, 1e-15)));
}

TEST(Adam, case_OP_04_BiasIsCorrectedFromTheFirstStep) {
  EXPECT_THAT(walk<Adam>(1, {0.1, -0.2, 0.3}, AdamOptions{.lr = 0.1}),
              ElementsAre(DoubleNear(0.90000001, 1e-14), DoubleNear(0.93661036038849, 1e-14),
                          DoubleNear(0.90228625394774, 1e-14)));
}

TEST(Adam, case_OP_05_DecayIsDecoupledInAdamWAndPartOfTheGradientInAdam) {
  EXPECT_THAT(walk<AdamW>(1, {0}, optim::AdamWOptions{.lr = 0.1, .weight_decay = 0.1}),
              ElementsAre(DoubleNear(0.99, 1e-15)));
  EXPECT_THAT(walk<AdamW>(2, {0.5, -0.25}, optim::AdamWOptions{.lr = 0.1, .weight_decay = 0.1}),
              ElementsAre(DoubleNear(1.880000002, 1e-14), DoubleNear(1.83456629868785, 1e-14)));
  EXPECT_THAT(walk<Adam>(2, {0.5, -0.25}, AdamOptions{.lr = 0.1, .weight_decay = 0.1}),
              ElementsAre(DoubleNear(1.9000000014, 1e-10), DoubleNear(1.8395973867972, 1e-13)));
}

// Two micro-batches make one step: the decay acts once and the step number is 1.
TEST(Adam, case_B15_AWindowIsOneStep) {
  Tensor w = leaf({1}), v = leaf({0});
  AdamW decay({w}, {.lr = 0.1, .weight_decay = 0.1});
  Adam adam({v}, {.lr = 0.1, .eps = 0});
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    w.backward({.gradient = zeros({1}, DType::float64)});
    v.backward({.gradient = ones({1}, DType::float64)});
  }
  decay.step({.grad_scale = 0.5});
  adam.step({.grad_scale = 0.5});
  EXPECT_DOUBLE_EQ(w.item(), 0.99);
  EXPECT_DOUBLE_EQ(v.item(), -0.1);
  EXPECT_EQ(adam.steps("0"), 1);
}

TEST(Adam, AmsgradDividesByTheLargestSecondMoment) {
  // betas 0: m = g and v = g², so the second step is lr · 1 / max(4, 1)^(1/2).
  EXPECT_THAT(
      walk<Adam>(0, {2, 1}, AdamOptions{.lr = 1, .betas = {0, 0}, .eps = 0, .amsgrad = true}),
      ElementsAre(-1, -1.5));
  EXPECT_THAT(walk<Adam>(0, {2, 1}, AdamOptions{.lr = 1, .betas = {0, 0}, .eps = 0}),
              ElementsAre(-1, -2));
}

TEST(Adam, AmsgradMayBeTurnedOnLater) {
  Tensor w = leaf({0});
  Adam adam({w}, {.lr = 1, .betas = {0, 0}, .eps = 0});
  give(w, {2});
  adam.step();
  AdamOptions changed = adam.options();
  changed.amsgrad = true;
  adam.set_options(0, changed);
  give(w, {1});
  adam.step();
  EXPECT_EQ(w.item(), -2);
}

TEST(Adam, MaximizeAscends) {
  EXPECT_THAT(walk<Adam>(0, {3}, AdamOptions{.lr = 0.5, .eps = 0, .maximize = true}),
              ElementsAre(DoubleNear(0.5, 1e-15)));
}

TEST(Adam, FollowsTheFormulaOnEveryElementForOddSizes) {
  for (const int64_t n : {1, 3, 7, 9, 17, 1000, 70001}) {
    manual_seed(static_cast<uint64_t>(n));
    const Tensor start = randn({n}, DType::float64);
    Tensor w = leaf(from_data(start.data<double>(), {n}));
    AdamW adam({w}, {.lr = 0.01, .betas = {0.8, 0.95}, .eps = 1e-3, .weight_decay = 0.1});
    std::vector<double> x = values(start), m(x.size()), v(x.size());
    for (int t = 1; t <= 3; ++t) {
      const Tensor g = randn({n}, DType::float64);
      set_grad(w, g);
      adam.step({.grad_scale = 0.3});
      const std::vector<double> dw = values(g);
      for (size_t i = 0; i < x.size(); ++i) {
        const double d = 0.3 * dw[i];
        x[i] *= 1 - 0.01 * 0.1;
        m[i] = 0.8 * m[i] + 0.2 * d;
        v[i] = 0.95 * v[i] + 0.05 * d * d;
        x[i] -= 0.01 * (m[i] / (1 - std::pow(0.8, t))) /
                (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-3);
      }
    }
    const std::vector<double> got = values(w);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], x[i], 1e-13) << n << " " << i;
  }
}

TEST(Adam, TheUpdateIsTheSameBitsForOneAndManyThreads) {
  manual_seed(3);
  const Tensor start = randn({100003}), g = randn({100003});
  const auto run = [&](int threads) {
    const test::Threads guard(threads);
    Tensor w = leaf(from_data(start.data<float>(), {100003}));
    AdamW adam({w}, {.lr = 0.3, .amsgrad = true});
    for (int i = 0; i < 3; ++i) {
      set_grad(w, g);
      adam.step();
    }
    return values(w);
  };
  EXPECT_EQ(run(1), run(2));
  EXPECT_EQ(run(1), run(5));
}

TEST(Adam, AStepIsOneKernelForEachGroup) {
  Tensor a = leaf({1, 2}), b = leaf({3}), c = leaf({4}), absent = leaf({5});
  AdamW adam({a, absent, b});
  adam.add_group({c}, {.lr = 0.5});
  for (int step = 0; step < 2; ++step) {
    give(a, {1, 1});
    give(b, {1});
    give(c, {1});
    const kernels::Trace trace;
    adam.step();
    EXPECT_THAT(trace.names(), ElementsAre("adam", "adam"));
    EXPECT_EQ(trace.calls()[0].writes.size(), 6);  // w, m and v of two parameters
  }
}

TEST(Adam, ItsStateIsCountedAsOptimizerMemory) {
  const auto live = [] { return memory_stats(default_device()).of(MemoryKind::optimizer).live; };
  const int64_t before = live();
  Tensor w = leaf(zeros({1000}));
  AdamW adam({w});
  EXPECT_EQ(live(), before);
  set_grad(w, ones({1000}));
  adam.step();
  EXPECT_EQ(live() - before, 2 * 1000 * 4);
}

// 1000 steps of 2^-12 from 1 vanish in bfloat16, whose next number below 1 is 1 - 2^-8.
TEST(Adam, A16BitParameterKeepsSmallUpdatesInItsMaster) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    Tensor w = leaf(ones({600}, dtype));
    Adam adam({w}, {.lr = 1.0 / 4096, .eps = 0});
    for (int i = 0; i < 1000; ++i) {
      set_grad(w, ones({600}));
      adam.step();
    }
    const std::vector<double> got = values(w);
    for (const double x : got) ASSERT_NEAR(x, 1 - 1000.0 / 4096, 1.0 / 512);
  }
}

TEST(Adam, A16BitParameterThatSomebodyElseChangedIsStartedFromItsNewValue) {
  Tensor w = leaf({1, 1}, DType::bfloat16);
  Adam adam({w}, {.lr = 1.0 / 4096, .eps = 0});
  set_grad(w, ones({2}));
  for (int i = 0; i < 12; ++i) adam.step();
  w.data<bfloat16>()[1] = bfloat16(5.0F);
  for (int i = 0; i < 4; ++i) adam.step();
  EXPECT_EQ(values(w)[0],
            1 - 16.0 / 4096);  // 16 steps make one bfloat16 step: kept over the change
  EXPECT_EQ(values(w)[1], 5);
}

}  // namespace
}  // namespace accrue
