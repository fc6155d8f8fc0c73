#include <cmath>

#include "tests/autograd/linear_law.h"
#include <gmock/gmock.h>

namespace accrue::testing::linear {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Reduce, SumAndMeanHaveTheGradientOfALinearFunction) {
  expect_linear("sum", [](const Tensor& x) { return sum(x); }, {2, 3});
  expect_linear("sum of a number", [](const Tensor& x) { return sum(x); }, {});
  expect_linear("sum rows", [](const Tensor& x) { return sum(x, 0); }, {2, 3});
  expect_linear("sum last", [](const Tensor& x) { return sum(x, -1); }, {2, 3});
  expect_linear("sum middle", [](const Tensor& x) { return sum(x, {1}, KeepDim::yes); }, {2, 3, 4});
  expect_linear("sum ends", [](const Tensor& x) { return sum(x, {0, -1}); }, {2, 3, 4});
  expect_linear("sum kept",
                [](const Tensor& x) {
                  return sum(x, {-1, 0}, KeepDim::yes);
                },
                {2, 3, 4});
  expect_linear("mean", [](const Tensor& x) { return mean(x) * 8; }, {2, 4});
  expect_linear("mean rows", [](const Tensor& x) { return mean(x, 0) * 4; }, {4, 3});
  expect_linear("mean ends",
                [](const Tensor& x) {
                  return mean(x, {0, 2}, KeepDim::yes) * 8;
                },
                {2, 3, 4});
}

TEST(Reduce, ShapesFollowTheNamedDimensions) {
  const Tensor x = ones({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Dims());
  EXPECT_EQ(sum(x, {}).shape(), Dims());
  EXPECT_EQ(sum(x, {0}).shape(), Dims({3, 4}));
  EXPECT_EQ(sum(x, 1, KeepDim::yes).shape(), Dims({2, 1, 4}));
  EXPECT_EQ(mean(x, {0, 1}).shape(), Dims({4}));
  EXPECT_EQ(amax(x, {}, KeepDim::yes).shape(), Dims({1, 1, 1}));
  EXPECT_EQ(argmax(x).shape(), Dims());
  EXPECT_EQ(argmin(x, -1).shape(), Dims({2, 3}));
  EXPECT_EQ(argmin(x, -1, KeepDim::yes).shape(), Dims({2, 3, 1}));
  EXPECT_EQ(sum(x.alias({{2, 3}, {0, 0}, 0}), 1).shape(), Dims({2}));
}

TEST(Reduce, IntegersSumInInt64AndHaveNoMean) {
  const Tensor bytes = ones({5000}, uint8);
  EXPECT_EQ(sum(bytes).dtype(), int64);
  EXPECT_EQ(sum(bytes).item(), 5000);
  EXPECT_EQ(sum(full({300}, 1, DType::boolean)).item(), 300);
  EXPECT_THAT(message_of<DTypeError>([&] { mean(bytes); }), HasSubstr("mean: the tensor is uint8"));
  EXPECT_EQ(amax(tensor({3, 7, 5}, int32)).dtype(), int32);
  EXPECT_EQ(amax(tensor({3, 7, 5}, int32)).item(), 7);
}

TEST(Reduce, ErrorsNameTheDimension) {
  const Tensor x = ones({2, 3});
  EXPECT_THROW(sum(x, 2), ShapeError);
  EXPECT_THAT(message_of<ShapeError>([&] {
                sum(x, {1, -1});
              }),
              HasSubstr("dimension 1 comes twice"));
  EXPECT_THROW(argmax(x, -3), ShapeError);
  EXPECT_THROW(sum(Tensor()), AutogradError);
}

TEST(Reduce, case_BG_01_a_bias_that_stretches_both_operands) {
  Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor w = leaf({1, 0, -1}, {3, 1});
  Tensor b = leaf({.5, 1, -1}, {1, 3});
  const Tensor target = make({1, 2}, {2, 1});
  for (double passes : {1., 2.}) {
    const Tensor miss = matmul(x, w) + b - target;
    EXPECT_EQ(miss.shape(), Dims({2, 3}));
    const Tensor loss = sum(miss * miss);
    EXPECT_EQ(loss.item(), 72.5);
    loss.backward();
    EXPECT_THAT(values(w.grad()), ElementsAre(-109 * passes, -149 * passes, -189 * passes));
    EXPECT_THAT(values(b.grad()), ElementsAre(-12 * passes, -10 * passes, -18 * passes));
    EXPECT_THAT(values(x.grad()),
                ElementsAre(-17 * passes, 0, 17 * passes, -23 * passes, 0, 23 * passes));
    EXPECT_EQ(w.grad().shape(), Dims({3, 1}));
    EXPECT_EQ(b.grad().shape(), Dims({1, 3}));
  }
}

TEST(Reduce, case_BG_02_a_number_beside_a_vector_is_summed_over_it) {
  Tensor z = leaf({1}, {});
  for (double passes : {1., 2.}) {
    const Tensor f = exp(z) - 0 + sum(exp(z) - make({0, 0, 0}, {3}));
    EXPECT_DOUBLE_EQ(f.item(), 4 * std::exp(1.0));
    f.backward();
    EXPECT_DOUBLE_EQ(z.grad().item(), 4 * std::exp(1.0) * passes);
  }
}

TEST(Reduce, case_BG_03_a_mask_of_size_one_gets_its_own_shape_back) {
  Tensor h = leaf({1, 2, 3, 4, 5, 6}, {1, 1, 2, 3});
  Tensor m = leaf({10, 20}, {1, 1, 2, 1});
  for (double passes : {1., 2.}) {
    sum(h * m).backward();
    EXPECT_THAT(values(h.grad()), ElementsAre(10 * passes, 10 * passes, 10 * passes, 20 * passes,
                                              20 * passes, 20 * passes));
    EXPECT_EQ(m.grad().shape(), Dims({1, 1, 2, 1}));
    EXPECT_THAT(values(m.grad()), ElementsAre(6 * passes, 15 * passes));
  }
}

TEST(Reduce, case_BG_07_minus_the_mean_has_no_gradient) {
  Tensor x = leaf({1, 2, 3, 4}, {4});
  for (int pass = 0; pass < 2; ++pass) {
    backward(x - mean(x), Values(4, 1.0));
    EXPECT_EQ(values(x.grad()), Values(4, 0.0));
  }
}

TEST(Reduce, case_BG_08_a_number_times_a_vector) {
  const Tensor c = make({1, 1}, {2});
  Tensor v = leaf({2}, {});
  const Tensor loss = sum(c * v);
  EXPECT_EQ(loss.item(), 4);
  loss.backward();
  EXPECT_EQ(v.grad().shape(), Dims());
  EXPECT_EQ(v.grad().item(), 2);
}

TEST(Reduce, case_RD_01_ties_share_evenly_and_an_index_takes_all) {
  Tensor x = leaf({1, 1}, {2});
  Tensor rows = leaf({3, 1, 3, 2, 2, 2}, {2, 3});
  for (double passes : {1., 2.}) {
    max(x).backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(.5 * passes, .5 * passes));
    backward(amax(rows, 1), {1, 1});
    const double third = passes / 3;
    EXPECT_THAT(values(rows.grad()), ElementsAre(.5 * passes, 0, .5 * passes, DoubleEq(third),
                                                 DoubleEq(third), DoubleEq(third)));
  }
  rows.zero_grad();
  const auto [largest, at] = max(rows, 1);
  EXPECT_THAT(values(largest), ElementsAre(3, 2));
  EXPECT_THAT(values(at), ElementsAre(0, 0));
  backward(largest, {1, 1});
  EXPECT_THAT(values(rows.grad()), ElementsAre(1, 0, 0, 1, 0, 0));
  rows.zero_grad();
  backward(min(rows, -1, KeepDim::yes).values, {5, 7});
  EXPECT_THAT(values(rows.grad()), ElementsAre(0, 5, 0, 7, 0, 0));
}

TEST(Reduce, case_RD_02_the_maximum_of_one_variable_stacked) {
  Tensor x = leaf({1}, {});
  for (double passes : {1., 2.}) {
    max(stack({x, x})).backward();
    EXPECT_EQ(x.grad().item(), passes);
  }
}

TEST(Reduce, TheSmallestAndTheLargestOfEveryLayout) {
  const Values v = {4, -1, 3, -1, 9, 9};
  for (Lie lie : kLies) {
    Tensor x = laid(v, {2, 3}, lie);
    x.set_requires_grad();
    EXPECT_EQ(amin(x).item(), -1);
    EXPECT_THAT(values(amax(x, 0)), ElementsAre(4, 9, 9));
    EXPECT_EQ(argmax(x).item(), 4);
    EXPECT_EQ(argmin(x).item(), 1);
    EXPECT_THAT(values(argmax(x, 1)), ElementsAre(0, 1));
    EXPECT_THAT(values(argmin(x, 0)), ElementsAre(1, 0, 0));
    backward(amin(x), {4});
    backward(amax(x, 0, KeepDim::yes), {1, 2, 3});
    EXPECT_THAT(values(x.grad()), ElementsAre(1, 2, 0, 2, 2, 3));
  }
}

TEST(Reduce, NaNWins) {
  const Tensor x = make({1, kNaN, 3}, {3});
  EXPECT_TRUE(std::isnan(amax(x).item()));
  EXPECT_TRUE(std::isnan(amin(x).item()));
  EXPECT_EQ(argmax(x).item(), 1);
  EXPECT_EQ(argmin(x).item(), 1);
}

TEST(Reduce, case_RD_07_nothing_has_no_extremum) {
  const Tensor x = zeros({0, 3});
  EXPECT_EQ(message_of<ShapeError>([&] { amax(x); }),
            "amax: dimension 0 of [0, 3] has size 0; there is no amax of nothing");
  EXPECT_THAT(message_of<ShapeError>([&] { argmax(x); }),
              HasSubstr("argmax: dimension 0 of [0, 3]"));
  EXPECT_THAT(message_of<ShapeError>([&] { amin(x, 0); }),
              HasSubstr("amin: dimension 0 of [0, 3]"));
  EXPECT_THROW(max(x), ShapeError);
  EXPECT_THROW(mean(x), ShapeError);
  EXPECT_EQ(sum(x).item(), 0);
  EXPECT_EQ(values(sum(x, 0)), Values(3, 0.0));
}

TEST(Reduce, case_RD_08_an_empty_axis_beside_the_reduced_one_is_fine) {
  Tensor x = leaf({}, {2, 0});
  EXPECT_EQ(max(x, 0).values.shape(), Dims({0}));
  EXPECT_EQ(amax(x, 0).shape(), Dims({0}));
  EXPECT_EQ(argmin(x, 0, KeepDim::yes).shape(), Dims({1, 0}));
  EXPECT_EQ(message_of<ShapeError>([&] { max(x, 1); }),
            "max: dimension 1 of [2, 0] has size 0; there is no max of nothing");
  EXPECT_THROW(amax(x, 1), ShapeError);
  sum(amax(x, 0) + mean(x, 0)).backward();
  EXPECT_EQ(x.grad().shape(), Dims({2, 0}));
}

TEST(Reduce, case_RD_12_a_vector_reduced_without_keepdim) {
  Tensor x = leaf(Values(5, 1.0), {5});
  mean(x * x, 0).backward();
  EXPECT_EQ(x.grad().shape(), Dims({5}));
  for (double g : values(x.grad())) EXPECT_DOUBLE_EQ(g, 0.4);
}

TEST(Reduce, case_RD_13_a_running_sum_of_nothing_has_a_gradient_of_its_shape) {
  for (int64_t dim : {0, 1, -1}) {
    Tensor x = leaf({}, {2, 0});
    for (int pass = 0; pass < 2; ++pass) {
      const Tensor y = cumsum(x, dim);
      EXPECT_EQ(y.shape(), Dims({2, 0}));
      sum(y).backward();
      ASSERT_TRUE(x.grad().defined());
      EXPECT_EQ(x.grad().shape(), Dims({2, 0}));
    }
  }
}

TEST(Reduce, case_RD_14_float_sums_do_not_stick) {
  constexpr int64_t n = (1 << 24) + 16;
  EXPECT_EQ(sum(expand(scalar(1), {n})).item(), 16777232);
  EXPECT_EQ(sum(ones({n})).item(), 16777232);
  const Tensor x = ones({2000000, 2});
  EXPECT_THAT(values(mean(x, 0)), ElementsAre(1, 1));
  EXPECT_EQ(amin(mean(x, 1)).item(), 1);
  EXPECT_EQ(amax(mean(x, 1)).item(), 1);
  const Tensor long_axis = expand(scalar(1), {20000000, 2});
  EXPECT_THAT(values(mean(long_axis, 0)), ElementsAre(1, 1));
  EXPECT_THAT(values(mean(t(long_axis), 1)), ElementsAre(1, 1));
}

TEST(Reduce, case_DT_01_half_sums_do_not_saturate) {
  EXPECT_EQ(sum(ones({4096}, DType::float16)).item(), 4096);
  EXPECT_EQ(mean(ones({70000}, DType::float16)).item(), 1);
  EXPECT_EQ(sum(ones({70000}, DType::bfloat16)).item(), 70144);
  EXPECT_EQ(mean(ones({70000}, DType::bfloat16)).item(), 1);
}

TEST(Reduce, TheMeanOfOnesIsOneForEveryCount) {
  for (int64_t n = 1; n < 200; ++n) EXPECT_EQ(mean(ones({n}, DType::float64)).item(), 1) << n;
}

}  // namespace
}  // namespace accrue::testing::linear
