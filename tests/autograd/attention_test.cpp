// Attention against its definition in float64, finite differences, and the cases others got wrong.
#include <limits>

#include "tests/autograd/numeric.h"
#include <gmock/gmock.h>

#include <accrue/core/layout.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cpu/parallel.h>

#include <accrue/autograd/ops.h>

namespace {

using namespace accrue;
using namespace accrue::testing;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Function attention_of(const AttentionOptions& o) {
  return [o](const std::vector<Tensor>& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], o);
  };
}

std::vector<Tensor> inputs(int64_t b, int64_t h, int64_t l, int64_t s, int64_t e, int64_t ev,
                           DType dtype) {
  return {random({b, h, l, e}, 1, dtype), random({b, h, s, e}, 2, dtype),
          random({b, h, s, ev}, 3, dtype)};
}

// The definition, for dense q [b, h, l, e] and so on; added[(head · l + i) · s + j] is the mask.
std::vector<double> by_definition(const std::vector<Tensor>& in, const std::vector<double>& added,
                                  bool causal) {
  const std::vector<double> q = values(in[0]), k = values(in[1]), v = values(in[2]);
  const auto l = static_cast<size_t>(in[0].size(2)), e = static_cast<size_t>(in[0].size(3));
  const auto s = static_cast<size_t>(in[1].size(2)), ev = static_cast<size_t>(in[2].size(3));
  const auto heads = static_cast<size_t>(in[0].size(0) * in[0].size(1));
  std::vector<double> y(heads * l * ev);
  for (size_t head = 0; head < heads; ++head)
    for (size_t i = 0; i < l; ++i) {
      std::vector<double> w(s);
      double sum = 0;
      for (size_t j = 0; j < s; ++j) {
        double score = added.empty() ? 0 : added[(head * l + i) * s + j];
        for (size_t c = 0; c < e; ++c) {
          score += q[(head * l + i) * e + c] * k[(head * s + j) * e + c] /
                   std::sqrt(static_cast<double>(e));
        }
        w[j] = causal && j > i ? 0 : std::exp(score);
        sum += w[j];
      }
      for (size_t j = 0; j < s && sum > 0; ++j)
        for (size_t c = 0; c < ev; ++c) {
          y[(head * l + i) * ev + c] += w[j] / sum * v[(head * s + j) * ev + c];
        }
    }
  return y;
}

TEST(Attention, IsItsDefinition) {
  struct Size {
    int64_t b, h, l, s, e, ev;
  };
  for (const Size& n :
       {Size{2, 3, 5, 7, 4, 6}, Size{1, 1, 1, 1, 1, 1}, Size{1, 2, 130, 130, 16, 16},
        Size{1, 1, 70, 2000, 8, 5}, Size{1, 2, 300, 40, 64, 64}}) {
    for (const bool causal : {false, true}) {
      const auto f = attention_of({.is_causal = causal});
      const auto in = inputs(n.b, n.h, n.l, n.s, n.e, n.ev, float64);
      expect_close(values(f(in)), by_definition(in, {}, causal), 1e-12, 1e-13);
      const auto in32 = inputs(n.b, n.h, n.l, n.s, n.e, n.ev, float32);
      expect_close(values(f(in32)), by_definition(in32, {}, causal), 1e-5, 1e-6);
    }
  }
}

TEST(Attention, MasksStretchOverBatchAndHeads) {
  const auto in = inputs(2, 3, 4, 5, 3, 2, float64);
  const Tensor added = random({2, 1, 1, 5}, 9);
  const std::vector<double> m = values(added);
  std::vector<double> full;
  for (size_t b = 0; b < 2; ++b)
    for (size_t rows = 0; rows < size_t{3} * 4; ++rows)
      for (size_t j = 0; j < 5; ++j) full.push_back(m[b * 5 + j]);
  expect_close(values(attention_of({.mask = added})(in)), by_definition(in, full, false), 1e-12,
               1e-13);
  const Tensor seen =
      tensor({1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1}, {4, 5}, DType::boolean);
  full.clear();
  for (int head = 0; head < 6; ++head)
    for (const double x : values(seen)) full.push_back(x != 0 ? 0 : -kInfinity);
  for (const bool causal : {false, true}) {
    expect_close(values(attention_of({.mask = seen, .is_causal = causal})(in)),
                 by_definition(in, full, causal), 1e-12, 1e-13);
  }
}

TEST(Attention, GradientsAreDifferenceQuotients) {
  const auto in = inputs(2, 2, 5, 4, 3, 2, float64);
  check_gradients(attention_of({}), in, "plain");
  check_gradients(attention_of({.is_causal = true, .scale = 0.7}), in, "causal");
  check_gradients(attention_of({.mask = random({2, 1, 5, 4}, 8)}), in, "added mask");
  const Tensor seen =
      tensor({1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1}, {5, 4}, DType::boolean);
  check_gradients(attention_of({.mask = seen}), in, "boolean mask");
  check_gradients(attention_of({}), inputs(1, 1, 130, 3, 2, 2, float64), "several blocks");
  check_gradients(attention_of({.is_causal = true}), inputs(1, 1, 70, 60, 2, 1, float64),
                  "several causal blocks");
}

TEST(Attention, DroppedWeightsAreDroppedInBackwardToo) {
  const auto in = inputs(2, 2, 5, 6, 3, 2, float64);
  const auto f = [](const std::vector<Tensor>& x) {
    manual_seed(5);
    return scaled_dot_product_attention(x[0], x[1], x[2], {.dropout_p = 0.4});
  };
  check_gradients(f, in);
  expect_same(f(in), f(in));
  EXPECT_NE(values(f(in)), values(attention_of({})(in)));
  EXPECT_THAT(values(attention_of({.dropout_p = 1})(in)), Each(0));
  // In the mean nothing is lost: 64 heads of ones.
  const std::vector<Tensor> ones_in = {zeros({64, 8, 2}), zeros({64, 32, 2}), ones({64, 32, 1})};
  double mean = 0;
  for (const double y : values(attention_of({.dropout_p = 0.25})(ones_in))) mean += y / (64 * 8);
  EXPECT_NEAR(mean, 1, 0.02);
}

TEST(Attention, GradientsAddToWhatIsThereAndSkipTheUnwanted) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    auto in = inputs(2, 2, 5, 4, 3, 2, dtype);
    const Tensor c = random({2, 2, 5, 2}, 4, dtype);
    const auto once = gradients(attention_of({}), in, c);
    for (Tensor& x : in) x.set_requires_grad();
    for (int i = 0; i < 2; ++i) attention_of({})(in).backward({.gradient = c});
    for (size_t i = 0; i < 3; ++i) {
      std::vector<double> twice = values(once[i]);
      for (double& g : twice) g *= 2;
      expect_close(values(in[i].grad()), twice, 1e-5, 1e-6);
    }
    for (size_t wanted = 0; wanted < 3; ++wanted) {
      auto some = inputs(2, 2, 5, 4, 3, 2, dtype);
      some[wanted].set_requires_grad();
      attention_of({})(some).backward({.gradient = c});
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(some[i].grad().defined(), i == wanted);
        if (i == wanted) expect_same(some[i].grad(), once[i]);
      }
    }
  }
}

// [batch, length, heads, width] permuted, as a projection leaves them.
TEST(Attention, HeadsNeedNoCopies) {
  std::vector<Tensor> permuted, dense;
  for (uint32_t i = 0; i < 3; ++i) {
    const Tensor x = random({2, 9, 3, 8}, i, float32);
    permuted.push_back(x.alias(layout::permute(x.layout(), {0, 2, 1, 3})));
    dense.push_back(
        tensor(std::span<const double>(values(permuted[i])), permuted[i].shape(), float32));
  }
  const Tensor y = attention_of({.is_causal = true})(permuted);
  expect_same(y, attention_of({.is_causal = true})(dense));
  EXPECT_TRUE(layout::is_contiguous(layout::permute(y.layout(), {0, 2, 1, 3})));
  const Tensor c = random(y.shape(), 7, float32);
  const auto got = gradients(attention_of({.is_causal = true}), permuted, c);
  const auto right = gradients(attention_of({.is_causal = true}), dense, c);
  for (size_t i = 0; i < 3; ++i) expect_same(got[i], right[i]);
}

TEST(Attention, NeitherThreadsNorTheBatchShow) {
  const int before = get_num_threads();
  const auto in = inputs(5, 2, 150, 140, 32, 32, float32);
  const Tensor c = random({5, 2, 150, 32}, 4, float32);
  const auto f = attention_of({.is_causal = true});
  set_num_threads(1);
  const Tensor y = f(in);
  const auto right = gradients(f, in, c);
  const auto some = [](const Tensor& t) { return t.alias(layout::narrow(t.layout(), 0, 3, 1)); };
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    expect_same(f(in), y);
    const auto got = gradients(f, in, c);
    const std::vector<Tensor> one = {some(in[0]), some(in[1]), some(in[2])};
    expect_same(f(one), some(y));
    const auto alone = gradients(f, one, some(c));
    for (size_t i = 0; i < 3; ++i) {
      expect_same(got[i], right[i]);
      expect_same(alone[i], some(right[i]));
    }
  }
  set_num_threads(before);
}

TEST(Attention, SixteenBitsAreComputedInFloat) {
  const auto wide = [](const Tensor& x) {
    return tensor(std::span<const double>(values(x)), x.shape(), float32);
  };
  const auto in = inputs(1, 2, 6, 7, 8, 4, DType::bfloat16);
  const std::vector<Tensor> same = {wide(in[0]), wide(in[1]), wide(in[2])};
  const Tensor y = attention_of({})(in), right = attention_of({})(same);
  expect_same(y, tensor(std::span<const double>(values(right)), y.shape(), DType::bfloat16));
  const Tensor c = random(y.shape(), 3, DType::bfloat16);
  const auto got = gradients(attention_of({}), in, c);
  const auto exact = gradients(attention_of({}), same, wide(c));
  for (size_t i = 0; i < 3; ++i) expect_same(got[i], exact[i]);
}

TEST(Attention, OneTensorMayBeQueryKeyAndValue) {
  for (const DType dtype : {DType::float64, DType::bfloat16}) {
    const Tensor x = randn({1, 3, 4}, dtype);
    const Tensor dy = randn({1, 3, 4}, dtype);
    std::vector<Tensor> apart{clone(x), clone(x), clone(x)};
    for (Tensor& part : apart) part.set_requires_grad();
    attention_of({})(apart).backward({.gradient = dy});
    Tensor one = clone(x).set_requires_grad();
    const Tensor h = one * 1.0;  // in bfloat16, unlike a leaf's gradient
    attention_of({})({h, h, h}).backward({.gradient = dy});
    const Tensor want = apart[0].grad() + apart[1].grad() + apart[2].grad();
    EXPECT_LT(max(abs(one.grad() - want)).item(), dtype == DType::float64 ? 1e-14 : 0.1);
  }
}

TEST(Attention, NothingToLookAt) {
  std::vector<Tensor> in = {ones({2, 3, 4}), ones({2, 0, 4}), ones({2, 0, 5})};
  expect_same(attention_of({})(in), zeros({2, 3, 5}));
  for (const Tensor& g : gradients(attention_of({}), in, ones({2, 3, 5}))) {
    EXPECT_THAT(values(g), Each(0));
  }
  in = {ones({0, 3, 4}), ones({0, 2, 4}), ones({0, 2, 5})};
  EXPECT_EQ(attention_of({})(in).shape(), (Dims{0, 3, 5}));
}

std::vector<Tensor> square(DType dtype = float64) {
  return {tensor({{1, 0}, {0, 1}}, dtype), tensor({{1, 0}, {0, 1}}, dtype),
          tensor({{1, 2}, {3, 4}}, dtype)};
}

// pytorch/pytorch #103963: a query that may look nowhere gave NaN.
TEST(Attention, case_AT_01) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const auto in = square(dtype);
    const Tensor added = tensor({{0, -kInfinity}, {-kInfinity, -kInfinity}}, dtype);
    for (const Tensor& mask : {tensor({{1, 0}, {0, 0}}, DType::boolean), added}) {
      expect_same(attention_of({.mask = mask})(in), tensor({{1, 2}, {0, 0}}, dtype));
      const auto got = gradients(attention_of({.mask = mask}), in, ones({2, 2}, dtype));
      EXPECT_THAT(values(got[0]), Each(0));
      EXPECT_THAT(values(got[1]), Each(0));
      expect_same(got[2], tensor({{1, 1}, {0, 0}}, dtype));
    }
  }
}

// The values of pytorch/pytorch #103963, unmasked, scaled by 1 / √2.
TEST(Attention, case_AT_03) {
  const auto in = square();
  expect_close(values(attention_of({})(in)), {1.6604769, 2.6604769, 2.3395231, 3.3395231}, 0, 1e-7);
  const auto got = gradients(attention_of({}), in, ones({2, 2}, float64));
  const double g = .6255944;
  expect_close(values(got[0]), {-g, g, -g, g}, 0, 1e-7);
  expect_close(values(got[1]), {-g, -g, g, g}, 0, 1e-7);
  expect_close(values(got[2]), {1, 1, 1, 1}, 0, 1e-12);
}

TEST(Attention, SaysWhatDoesNotFit) {
  const auto text = [](const Dims& q, const Dims& k, const Dims& v, const AttentionOptions& o) {
    return message_of<Error>(
        [&] { scaled_dot_product_attention(zeros(q), zeros(k), zeros(v), o); });
  };
  EXPECT_EQ(text({2, 3, 4}, {2, 5, 6}, {2, 5, 4}, {}),
            "scaled_dot_product_attention: queries and keys must be equally wide: q is [2, 3, 4], "
            "k is [2, 5, 6], v is [2, 5, 4]");
  EXPECT_THAT(text({2, 3, 4}, {3, 5, 4}, {2, 5, 4}, {}),
              HasSubstr("the leading dimensions differ"));
  EXPECT_THAT(text({3, 4}, {5, 4}, {6, 4}, {}), HasSubstr("a value for each key"));
  EXPECT_THAT(
      text({3, 4}, {5, 4}, {5, 4}, {.mask = zeros({5, 3})}),
      HasSubstr("the mask has shape [5, 3]; it must stretch to that of the scores, [3, 5]"));
  EXPECT_THAT(text({3, 4}, {5, 4}, {5, 4}, {.dropout_p = 1.5}),
              HasSubstr("dropout_p is 1.5; it must be from 0 to 1"));
  Tensor mask = zeros({3, 5});
  mask.set_requires_grad();
  EXPECT_THAT(text({3, 4}, {5, 4}, {5, 4}, {.mask = mask}), HasSubstr("the mask requires grad"));
}

}  // namespace
