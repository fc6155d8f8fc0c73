// LayerNorm, Dropout and the losses as a user meets them.
#include "tests/nn/support.h"
#include <gmock/gmock.h>

#include <accrue/nn/container.h>
#include <accrue/nn/dropout.h>
#include <accrue/nn/layer_norm.h>
#include <accrue/nn/linear.h>
#include <accrue/nn/loss.h>

namespace accrue {
namespace {

using test::expect_near;
using test::message;
using test::values;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LayerNorm, BringsEachItemToMeanZeroAndVarianceOneThenScalesAndShifts) {
  manual_seed(1);
  nn::LayerNorm layer(5, {.eps = 1e-3});
  EXPECT_EQ(values(layer.weight), std::vector<double>(5, 1.0));
  EXPECT_EQ(values(layer.bias), std::vector<double>(5, 0.0));
  layer.to(DType::float64);
  const Tensor w = randn({5}, DType::float64), b = randn({5}, DType::float64);
  layer.load_state_dict({{"weight", w}, {"bias", b}});
  const Tensor x = randn({3, 5}, DType::float64);
  std::vector<double> expected;
  for (int64_t i = 0; i < 3; ++i) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < 5; ++j) mean += x.at({i, j}) / 5;
    for (int64_t j = 0; j < 5; ++j) variance += std::pow(x.at({i, j}) - mean, 2) / 5;
    for (int64_t j = 0; j < 5; ++j)
      expected.push_back((x.at({i, j}) - mean) / std::sqrt(variance + 1e-3) * w.at({j}) +
                         b.at({j}));
  }
  expect_near(values(layer(x)), expected, 1e-13);
}

TEST(LayerNorm, WeightAndBiasMayBeLeftOut) {
  EXPECT_EQ(nn::LayerNorm(Dims{2, 3}).num_parameters(), 12);
  EXPECT_EQ(nn::LayerNorm(3, {.bias = false}).parameters().size(), 1U);
  EXPECT_EQ(nn::LayerNorm(3, {.elementwise_affine = false}).parameters().size(), 0U);
  EXPECT_THAT(message<ValueError>([] { nn::LayerNorm(0); }), HasSubstr("[0]"));
  EXPECT_THAT(message<ValueError>([] { nn::LayerNorm(Dims{}); }), HasSubstr("at least one"));
  EXPECT_THAT(message<ValueError>([] { nn::LayerNorm(3, {.eps = -1}); }), HasSubstr("eps is -1"));
}

TEST(Dropout, ActsWhileTrainingAndIsOffInEval) {
  manual_seed(4);
  nn::Sequential net(std::make_shared<nn::Dropout>(0.25));
  const Tensor x = ones({4000});
  int zeros = 0;
  for (const double v : values(net(x))) {
    zeros += v == 0;
    if (v != 0) {
      ASSERT_FLOAT_EQ(static_cast<float>(v), 4.0F / 3);
    }
  }
  EXPECT_NEAR(zeros, 1000, 110);  // four standard deviations
  EXPECT_NE(values(net(x)), values(net(x)));
  net.eval();
  EXPECT_EQ(values(net(x)), values(x));
  net.train();
  EXPECT_NE(values(net(x)), values(x));
}

TEST(Dropout, ItsProbabilityIsInZeroToOne) {
  for (const double bad : {-0.1, 1.5, std::nan("")})
    EXPECT_THAT(message<ValueError>([&] { nn::Dropout{bad}; }), HasSubstr("must be in [0, 1]"));
}

TEST(Loss, ObjectsHoldTheirOptions) {
  const Tensor p = tensor({1, 2, 4}), t = tensor({1, 4, 1});
  EXPECT_FLOAT_EQ(static_cast<float>(nn::MSELoss()(p, t).item()), 13.0F / 3);
  EXPECT_FLOAT_EQ(static_cast<float>(nn::L1Loss()(p, t).item()), 5.0F / 3);
  EXPECT_THAT(values(nn::MSELoss(Reduction::none)(p, t)), ElementsAre(0, 4, 9));
  EXPECT_EQ(nn::L1Loss(Reduction::sum)(p, t).item(), 5);
  const Tensor logits = zeros({3, 4}, DType::float64), target = tensor({0, 3, 1}, DType::int64);
  EXPECT_NEAR(nn::CrossEntropyLoss()(logits, target).item(), std::log(4), 1e-15);
  EXPECT_NEAR(
      nn::CrossEntropyLoss({.ignore_index = 3, .reduction = Reduction::sum})(logits, target).item(),
      2 * std::log(4), 1e-15);
}

}  // namespace
}  // namespace accrue
