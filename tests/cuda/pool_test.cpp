// Pooling on device cuda: the bits of the CPU, in every order of blocks and threads.
#include <limits>

#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/layout.h>

#include <accrue/kernels/cuda/images.cuh>
#include <accrue/kernels/pool.h>

namespace accrue::testing {
namespace {

using kernels::PoolParams;
using ::testing::ElementsAre;
using Pool = OnExecutor;

struct Case {
  Dims x;
  int64_t rows, columns;  // of the result
  PoolParams p;
};
const Case kCases[] = {
    {{2, 3, 8, 6}, 4, 3, {.kernel = {2, 2}, .stride = {2, 2}}},
    {{1, 2, 7, 9}, 4, 5, {.kernel = {2, 2}, .stride = {2, 2}}},  // the last windows reach beyond
    {{2, 2, 7, 5}, 7, 5, {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}}},
    {{1, 3, 9, 8}, 5, 8, {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}}},
    {{3, 1, 5, 11}, 2, 4, {.kernel = {2, 3}, .stride = {3, 3}, .padding = {1, 0}}},
    {{2, 2, 1, 40}, 1, 33, {.kernel = {1, 8}, .stride = {1, 1}}},
    {{1, 1, 1, 1}, 1, 1, {}},
    {{2, 2, 6, 6}, 2, 2, {.kernel = {1, 1}, .stride = {4, 5}}},
    {{1, 2, 3, 4}, 1, 1, {.kernel = {7, 7}, .stride = {1, 1}, .padding = {2, 1}}},
    {{0, 3, 4, 4}, 2, 2, {.kernel = {2, 2}, .stride = {2, 2}}},
    {{2, 0, 4, 4}, 2, 2, {.kernel = {2, 2}, .stride = {2, 2}}},
    {{2, 3, 4, 4}, 0, 0, {.kernel = {9, 9}, .stride = {2, 2}}},
};
const Case kDilated[] = {
    {{2, 2, 9, 10}, 5, 6, {.kernel = {3, 3}, .stride = {1, 1}, .dilation = {2, 2}}},
    {{1, 2, 8, 9},
     5,
     5,
     {.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}, .dilation = {2, 3}}},
    // windows of one row around x and of none inside
    {{1, 1, 1, 5},
     2,
     6,
     {.kernel = {2, 2}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {2, 2}}},
    {{1, 1, 2, 2},
     3,
     3,
     {.kernel = {2, 2}, .stride = {1, 1}, .padding = {2, 2}, .dilation = {3, 3}}},
};
Dims shape_of_y(const Case& c) { return {c.x[0], c.x[1], c.rows, c.columns}; }

// Many equals, or none; now and then a NaN or an infinity.
Tensor few_numbers(const Dims& shape, DType dtype) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<double>(i * i * 7919 % 11 % 5);
    if (is_floating(dtype) && i % 17 == 3) v[i] = std::numeric_limits<double>::quiet_NaN();
    if (is_floating(dtype) && i % 13 < 3) v[i] = -std::numeric_limits<double>::infinity();
  }
  return tensor(v, shape, dtype);
}
Tensor numbers(const Dims& shape, DType dtype, int64_t seed = 1) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  auto state = static_cast<uint64_t>(seed);
  for (double& x : v) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = is_floating(dtype) ? std::ldexp(static_cast<double>(state >> 40) - 0x1p23, -22)
                           : static_cast<double>(state >> 57);
  }
  return tensor(v, shape, dtype);
}
// A fresh copy on the device of `like`, for a kernel to add to.
Tensor start(const Dims& shape, DType dtype, const Tensor& like) {
  return to_device(numbers(shape, dtype, 9), like.device());
}
// [c, h, w, n] seen as [n, c, h, w].
Tensor images_last(const Tensor& x) { return x.alias(layout::permute(x.layout(), {3, 0, 1, 2})); }

std::vector<Tensor> max_of(const Case& c, const Tensor& x) {
  const Tensor y = empty(shape_of_y(c), x.dtype(), x.device());
  const Tensor index = empty(shape_of_y(c), int32, x.device());
  kernels::max_pool2d(x, c.p, into(y), into(index));
  return {y, index};
}

TEST_F(Pool, MaximaAndTheirPlacesAreThoseOfTheCpuForEveryDtype) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16, int64, int32, uint8})
    for (const Case& c : kCases)
      for (const Tensor& x : {few_numbers(c.x, t), numbers(c.x, t)})
        expect_as_on_cpu({x}, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
          return max_of(c, in[0]);
        });
  for (const Case& c : kDilated)
    expect_as_on_cpu({few_numbers(c.x, float32)},
                     [&](const std::vector<Tensor>& in) { return max_of(c, in[0]); });
}

TEST_F(Pool, MaximaAreAddedAndStridesAreFollowed) {
  const Case c = kCases[3];
  expect_as_on_cpu({numbers({3, 9, 8, 1}, float32), numbers({3, 9, 8, 1}, DType::bfloat16)},
                   [&](const std::vector<Tensor>& in) {
                     std::vector<Tensor> results;
                     for (const Tensor& x : in) {
                       const Tensor y = start({3, 5, 8, 1}, x.dtype(), x);
                       const Tensor index = empty({1, 3, 5, 8}, int32, x.device());
                       kernels::max_pool2d(images_last(x), c.p, adding_to(images_last(y)),
                                           into(index));
                       results.insert(results.end(), {y, index});
                     }
                     return results;
                   });
}

TEST_F(Pool, AWindowWithoutElementsIsMinusInfinityAndAtMinusOne) {
  const Case c = kDilated[3];  // windows of 2 by 2, three apart, around an image of 2 by 2
  const Tensor x = to_device(ones(c.x), device);
  const std::vector<Tensor> y = max_of(c, x);
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(y[0].to_vector<float>(), ElementsAre(1, none, 1, none, none, none, 1, none, 1));
  EXPECT_THAT(y[1].to_vector<int>(), ElementsAre(3, -1, 2, -1, -1, -1, 1, -1, 0));
  const Tensor dx = empty(c.x, float32, device);
  kernels::max_pool2d_grad(to_device(numbers(shape_of_y(c), float32), device), y[1], c.p, into(dx));
  const std::vector<float> dy = numbers(shape_of_y(c), float32).to_vector<float>();
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(dy[8], dy[6], dy[2], dy[0]));
}

// Overlapping windows choose one element often, and their terms come in the order of the windows.
TEST_F(Pool, TheGradientOfMaximaIsThatOfTheCpu) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.insert(cases.end(), std::begin(kDilated), std::end(kDilated));
  for (DType t : {float32, float64, DType::bfloat16, DType::float16})
    for (const Case& c : cases) {
      const Tensor index = max_of(c, few_numbers(c.x, t))[1];
      expect_as_on_cpu({numbers(shape_of_y(c), t), index}, [&](const std::vector<Tensor>& in) {
        const Tensor dx = empty(c.x, t, in[0].device()), sum = start(c.x, float32, in[0]);
        kernels::max_pool2d_grad(in[0], in[1], c.p, into(dx));
        if (t != float64) kernels::max_pool2d_grad(in[0], in[1], c.p, adding_to(sum));
        return std::vector<Tensor>{dx, sum};
      });
    }
}

std::vector<PoolParams> ways_to_count(PoolParams p) {
  std::vector<PoolParams> ways = {p, p, p};
  ways[1].count_include_pad = false;
  ways[2].divisor_override = 5;
  return ways;
}

TEST_F(Pool, MeansAreThoseOfTheCpu) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16})
    for (const Case& c : kCases)
      for (const PoolParams& p : ways_to_count(c.p))
        expect_as_on_cpu({numbers(c.x, t)}, [&](const std::vector<Tensor>& in) {
          const Tensor y = empty(shape_of_y(c), t, in[0].device());
          const Tensor sum = start(shape_of_y(c), t, in[0]);
          kernels::avg_pool2d(in[0], p, into(y));
          kernels::avg_pool2d(in[0], p, adding_to(sum));
          return std::vector<Tensor>{y, sum};
        });
}

TEST_F(Pool, TheGradientOfMeansIsThatOfTheCpu) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16})
    for (const Case& c : kCases)
      for (const PoolParams& p : ways_to_count(c.p))
        expect_as_on_cpu({numbers(shape_of_y(c), t)}, [&](const std::vector<Tensor>& in) {
          const Tensor dx = empty(c.x, t, in[0].device()), sum = start(c.x, float32, in[0]);
          kernels::avg_pool2d_grad(in[0], p, into(dx));
          if (t != float64) kernels::avg_pool2d_grad(in[0], p, adding_to(sum));
          return std::vector<Tensor>{dx, sum};
        });
}

TEST_F(Pool, GradientsFollowStrides) {
  const Case c = kCases[2];
  const Tensor index = max_of(c, few_numbers(c.x, float32))[1];
  expect_as_on_cpu({numbers({2, 7, 5, 2}, float32), index}, [&](const std::vector<Tensor>& in) {
    const Tensor max = start({2, 7, 5, 2}, float32, in[0]),
                 mean = start({2, 7, 5, 2}, float32, in[0]);
    kernels::max_pool2d_grad(images_last(in[0]), in[1], c.p, adding_to(images_last(max)));
    kernels::avg_pool2d_grad(images_last(in[0]), c.p, adding_to(images_last(mean)));
    const Tensor y = empty({2, 7, 5, 2}, float32, in[0].device());
    kernels::avg_pool2d(images_last(in[0]), c.p, into(images_last(y)));
    return std::vector<Tensor>{max, mean, y};
  });
}

// Σ dy = Σ dx, in whole numbers exactly: every window hands all it has to the elements it holds.
TEST_F(Pool, NothingIsLostOnTheWayBack) {
  const Dims shape = {2, 3, 30, 33};
  const PoolParams p{.kernel = {3, 3}, .stride = {3, 3}};
  std::vector<double> whole(static_cast<size_t>(2 * 3 * 10 * 11));
  double total = 0;
  for (size_t i = 0; i < whole.size(); ++i) total += whole[i] = static_cast<double>(i % 13) * 9;
  under_every_schedule([&] {
    const Tensor dy = to_device(tensor(whole, {2, 3, 10, 11}), device);
    const Tensor dx = empty(shape, float32, device);
    kernels::avg_pool2d_grad(dy, p, into(dx));
    double sum = 0;
    for (float v : dx.to_vector<float>()) sum += v;
    EXPECT_EQ(sum, total);
  });
}

// What the kernels find their places with, also where a tensor is larger than this test's.
TEST(CudaDivisor, DividesAsTheLanguageDoes) {
  const long numbers[] = {0,
                          1,
                          2,
                          3,
                          5,
                          6,
                          7,
                          9,
                          255,
                          641,
                          65535,
                          65536,
                          99991,
                          (1L << 30) + 1,
                          (1L << 31) - 2,
                          (1L << 31) - 1,
                          1L << 31,
                          (1L << 33) + 7,
                          1L << 45};
  for (long d : numbers) {
    if (d == 0) continue;
    const kernels::cuda::Divisor divisor(d);
    for (long a : numbers)
      for (long n : {a, a - 1, a / d * d, a / d * d - 1, d - 1, 3 * d}) {
        if (n < 0) continue;
        EXPECT_EQ(divisor(n), n / d) << n << " / " << d;
      }
  }
}

TEST_F(Pool, MeansOfIntegersAreRefused) {
  const Tensor x = to_device(zeros({1, 1, 2, 2}, int64), device);
  EXPECT_THROW(kernels::avg_pool2d(x, {}, into(empty({1, 1, 2, 2}, int64, device))), DTypeError);
}

}  // namespace
}  // namespace accrue::testing
