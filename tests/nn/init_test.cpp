#include "tests/nn/support.h"
#include <gmock/gmock.h>

#include <accrue/nn/conv.h>
#include <accrue/nn/embedding.h>
#include <accrue/nn/init.h>
#include <accrue/nn/linear.h>

namespace accrue {
namespace {

namespace init = nn::init;
using init::Nonlinearity;
using test::message;
using test::Moments;
using test::moments;
using test::values;
using testing::HasSubstr;

// Of 120 000 elements; a uniform distribution's standard deviation is its bound / √3.
void expect_uniform(const Tensor& x, double bound) {
  const Moments m = moments(x);
  EXPECT_LE(m.most, bound);
  EXPECT_GT(m.most, 0.999 * bound);
  EXPECT_NEAR(m.mean, 0, 0.01 * bound);
  EXPECT_NEAR(m.std, bound / std::sqrt(3), 0.01 * bound);
}
void expect_normal(const Tensor& x, double std) {
  const Moments m = moments(x);
  EXPECT_NEAR(m.mean, 0, 0.015 * std);
  EXPECT_NEAR(m.std, std, 0.01 * std);
  EXPECT_GT(m.most, 3.5 * std);
}

TEST(Init, FansCountInputsAndOutputsTimesTheKernel) {
  const init::Fans linear = init::fans_of({5, 7}), conv = init::fans_of({8, 3, 5, 2});
  EXPECT_EQ(linear.in, 7);
  EXPECT_EQ(linear.out, 5);
  EXPECT_EQ(conv.in, 30);
  EXPECT_EQ(conv.out, 80);
  EXPECT_THAT(message<ShapeError>([] { init::fans_of({3}); }),
              HasSubstr("at least two dimensions"));
}

TEST(Init, GainsUndoWhatTheFunctionDoesToTheVariance) {
  EXPECT_EQ(init::gain(Nonlinearity::linear), 1);
  EXPECT_EQ(init::gain(Nonlinearity::sigmoid), 1);
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::tanh), 5.0 / 3);
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::relu), std::sqrt(2));
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::leaky_relu, 1), 1);
}

TEST(Init, EachDistributionHasItsRangeAndItsMoments) {
  manual_seed(11);
  Tensor x = Tensor::empty({300, 400});
  init::kaiming_uniform_(x, {.nonlinearity = Nonlinearity::relu});
  expect_uniform(x, std::sqrt(2.0) * std::sqrt(3.0 / 400));
  init::kaiming_normal_(x, {.nonlinearity = Nonlinearity::tanh, .fan = init::Fan::out});
  expect_normal(x, 5.0 / 3 / std::sqrt(300));
  init::xavier_uniform_(x, 2);
  expect_uniform(x, 2 * std::sqrt(6.0 / 700));
  init::xavier_normal_(x);
  expect_normal(x, std::sqrt(2.0 / 700));
  init::uniform_(x, -0.5, 0.5);
  expect_uniform(x, 0.5);
  init::normal_(x, 0, 3);
  expect_normal(x, 3);
  init::ones_(x);
  EXPECT_EQ(values(x), std::vector<double>(120000, 1.0));
  init::zeros_(x);
  EXPECT_EQ(moments(x).most, 0);
}

TEST(Init, WritingAnInitialValueChangesTheVersion) {
  Tensor x = zeros({2, 2});
  init::ones_(x);
  EXPECT_EQ(x.version(), 1U);
  init::xavier_uniform_(x);
  EXPECT_EQ(x.version(), 2U);
}

TEST(Init, LayersStartAsTheirPyTorchNamesakesDo) {
  manual_seed(12);
  nn::Linear linear(400, 300);
  expect_uniform(linear.weight, 1 / std::sqrt(400));
  EXPECT_LE(moments(linear.bias).most, 1 / std::sqrt(400));
  EXPECT_GT(moments(linear.bias).most, 0.9 / std::sqrt(400));

  nn::Conv2d conv(32, 150, 5, {.groups = 2});  // fan_in 16 · 25
  expect_uniform(conv.weight, 1 / std::sqrt(400));
  EXPECT_LE(moments(conv.bias).most, 1 / std::sqrt(400));

  nn::Embedding embedding(300, 400, {.padding_idx = 3});
  const std::vector<double> all = values(embedding.weight);
  const size_t width = 400, row = 3;
  for (size_t i = row * width; i < (row + 1) * width; ++i) EXPECT_EQ(all[i], 0);
  EXPECT_NEAR(moments(embedding.weight).std, 1, 0.01);
}

TEST(Init, ASeedRepeatsTheWholeNetwork) {
  const auto weights = [](uint64_t seed) {
    manual_seed(seed);
    nn::Linear a(5, 7), b(5, 7);
    return std::pair(values(a.weight), values(b.weight));
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
  EXPECT_NE(weights(1).first, weights(1).second);
}

}  // namespace
}  // namespace accrue
