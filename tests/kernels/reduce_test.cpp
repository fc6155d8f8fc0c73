// Reductions: values against algebra, and the laws of reduce.h: an order that follows the logical
// index, ties, NaN, and nothing to reduce.
#include <algorithm>

#include "tests/kernels/support.h"

#include <accrue/kernels/reduce.h>

namespace accrue {
namespace {

using kernels::amax;
using kernels::amin;
using kernels::argmax;
using kernels::argmin;
using kernels::extremum_grad;
using kernels::sum;
using testing::random_tensor;
using testing::same_bits;
using testing::scattered;
using Values = std::vector<double>;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

Tensor sum_of(const Tensor& x, const Dims& to, double divisor = 1, DType dtype = float32) {
  Tensor y = empty(to, dtype);
  sum(x, divisor, into(y));
  return y;
}

TEST(Sum, OverEveryChoiceOfDimensionsIsTheSumInFloat64) {
  const Dims shape = {3, 5, 70, 9};
  for (const DType dtype : {float32, float64, DType::bfloat16, DType::float16}) {
    const Tensor x = random_tensor(shape, dtype);
    const Values values = x.to_vector<double>();
    for (int mask = 0; mask < 16; ++mask) {
      Dims to = shape;
      for (int d = 0; d < 4; ++d) to[d] = mask >> d & 1 ? 1 : shape[d];
      Values right(static_cast<size_t>(numel(to)), 0), size(right);
      const Dims strides = row_major(to);
      for (int64_t i = 0; i < x.numel(); ++i) {
        int64_t rest = i, at = 0;
        for (int d = 3; d >= 0; --d) {
          at += (to[d] == 1 ? 0 : rest % shape[d]) * strides[d];
          rest /= shape[d];
        }
        right[static_cast<size_t>(at)] += values[static_cast<size_t>(i)];
        size[static_cast<size_t>(at)] += std::fabs(values[static_cast<size_t>(i)]);
      }
      const Values got = sum_of(x, to, 1, float64).to_vector<double>();
      for (size_t i = 0; i < right.size(); ++i) {
        EXPECT_NEAR(got[i], right[i], 1e-14 * size[i]) << "dimensions " << mask << ", result " << i;
      }
    }
  }
}

TEST(Sum, case_RD_14_DoesNotStickAtTwoToThe24) {
  const int64_t n = (int64_t(1) << 24) + 16;
  EXPECT_EQ(sum_of(ones({n}), {1}).item(), 16777232);
  const Tensor x = ones({2000000, 2});
  EXPECT_EQ(sum_of(x, {1, 2}, 2000000).to_vector<double>(), (Values{1, 1}));
  const Values rows = sum_of(x, {2000000, 1}, 2).to_vector<double>();
  EXPECT_EQ(*std::min_element(rows.begin(), rows.end()), 1);
  EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), 1);
}

TEST(Sum, StridesAndThreadsDoNotShowInTheBits) {
  const testing::Machine machine;
  for (const DType dtype : {float32, float64, DType::bfloat16}) {
    for (const Dims& shape : {Dims{700, 130}, Dims{64, 33, 20}, Dims{40000}, Dims{5, 20000}}) {
      const Tensor x = random_tensor(shape, dtype);
      const Tensor other = scattered(x);
      for (int mask = 1; mask < 1 << shape.size(); ++mask) {
        Dims to = shape;
        for (int d = 0; d < shape.size(); ++d) {
          if (mask >> d & 1) to[d] = 1;
        }
        set_num_threads(1);
        const Tensor right = sum_of(x, to, 1, float64);
        for (const int threads : {1, 2, 3}) {
          set_num_threads(threads);
          EXPECT_TRUE(same_bits(sum_of(x, to, 1, float64), right)) << shape << " to " << to;
          EXPECT_TRUE(same_bits(sum_of(other, to, 1, float64), right)) << shape << " to " << to;
        }
      }
    }
  }
}

TEST(Sum, AddsTheFinishedSumOnce) {
  const Tensor x = random_tensor({6, 40});
  const Tensor y = tensor({1, 2, 3, 4, 5, 6}, {6, 1});
  const Tensor part = sum_of(x, {6, 1}, 1, float64);
  sum(x, 1, adding_to(y));
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(y.at({i, 0}), static_cast<float>(static_cast<double>(i + 1) + part.at({i, 0})));
  }
}

TEST(Sum, OfIntegersIsExact) {
  const int64_t big = (int64_t(1) << 53) + 1;
  const int64_t values[] = {big, 1, -big, 5};
  Tensor y = empty({1}, int64);
  sum(from_data(values, {4}), 1, into(y));
  EXPECT_EQ(*y.data<int64_t>(), 6);
  const Tensor mask = tensor(Values(1000, 1), {1000}, DType::boolean);
  sum(mask, 1, into(y));
  EXPECT_EQ(*y.data<int64_t>(), 1000);
  EXPECT_EQ(sum_of(mask, {1}, 2).item(), 500);
}

TEST(Sum, OfNothingIsZeroAndAddsNothing) {
  const Tensor x = empty({0, 3});
  Tensor y = tensor({7, 7, 7}, {1, 3});
  sum(x, 1, adding_to(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{7, 7, 7}));
  sum(x, 1, into(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{0, 0, 0}));
  Tensor none = empty({0, 1});
  sum(x, 1, into(none));
}

TEST(Sum, NanAndInfinityFollowIeee) {
  EXPECT_TRUE(std::isnan(sum_of(tensor({1, kNan, 2}), {1}).item()));
  EXPECT_TRUE(std::isnan(sum_of(tensor({kInf, -kInf}), {1}).item()));
  EXPECT_EQ(sum_of(tensor({kInf, 1}), {1}).item(), kInf);
}

Tensor extremum(void (*f)(const ConstView&, const Dest&), const Tensor& x, const Dims& to,
                DType dtype) {
  Tensor y = empty(to, dtype);
  f(x, into(y));
  return y;
}

TEST(Extremum, IsFoundAlongEveryDimensionAndStride) {
  const Dims shape = {7, 40, 35};
  for (const DType dtype : {float32, float64, DType::bfloat16, int64, uint8}) {
    const Tensor x = random_tensor(shape, dtype);
    const Values v = x.to_vector<double>();
    for (int d = 0; d < 3; ++d) {
      Dims to = shape;
      to[d] = 1;
      const int64_t n = shape[d];
      const int64_t step = row_major(shape)[d];
      for (const Tensor& t : {x, scattered(x)}) {
        const Values high = extremum(amax, t, to, dtype).to_vector<double>();
        const Values low = extremum(amin, t, to, dtype).to_vector<double>();
        const Values high_at = extremum(argmax, t, to, int64).to_vector<double>();
        const Values low_at = extremum(argmin, t, to, int64).to_vector<double>();
        for (size_t i = 0; i < high.size(); ++i) {
          const auto k = static_cast<int64_t>(i);
          const int64_t first = k / step * step * n + k % step;
          Values line;
          for (int64_t j = 0; j < n; ++j) line.push_back(v[static_cast<size_t>(first + j * step)]);
          const auto max = std::max_element(line.begin(), line.end());
          const auto min = std::min_element(line.begin(), line.end());
          ASSERT_EQ(high[i], *max);
          ASSERT_EQ(low[i], *min);
          ASSERT_EQ(high_at[i], static_cast<double>(max - line.begin()));
          ASSERT_EQ(low_at[i], static_cast<double>(min - line.begin()));
        }
      }
    }
  }
}

TEST(Extremum, TheFirstOfEqualsAndTheFirstNanWin) {
  const testing::Machine machine;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const int64_t n : {1, 3, 8, 16, 17, 64, 1031, 100000}) {
      Values v(static_cast<size_t>(n), 0);
      const int64_t half = n / 2, third = n / 3;
      v[static_cast<size_t>(half)] = v.back() = 3;
      EXPECT_EQ(extremum(argmax, tensor(v, {n}), {1}, int64).item(), static_cast<double>(half));
      v[static_cast<size_t>(third)] = v.back() = kNan;
      for (const auto f : {argmax, argmin}) {
        EXPECT_EQ(extremum(f, tensor(v, {n}), {1}, int64).item(), static_cast<double>(third));
      }
      for (const auto f : {amax, amin}) {
        EXPECT_TRUE(std::isnan(extremum(f, tensor(v, {n}), {1}, float32).item())) << n;
      }
    }
  }
}

TEST(Extremum, IndexCountsRowMajorOverTheReducedDimensions) {
  const Tensor x = tensor({0, 1, 2, 9, 4, 5}, {2, 3});
  EXPECT_EQ(extremum(argmax, x, {1, 1}, int64).item(), 3);
  EXPECT_EQ(extremum(argmax, scattered(x), {1, 1}, int64).item(), 3);
}

TEST(Extremum, case_RD_07_OverNothingIsAnError) {
  const Tensor x = empty({0, 3});
  Tensor y = empty({1, 3});
  for (const auto f : {amax, amin, argmax, argmin}) EXPECT_THROW(f(x, into(y)), ShapeError);
  Tensor none = empty({0, 1});
  amax(x, into(none));  // no result, so nothing is missing
}

TEST(Extremum, case_RD_01_EqualsShareTheGradient) {
  const Tensor x = tensor({{3, 1, 3}, {2, 2, 2}});
  const Tensor y = extremum(amax, x, {2, 1}, float32);
  const Tensor dx = empty({2, 3});
  extremum_grad(ones({2, 1}), x, y, into(dx));
  const double third = static_cast<float>(1.0 / 3);
  EXPECT_EQ(dx.to_vector<double>(), (Values{.5, 0, .5, third, third, third}));
  extremum_grad(ones({2, 1}), x, y, adding_to(dx));
  EXPECT_EQ(dx.to_vector<double>(), (Values{1, 0, 1, 2 * third, 2 * third, 2 * third}));
}

TEST(Extremum, GradientDoesNotDependOnStrides) {
  const Tensor x = random_tensor({4, 30, 9}, int64);  // ties abound
  const Tensor f = empty({4, 30, 9});
  std::copy_n(x.to_vector<float>().data(), x.numel(), f.data<float>());
  for (const Dims& to : {Dims{4, 1, 9}, Dims{1, 30, 1}, Dims{1, 1, 1}, Dims{4, 1, 1}}) {
    const Tensor y = extremum(amax, f, to, float32);
    const Tensor dy = random_tensor(to);
    const Tensor right = empty(f.shape()), got = scattered(zeros(f.shape()));
    extremum_grad(dy, f, y, into(right));
    extremum_grad(scattered(dy), scattered(f), scattered(y), into(got));
    EXPECT_TRUE(same_bits(got, right)) << to;
    Tensor back = empty(to);
    sum(right, 1, into(back));  // shares add up to dy
    const Values a = back.to_vector<double>(), b = dy.to_vector<double>();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
  }
}

}  // namespace
}  // namespace accrue
