// The laws of elementwise.h: strides, threads and slices do not show in the bits; dtypes convert on
// the way; sums over dimensions that the destination lacks are chains.
#include <algorithm>

#include "tests/kernels/support.h"

#include <accrue/kernels/elementwise.h>

namespace accrue {
namespace {

using kernels::binary;
using kernels::copy;
using kernels::fill;
using kernels::ternary;
using kernels::unary;
using testing::random_tensor;
using testing::same_bits;
using testing::scattered;
using Values = std::vector<double>;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

Tensor part_of(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.alias(layout::narrow(x.layout(), dim, start, length));
}
Tensor expanded(const Tensor& x, const Dims& shape) {
  Tensor y = empty(shape, x.dtype());
  copy(x.alias(layout::expand(x.layout(), shape)), into(y));
  return y;
}
/// The element of a tensor that a broadcast index reaches.
double reach(const Tensor& x, const Dims& index) {
  Dims own;
  const int lacks = index.size() - x.dim();
  for (int d = 0; d < x.dim(); ++d) own.push_back(x.shape()[d] == 1 ? 0 : index[d + lacks]);
  return x.at(own);
}
template <class F>
void each_index(const Dims& shape, F f) {
  Dims index = Dims::filled(shape.size(), 0);
  for (int64_t i = 0; i < numel(shape); ++i) {
    f(index);
    for (int d = shape.size() - 1; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
  }
}

TEST(Elementwise, BroadcastingReachesTheRightElements) {
  const struct {
    Dims a, b, y;
  } cases[] = {{{3, 4}, {4}, {3, 4}},
               {{3, 1}, {1, 4}, {3, 4}},
               {{}, {5}, {5}},
               {{2, 1, 3, 1}, {4, 1, 5}, {2, 4, 3, 5}},
               {{700, 3}, {3}, {700, 3}},
               {{5, 1300}, {1300}, {5, 1300}},
               {{40, 50}, {40, 1}, {40, 50}},
               {{1}, {1}, {1, 1, 1}},
               {{2, 3, 4, 5}, {5}, {2, 3, 4, 5}},
               {{3}, {3}, {2, 3}}};
  for (const auto& c : cases) {
    const Tensor a = random_tensor(c.a, float32, 1), b = random_tensor(c.b, float32, 2);
    for (const bool strided : {false, true}) {
      const Tensor y = strided ? scattered(zeros(c.y)) : zeros(c.y);
      binary(Binary::sub, strided ? scattered(a) : a, strided ? scattered(b) : b, into(y));
      each_index(c.y, [&](const Dims& i) {
        ASSERT_EQ(y.at(i), static_cast<float>(reach(a, i) - reach(b, i))) << c.a << c.b << i;
      });
    }
  }
}

TEST(Elementwise, StridesAndThreadsDoNotShowInTheBits) {
  const testing::Machine machine;
  for (const DType dtype : {float32, float64, DType::bfloat16}) {
    for (const Dims& shape : {Dims{1}, Dims{17}, Dims{3, 5}, Dims{70, 33}, Dims{40, 1031},
                              Dims{4, 3, 50, 40}, Dims{100000}}) {
      const Tensor a = random_tensor(shape, dtype, 1), b = random_tensor(shape, dtype, 2),
                   c = random_tensor(shape, dtype, 3);
      set_num_threads(1);
      const Tensor u = empty(shape, dtype), v = empty(shape, dtype), w = empty(shape, dtype);
      unary(Unary::gelu, a, into(u));
      binary(Binary::silu_grad, a, b, into(v));
      ternary(Ternary::maximum_grad, a, b, c, into(w));
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        for (const bool strided : {false, true}) {
          const auto like = [&](const Tensor& x) { return strided ? scattered(x) : x; };
          const Tensor y = strided ? scattered(zeros(shape, dtype)) : empty(shape, dtype);
          unary(Unary::gelu, like(a), into(y));
          EXPECT_TRUE(same_bits(y, u)) << shape;
          binary(Binary::silu_grad, like(a), b, into(y));
          EXPECT_TRUE(same_bits(y, v)) << shape;
          ternary(Ternary::maximum_grad, a, like(b), like(c), into(y));
          EXPECT_TRUE(same_bits(y, w)) << shape;
        }
      }
    }
  }
}

TEST(Elementwise, AddingIsTheOldContentPlusTheResult) {
  for (const DType dtype : {float32, float64, DType::bfloat16, DType::float16, int64, int32}) {
    for (const Dims& shape : {Dims{}, Dims{7}, Dims{1031}, Dims{33, 70}}) {
      const Tensor a = random_tensor(shape, dtype, 1), old = random_tensor(shape, dtype, 2);
      for (const bool strided : {false, true}) {
        const Tensor y = strided ? scattered(old) : expanded(old, shape);
        unary(Unary::neg, a, adding_to(y));
        each_index(shape, [&](const Dims& i) {
          const Tensor right = scalar(old.at(i) - a.at(i), dtype);
          // Rounded once to float first, where the element is a float or shorter.
          const Tensor once = scalar(static_cast<float>(old.at(i) - a.at(i)), dtype);
          ASSERT_EQ(y.at(i), dtype == float64 ? right.item() : once.item());
        });
      }
    }
  }
}

TEST(Elementwise, InPlaceIsAllowed) {
  const Tensor x = random_tensor({33, 70}), y = expanded(x, {33, 70});
  binary(Binary::mul, y, y, into(y));
  each_index(x.shape(),
             [&](const Dims& i) { ASSERT_EQ(y.at(i), static_cast<float>(x.at(i) * x.at(i))); });
}

/// Sums f = a * b over the dimensions that y lacks, as loop.h promises: in float, chain and all.
TEST(SummedDimensions, ColumnsAreAChainOfRows) {
  const Tensor x = random_tensor({37, 600});
  const Tensor y = random_tensor({600}, float32, 2);
  Values right = y.to_vector<double>();
  for (int64_t c = 0; c < 600; ++c) {
    auto sum = static_cast<float>(right[static_cast<size_t>(c)]);
    for (int64_t r = 0; r < 37; ++r) sum += static_cast<float>(x.at({r, c}));
    right[static_cast<size_t>(c)] = sum;
  }
  copy(x, adding_to(y));
  EXPECT_EQ(y.to_vector<double>(), right);
}

TEST(SummedDimensions, SlicesAlongTheFirstEqualTheWhole) {
  const testing::Machine machine;
  const struct {
    Dims x, y;
  } cases[] = {{{48, 256}, {256}},
               {{48, 7}, {7}},
               {{48, 1}, {1}},
               {{48, 256}, {}},
               {{48, 256}, {1, 1}},
               {{48}, {}},
               {{48, 20, 30}, {30}},
               {{48, 20, 30}, {20, 30}},
               {{48, 20, 30}, {20, 1}},
               {{48, 20, 30}, {1, 20, 1}},
               {{48, 20, 30}, {}},
               {{48, 3, 5, 6}, {3, 1, 6}},
               {{48, 3, 5, 6}, {1, 3, 1, 1}},
               {{48, 1, 600}, {1, 1, 1}}};
  const std::vector<std::vector<int64_t>> splits = {
      {48}, {24, 24}, {6, 6, 6, 6, 6, 6, 6, 6}, {5, 17, 1, 25}, std::vector<int64_t>(48, 1)};
  for (const DType dtype : {float32, float64}) {
    for (const auto& c : cases) {
      const Tensor a = random_tensor(c.x, dtype, 1), b = random_tensor(c.x, dtype, 2);
      const Tensor start = random_tensor(c.y, dtype, 3);
      set_num_threads(1);
      const Tensor fresh = empty(c.y, dtype), onto = expanded(start, c.y);
      binary(Binary::mul, a, b, into(fresh));
      binary(Binary::mul, a, b, adding_to(onto));
      for (const auto& split : splits) {
        for (const int threads : {1, 2, 3}) {
          set_num_threads(threads);
          for (const bool strided : {false, true}) {
            const Tensor s = strided ? scattered(a) : a;
            const Tensor y = strided ? scattered(zeros(c.y, dtype)) : empty(c.y, dtype);
            const Tensor z = strided ? scattered(start) : expanded(start, c.y);
            int64_t at = 0;
            for (const int64_t n : split) {
              const Tensor p = part_of(s, 0, at, n), q = part_of(b, 0, at, n);
              binary(Binary::mul, p, q, at == 0 ? into(y) : adding_to(y));
              binary(Binary::mul, p, q, adding_to(z));
              at += n;
            }
            EXPECT_TRUE(same_bits(y, fresh)) << c.x << " to " << c.y << ", " << split.size();
            EXPECT_TRUE(same_bits(z, onto)) << c.x << " to " << c.y << ", " << split.size();
          }
        }
      }
    }
  }
}

TEST(SummedDimensions, AreNearTheSumInFloat64) {
  struct Case {
    Dims from, to;
  };
  for (const Case& c : {Case{{50, 60, 70}, {}}, Case{{50, 60, 70}, {60, 1}},
                        Case{{300, 50}, {300, 1}}, Case{{5000}, {1}}}) {
    const Dims &from = c.from, &to = c.to;
    const Tensor x = random_tensor(from), y = empty(to);
    copy(x, into(y));
    Tensor wide = zeros(to, float64), size = zeros(to, float64);
    each_index(from, [&](const Dims& i) {
      Layout at = wide.layout();
      const int lacks = from.size() - to.size();
      for (int d = 0; d < to.size(); ++d)
        at.offset += to[d] == 1 ? 0 : i[d + lacks] * at.strides[d];
      wide.data<double>()[at.offset] += x.at(i);
      size.data<double>()[at.offset] += std::fabs(x.at(i));
    });
    const Values got = y.to_vector<double>();
    for (size_t i = 0; i < got.size(); ++i) {
      const double n = static_cast<double>(x.numel()) / static_cast<double>(y.numel());
      EXPECT_NEAR(got[i], wide.data<double>()[i], 1e-7 * std::sqrt(n) * size.data<double>()[i]);
    }
  }
}

TEST(SummedDimensions, SixteenBitsAreRoundedOnce) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor x = random_tensor({64, 33}, dtype), old = random_tensor({33}, dtype, 2);
    const Tensor y = expanded(old, {33}), wide = empty({33}), right = empty({33}, dtype);
    copy(old, into(wide));
    copy(x, adding_to(wide));
    copy(wide, into(right));
    copy(x, adding_to(y));
    EXPECT_TRUE(same_bits(y, right));
  }
}

TEST(SummedDimensions, NothingSummedIsZero) {
  const Tensor x = empty({0, 3}), y = tensor({7, 7, 7}), z = tensor({7}, {1, 1});
  copy(x, adding_to(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{7, 7, 7}));
  copy(x, into(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{0, 0, 0}));
  copy(x, into(z));
  EXPECT_EQ(z.item(), 0);
  copy(empty({3, 0}), into(empty({3, 0})));
  unary(Unary::exp, empty({0}), into(empty({0})));
}

TEST(SummedDimensions, case_BG_05_OnlyTheRightOnesAreSummed) {
  const Tensor dy = ones({2, 4, 3, 5}), dx = empty({1, 3, 1});
  copy(dy, into(dx));
  EXPECT_EQ(dx.to_vector<double>(), (Values{40, 40, 40}));
}

TEST(Dtypes, ConvertBetweenAllOfThem) {
  const DType all[] = {float32, float64, DType::bfloat16, DType::float16,
                       int64,   int32,   uint8,           DType::boolean};
  for (const DType from : all) {
    for (const DType to : all) {
      for (const Dims& shape : {Dims{5}, Dims{5, 2}}) {
        const Tensor x = tensor({{0, 1}, {1, 0}, {2, 3}, {5, 7}, {100, 64}}, from);
        const Tensor part = shape.size() == 1 ? x.alias(layout::select(x.layout(), 1, 0)) : x;
        const Tensor y = empty(shape, to);
        copy(part, into(y));
        each_index(shape, [&](const Dims& i) {
          const double v = part.at(i);
          EXPECT_EQ(y.at(i), to == DType::boolean ? v != 0 : v) << from << " to " << to;
        });
      }
    }
  }
}

TEST(Dtypes, IntegersWrapAndFloatsSaturate) {
  const Tensor small = empty({4}, uint8), wide = empty({4}, int64);
  binary(Binary::add, tensor({250, 255, 3, 0}, uint8), tensor({10, 1, 4, 0}, uint8), into(small));
  EXPECT_EQ(small.to_vector<double>(), (Values{4, 0, 7, 0}));
  copy(tensor({-1, 256, 2.9, -2.9}), into(small));
  EXPECT_EQ(small.to_vector<double>(), (Values{255, 0, 2, 254}));
  copy(tensor({kNan, kInf, -kInf, 1e30}, float64), into(wide));
  const int64_t top = std::numeric_limits<int64_t>::max();
  const int64_t right[] = {0, top, std::numeric_limits<int64_t>::min(), top};
  EXPECT_TRUE(std::equal(right, right + 4, wide.data<int64_t>()));
}

TEST(Dtypes, IntegersStayExact) {
  const int64_t big = (int64_t(1) << 60) + 1;
  const Tensor x = from_data(&big, {1}), y = empty({1}, int64);
  unary(Unary::add_scalar, x, into(y), {.a = 2});
  EXPECT_EQ(*y.data<int64_t>(), big + 2);
  binary(Binary::maximum, x, tensor({0}, int64), into(y));
  EXPECT_EQ(*y.data<int64_t>(), big);
  unary(Unary::clamp, x, into(y), {.a = -kInf, .b = 7});
  EXPECT_EQ(*y.data<int64_t>(), 7);
  unary(Unary::clamp, x, into(y), {.a = 7, .b = kInf});
  EXPECT_EQ(*y.data<int64_t>(), big);
}

TEST(Dtypes, ComparisonsWriteBools) {
  const Tensor a = tensor({1, 2, kNan}), b = tensor({1, 3, kNan}), y = empty({3}, DType::boolean);
  binary(Binary::eq, a, b, into(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{1, 0, 0}));
  binary(Binary::ne, a, b, into(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{0, 1, 1}));
  const Tensor chosen = empty({3});
  ternary(Ternary::where, y, a, scalar(9), into(chosen));
  EXPECT_EQ(chosen.at({0}), 9);
  EXPECT_EQ(chosen.at({1}), 2);
}

TEST(Dtypes, case_NW_01_WhereLetsNothingThroughFromTheOtherSide) {
  const Tensor c = tensor({1, 0}, DType::boolean), dy = tensor({kInf, 1});
  const Tensor da = empty({2}), db = empty({2});
  binary(Binary::where_a, c, dy, into(da));
  binary(Binary::where_b, c, dy, into(db));
  EXPECT_EQ(da.to_vector<double>(), (Values{kInf, 0}));
  EXPECT_EQ(db.to_vector<double>(), (Values{0, 1}));
}

TEST(Dtypes, AFunctionThatIntegersLackNamesTheCure) {
  const Tensor x = ones({3}, int64), y = empty({3}, int64);
  try {
    unary(Unary::exp, x, into(y));
    FAIL() << "exp took integers";
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "exp: int64 is not a floating point type; cast it first");
  }
}

TEST(Elementwise, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW(binary(Binary::add, ones({2, 3}), ones({2, 4}), into(empty({2, 3}))), ShapeError);
  EXPECT_THROW(copy(ones({2}), into(empty({3}))), ShapeError);
}

TEST(Fill, ReachesEveryElementAndNoOther) {
  for (const DType dtype : {float32, float64, DType::bfloat16, int64, uint8, DType::boolean}) {
    const Tensor memory = zeros({6, 100}, dtype);
    const Tensor y = memory.alias(layout::slice(memory.layout(), 1, 1, 100, 3));
    fill(1, into(y));
    each_index(memory.shape(),
               [&](const Dims& i) { ASSERT_EQ(memory.at(i), i[1] % 3 == 1 ? 1 : 0); });
  }
  const Tensor big = empty({100000});
  fill(0.1, into(big));
  fill(0.2, adding_to(big));
  EXPECT_EQ(big.at({99999}), 0.1F + 0.2F);
}

}  // namespace
}  // namespace accrue
