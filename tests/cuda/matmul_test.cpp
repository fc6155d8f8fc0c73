// The matrix product of the CUDA backend where every element is one chain: bit for bit the CPU's.
#include <cmath>

#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/cuda/tile_choice.h>
#include <accrue/kernels/elementwise.h>
#include <accrue/kernels/matmul.h>
#include <accrue/kernels/split_invariant.h>

#include <accrue/autograd/ops/shape.h>

namespace accrue::testing {
namespace {

using kernels::cuda::force_tile;
using kernels::cuda::TileChoice;

class CudaChain : public OnExecutor {
 protected:
  CudaChain() {
    manual_seed(5);
    set_split_invariant(true);
  }
  ~CudaChain() override {
    set_split_invariant(false);
    force_tile(TileChoice::any);
  }

  /// A copy of a tensor of the CPU.
  static Tensor copy_on(Device d, const Tensor& x) {
    const Tensor y = empty_like(x);
    kernels::copy(x, into(y));
    return to_device(y, d);
  }

  using Change = std::function<Tensor(const Tensor&)>;
  static Tensor as_is(const Tensor& x) { return x; }
  static Tensor swapped(const Tensor& x) { return transpose(x, -1, -2); }

  /// left(a) · right(b) in fresh memory and onto old content, on the device as on the CPU.
  void expect_product(const Tensor& a, const Tensor& b, const Dims& shape, DType t = float32,
                      const Change& left = as_is, const Change& right = as_is) {
    SCOPED_TRACE(::testing::Message() << a.shape() << " · " << b.shape() << ", " << a.dtype());
    const Tensor old = randn(shape, t);
    expect_as_on_cpu({a, b}, [&](const std::vector<Tensor>& x) -> std::vector<Tensor> {
      const Tensor y = empty(shape, t, x[0].device());
      const Tensor sum = copy_on(x[0].device(), old);
      kernels::matmul(left(x[0]), right(x[1]), into(y));
      kernels::matmul(left(x[0]), right(x[1]), adding_to(sum));
      return {y, sum};
    });
  }
};

TEST_F(CudaChain, EveryShapeAndTileGivesTheBitsOfTheCpu) {
  const int64_t shapes[][3] = {{1, 1, 1},  {33, 1, 7},  {1, 33, 16}, {5, 1000, 3},
                               {70, 9, 1}, {32, 32, 8}, {65, 40, 0}, {40, 66, 37}};
  for (TileChoice tile : {TileChoice::any, TileChoice::medium, TileChoice::large}) {
    SCOPED_TRACE("tile " + std::to_string(static_cast<int>(tile)));
    force_tile(tile);
    for (const auto& [m, n, k] : shapes) expect_product(randn({m, k}), randn({k, n}), {m, n});
    expect_product(randn({3, 64, 5}), randn({3, 5, 64}), {3, 64, 64});  // whole tiles
  }
  force_tile(TileChoice::large);
  expect_product(randn({130, 9}), randn({9, 133}), {130, 133});
}

// Of a [60, 60], four matrices of [20, 24]: rows, columns and neither side by side, one row for
// all.
Tensor rows_of(const Tensor& x) { return slice(slice(x, 0, 1, 21), 1, 2, 26); }
Tensor columns_of(const Tensor& x) { return transpose(slice(slice(x, 0, 3, 27), 1, 5, 25), 0, 1); }
Tensor scattered_of(const Tensor& x) { return slice(slice(x, 0, 0, 40, 2), 1, 1, 49, 2); }
Tensor one_row_of(const Tensor& x) { return expand(slice(rows_of(x), 0, 0, 1), {20, 24}); }

TEST_F(CudaChain, OperandsMayLieInMemoryAnyWay) {
  const Tensor x = randn({60, 60});
  for (auto* left : {rows_of, columns_of, scattered_of, one_row_of}) {
    for (auto* right : {rows_of, columns_of, scattered_of, one_row_of}) {
      expect_product(x, x, {20, 20}, float32, left,
                     [&](const Tensor& b) { return swapped(right(b)); });
    }
  }
}

TEST_F(CudaChain, WhatLiesBetweenTheElementsOfAResultSurvives) {
  const Tensor old = randn({60, 60});
  for (auto* where : {rows_of, columns_of, scattered_of}) {
    for (Write write : {Write::overwrite, Write::add}) {
      expect_as_on_cpu({randn({20, 7}), randn({7, 24})}, [&](const std::vector<Tensor>& x) {
        const Tensor all = copy_on(x[0].device(), old);
        kernels::matmul(x[0], x[1], Dest(where(all), write));
        return std::vector<Tensor>{all};
      });
    }
  }
}

TEST_F(CudaChain, EveryDtypeGoesWithItsOwnAndHalvesWithFloat32) {
  for (DType t : {float64, DType::bfloat16, DType::float16}) {
    for (TileChoice tile : {TileChoice::small, TileChoice::large}) {
      force_tile(tile);
      expect_product(randn({33, 21}, t), transpose(randn({35, 21}, t), 0, 1), {33, 35}, t);
      if (t != float64) expect_product(randn({9, 40}, t), randn({40, 70}, t), {9, 70}, float32);
    }
  }
  const Tensor a = to_device(randn({2, 2}, DType::float16), device);
  try {
    kernels::matmul(a, a, into(empty({2, 2}, DType::bfloat16, device)));
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_STREQ(e.what(), "matmul: float16 operands cannot give bfloat16");
  }
}

TEST_F(CudaChain, BatchesBroadcast) {
  const Change heads = [](const Tensor& x) { return transpose(x, 1, 2); };  // [b, t, h, d]
  expect_product(randn({3, 2, 5, 4}), randn({4, 6}), {3, 2, 5, 6});
  expect_product(randn({3, 2, 5, 4}), randn({2, 4, 6}), {3, 2, 5, 6});
  expect_product(randn({3, 1, 5, 4}), randn({2, 4, 6}), {3, 2, 5, 6});
  expect_product(randn({40, 33, 2}), randn({40, 2, 3}), {40, 33, 3});
  expect_product(randn({3, 5, 2, 4}), randn({3, 4, 2, 6}), {3, 2, 5, 6}, float32, heads, heads);
  expect_product(randn({0, 5, 4}), randn({4, 6}), {0, 5, 6});
}

TEST_F(CudaChain, BatchesThatTheResultLacksAreSummedInOrder) {
  for (DType t : {float32, float64, DType::bfloat16}) {
    expect_product(randn({7, 5, 4}, t), randn({7, 5, 6}, t), {4, 6}, t, swapped);
    expect_product(randn({3, 2, 5, 4}, t), randn({3, 2, 4, 6}, t), {2, 5, 6}, t);
    expect_product(randn({3, 2, 5, 4}, t), randn({2, 4, 6}, t), {3, 1, 5, 6}, t);
    expect_product(randn({3, 2, 5, 4}, t), randn({3, 2, 4, 6}, t), {5, 6}, t);
    expect_product(randn({0, 5, 4}, t), randn({0, 4, 6}, t), {5, 6}, t);
  }
}

std::vector<Tensor> linear_relu(const std::vector<Tensor>& in) {
  const Tensor y = empty({3, 11, 35}, in[0].dtype(), in[0].device());
  kernels::matmul(in[0], kernels::transposed(in[1].view()),
                  {.bias = in[2], .f = Unary::relu, .argument = {}}, into(y));
  return {y};
}

// Bit for bit. A NaN stays.
TEST_F(CudaChain, ReluComesOutOfTheProduct) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16}) {
    const Tensor a = randn({3, 11, 20}, t), w = randn({35, 20}, t), bias = randn({35}, t);
    kernels::fill(std::nan(""), into(select(select(a, 0, 1), 0, 4)));
    expect_as_on_cpu({a, w, bias}, linear_relu);
  }
}

TEST_F(CudaChain, ReluAndItsProductAreOneLaunch) {
  std::vector<Tensor> in;
  for (const Dims& shape : {Dims{3, 11, 20}, Dims{35, 20}, Dims{35}})
    in.push_back(to_device(randn(shape), device));
  const uint64_t before = simt::counts().launches;
  linear_relu(in);
  EXPECT_EQ(simt::counts().launches, before + 1);
}

TEST_F(CudaChain, StartsFromTheBiasOfItsColumn) {
  for (DType t : {float32, float64, DType::bfloat16, DType::float16}) {
    for (int64_t k : {0, 1, 20}) {
      const Tensor a = randn({3, 11, k}, t), w = randn({35, k}, t), bias = randn({35, 2}, t);
      expect_as_on_cpu({a, w, bias}, [&](const std::vector<Tensor>& x) {
        const Tensor y = empty({3, 11, 35}, t, x[0].device());
        kernels::matmul(x[0], swapped(x[1]), select(x[2], 1, 1), into(y));
        return std::vector<Tensor>{y};
      });
    }
  }
}

TEST_F(CudaChain, NumbersAPersonCanCheck) {
  under_every_schedule([&] {
    const Tensor a =
        to_device(tensor({1, 2, 3, 4, 5, 6}, float32).alias(layout::contiguous({2, 3})), device);
    const Tensor b =
        to_device(tensor({1, 0, 0, 1, 1, 1}, float32).alias(layout::contiguous({3, 2})), device);
    const Tensor y = empty({2, 2}, float32, device);
    kernels::matmul(a, b, into(y));
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{4, 5, 10, 11}));
    kernels::matmul(a, b, adding_to(y));
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{8, 10, 20, 22}));
    const int64_t launches = static_cast<int64_t>(simt::counts().launches);
    kernels::matmul(slice(a, 0, 0, 0), b, into(slice(y, 0, 0, 0)));
    EXPECT_EQ(static_cast<int64_t>(simt::counts().launches), launches);
  });
}

// The last panel of k is not full, and what fills it must not make +0 of -0.
TEST_F(CudaChain, KeepsTheSignOfZero) {
  const Tensor a = to_device(zeros({40, 3}), device), b = to_device(full({3, 40}, -1), device);
  const Tensor y = to_device(full({40, 40}, -0.0), device);
  kernels::matmul(a, b, adding_to(y));
  for (float v : y.to_vector<float>()) EXPECT_TRUE(v == 0 && std::signbit(v));
}

TEST_F(CudaChain, ARowDoesNotDependOnHowManyThereAre) {
  const Tensor a = to_device(randn({150, 40}), device), w = to_device(randn({40, 35}), device);
  const auto product = [&](const Tensor& rows) {
    const Tensor y = empty({rows.size(0), 35}, float32, device);
    kernels::matmul(rows, w, into(y));
    return y.to_vector<float>();
  };
  const std::vector<float> all = product(a);
  for (TileChoice tile : {TileChoice::small, TileChoice::medium, TileChoice::large}) {
    force_tile(tile);
    for (int64_t row : {0, 33, 149}) {
      const std::vector<float> alone = product(slice(a, 0, row, row + 1));
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * 35)) << row;
    }
  }
}

TEST_F(CudaChain, AWeightGradientIsTheSameInOneBatchAndInMicroBatches) {
  for (DType t : {float32, DType::bfloat16}) {
    const Tensor x = to_device(randn({96, 20}, t), device);
    const Tensor dy = to_device(randn({96, 33}, t), device);
    const auto gradient = [&](int64_t step) {
      const Tensor dw = to_device(zeros({33, 20}), device);
      for (int64_t i = 0; i < 96; i += step)
        kernels::matmul(swapped(slice(dy, 0, i, i + step)), slice(x, 0, i, i + step),
                        adding_to(dw));
      return dw.to_vector<float>();
    };
    const std::vector<float> whole = gradient(96);
    for (int64_t step : {1, 12, 32, 48}) EXPECT_EQ(gradient(step), whole) << step;
  }
}

}  // namespace
}  // namespace accrue::testing
