#include "tests/autograd/linear_law.h"
#include <gmock/gmock.h>

#include <accrue/kernels/trace.h>

#include <accrue/autograd/node.h>

namespace accrue::testing::linear {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Shape, EveryViewHasTheGradientOfALinearFunction) {
  expect_linear("transpose", [](const Tensor& x) { return transpose(x, 0, -1); }, {2, 3, 4});
  expect_linear("t", [](const Tensor& x) { return t(x); }, {2, 3});
  expect_linear("permute", [](const Tensor& x) { return permute(x, {2, 0, -2}); }, {2, 3, 4});
  expect_linear("slice", [](const Tensor& x) { return slice(x, 1, 1); }, {2, 5});
  expect_linear("slice step", [](const Tensor& x) { return slice(x, -1, 0, 5, 2); }, {2, 5});
  expect_linear("slice from the back", [](const Tensor& x) { return slice(x, 0, -3, -1); }, {5, 2});
  expect_linear("narrow", [](const Tensor& x) { return narrow(x, 1, 1, 2); }, {2, 4});
  expect_linear("select", [](const Tensor& x) { return select(x, 1, -1); }, {2, 3, 2});
  expect_linear("expand", [](const Tensor& x) { return expand(x, {4, 3, 2, -1}); }, {3, 1, 2});
  expect_linear("expand a number", [](const Tensor& x) { return expand(x, {2, 3}); }, {});
  expect_linear("reshape", [](const Tensor& x) { return reshape(x, {3, -1}); }, {2, 6});
  expect_linear("flatten", [](const Tensor& x) { return flatten(x, 1); }, {2, 3, 2});
  expect_linear("squeeze", [](const Tensor& x) { return squeeze(x); }, {1, 3, 1, 2});
  expect_linear("squeeze one", [](const Tensor& x) { return squeeze(x, 0); }, {1, 3, 1});
  expect_linear("squeeze none", [](const Tensor& x) { return squeeze(x, 1); }, {1, 3, 1});
  expect_linear("unsqueeze", [](const Tensor& x) { return unsqueeze(x, -1); }, {2, 3});
  expect_linear("contiguous", [](const Tensor& x) { return contiguous(t(x)); }, {2, 3});
}

TEST(Shape, EveryRearrangementHasTheGradientOfALinearFunction) {
  expect_linear("clone", [](const Tensor& x) { return clone(x); }, {2, 3});
  expect_linear("repeat", [](const Tensor& x) { return repeat(x, {2, 3}); }, {2, 3});
  expect_linear("repeat in front", [](const Tensor& x) { return repeat(x, {3, 1, 2}); }, {1, 2});
  expect_linear("repeat not", [](const Tensor& x) { return repeat(x, {1, 1}); }, {2, 3});
  expect_linear("roll", [](const Tensor& x) { return roll(x, 1, 1); }, {2, 4});
  expect_linear("roll back", [](const Tensor& x) { return roll(x, -7, 0); }, {5, 2});
  expect_linear("flip", [](const Tensor& x) { return flip(x, {0, -1}); }, {2, 3, 2});
  expect_linear("flip one", [](const Tensor& x) { return flip(x, {1}); }, {2, 3});
}

TEST(Shape, PiecesAddToTheirPartsOfOneGradient) {
  expect_linear("split",
                [](const Tensor& x) {
                  const auto p = split(x, 2, 1);
                  return cat({p[2], p[0] + p[0], p[1]}, 1);
                },
                {2, 5});
  expect_linear("split sizes",
                [](const Tensor& x) {
                  const auto p = split(x, {1, 0, 3}, -1);
                  return cat({p[2], p[1], p[0]}, -1);
                },
                {2, 4});
  expect_linear("chunk",
                [](const Tensor& x) {
                  const auto p = chunk(x, 2);
                  return p[0] - p[1];
                },
                {4, 2});
  expect_linear("unbind", [](const Tensor& x) { return unbind(x, 1)[2] * 3; }, {2, 3, 2});
}

TEST(Shape, PiecesHaveTheSizesThatPyTorchGives) {
  const Tensor x = arange(7);
  std::vector<int64_t> sizes;
  for (const Tensor& p : split(x, 3)) sizes.push_back(p.size(0));
  EXPECT_THAT(sizes, ElementsAre(3, 3, 1));
  sizes.clear();
  for (const Tensor& p : chunk(x, 4)) sizes.push_back(p.size(0));
  EXPECT_THAT(sizes, ElementsAre(2, 2, 2, 1));
  EXPECT_EQ(split(zeros({0, 2}), 3).size(), 1U);
  EXPECT_EQ(chunk(zeros({0, 2}), 3).size(), 1U);
  EXPECT_TRUE(unbind(zeros({0, 2})).empty());
}

TEST(Shape, ViewsShareMemoryAndRearrangementsDoNot) {
  const Tensor x = make(counting(6), {2, 3});
  for (const Tensor& y :
       {transpose(x, 0, 1), permute(x, {1, 0}), slice(x, 1, 0, 3, 2), narrow(x, 0, 1, 1),
        select(x, 0, 1), expand(x, {4, 2, 3}), reshape(x, {6}), view(x, {3, 2}), flatten(x),
        squeeze(x), unsqueeze(x, 0), contiguous(x)})
    EXPECT_TRUE(y.same_storage(x)) << y.shape();
  for (const Tensor& y : {clone(x), repeat(x, {1, 1}), repeat(scalar(1), {3}), roll(x, 0, 0),
                          flip(x, {0}), reshape(t(x), {6}), contiguous(t(x))}) {
    EXPECT_FALSE(y.same_storage(x)) << y.shape();
    EXPECT_FALSE(layout::has_overlap(y.layout())) << y.shape();
  }
}

TEST(Shape, AViewThatCoversItsInputLendsItsGradient) {
  Tensor w = leaf(counting(6), {2, 3});
  const Tensor h = w * 1.0;
  const Tensor y = reshape(unsqueeze(permute(transpose(h, 0, 1), {1, 0}), 0), {6});
  kernels::Trace trace;
  backward(y, counting(6));
  EXPECT_EQ(trace.count("identity"), 0) << "no copy between the seed and the product";
}

TEST(Shape, ErrorsNameTheSizesAndTheWayOut) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(message_of<ShapeError>([&] { view(t(x), {6}); }),
            "view: a tensor of shape [3, 2] and strides [1, 3] cannot be seen as [6] without a "
            "copy; use reshape");
  EXPECT_THAT(message_of<ShapeError>([&] { reshape(x, {4, 2}); }), HasSubstr("6 elements"));
  EXPECT_THAT(message_of<ShapeError>([&] { expand(x, {2, 4}); }), HasSubstr("dimension 1 is 3"));
  EXPECT_THAT(message_of<IndexError>([&] { select(x, 1, 3); }), HasSubstr("[-3, 3)"));
  EXPECT_THAT(message_of<ShapeError>([&] { t(zeros({2, 2, 2})); }), HasSubstr("[2, 2, 2]"));
  EXPECT_THAT(message_of<ShapeError>([&] { flip(x, {1, -1}); }), HasSubstr("twice"));
  EXPECT_THAT(message_of<ShapeError>([&] { split(x, 0, 1); }), HasSubstr("at least one"));
  EXPECT_THAT(message_of<ShapeError>([&] { split(x, {1, 1}, 1); }), HasSubstr("leave 1 of the 3"));
  EXPECT_THAT(message_of<ShapeError>([&] { chunk(x, 0); }), HasSubstr("at least one"));
  EXPECT_THAT(message_of<ShapeError>([&] { repeat(x, {2}); }), HasSubstr("each dimension"));
  EXPECT_THROW(repeat(x, {int64_t{1} << 62, 4}), ShapeError);
  EXPECT_THROW(transpose(Tensor(), 0, 1), AutogradError);
  EXPECT_THROW(reshape(Tensor(), {1}), AutogradError);
}

TEST(Shape, case_BG_05_prepended_and_repeated_dimensions_are_both_summed) {
  Tensor x = leaf({1, 1, 1}, {1, 3, 1});
  for (double passes : {1., 2.}) {
    sum(expand(x, {2, 4, 3, 5})).backward();
    EXPECT_EQ(x.grad().shape(), Dims({1, 3, 1}));
    EXPECT_EQ(values(x.grad()), Values(3, 40 * passes));
  }
}

TEST(Shape, case_CV_06_repeat_that_adds_an_axis) {
  Tensor x = leaf({1, 2}, {1, 2});
  Tensor y = leaf({3, 4}, {1, 2});
  sum(repeat(cat({x, y}), {3, 1, 1})).backward();
  EXPECT_EQ(x.grad().shape(), Dims({1, 2}));
  EXPECT_THAT(values(x.grad()), ElementsAre(3, 3));
  EXPECT_THAT(values(y.grad()), ElementsAre(3, 3));
  EXPECT_EQ(repeat(cat({x, y}), {3, 1, 1}).shape(), Dims({3, 2, 2}));
}

TEST(Shape, case_CV_07_permuted_and_stepped_elements_accumulate) {
  Tensor x = leaf({1, 2, 3, 4}, {4});
  Tensor odd = leaf({1, 2, 3, 4, 5}, {5});
  EXPECT_THAT(values(roll(x, 1, 0)), ElementsAre(4, 1, 2, 3));
  for (int pass = 0; pass < 2; ++pass) {
    backward(roll(x, 1, 0), {10, 20, 30, 40});
    backward(slice(odd, 0, 0, 5, 2), {1, 2, 3});
  }
  EXPECT_THAT(values(x.grad()), ElementsAre(40, 60, 80, 20));
  EXPECT_THAT(values(odd.grad()), ElementsAre(2, 0, 4, 0, 6));
}

TEST(Shape, case_IO_01_counts_beyond_63_bits_are_refused) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THAT(message_of<ShapeError>([&] {
                expand(scalar(1), {huge, huge});
              }),
              HasSubstr("1099511627776"));
  EXPECT_THROW(repeat(scalar(1), {huge, huge}), ShapeError);
}

TEST(Shape, case_IO_02_an_expanded_number_has_more_elements_than_32_bits_count) {
  const Tensor x = expand(scalar(7), {50000, 50000});
  EXPECT_EQ(x.numel(), 2500000000);
  EXPECT_EQ(x.at({49999, 49999}), 7);
  EXPECT_EQ(select(select(x, 0, 49999), 0, -1).item(), 7);
}

TEST(Shape, case_VI_08_views_of_views_read_the_right_rows) {
  const Tensor x = make(counting(24), {2, 3, 4});
  const Tensor v = transpose(x, 0, 1);
  EXPECT_EQ(values(reshape(v, {6, 4})), values(reshape(clone(v), {6, 4})));
  EXPECT_EQ(values(roll(v, 1, 0)), values(roll(clone(v), 1, 0)));
  EXPECT_EQ(values(flip(v, {1})), values(flip(clone(v), {1})));
  EXPECT_EQ(values(repeat(v, {1, 2, 1})), values(repeat(clone(v), {1, 2, 1})));
  EXPECT_EQ(values(sum(v, 1)), values(sum(clone(v), 1)));
  EXPECT_EQ(values(amax(v, {0, 2})), values(amax(clone(v), {0, 2})));
}

TEST(Shape, EmptyTensorsKeepTheirShapesBothWays) {
  Tensor x = leaf({}, {0, 3});
  for (const Tensor& y :
       {transpose(x, 0, 1), reshape(x, {3, 0, 2}), flatten(x), repeat(x, {2, 2}), roll(x, 1, 0),
        roll(x, 1, 1), flip(x, {0, 1}), slice(x, 1, 1), clone(x), expand(x, {2, 0, 3})}) {
    sum(y).backward();
    EXPECT_EQ(x.grad().shape(), Dims({0, 3}));
  }
}

TEST(Shape, ADeepChainOfViewsDoesNotRecurse) {
  Tensor x = leaf({1, 2}, {1, 2});
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = transpose(y, 0, 1);
  backward(y, {3, 4});
  EXPECT_THAT(values(x.grad()), ElementsAre(3, 4));
}

}  // namespace
}  // namespace accrue::testing::linear
