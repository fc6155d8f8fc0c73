#include "tests/cuda/inputs.h"
#include "tests/cuda/support.h"

#include <accrue/kernels/norm.h>
#include <accrue/kernels/split_invariant.h>

namespace accrue::testing {
namespace {

using Writing = std::function<Dest(const Tensor&)>;

ConstView view_of(const Tensor& x) { return x.defined() ? ConstView(x) : ConstView(); }

Dims leading(const Tensor& x, int width) {
  Dims shape;
  for (int d = 0; d < x.dim() - width; ++d) shape.push_back(x.shape()[d]);
  return shape;
}

/// y, mean and rstd onto ones.
Tensors forward(const Tensor& x, const Tensor& w, const Tensor& b, int width,
                const Writing& write = into) {
  const Tensor y = ones_like(x);
  const Tensor mean = ones(leading(x, width), float64, x.device()), rstd = ones_like(mean);
  kernels::layer_norm(x, view_of(w), view_of(b), width, 1e-3, write(y), write(mean), write(rstd));
  return {y, mean, rstd};
}

/// dx, dw and db onto ones, from the statistics that are given.
Tensors backward(const Tensor& dy, const Tensor& x, const Tensor& w, const Tensor& mean,
                 const Tensor& rstd, int width, const Writing& write = into) {
  Dims row;
  for (int d = x.dim() - width; d < x.dim(); ++d) row.push_back(x.shape()[d]);
  const DType dtype = is_16bit_float(x.dtype()) ? float32 : x.dtype();
  const Tensor dx = ones_like(x), dw = ones(row, dtype, x.device()), db = ones_like(dw);
  kernels::layer_norm_grad(dy, x, view_of(w), mean, rstd, width, write(dx), write(dw), write(db));
  return {dx, dw, db};
}

class Norm : public OnExecutor {
 protected:
  ~Norm() override { set_split_invariant(false); }

  /// Forward, and backward from the CPU's statistics.
  void expect_both_as_on_cpu(const Dims& shape, int width, DType dtype, bool affine, double units,
                             const Writing& write = into) {
    Dims row;
    for (int d = shape.size() - width; d < shape.size(); ++d) row.push_back(shape[d]);
    const Tensor x = normal(shape, dtype, 2, 1, 3), dy = normal(shape, dtype, 1, 2);
    const Tensor w = affine ? normal(row, dtype, 1, 3) : Tensor();
    const Tensor b = affine ? normal(row, dtype, 1, 4) : Tensor();
    expect_as_on_cpu(
        {x, w, b}, [&](const Tensors& in) { return forward(in[0], in[1], in[2], width, write); },
        units);
    const Tensors saved = forward(x, w, b, width);
    expect_as_on_cpu(
        {dy, x, w, saved[1], saved[2]},
        [&](const Tensors& in) {
          return backward(in[0], in[1], in[2], in[3], in[4], width, write);
        },
        units);
  }
};

// mean and rstd are doubles whose sums are taken in another order: x is around 3, so that the mean
// is no small difference.
TEST_F(Norm, IsTheCpusForRowsOfAnyLength) {
  for (int64_t n : {1, 2, 3, 4, 5, 33, 127, 1000})
    for (bool affine : {false, true}) expect_both_as_on_cpu({3, n}, 1, float32, affine, 8);
  for (int64_t n : {1028, 1030, 8195}) expect_both_as_on_cpu({2, n}, 1, float32, true, 8);
  for (const Dims& shape : {Dims{0, 5}, Dims{3, 0}, Dims{0, 0}})
    expect_both_as_on_cpu(shape, 1, float32, true, 0);
}

TEST_F(Norm, IsTheCpusForEveryDtypeAndWidth) {
  for (const auto& [dtype, units] :
       {std::pair{float64, 16}, {DType::bfloat16, 1}, {DType::float16, 1}, {float32, 8}})
    for (int width : {1, 2, 3})
      for (bool affine : {false, true})
        expect_both_as_on_cpu({5, 9, 6}, width, dtype, affine, units);
  expect_both_as_on_cpu({2, 3, 7, 50}, 2, float64, true, 32);
}

TEST_F(Norm, AddsToOldContent) {
  for (int64_t n : {8, 33, 1030}) expect_both_as_on_cpu({3, n}, 1, float32, true, 8, adding_to);
  expect_both_as_on_cpu({3, 8}, 1, DType::bfloat16, true, 1, adding_to);
}

TEST_F(Norm, TakesOperandsOfAnyStrides) {
  const Tensor x = normal({3, 8, 10}, float32, 2), dy = normal({3, 8, 10}, float32, 1, 2);
  const Tensor w = normal({8, 10}, float32, 1, 3), b = normal({8, 10}, float32, 1, 4);
  for (int width : {1, 2}) {
    // Of a row of the weights there is one; of two dimensions, all.
    const auto weights = [width](const Tensor& t) {
      const Tensor part = strided_part(t);
      return width == 2 ? part : part.alias(layout::select(part.layout(), 0, 1));
    };
    const auto run = [&](const Tensors& in) {
      const Tensor y = ones_like(in[0]), dx = ones_like(in[0]), dw = ones_like(in[2]),
                   db = ones_like(in[3]);
      const Tensor memory = ones({3, 5, 2}, float64, in[0].device());
      const auto stats = [&](int64_t k) {
        const Tensor one = memory.alias(layout::select(memory.layout(), 2, k));
        return width == 1 ? one : one.alias(layout::select(one.layout(), 1, 3));
      };
      kernels::layer_norm(strided_part(in[0]), weights(in[2]), weights(in[3]), width, 1e-3,
                          into(strided_part(y)), into(stats(0)), into(stats(1)));
      kernels::layer_norm_grad(strided_part(in[1]), strided_part(in[0]), weights(in[2]), stats(0),
                               stats(1), width, into(strided_part(dx)), adding_to(weights(dw)),
                               adding_to(weights(db)));
      return Tensors{y, memory, dx, dw, db};
    };
    expect_as_on_cpu(
        {x, dy, w, b},
        [&](const Tensors& in) {
          Tensors y = run(in);
          y[1] = to_device(tensor(y[1].to_vector<double>(), y[1].shape(), float32), y[1].device());
          return y;
        },
        8);
  }
  // Dense rows with strided weights.
  expect_as_on_cpu(
      {x, normal({10, 20}, float32, 1, 3)},
      [](const Tensors& in) {
        const Tensor part = strided_part(in[1]);  // [10, 10]
        const Tensor one = part.alias(layout::select(part.layout(), 0, 1));
        return Tensors{forward(in[0], one, one, 1)[0]};
      },
      8);
}

// The chain of each element over the rows, from the old content on.
TEST_F(Norm, GradientsOfWeightsAreTheCpusChainsBitForBit) {
  set_split_invariant(true);
  for (DType dtype : {float32, float64, DType::bfloat16})
    for (const Dims& shape : {Dims{1, 3}, Dims{15, 70}, Dims{64, 5}, Dims{65, 33}, Dims{150, 2}}) {
      const Tensor x = normal(shape, dtype, 2), dy = normal(shape, dtype, 1, 2);
      const Tensors saved = forward(x, Tensor(), Tensor(), 1);
      expect_as_on_cpu({dy, x, saved[1], saved[2]}, [](const Tensors& in) {
        const Tensors y = backward(in[0], in[1], Tensor(), in[2], in[3], 1, adding_to);
        return Tensors{y[1], y[2]};
      });
    }
}

TEST_F(Norm, ABatchInSlicesGivesTheSameGradientsOfWeights) {
  set_split_invariant(true);
  const int64_t rows = 150, n = 33;
  const Tensor x = to_device(normal({rows, n}, float32, 2), device);
  const Tensor dy = to_device(normal({rows, n}, float32, 1, 2), device);
  const Tensors saved = forward(x, Tensor(), Tensor(), 1);
  const Tensor dw = ones({n}, float32, device), db = ones({n}, float32, device);
  const Tensors whole = backward(dy, x, Tensor(), saved[1], saved[2], 1, adding_to);
  for (int64_t at = 0; at < rows; at += 40) {
    const auto slice = [&](const Tensor& t) {
      return part_of(t, 0, at, std::min<int64_t>(rows, at + 40));
    };
    kernels::layer_norm_grad(slice(dy), slice(x), {}, slice(saved[1]), slice(saved[2]), 1, Dest(),
                             adding_to(dw), adding_to(db));
  }
  EXPECT_EQ(dw.to_vector<float>(), whole[1].to_vector<float>());
  EXPECT_EQ(db.to_vector<float>(), whole[2].to_vector<float>());
}

// Many rows are cut in pieces: whole numbers lose nothing, and each row must be there once.
TEST_F(Norm, PiecesOfManyRowsAddUp) {
  for (int64_t rows : {64, 65, 128, 200, 17000}) {
    const int64_t n = rows > 1000 ? 1 : 67;
    std::vector<double> values;
    for (int64_t i = 0; i < rows * n; ++i) values.push_back(static_cast<double>(i * i % 17 - 8));
    const Tensor x = to_device(tensor(values, {rows, n}), device);
    const Tensor mean = full({rows}, 1, float64, device), rstd = full({rows}, 2, float64, device);
    std::vector<float> right_w(static_cast<size_t>(n), 1), right_b = right_w;
    for (int64_t i = 0; i < rows * n; ++i) {
      const auto v = static_cast<float>(values[static_cast<size_t>(i)]);
      right_w[static_cast<size_t>(i % n)] += v * (v - 1) * 2;
      right_b[static_cast<size_t>(i % n)] += v;
    }
    const auto run = [&] {
      const Tensor dw = ones({n}, float32, device), db = ones({n}, float32, device);
      kernels::layer_norm_grad(x, x, {}, mean, rstd, 1, Dest(), adding_to(dw), adding_to(db));
      EXPECT_EQ(dw.to_vector<float>(), right_w) << rows;
      EXPECT_EQ(db.to_vector<float>(), right_b) << rows;
    };
    if (rows > 1000)
      run();
    else
      under_every_schedule(run);
  }
}

TEST_F(Norm, SkipsWhatNobodyWants) {
  const Tensor x = to_device(normal({130, 9}, float32, 2), device);
  const Tensor w = to_device(normal({9}), device);
  const Tensors saved = forward(x, w, Tensor(), 1);
  const Tensors all = backward(x, x, w, saved[1], saved[2], 1);
  for (int wanted = 0; wanted < 8; ++wanted) {
    const Tensor dx = zeros_like(x), dw = zeros_like(w), db = zeros_like(w);
    const Tensors y = {dx, dw, db};
    const auto dest = [&](int k) {
      return (wanted >> k & 1) != 0 ? into(y[static_cast<size_t>(k)]) : Dest();
    };
    kernels::layer_norm_grad(x, x, w, saved[1], saved[2], 1, dest(0), dest(1), dest(2));
    for (size_t k = 0; k < 3; ++k)
      EXPECT_EQ(y[k].to_vector<float>(), (wanted >> k & 1) != 0
                                             ? all[k].to_vector<float>()
                                             : zeros_like(all[k]).to_vector<float>());
  }
}

TEST_F(Norm, MayReplaceAnOperand) {
  for (int64_t n : {1, 33, 1030}) {
    const Tensor x = to_device(normal({3, n}, float32, 2), device);
    const Tensor dy = to_device(normal({3, n}, float32, 1, 2), device);
    const Tensor w = to_device(normal({n}, float32, 1, 3), device);
    const Tensors right = forward(x, w, w, 1);
    const std::vector<float> dx = backward(dy, x, w, right[1], right[2], 1)[0].to_vector<float>();
    under_every_schedule([&] {
      const Tensor y = copy_of(x), over_dy = copy_of(dy), over_x = copy_of(x);
      const Tensor mean = empty_like(right[1]), rstd = empty_like(mean);
      kernels::layer_norm(y, w, w, 1, 1e-3, into(y), into(mean), into(rstd));
      kernels::layer_norm_grad(over_dy, x, w, mean, rstd, 1, into(over_dy), Dest(), Dest());
      kernels::layer_norm_grad(dy, over_x, w, mean, rstd, 1, into(over_x), Dest(), Dest());
      EXPECT_EQ(y.to_vector<float>(), right[0].to_vector<float>());
      EXPECT_EQ(over_dy.to_vector<float>(), dx);
      EXPECT_EQ(over_x.to_vector<float>(), dx);
    });
  }
}

// Deviations of a few places beside a large mean; a constant row has none.
TEST_F(Norm, HoldsBesideALargeMean) {
  for (int64_t n : {5, 33, 1030}) {
    std::vector<double> x;
    for (int64_t i = 0; i < n; ++i) x.push_back(1e6 + static_cast<double>(i % 4));
    for (int64_t i = 0; i < n; ++i) x.push_back(12345.678);
    const Tensors y = forward(to_device(tensor(x, {2, n}), device), Tensor(), Tensor(), 1);
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i) mean += static_cast<double>(i % 4) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      variance += std::pow(static_cast<double>(i % 4) - mean, 2) / static_cast<double>(n);
    const std::vector<double> got = y[0].to_vector<double>();
    for (int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(got[static_cast<size_t>(i)],
                  (static_cast<double>(i % 4) - mean) / std::sqrt(variance + 1e-3), 1e-6);
    for (int64_t i = n; i < 2 * n; ++i) EXPECT_NEAR(got[static_cast<size_t>(i)], 0, 1e-6);
    EXPECT_NEAR(y[1].to_vector<double>()[0], 1e6 + mean, 1e-9);
    EXPECT_NEAR(y[2].to_vector<double>()[1], 1 / std::sqrt(1e-3), 1e-6);
  }
}

// What the rounding of the mean leaves is taken away: 0.1 is its own mean, and has next to no
// variance.
TEST_F(Norm, AConstantRowHasItsMeanExactlyAndNextToNoVariance) {
  for (double value : {0.1, 0.3, 0.7})
    for (int64_t n = 1; n < 80; ++n) {
      const Tensor x = full({1, n}, value, float64, device), y = empty_like(x);
      const Tensor mean = empty({1}, float64, device), rstd = empty_like(mean);
      kernels::layer_norm(x, {}, {}, 1, 0, into(y), into(mean), into(rstd));
      EXPECT_EQ(mean.item(), value) << n;
      EXPECT_GT(rstd.item(), 1e20) << n;
    }
}

// A row m, m, m + u where u is the last place of m: its mean is no number of that type.
TEST_F(Norm, TheRoundingOfTheMeanDoesNotWidenARow) {
  const double m = 0x1p40, u = 0x1p-12;
  for (Device where : {Device::cpu(), device}) {
    const Tensor x = to_device(tensor({m, m, m + u}, {1, 3}, float64), where), y = empty_like(x);
    const Tensor mean = empty({1}, float64, where), rstd = empty_like(mean);
    kernels::layer_norm(x, {}, {}, 1, 0, into(y), into(mean), into(rstd));
    EXPECT_NEAR(rstd.item() * u, 3 / std::sqrt(2), 1e-12) << where;
  }
}

TEST_F(Norm, OfInfinitiesAndNaNIsTheCpus) {
  for (int64_t n : {1, 5, 33, 1030}) {
    std::vector<double> x(static_cast<size_t>(4 * n), 0.5);
    x[0] = kNaN;
    x[static_cast<size_t>(n + n / 2)] = kInf;
    x[static_cast<size_t>(3 * n - 1)] = -kInf;
    expect_as_on_cpu(
        {tensor(x, {4, n}), normal({n})},
        [](const Tensors& in) {
          Tensors y = forward(in[0], in[1], in[1], 1);
          const Tensors dx = backward(in[0], in[0], in[1], y[1], y[2], 1);
          y.push_back(dx[0]);
          return y;
        },
        8);
  }
}

TEST_F(Norm, OfARowDependsOnThatRowAlone) {
  for (int64_t n : {3, 33, 70}) {
    const Tensor x = to_device(normal({9, n}, float64, 3), device);
    const Tensor w = to_device(normal({n}, float64, 1, 2), device);
    const Tensors all = forward(x, w, w, 1);
    const Tensor dx = backward(x, x, w, all[1], all[2], 1)[0];
    for (int64_t r = 0; r < 9; ++r) {
      const auto part = [r](const Tensor& t) { return part_of(t, 0, r, r + 1); };
      const Tensors one = forward(part(x), w, w, 1);
      for (size_t k = 0; k < 3; ++k)
        EXPECT_EQ(one[k].to_vector<double>(), part(all[k]).to_vector<double>());
      EXPECT_EQ(backward(part(x), part(x), w, one[1], one[2], 1)[0].to_vector<double>(),
                part(dx).to_vector<double>());
    }
  }
}

TEST_F(Norm, OfARowDoesNotDependOnHowItLies) {
  for (DType dtype : {float32, float64})
    for (int64_t n : {5, 33, 300, 1030}) {
      const Tensor x = normal({n, 4}, dtype, 3), w = to_device(normal({n}, dtype), device);
      const auto across = [](const Tensor& t) {
        return part_of(t.alias(layout::transpose(t.layout(), 0, 1)), 0, 1, 4);
      };
      const Tensor dense = to_device(copy_of(across(x)), device);
      const Tensor strided = across(to_device(x, device));
      const Tensors right = forward(dense, w, w, 1), got = forward(strided, w, w, 1);
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(got[k].to_vector<double>(), right[k].to_vector<double>()) << k << " of " << n;
      EXPECT_EQ(backward(strided, strided, w, got[1], got[2], 1)[0].to_vector<double>(),
                backward(dense, dense, w, got[1], got[2], 1)[0].to_vector<double>());
    }
}

}  // namespace
}  // namespace accrue::testing
