// Pooling against a loop over its definition, finite differences, and the cases others got wrong.
#include <limits>

#include "tests/autograd/numeric.h"
#include <gmock/gmock.h>

#include <accrue/core/layout.h>

#include <accrue/kernels/cpu/parallel.h>

#include <accrue/autograd/ops/pool.h>

namespace {

using namespace accrue;
using namespace accrue::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Pool2dOptions kMax[] = {
    {},
    {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}},
    {.kernel = {2, 3}, .stride = {3, 3}, .padding = {1, 0}, .ceil_mode = true},
    {.kernel = {3, 3}, .stride = {1, 2}, .dilation = {2, 2}},
    {.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}, .dilation = {3, 2}},
    {.kernel = {1, 1}, .stride = {2, 2}},
};
const AvgPool2dOptions kAvg[] = {
    {},
    {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}},
    {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}, .count_include_pad = false},
    {.kernel = {2, 3}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true},
    {.kernel = {2, 3},
     .stride = {3, 3},
     .padding = {1, 1},
     .ceil_mode = true,
     .count_include_pad = false},
    {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .divisor_override = 5},
};

Function max_of(const Pool2dOptions& o) {
  return [o](const std::vector<Tensor>& in) { return max_pool2d(in[0], o); };
}
Function avg_of(const AvgPool2dOptions& o) {
  return [o](const std::vector<Tensor>& in) { return avg_pool2d(in[0], o); };
}

std::vector<double> max_by_definition(const Tensor& x, const Pool2dOptions& o, const Tensor& y) {
  const std::vector<double> from = values(x);
  std::vector<double> out;
  for (int64_t plane = 0; plane < x.size(0) * x.size(1); ++plane)
    for (int64_t i = 0; i < y.size(2); ++i)
      for (int64_t j = 0; j < y.size(3); ++j) {
        double best = -std::numeric_limits<double>::infinity();
        for (int64_t a = 0; a < o.kernel[0]; ++a)
          for (int64_t b = 0; b < o.kernel[1]; ++b) {
            const int64_t stride0 = o.stride[0] ? o.stride[0] : o.kernel[0];
            const int64_t stride1 = o.stride[1] ? o.stride[1] : o.kernel[1];
            const int64_t r = i * stride0 - o.padding[0] + a * o.dilation[0];
            const int64_t c = j * stride1 - o.padding[1] + b * o.dilation[1];
            if (r < 0 || r >= x.size(2) || c < 0 || c >= x.size(3)) continue;
            best =
                std::max(best, from[static_cast<size_t>((plane * x.size(2) + r) * x.size(3) + c)]);
          }
        out.push_back(best);
      }
  return out;
}

TEST(Pool, MaxIsItsDefinition) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const Pool2dOptions& o : kMax) {
      for (const Dims& shape : {Dims{2, 3, 9, 10}, Dims{1, 2, 8, 77}}) {
        const Tensor x = random(shape, 1, dtype), y = max_pool2d(x, o);
        EXPECT_EQ(values(y), max_by_definition(x, o, y));
      }
    }
  }
}

TEST(Pool, GradientsAreDifferenceQuotients) {
  const Tensor x = random({2, 2, 7, 8}, 1);
  for (const Pool2dOptions& o : kMax) check_gradients(max_of(o), {x}, "max");
  for (const AvgPool2dOptions& o : kAvg) check_gradients(avg_of(o), {x}, "avg");
}

TEST(Pool, GradientsAddToWhatIsThere) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = whole({2, 2, 7, 8}, 1, dtype);
    for (const Pool2dOptions& o : kMax) check_arrivals(max_of(o), {x});
    check_arrivals(avg_of({}), {x});
  }
}

TEST(Pool, TheVectorLoopChoosesAsTheLoopDoes) {
  // Many equal elements and some NaN: the first of them counts, in both.
  std::mt19937 bits(7);
  const Tensor x = filled({2, 3, 6, 90}, float32, [&] {
    const auto value = static_cast<double>(bits() % 4);
    return value == 3 && bits() % 4 == 0 ? kNan : value;
  });
  const Tensor wide = tensor(std::span<const double>(values(x)), x.shape(), float64);
  const Tensor y = max_pool2d(x, {}), right = max_pool2d(wide, {});
  expect_close(values(y), values(right), 0, 0);
  const Tensor dy = random(y.shape(), 2, float32);
  const Tensor dy_wide = tensor(std::span<const double>(values(dy)), y.shape(), float64);
  EXPECT_EQ(values(gradients(max_of({}), {x}, dy)[0]),
            values(gradients(max_of({}), {wide}, dy_wide)[0]));
}

TEST(Pool, ReadsAnyStridesAndLacksABatch) {
  const Tensor x = random({5, 8, 3}, 1, float32);
  const Tensor turned = x.alias(layout::permute(x.layout(), {2, 0, 1}));
  const Tensor dense = tensor(std::span<const double>(values(turned)), turned.shape(), float32);
  const Tensor c = random({3, 2, 4}, 2, float32);
  expect_same(max_pool2d(turned, {}), max_pool2d(dense, {}));
  expect_same(gradients(max_of({}), {turned}, c)[0], gradients(max_of({}), {dense}, c)[0]);
  expect_same(avg_pool2d(turned, {}), avg_pool2d(dense, {}));
  expect_same(gradients(avg_of({}), {turned}, c)[0], gradients(avg_of({}), {dense}, c)[0]);
}

TEST(Pool, NeitherThreadsNorTheBatchShow) {
  const int before = get_num_threads();
  const Tensor x = random({9, 5, 40, 41}, 1, float32), dy = random({9, 5, 20, 20}, 2, float32);
  set_num_threads(1);
  const Tensor y = max_pool2d(x, {}), mean = avg_pool2d(x, {});
  const Tensor dx = gradients(max_of({}), {x}, dy)[0];
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    expect_same(max_pool2d(x, {}), y);
    expect_same(avg_pool2d(x, {}), mean);
    expect_same(gradients(max_of({}), {x}, dy)[0], dx);
  }
  set_num_threads(before);
  const auto some = [](const Tensor& t) { return t.alias(layout::narrow(t.layout(), 0, 3, 2)); };
  expect_same(max_pool2d(some(x), {}), some(y));
  expect_same(avg_pool2d(some(x), {}), some(mean));
  expect_same(gradients(max_of({}), {some(x)}, some(dy))[0], some(dx));
}

TEST(Pool, AnEmptyBatch) {
  Tensor x = zeros({0, 2, 4, 4}).set_requires_grad();
  max_pool2d(x, {}).backward({.gradient = zeros({0, 2, 2, 2})});
  avg_pool2d(x, {}).backward({.gradient = zeros({0, 2, 2, 2})});
  EXPECT_EQ(x.grad().shape(), (Dims{0, 2, 4, 4}));
}

TEST(Pool, SixteenBits) {
  const Tensor x = whole({1, 2, 4, 6}, 1, DType::bfloat16), wide = whole({1, 2, 4, 6}, 1, float32);
  EXPECT_EQ(values(max_pool2d(x, {})), values(max_pool2d(wide, {})));
  EXPECT_EQ(values(avg_pool2d(x, {})), values(avg_pool2d(wide, {})));  // quarters are exact
  const Tensor c = whole({1, 2, 2, 3}, 2, float32);
  const Tensor small = whole({1, 2, 2, 3}, 2, DType::bfloat16);
  expect_same(gradients(max_of({}), {x}, small)[0], gradients(max_of({}), {wide}, c)[0]);
}

// pytorch/pytorch #36977: in ceil mode a window began inside the padding.
TEST(Pool, case_PL_01) {
  const Tensor x = ones({1, 1, 4, 4});
  AvgPool2dOptions o{.kernel = {1, 2}, .stride = {2, 2}, .padding = {0, 1}, .ceil_mode = true};
  const Tensor y = avg_pool2d(x, o);
  EXPECT_EQ(y.shape(), (Dims{1, 1, 2, 3}));
  EXPECT_THAT(values(y), ElementsAre(.5, 1, .5, .5, 1, .5));
  o.count_include_pad = false;
  EXPECT_THAT(values(avg_pool2d(x, o)), ElementsAre(1, 1, 1, 1, 1, 1));
}

// CanReader/FastNN #5: a window that holds nothing but padding.
TEST(Pool, case_PL_02) {
  const Tensor x = ones({1, 1, 1, 1});
  const auto max = [&] { max_pool2d(x, {.kernel = {3, 3}, .stride = {3, 3}, .padding = {3, 3}}); };
  const auto avg = [&] { avg_pool2d(x, {.kernel = {3, 3}, .stride = {3, 3}, .padding = {3, 3}}); };
  EXPECT_THAT(message_of<ValueError>(max),
              HasSubstr("max_pool2d: the padding is 3 for a kernel of 3"));
  EXPECT_THAT(message_of<ValueError>(max), HasSubstr("padding at most half the kernel"));
  EXPECT_THAT(message_of<ValueError>(avg), HasSubstr("padding at most half the kernel"));
}

// pytorch/executorch PR #18616: the divisor was ignored.
TEST(Pool, case_PL_04) {
  const Tensor x = tensor({1, 2, 3, 4}, {1, 1, 2, 2}, float64);
  const Tensor y = avg_pool2d(x, {.kernel = {2, 2},
                                  .stride = {1, 1},
                                  .padding = {1, 1},
                                  .count_include_pad = false,
                                  .divisor_override = 3});
  expect_close(values(y), {1. / 3, 1, 2. / 3, 4. / 3, 10. / 3, 2, 1, 7. / 3, 4. / 3}, 1e-15, 0);
}

// tensor4all/tenferro-rs #67: equals, padding below everything, overlapping windows, NaN.
TEST(Pool, case_PL_05) {
  const auto run = [](std::initializer_list<double> numbers, const Pool2dOptions& o, DType dtype,
                      std::vector<double>* dx = nullptr) {
    Tensor x = tensor(numbers, {1, 1, static_cast<int64_t>(numbers.size())}, dtype);
    if (dx) x.set_requires_grad();
    const Tensor y = max_pool2d(x, o);
    if (dx) {
      y.backward({.gradient = ones(y.shape(), dtype)});
      *dx = values(x.grad());
    }
    return values(y);
  };
  std::vector<double> dx;
  run({2, 2, 1, 2}, {.kernel = {1, 2}}, float32, &dx);
  EXPECT_THAT(dx, ElementsAre(1, 0, 0, 1));
  const Pool2dOptions padded{.kernel = {1, 2}, .stride = {1, 1}, .padding = {0, 1}};
  EXPECT_THAT(run({-5, -6}, padded, float32), ElementsAre(-5, -5, -6));
  EXPECT_THAT(run({-5, -6}, padded, int32), ElementsAre(-5, -5, -6));
  run({1, 3, 2}, {.kernel = {1, 2}, .stride = {1, 1}}, float32, &dx);
  EXPECT_THAT(dx, ElementsAre(0, 2, 0));
  expect_close(run({1, kNan, 3, 4}, {.kernel = {1, 2}}, float32), {kNan, 4}, 0, 0);
}

TEST(Pool, SaysWhatDoesNotFit) {
  EXPECT_EQ(
      message_of<ShapeError>([] {
        max_pool2d(zeros({3, 1, 4}), {});
      }),
      "max_pool2d: the kernel is larger than the input: its effective height is 2, the padded "
      "input's is 1; pad more or take a smaller kernel");
  EXPECT_EQ(message_of<ValueError>([] {
              max_pool2d(zeros({1, 4, 4}), {.kernel = {0, 2}});
            }),
            "max_pool2d: the kernel is 0; it must be at least 1");
  EXPECT_EQ(message_of<ValueError>([] {
              max_pool2d(zeros({1, 4, 4}), {.dilation = {1, int64_t{1} << 62}});
            }),
            "max_pool2d: the dilation is 4611686018427387904; it must be below 2^31");
  EXPECT_EQ(message_of<ShapeError>([] {
              avg_pool2d(zeros({4, 4}), {});
            }),
            "avg_pool2d: x has shape [4, 4]; it must be [batch, channels, height, width] or "
            "[channels, height, width]");
  EXPECT_EQ(message_of<ShapeError>([] {
              avg_pool2d(zeros({1, 0, 4}), {.padding = {1, 1}, .count_include_pad = false});
            }),
            "avg_pool2d: x has shape [1, 0, 4]; height and width must be at least 1");
  EXPECT_EQ(message_of<DTypeError>([] {
              avg_pool2d(zeros({1, 4, 4}, int32), {});
            }),
            "avg_pool2d: the tensor is int32; it must be floating point: cast it first");
}

}  // namespace
