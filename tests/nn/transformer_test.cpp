// MultiheadAttention and TransformerEncoderLayer against their formulas in float64, their gradients
// against finite differences, and a batch against its pieces.
#include "tests/nn/support.h"
#include <gmock/gmock.h>

#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/ops/shape.h>

#include <accrue/nn/transformer.h>

namespace accrue {
namespace {

using nn::MultiheadAttention;
using nn::TransformerEncoderLayer;
using nn::TransformerOptions;
using test::expect_near;
using test::message;
using test::values;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kHeads = 2, kWidth = 6, kShare = kWidth / kHeads;

// x [t, width] of batch b, times rows [first, first + width) of weight, plus bias.
std::vector<double> projected(const Tensor& x, int64_t b, const Tensor& weight, const Tensor& bias,
                              int64_t first) {
  std::vector<double> y;
  for (int64_t t = 0; t < x.size(1); ++t)
    for (int64_t o = 0; o < kWidth; ++o) {
      double sum = bias.at({first + o});
      for (int64_t i = 0; i < kWidth; ++i) sum += x.at({b, t, i}) * weight.at({first + o, i});
      y.push_back(sum);
    }
  return y;
}

// softmax(q·kᵀ / √share, over the keys allowed) · v, head by head, then the output projection.
std::vector<double> reference(const MultiheadAttention& m, const Tensor& query, const Tensor& key,
                              const Tensor& value,
                              const std::function<bool(int64_t, int64_t)>& may_look) {
  std::vector<double> out;
  const int64_t rows = query.size(1), keys = key.size(1);
  const auto at = [](const std::vector<double>& x, int64_t t, int64_t c) {
    return x[static_cast<size_t>(t * kWidth + c)];
  };
  for (int64_t b = 0; b < query.size(0); ++b) {
    const auto q = projected(query, b, m.in_proj_weight, m.in_proj_bias, 0);
    const auto k = projected(key, b, m.in_proj_weight, m.in_proj_bias, kWidth);
    const auto v = projected(value, b, m.in_proj_weight, m.in_proj_bias, 2 * kWidth);
    Tensor mixed = zeros({1, rows, kWidth}, DType::float64);
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t t = 0; t < rows; ++t) {
        std::vector<double> share(static_cast<size_t>(keys));
        double total = 0;
        for (int64_t s = 0; s < keys; ++s) {
          double score = 0;
          for (int64_t c = h * kShare; c < (h + 1) * kShare; ++c)
            score += at(q, t, c) * at(k, s, c);
          const double e = may_look(t, s) ? std::exp(score / std::sqrt(kShare)) : 0;
          total += share[static_cast<size_t>(s)] = e;
        }
        for (int64_t c = h * kShare; c < (h + 1) * kShare; ++c)
          for (int64_t s = 0; s < keys; ++s)
            mixed.data<double>()[t * kWidth + c] +=
                share[static_cast<size_t>(s)] / total * at(v, s, c);
      }
    const auto y = projected(mixed, 0, m.out_proj->weight, m.out_proj->bias, 0);
    out.insert(out.end(), y.begin(), y.end());
  }
  return out;
}

struct Attention : testing::Test {
  Attention() {
    manual_seed(7);
    module = std::make_shared<MultiheadAttention>(kWidth, kHeads);
    module->to(DType::float64);
    const NoGrad no_grad;
    normal_(module->in_proj_bias, 0, 1);
    normal_(module->out_proj->bias, 0, 1);
    x = randn({2, 4, kWidth}, DType::float64);
    other = randn({2, 5, kWidth}, DType::float64);
  }
  std::shared_ptr<MultiheadAttention> module;
  Tensor x, other;
};

TEST_F(Attention, OfASequenceToItself) {
  expect_near(values((*module)(x)),
              reference(*module, x, x, x, [](int64_t, int64_t) { return true; }), 1e-12);
}

TEST_F(Attention, OfASequenceToAnother) {
  const Tensor key = other, value = randn({2, 5, kWidth}, DType::float64);
  expect_near(values((*module)(x, key, value)),
              reference(*module, x, key, value, [](int64_t, int64_t) { return true; }), 1e-12);
  EXPECT_EQ(values((*module)(x, x, x)), values((*module)(x)));
}

TEST_F(Attention, ACausalQueryLooksBackOnlyAndAMaskIsTrueWhereItMayLook) {
  const auto back = [](int64_t t, int64_t s) { return s <= t; };
  const std::vector<double> expected = reference(*module, x, x, x, back);
  expect_near(values(module->forward(x, {.is_causal = true})), expected, 1e-12);
  Tensor mask = zeros({4, 4}, DType::boolean);
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t s = 0; s <= t; ++s) mask.data<bool>()[t * 4 + s] = true;
  expect_near(values(module->forward(x, {.mask = mask})), expected, 1e-12);
}

TEST(MultiheadAttention, HasTheParametersAndStartOfItsPyTorchNamesake) {
  manual_seed(1);
  MultiheadAttention m(64, 4);
  EXPECT_THAT(test::names_of(m.named_parameters()),
              ElementsAre("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"));
  EXPECT_EQ(m.in_proj_weight.shape(), (Dims{192, 64}));
  const double bound = std::sqrt(6.0 / (192 + 64));
  EXPECT_LE(test::moments(m.in_proj_weight).most, bound);
  EXPECT_GT(test::moments(m.in_proj_weight).most, 0.99 * bound);
  EXPECT_LE(test::moments(m.out_proj->weight).most, 1.0 / 8);
  EXPECT_EQ(test::moments(m.in_proj_bias).most, 0);
  EXPECT_EQ(test::moments(m.out_proj->bias).most, 0);
  EXPECT_EQ(MultiheadAttention(8, 2, {.bias = false}).parameters().size(), 2U);
}

TEST(MultiheadAttention, RefusesNonsense) {
  EXPECT_THAT(message<ValueError>([] { MultiheadAttention(6, 4); }),
              HasSubstr("embed_dim is 6 and num_heads 4"));
  EXPECT_THROW(MultiheadAttention(0, 1), ValueError);
  EXPECT_THAT(message<ValueError>([] { MultiheadAttention(4, 2, {.dropout = 2}); }),
              HasSubstr("dropout is 2"));
  MultiheadAttention m(4, 2);
  const Tensor flat = zeros({3, 4});
  EXPECT_THAT(message<ShapeError>([&] { m(flat); }),
              HasSubstr("has shape [3, 4]; it must be [batch, time, features]"));
  EXPECT_THAT(message<ShapeError>([&] { m(flat, flat, flat); }),
              HasSubstr("they must be [batch, time, features]"));
}

TEST(Transformer, NamesAreThoseOfPyTorch) {
  TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 8});
  EXPECT_THAT(
      test::names_of(layer.named_parameters()),
      ElementsAre("self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                  "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight",
                  "linear2.bias", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"));
}

TEST(Transformer, DropoutIsDrawnWhileTrainingAndOffInEval) {
  manual_seed(2);
  TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 16, .dropout = 0.5});
  const Tensor x = randn({2, 3, 8});
  EXPECT_NE(values(layer(x)), values(layer(x)));
  layer.eval();
  EXPECT_EQ(values(layer(x)), values(layer(x)));
  manual_seed(2);
  TransformerEncoderLayer same(8, 2, {.dim_feedforward = 16, .dropout = 0});
  EXPECT_EQ(values(layer(x)), values(same(x)));
}

// A part of it may be replaced by one's own.
TEST(Transformer, CallsTheForwardOfItsParts) {
  struct Counting : nn::Linear {
    using Linear::Linear;
    Tensor forward(const Tensor& x) override {
      ++calls;
      return Linear::forward(x);
    }
    int calls = 0;
  };
  for (nn::Activation f : {nn::Activation::none, nn::Activation::relu, nn::Activation::gelu,
                           nn::Activation::gelu_tanh}) {
    TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 8, .activation = f});
    const auto first = std::make_shared<Counting>(4, 8), second = std::make_shared<Counting>(8, 4);
    layer.linear1 = first;
    layer.linear2 = second;
    layer(randn({2, 3, 4}));
    EXPECT_EQ(first->calls, 1);
    EXPECT_EQ(second->calls, 1);
  }
}

// d(Σ dy · y) / dp for every element of every parameter and of x.
void expect_gradients_of(const TransformerOptions& options) {
  manual_seed(5);
  TransformerEncoderLayer layer(4, 2, options);
  layer.to(DType::float64);
  Tensor x = randn({2, 3, 4}, DType::float64);
  x.set_requires_grad();
  const Tensor dy = randn({2, 3, 4}, DType::float64);
  const auto loss = [&] {
    const NoGrad no_grad;
    const std::vector<double> y = values(layer(x)), weight = values(dy);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * weight[i];
    return sum;
  };
  layer(x).backward({.gradient = dy});
  std::vector<NamedTensor> inputs = layer.named_parameters();
  inputs.push_back({"x", x});
  for (const NamedTensor& p : inputs) {
    const std::vector<double> grad = values(p.value.grad());
    for (size_t i = 0; i < grad.size(); ++i) {
      double& element = p.value.data<double>()[i];
      const double before = element, h = 1e-5;
      element = before + h;
      const double above = loss();
      element = before - h;
      const double below = loss();
      element = before;
      ASSERT_NEAR(grad[i], (above - below) / (2 * h), 1e-7) << p.name << " " << i;
    }
  }
}

TEST(Transformer, GradientsAreThoseOfFiniteDifferences) {
  expect_gradients_of({.dim_feedforward = 5, .dropout = 0, .activation = nn::Activation::gelu});
  expect_gradients_of(
      {.dim_feedforward = 5, .dropout = 0, .activation = nn::Activation::gelu, .norm_first = true});
  expect_gradients_of({.dim_feedforward = 5, .dropout = 0, .activation = nn::Activation::relu});
}

TEST(Transformer, GradientsOfABatchAreThoseOfItsPiecesBitForBit) {
  manual_seed(6);
  TransformerEncoderLayer layer(16, 4, {.dim_feedforward = 24, .dropout = 0, .norm_first = true});
  const Tensor x = randn({12, 5, 16}), dy = randn({12, 5, 16});
  const auto gradients = [&](const std::vector<int64_t>& sizes) {
    layer.zero_grad();
    int64_t at = 0;
    for (const int64_t n : sizes) {
      layer(narrow(x, 0, at, n)).backward({.gradient = narrow(dy, 0, at, n)});
      at += n;
    }
    std::vector<std::vector<double>> all;
    for (const Tensor& p : layer.parameters()) all.push_back(values(p.grad()));
    return all;
  };
  const auto whole = gradients({12});
  EXPECT_EQ(gradients({6, 6}), whole);
  EXPECT_EQ(gradients({5, 1, 4, 2}), whole);
}

}  // namespace
}  // namespace accrue
