// Each layer against its formula in float64, and what its constructor refuses.
#include "tests/nn/support.h"
#include <gmock/gmock.h>

#include <accrue/nn/activation.h>
#include <accrue/nn/container.h>
#include <accrue/nn/conv.h>
#include <accrue/nn/embedding.h>
#include <accrue/nn/linear.h>
#include <accrue/nn/pooling.h>

namespace accrue {
namespace {

using test::expect_near;
using test::message;
using test::values;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Layers, LinearIsXTimesWeightTransposedPlusBias) {
  nn::Linear layer(3, 2);
  layer.load_state_dict({{"weight", tensor({{1, 2, 3}, {4, 5, 6}})}, {"bias", tensor({10, 20})}});
  EXPECT_THAT(values(layer(tensor({{1, 0, -1}, {1, 1, 1}}))), ElementsAre(8, 18, 16, 35));
  EXPECT_EQ(layer(zeros({4, 5, 3})).shape(), (Dims{4, 5, 2}));
  nn::Linear bare(3, 2, {.bias = false});
  EXPECT_FALSE(bare.bias.defined());
  EXPECT_EQ(bare.parameters().size(), 1U);
  EXPECT_THAT(values(bare(zeros({1, 3}))), ElementsAre(0, 0));
  EXPECT_THAT(message<ValueError>([] { nn::Linear(-1, 2); }), HasSubstr("in_features is -1"));
}

TEST(Layers, EmbeddingPicksRowsAndThePaddingRowLearnsNothing) {
  nn::Embedding layer(4, 2, {.padding_idx = 1});
  const std::vector<double> w = values(layer.weight);
  const Tensor y = layer(tensor({3, 1, 3}, DType::int64));
  EXPECT_THAT(values(y), ElementsAre(w[6], w[7], 0, 0, w[6], w[7]));
  y.backward({.gradient = ones({3, 2})});
  EXPECT_THAT(values(layer.weight.grad()), ElementsAre(0, 0, 0, 0, 0, 0, 2, 2));
  EXPECT_THROW(nn::Embedding(0, 2), ValueError);
  EXPECT_THROW(nn::Embedding(2, 2, {.padding_idx = 2}), ValueError);
}

TEST(Layers, Conv2dIsTheSumOverTheWindow) {
  manual_seed(3);
  nn::Conv2d layer(4, 6, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .groups = 2});
  layer.to(DType::float64);
  const int64_t n = 2, h = 5, w = 4, oh = 3, ow = 3;
  const Tensor x = randn({n, 4, h, w}, DType::float64);
  const Tensor y = layer(x);
  ASSERT_EQ(y.shape(), (Dims{n, 6, oh, ow}));
  std::vector<double> expected;
  for (int64_t b = 0; b < n; ++b)
    for (int64_t o = 0; o < 6; ++o)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j) {
          double sum = layer.bias.at({o});
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t di = 0; di < 3; ++di)
              for (int64_t dj = 0; dj < 2; ++dj) {
                const int64_t row = 2 * i - 1 + di;
                if (row >= 0 && row < h)
                  sum += layer.weight.at({o, c, di, dj}) * x.at({b, o / 3 * 2 + c, row, j + dj});
              }
          expected.push_back(sum);
        }
  expect_near(values(y), expected, 1e-12);
  EXPECT_FALSE(nn::Conv2d(1, 1, 3, {}, nn::Conv2d::Bias::no).bias.defined());
}

TEST(Layers, Conv2dRefusesNonsense) {
  EXPECT_THAT(message<ValueError>([] { nn::Conv2d(0, 1, 3); }), HasSubstr("in_channels"));
  EXPECT_THAT(message<ValueError>([] { nn::Conv2d(1, 1, 0); }), HasSubstr("kernel"));
  EXPECT_THAT(message<ValueError>([] {
                nn::Conv2d(1, 1, 3, {.stride = {1, 0}});
              }),
              HasSubstr("stride"));
  EXPECT_THAT(message<ValueError>([] {
                nn::Conv2d(1, 1, 3, {.padding = {-1, 0}});
              }),
              HasSubstr("padding"));
  EXPECT_THAT(message<ValueError>([] { nn::Conv2d(4, 6, 3, {.groups = 4}); }),
              HasSubstr("groups is 4; it must divide in_channels, 4, and out_channels, 6"));
}

TEST(Layers, PoolingTakesTheLargestOrTheMean) {
  const Tensor x = tensor({1, 2, 5, 6, 3, 4, 7, 0}, {1, 1, 2, 4});
  EXPECT_THAT(values(nn::MaxPool2d(2)(x)), ElementsAre(4, 7));
  EXPECT_THAT(values(nn::AvgPool2d(2)(x)), ElementsAre(2.5, 4.5));
  EXPECT_THAT(values(nn::MaxPool2d(Pool2dOptions{.kernel = {1, 2}, .stride = {1, 2}})(x)),
              ElementsAre(2, 6, 4, 7));
  EXPECT_THROW(nn::MaxPool2d(0), ValueError);
  EXPECT_THROW(nn::AvgPool2d(AvgPool2dOptions{.kernel = {2, 2}, .padding = {-1, 0}}), ValueError);
}

TEST(Layers, ActivationsAreTheFunctionsOfTheirNames) {
  const std::vector<double> at = {-2, -0.5, 0, 1, 3};
  const Tensor x = tensor(at, {5}, DType::float64);
  const auto expect = [&](nn::Module&& layer, double (*f)(double)) {
    std::vector<double> expected;
    for (const double v : at) expected.push_back(f(v));
    expect_near(values(layer(x)), expected, 1e-14);
  };
  expect(nn::ReLU(), [](double v) { return v > 0 ? v : 0; });
  expect(nn::Tanh(), [](double v) { return std::tanh(v); });
  expect(nn::Sigmoid(), [](double v) { return 1 / (1 + std::exp(-v)); });
  expect(nn::SiLU(), [](double v) { return v / (1 + std::exp(-v)); });
  expect(nn::GELU(), [](double v) { return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))); });
  expect(nn::GELU(GeluApproximation::tanh), [](double v) {
    return v * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  });
  double sum = 0;
  for (const double v : at) sum += std::exp(v);
  std::vector<double> share, log_share;
  for (const double v : at) {
    share.push_back(std::exp(v) / sum);
    log_share.push_back(v - std::log(sum));
  }
  expect_near(values(nn::Softmax(0)(x)), share, 1e-14);
  expect_near(values(nn::LogSoftmax(-1)(x)), log_share, 1e-14);
}

TEST(Layers, SequentialRunsItsModulesInOrder) {
  nn::Sequential net;
  net.add<nn::Flatten>();
  const auto linear = net.add<nn::Linear>(6, 2);
  net.add<nn::ReLU>();
  EXPECT_EQ(net.size(), 3U);
  const Tensor x = ones({4, 2, 3});
  EXPECT_EQ(net(x).shape(), (Dims{4, 2}));
  EXPECT_EQ(&net[1], linear.get());
  EXPECT_THAT(message<IndexError>([&] { net[3]; }), HasSubstr("no module 3; it has 3"));
  nn::Sequential empty;
  EXPECT_EQ(values(empty(x)), values(x));
  EXPECT_THAT(empty.parameters(), IsEmpty());
}

TEST(Layers, SequentialsNestAndTheirNamesGrow) {
  const auto inner = std::make_shared<nn::Sequential>(std::make_shared<nn::Linear>(2, 2));
  nn::Sequential outer(inner, std::make_shared<nn::Tanh>());
  EXPECT_THAT(test::names_of(outer.named_parameters()), ElementsAre("0.0.weight", "0.0.bias"));
}

TEST(Layers, AModuleListOnlyHolds) {
  nn::ModuleList<nn::Linear> list;
  list.add(2, 3);
  list.add(3, 1);
  Tensor y = ones({1, 2});
  for (const auto& layer : list) y = (*layer)(y);
  EXPECT_EQ(y.shape(), (Dims{1, 1}));
  EXPECT_EQ(list[1].weight.shape(), (Dims{1, 3}));
  EXPECT_THROW(list[2], IndexError);
  EXPECT_THROW(list(y), Error);
}

}  // namespace
}  // namespace accrue
