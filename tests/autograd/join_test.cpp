#include "tests/autograd/linear_law.h"
#include <gmock/gmock.h>

namespace accrue::testing::linear {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Join, EveryJoinHasTheGradientOfALinearFunction) {
  expect_linear("cat", [](const Tensor& x) { return cat({x, x * 2, x}); }, {2, 3});
  expect_linear("cat last", [](const Tensor& x) { return cat({t(x), t(x)}, -1); }, {2, 3});
  expect_linear("cat one", [](const Tensor& x) { return cat({x}, 1); }, {2, 3});
  expect_linear("stack", [](const Tensor& x) { return stack({x, x * 2}); }, {2, 3});
  expect_linear("stack last", [](const Tensor& x) { return stack({x, x}, -1); }, {2, 3});
  expect_linear("stack numbers", [](const Tensor& x) { return stack({x, x, x}); }, {});
}

TEST(Join, TheResultHasThePromotedDTypeAndEachGradientItsOwn) {
  Tensor a = leaf({1, 2}, {2}, DType::float32);
  Tensor b = leaf({3}, {1}, DType::float64);
  const Tensor y = cat({a, b, arange(2)});
  EXPECT_EQ(y.dtype(), DType::float64);
  EXPECT_THAT(values(y), ElementsAre(1, 2, 3, 0, 1));
  backward(y, {1, 2, 3, 4, 5});
  EXPECT_EQ(a.grad().dtype(), DType::float32);
  EXPECT_THAT(values(a.grad()), ElementsAre(1, 2));
  EXPECT_THAT(values(b.grad()), ElementsAre(3));
  EXPECT_EQ(stack({arange(2), arange(2)}).dtype(), DType::int64);
}

TEST(Join, case_CV_01_along_a_negative_axis) {
  Tensor x = leaf({1, 0, 0, 1}, {2, 2});
  for (double passes : {1., 2.}) {
    const Tensor y = cat({x, x}, -1);
    EXPECT_EQ(y.shape(), Dims({2, 4}));
    sum(y).backward();
    EXPECT_EQ(values(x.grad()), Values(4, 2 * passes));
  }
}

TEST(Join, case_CV_02_mismatches_list_both_shapes_and_positions) {
  const Tensor a = zeros({3});
  const Tensor b = zeros({3, 1});
  EXPECT_EQ(message_of<ShapeError>([&] {
              stack({a, b});
            }),
            "stack: the shapes differ: tensor 0 is [3], tensor 1 is [3, 1]; all must be equal");
  EXPECT_EQ(message_of<ShapeError>([&] {
              cat({b, b, zeros({3, 2})});
            }),
            "cat: the shapes differ outside dimension 0: tensor 0 is [3, 1], tensor 2 is [3, 2]; "
            "all other sizes must be equal");
  EXPECT_THAT(message_of<ShapeError>([&] { cat({b, a}, 1); }), HasSubstr("tensor 1 is [3]"));
  EXPECT_THAT(message_of<ShapeError>([] { cat(std::span<const Tensor>()); }), HasSubstr("empty"));
  EXPECT_THAT(message_of<ShapeError>([] { stack(std::span<const Tensor>()); }), HasSubstr("empty"));
  EXPECT_THROW(cat({a, a}, 1), ShapeError);
  EXPECT_THROW(stack({a, a}, 2), ShapeError);
  EXPECT_THROW(cat({a, Tensor()}), AutogradError);
}

TEST(Join, SizesThatOverflowTogetherAreRefused) {
  const Tensor wide = expand(scalar(1), {int64_t{1} << 60, 1});
  const std::vector<Tensor> many(16, wide);
  EXPECT_THROW(cat(many), ShapeError);
}

TEST(Join, case_CV_04_a_piece_without_rows) {
  Tensor x = leaf({1, 2}, {1, 2});
  Tensor y = leaf({}, {0, 2});
  for (int pass = 0; pass < 2; ++pass) backward(cat({x, y, x}, 0), {1, 2, 3, 4});
  EXPECT_THAT(values(x.grad()), ElementsAre(8, 12));
  EXPECT_EQ(y.grad().shape(), Dims({0, 2}));
}

TEST(Join, case_AG_03_a_million_inputs) {
  Tensor x = leaf({1}, {1}, DType::float32);
  const std::vector<Tensor> many(1000000, x);
  Tensor y = cat(many);
  EXPECT_EQ(y.numel(), 1000000);
  sum(y).backward();
  EXPECT_EQ(x.grad().item(), 1000000);
}

}  // namespace
}  // namespace accrue::testing::linear
