#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

namespace accrue {
namespace {

void expect_words(PhiloxWords got, PhiloxWords want) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], want.word[i]) << i;
}

// The known answers that come with the paper.
TEST(Philox, KnownAnswers) {
  expect_words(philox({{0, 0, 0, 0}}, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  constexpr uint32_t ones = 0xffffffff;
  expect_words(philox({{ones, ones, ones, ones}}, ~uint64_t{0}),
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_words(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822),
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, IsAConstantExpression) {
  static_assert(Philox{}.bits32(3) == 0x9b00dbd8);
  static_assert(Philox{}.bits64(1) == 0x9b00dbd8bc57ac4c);
  static_assert(unit_float(~0U) == 1 - 0x1p-24F && unit_double(~uint64_t{0}) == 1 - 0x1p-53);
}

TEST(Philox, ElementsBlocksAndCallsAreCounterWords) {
  const Philox p{.seed = 0x299f31d0a4093822, .call = 0x0370734413198a2e};
  expect_words(p.block(0x85a308d3243f6a88), {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
  const auto element = int64_t{0x05a308d3243f6a88};
  EXPECT_EQ(p.bits32(element * 4 + 2), p.block(static_cast<uint64_t>(element)).word[2]);
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Generator a(7), b(7), c(8);
  const auto draw = [](Generator& g) { return rand({100}, float32, {}, g).to_vector<float>(); };
  const auto first = draw(a);
  EXPECT_EQ(first, draw(b));
  EXPECT_NE(first, draw(a));
  EXPECT_NE(first, draw(c));
}

TEST(Random, StateRestoresThePlace) {
  Generator a(3);
  randn({5}, float32, {}, a);
  const Philox place = a.state();
  const auto want = randn({5}, float32, {}, a).to_vector<float>();
  Generator b(99);
  b.set_state(place);
  EXPECT_EQ(randn({5}, float32, {}, b).to_vector<float>(), want);
  manual_seed(5);
  const auto x = rand({3}).to_vector<float>();
  manual_seed(5);
  EXPECT_EQ(rand({3}).to_vector<float>(), x);
  EXPECT_EQ(default_generator().seed(), 5U);
}

TEST(Random, AnElementDoesNotDependOnHowManyThereAre) {
  Generator a(1), b(1);
  const auto few = rand({7}, float32, {}, a).to_vector<float>();
  const auto many = rand({1000}, float32, {}, b).to_vector<float>();
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_EQ(few[5], unit_float(Philox{.seed = 1, .call = 0}.bits32(5)));
}

TEST(Random, StridesDoNotChangeTheNumbers) {
  Generator a(1), b(1);
  const Tensor dense = uniform({3, 5}, -2, 3, float64, {}, a);
  const Tensor base = full({10, 4}, 9, float64);
  Tensor strided = base.alias(
      layout::transpose(layout::slice(layout::narrow(base.layout(), 1, 1, 3), 0, 0, 10, 2), 0, 1));
  const uint32_t version = base.version();
  uniform_(strided, -2, 3, b);
  EXPECT_EQ(strided.to_vector<double>(), dense.to_vector<double>());
  EXPECT_GT(base.version(), version);
  EXPECT_EQ(base.at({0, 0}), 9);
  EXPECT_EQ(base.at({1, 1}), 9);
  Tensor shared = base.alias(layout::expand(layout::contiguous({1}), {4}));
  EXPECT_THROW(normal_(shared, 0, 1, a), ShapeError);
}

TEST(Random, UniformIsFlatOnItsBounds) {
  for (const DType dtype : {float32, float64, DType::bfloat16, DType::float16}) {
    const int n = 40000;
    const auto x = rand({n}, dtype).to_vector<double>();
    std::vector<int> bins(16);
    for (const double v : x) {
      ASSERT_GE(v, 0);
      ASSERT_LT(v, 1);
      ++bins[static_cast<size_t>(v * 16)];
    }
    double chi2 = 0;  // 15 degrees of freedom: above 60 once in two million
    for (const int count : bins) chi2 += (count - n / 16.0) * (count - n / 16.0) / (n / 16.0);
    EXPECT_LT(chi2, 60) << dtype;
  }
  for (const double v : uniform({1000}, -3, -2.5).to_vector<double>()) {
    ASSERT_GE(v, -3);
    ASSERT_LT(v, -2.5);
  }
  EXPECT_EQ(uniform({1}, 4, 4).item(), 4);
}

TEST(Random, NormalHasItsMoments) {
  const int n = 200000;
  const auto x = normal({n}, 2, 3, float64).to_vector<double>();
  double mean = 0, square = 0, cube = 0, fourth = 0, neighbour = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double z = (x[i] - 2) / 3;
    mean += z / n;
    square += z * z / n;
    cube += z * z * z / n;
    fourth += z * z * z * z / n;
    neighbour += z * (x[i ^ 1] - 2) / 3 / n;
  }
  // five standard errors each: variances of the powers are 1, 2, 15, 96
  EXPECT_NEAR(mean, 0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(cube, 0, 5 * std::sqrt(15.0 / n));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / n));
  EXPECT_NEAR(neighbour, 0, 5 * std::sqrt(2.0 / n));
  EXPECT_EQ(normal({1}, 7, 0).item(), 7);
}

TEST(Random, RandintCoversItsRange) {
  const auto x = randint(-2, 3, {1000}).to_vector<int64_t>();
  const std::set<int64_t> seen(x.begin(), x.end());
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(randint(0, 2, {50}, DType::boolean).dtype(), DType::boolean);
  EXPECT_EQ(randint(255, 256, {1}, uint8).item(), 255);
  EXPECT_NO_THROW(randint(INT64_MIN, INT64_MAX, {9}));
  EXPECT_THROW(randint(3, 3, {1}), ValueError);
  EXPECT_THROW(randint(0, 257, {1}, uint8), ValueError);
  EXPECT_THROW(randint(-1, 2, {1}, DType::boolean), ValueError);
  EXPECT_THROW(randint(0, 258, {1}, DType::bfloat16), ValueError);
  EXPECT_NO_THROW(randint(0, 257, {1}, DType::bfloat16));
}

TEST(Random, RandpermIsAPermutationAndAnyPlaceIsLikely) {
  std::vector<int> first(5);
  for (int i = 0; i < 5000; ++i) {
    auto x = randperm(5).to_vector<int64_t>();
    ++first[static_cast<size_t>(x[0])];
    std::sort(x.begin(), x.end());
    ASSERT_EQ(x, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);  // 5.3 standard deviations
  EXPECT_EQ(randperm(0).numel(), 0);
  EXPECT_THROW(randperm(-1), ValueError);
  EXPECT_THROW(randperm(300, uint8), ValueError);
}

TEST(Random, ARefusedCallTakesNoNumber) {
  const Tensor one = zeros({1});
  Tensor five = one.alias(layout::expand(one.layout(), {5}));
  Generator generator(1);
  EXPECT_THROW(uniform_(five, 0, 1, generator), ShapeError);
  EXPECT_THROW(normal_(five, 0, 1, generator), ShapeError);
  EXPECT_EQ(generator.state().call, 0U);
}

TEST(Random, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(rand({2}, int64), DTypeError);
  EXPECT_THROW(randn({2}, DType::boolean), DTypeError);
  EXPECT_THROW(uniform({2}, 1, 0), ValueError);
  EXPECT_THROW(uniform({2}, 0, INFINITY), ValueError);
  EXPECT_THROW(uniform({2}, NAN, 1), ValueError);
  EXPECT_THROW(normal({2}, 0, -1), ValueError);
  EXPECT_THROW(rand({-2}), ShapeError);
}

}  // namespace
}  // namespace accrue
