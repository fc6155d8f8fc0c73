// Reductions on device cuda against those of the CPU, which tests/kernels holds to algebra. Sums
// are formed in the CPU's order, and the extremum needs none: so everything is equal bit for bit.
#include <limits>

#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>

#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/reduce.h>

#include <accrue/autograd/ops/shape.h>

namespace accrue::testing {
namespace {

using kernels::amax;
using kernels::amin;
using kernels::argmax;
using kernels::argmin;
using kernels::copy;
using kernels::extremum_grad;
using kernels::sum;
using Reduce = OnExecutor;
using Tensors = std::vector<Tensor>;
using Values = std::vector<double>;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

/// Numbers of so many sizes that their sums are rounded in double too; integers are small, so that
/// many are equal.
Tensor some(const Dims& shape, DType dtype = float32, int seed = 1) {
  Values values(static_cast<size_t>(numel(shape)));
  uint32_t state = 12345U + 777U * static_cast<uint32_t>(seed);
  for (double& v : values) {
    state = state * 1664525U + 1013904223U;
    const uint32_t size = (state >> 3 ^ state >> 17) & 63U;
    v = static_cast<double>(state >> 8) / 0x1p24 * 6 - 3;
    if (!is_floating(dtype)) v = std::round(v);
    if (dtype == float32 || dtype == float64) v = std::ldexp(v, static_cast<int>(size) - 32);
    if (dtype == uint8 || dtype == DType::boolean) v = std::abs(v);
  }
  return tensor(values, shape, dtype);
}

/// The shapes that y may have: any dimensions of x are reduced.
std::vector<Dims> reductions_of(const Dims& shape) {
  std::vector<Dims> all;
  for (int mask = 1; mask < 1 << shape.size(); ++mask) {
    Dims to = shape;
    for (int d = 0; d < shape.size(); ++d)
      if (mask >> d & 1) to[d] = 1;
    all.push_back(to);
  }
  return all;
}

/// Results of all reductions of x, each by `call`(x, Dest), in `dtype`.
template <class Call>
Tensors reduced(const Tensor& x, DType dtype, Call call) {
  Tensors results;
  for (const Dims& to : reductions_of(x.shape())) {
    const Tensor y = empty(to, dtype, x.device());
    call(x, into(y));
    results.push_back(y);
  }
  return results;
}

TEST_F(Reduce, SumsAreThoseOfTheCpuBitForBit) {
  const auto expect = [&](const Dims& shape, DType dtype) {
    expect_as_on_cpu({some(shape, dtype)}, [](const Tensors& x) {
      return reduced(x[0], float64, [](const Tensor& a, const Dest& y) { sum(a, 1, y); });
    });
  };
  for (const Dims& shape : {Dims{1}, Dims{33}, Dims{1000}, Dims{7, 40}, Dims{40, 7}, Dims{3, 5, 33},
                            Dims{2, 3, 4, 9}, Dims{50, 70}})
    expect(shape, float32);
  for (const DType dtype : {float64, DType::bfloat16, DType::float16}) expect({20, 34}, dtype);
}

// Parts of 4096: rows, columns, and more parts than are added one after another.
TEST_F(Reduce, SumsInPartsAreThoseOfTheCpuBitForBit) {
  for (const Dims& shape : {Dims{4095}, Dims{4096}, Dims{4097}, Dims{20000}, Dims{2, 9000},
                            Dims{9000, 2}, Dims{5000, 9}, Dims{64 * 4096}})
    expect_as_on_cpu({some(shape)}, [&](const Tensors& x) -> Tensors {
      Dims to = shape;
      (shape[0] > 2 ? to[0] : to[1]) = 1;
      const Tensor y = empty(to, float64, x[0].device());
      sum(x[0], 1, into(y));
      return {y};
    });
}

TEST_F(Reduce, VeryLongSumsMissNoTerm) {
  const int64_t n = 65 * 4096 + 5;
  const Tensor x = to_device(arange(n, int32), device), y = empty({1}, int64, device);
  sum(x, 1, into(y));
  EXPECT_EQ(y.to_vector<int64_t>()[0], n * (n - 1) / 2);
  sum(x, 1, adding_to(y));
  EXPECT_EQ(y.to_vector<int64_t>()[0], n * (n - 1));
}

// More than 64 parts: their sums are terms themselves.
TEST_F(Reduce, AVeryLongSumIsTheSumOfItsPartsSums) {
  const int64_t parts = 66;
  const Tensor x = to_device(some({parts, 4096}), device);
  const Tensor whole = empty({1, 1}, float64, device), two = empty({1, 1}, float64, device),
               of_parts = empty({parts, 1}, float64, device);
  sum(x, 1, into(whole));
  sum(x, 1, into(of_parts));
  sum(of_parts, 1, into(two));
  EXPECT_EQ(whole.to_vector<double>(), two.to_vector<double>());
}

TEST_F(Reduce, StridesDoNotShowInTheBits) {
  for (const DType dtype : {float32, int32})
    expect_as_on_cpu({some({6, 20, 40}, dtype)}, [](const Tensors& x) {
      Tensors results;
      for (const Tensor& view :
           {transpose(x[0], 0, 2), permute(x[0], {1, 0, 2}), slice(x[0], 2, 1, 40, 3),
            slice(transpose(x[0], 1, 2), 1, 0, 40, 2), expand(narrow(x[0], 1, 3, 1), {6, 4, 40})})
        for (const Tensor& y :
             reduced(view, float64, [](const Tensor&a, const Dest&to) { sum(a, 3, to); }))
          results.push_back(y);
      return results;
    });
}

TEST_F(Reduce, SumsAreDividedConvertedAndAddedOnce) {
  for (const DType from : {float32, DType::bfloat16, int64, DType::boolean})
    for (const DType to :
         {float32, float64, DType::float16, DType::bfloat16, int64, uint8, DType::boolean})
      expect_as_on_cpu(
          {some({9, 20}, from), some({9, 1}, to, 2)}, [&](const Tensors& x) -> Tensors {
            const Tensor y = empty({9, 1}, to, x[0].device()), z = empty({9, 1}, to, x[0].device()),
                         w = empty({1, 20}, to, x[0].device());
            copy(x[1], into(y));
            sum(x[0], 1, adding_to(y));
            sum(x[0], 20, into(z));
            sum(x[0], 3, into(w));
            sum(x[0], 1, adding_to(w));
            return {y, z, w};
          });
}

TEST_F(Reduce, SumsOfIntegersWrapAround) {
  const int64_t top = std::numeric_limits<int64_t>::max();
  const int64_t values[] = {top, 1, 5};
  const Tensor y = to_device(tensor({-6}, int64), device);
  sum(to_device(from_data(values, {3}), device), 1, adding_to(y));
  EXPECT_EQ(y.to_vector<int64_t>()[0], top);
}

TEST_F(Reduce, OfNothingIsZeroAndAddsNothing) {
  const Tensor x = empty({0, 3}, float32, device);
  const Tensor y = to_device(tensor({7, 7, 7}, {1, 3}), device);
  sum(x, 1, adding_to(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{7, 7, 7}));
  sum(x, 1, into(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{0, 0, 0}));
  sum(x, 0, into(y));
  EXPECT_TRUE(std::isnan(y.to_vector<double>()[0])) << "a mean of nothing";
  const Tensor none = empty({0, 1}, float32, device);
  sum(x, 1, into(none));
  amax(x, into(none));  // no result, so nothing is missing
  extremum_grad(none, x, none, into(x));
  extremum_grad(y, x, y, into(x));
  for (const auto f : {amax, amin, argmax, argmin}) EXPECT_THROW(f(x, into(y)), ShapeError);
  try {
    argmin(x, into(y));
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(),
                 "argmin: nothing to choose from: x is [0, 3]; a reduced dimension must not be 0");
  }
}

/// All four of x, over all its dimensions.
Tensors extrema(const Tensor& x) {
  Tensors results;
  for (const auto f : {amax, amin})
    for (const Tensor& y : reduced(x, x.dtype(), f)) results.push_back(y);
  for (const auto f : {argmax, argmin})
    for (const Tensor& y : reduced(x, int64, f)) results.push_back(y);
  return results;
}

TEST_F(Reduce, TheExtremumAndItsFirstIndexAreThoseOfTheCpu) {
  for (const DType dtype : {float32, float64, DType::bfloat16, int64, uint8, DType::boolean})
    for (const Dims& shape : {Dims{33}, Dims{7, 40}, Dims{1}, Dims{40, 7}, Dims{3, 5, 33}}) {
      if (dtype != float32 && shape[0] == 1) break;
      expect_as_on_cpu({some(shape, dtype)}, [](const Tensors& x) { return extrema(x[0]); });
    }
  expect_as_on_cpu({some({6, 10, 20}, int32)}, [](const Tensors& x) {
    Tensors results = extrema(transpose(x[0], 0, 2));
    for (const Tensor& y : extrema(slice(permute(x[0], {1, 2, 0}), 1, 1, 20, 3)))
      results.push_back(y);
    return results;
  });
}

TEST_F(Reduce, LongSearchesInPartsFindTheFirstOfEquals) {
  for (const Dims& shape :
       {Dims{2047}, Dims{2048}, Dims{2049}, Dims{129, 3}, Dims{5000}, Dims{3, 2500}, Dims{127, 3},
        Dims{128, 3}, Dims{500, 9}, Dims{131072, 2}})  // 2048 parts
    expect_as_on_cpu({some(shape, int32), some(shape)}, [&](const Tensors& x) -> Tensors {
      Dims to = shape;
      (shape[0] > 3 ? to[0] : to[1]) = 1;
      const Tensor y = empty(to, int64, x[0].device()), z = empty(to, int64, x[0].device()),
                   u = empty(to, float32, x[0].device());
      argmax(x[0], into(y));
      argmin(x[1], into(z));
      amax(x[1], into(u));
      return {y, z, u};
    });
}

TEST_F(Reduce, TheFirstNanWins) {
  for (const int64_t n : {1, 3, 8, 33, 64, 1031, 3000}) {
    Values v(static_cast<size_t>(n), 0);
    v[static_cast<size_t>(n / 2)] = v.back() = 3;
    v[0] = n > 2 ? -kInf : v[0];
    const Tensor y = empty({1}, int64, device), z = empty({1}, float32, device);
    argmax(to_device(tensor(v, {n}), device), into(y));
    EXPECT_EQ(y.to_vector<int64_t>()[0], n / 2);
    v[static_cast<size_t>(n / 3)] = v.back() = kNan;
    const Tensor x = to_device(tensor(v, {n}), device);
    for (const auto f : {argmax, argmin}) {
      f(x, into(y));
      EXPECT_EQ(y.to_vector<int64_t>()[0], n / 3);
    }
    for (const auto f : {amax, amin}) {
      f(x, into(z));
      EXPECT_TRUE(std::isnan(z.to_vector<float>()[0])) << n;
    }
  }
}

TEST_F(Reduce, AnExtremumMayBeAdded) {
  const Tensor x = to_device(tensor({{3, 1, 3}, {2, 2, 5}}), device);
  const Tensor y = to_device(tensor({10, 20}, {2, 1}), device);
  amax(x, adding_to(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{13, 25}));
  argmax(x, adding_to(y));
  EXPECT_EQ(y.to_vector<double>(), (Values{13, 27}));
}

TEST_F(Reduce, EqualsShareTheGradientAsOnTheCpu) {
  for (const DType dtype : {float32, float64, DType::bfloat16})
    for (const Dims& shape :
         {Dims{1}, Dims{4, 30, 9}, Dims{7, 33}, Dims{2500}, Dims{300, 3}, Dims{2, 2100}}) {
      if (dtype != float32 && shape.size() != 2) continue;
      Values few = some(shape, int32).to_vector<double>();
      if (shape.size() == 2) few[4] = kNan;
      expect_as_on_cpu({tensor(few, shape, dtype)}, [&](const Tensors& x) {
        Tensors results;
        for (const Dims& to : reductions_of(shape)) {
          const Tensor y = empty(to, dtype, x[0].device()), dy = empty(to, float32, x[0].device());
          amax(x[0], into(y));
          sum(x[0], 7, into(dy));
          const Tensor dx = empty(shape, dtype, x[0].device());
          extremum_grad(dy, x[0], y, into(dx));
          extremum_grad(dy, x[0], y, adding_to(dx));
          results.push_back(dx);
          if (shape.size() == 1) continue;
          const Tensor other = empty(shape, float32, x[0].device());
          extremum_grad(transpose(dy, 0, 1), transpose(x[0], 0, 1), transpose(y, 0, 1),
                        into(transpose(other, 0, 1)));
          results.push_back(other);
        }
        return results;
      });
    }
}

// Each half warp, block, warp or thread has more than one of them.
TEST_F(Reduce, MoreResultsThanThreads) {
  const struct { Dims x, y; } cases[] = {{{16400, 3}, {16400, 1}}, {{1030, 2, 8}, {1030, 1, 8}}};
  for (const auto& c : cases) {
    const Tensor x = some(c.x), right = empty(c.y, float64), y = empty(c.y, float64, device);
    sum(x, 1, into(right));
    sum(to_device(x, device), 1, into(y));
    EXPECT_EQ(y.to_vector<double>(), right.to_vector<double>()) << c.x;
  }
  const Tensor x =
      to_device(arange(8200 * 2, float32).alias(layout::contiguous({8200, 2})), device);
  const Tensor y = empty({8200, 1}, float32, device), dx = empty({8200, 2}, float32, device);
  amax(x, into(y));
  extremum_grad(y, x, y, into(dx));
  const std::vector<float> got = dx.to_vector<float>();
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i % 2 == 0 ? 0 : static_cast<float>(i));
}

}  // namespace
}  // namespace accrue::testing
