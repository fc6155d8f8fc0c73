#include "tests/cuda/inputs.h"
#include "tests/cuda/support.h"

#include <accrue/kernels/softmax.h>

namespace accrue::testing {
namespace {

/// The six kernels on x along dim, each onto ones, as `write` wants it.
Tensors all_of(const Tensor& x, const Tensor& g, const Tensor& g_row, int dim,
               const std::function<Dest(const Tensor&)>& write) {
  Tensors y;
  const auto result = [&](const Tensor& like) {
    y.push_back(ones_like(like));
    return write(y.back());
  };
  kernels::softmax(x, dim, result(x));
  kernels::softmax_grad(g, x, dim, result(x));
  kernels::log_softmax(x, dim, result(x));
  kernels::log_softmax_grad(g, x, dim, result(x));
  kernels::logsumexp(x, dim, result(g_row));
  kernels::logsumexp_grad(g_row, x, dim, result(x));
  return y;
}

class Softmax : public OnExecutor {
 protected:
  void expect_all_as_on_cpu(const Dims& shape, int dim, DType dtype, double units) {
    Dims row = shape;
    row[dim] = 1;
    expect_as_on_cpu(
        {normal(shape, dtype, 2), normal(shape, dtype, 1, 2), normal(row, dtype, 1, 3)},
        [dim](const Tensors& x) { return all_of(x[0], x[1], x[2], dim, into); }, units);
  }
};

TEST_F(Softmax, IsTheCpusForRowsOfAnyLength) {
  for (int64_t n : {0, 1, 2, 3, 4, 5, 17, 33, 127, 1000}) {
    SCOPED_TRACE(n);
    expect_all_as_on_cpu({3, n}, 1, float32, 4);
  }
  for (int64_t n : {1025, 1028, 1030, 8195}) expect_all_as_on_cpu({2, n}, 1, float32, 4);
  expect_all_as_on_cpu({0, 5}, 1, float32, 0);
  expect_all_as_on_cpu({7}, 0, float32, 4);
}

TEST_F(Softmax, IsTheCpusForEveryDtypeAlongEveryDimension) {
  for (const auto& [dtype, units] :
       {std::pair{float64, 8}, {DType::bfloat16, 1}, {DType::float16, 1}, {float32, 4}})
    for (int dim : {0, 1, 2}) expect_all_as_on_cpu({5, 9, 6}, dim, dtype, units);
  expect_all_as_on_cpu({1030, 2}, 0, float64, 8);
  expect_all_as_on_cpu({300, 3}, 0, float32, 4);
}

TEST_F(Softmax, TakesOperandsOfAnyStrides) {
  for (int dim : {0, 1, 2})
    expect_as_on_cpu(
        {normal({2, 7, 12}, float32, 2), normal({2, 7, 12}, float32, 1, 2),
         normal({2, 6, 7}, float32, 1, 3)},
        [dim](const Tensors& x) {
          Tensors memory;
          const Tensor g_row = part_of(x[2], dim, 0, 1);
          all_of(strided_part(x[0]), strided_part(x[1]), g_row, dim, [&](const Tensor& y) {
            memory.push_back(
                ones({y.shape()[0], y.shape()[2], 2 * y.shape()[1]}, float32, y.device()));
            return into(strided_part(memory.back()));
          });
          return memory;
        },
        4);
}

// Rows that lie dense, but not one after another, some of them at multiples of 16 bytes.
TEST_F(Softmax, TakesRowsWithGapsBetweenThem) {
  expect_as_on_cpu(
      {normal({5, 42}, float32, 2), normal({5, 42}, float32, 1, 2), normal({5, 1})},
      [](const Tensors& x) {
        const auto part = [](const Tensor& t) { return part_of(t, 1, 2, 37); };
        Tensors memory;
        all_of(part(x[0]), part(x[1]), x[2], 1, [&](const Tensor& y) {
          memory.push_back(y.shape()[1] == 1 ? y : ones_like(x[0]));
          return into(y.shape()[1] == 1 ? y : part(memory.back()));
        });
        return memory;
      },
      4);
}

TEST_F(Softmax, AddsToOldContent) {
  for (int64_t n : {6, 8, 1030})
    expect_as_on_cpu(
        {normal({3, n}), normal({3, n}, float32, 1, 2), normal({3, 1})},
        [](const Tensors& x) { return all_of(x[0], x[1], x[2], 1, adding_to); }, 4);
  expect_as_on_cpu(
      {normal({3, 6}, DType::bfloat16), normal({3, 6}, DType::bfloat16),
       normal({3, 1}, DType::bfloat16)},
      [](const Tensors& x) { return all_of(x[0], x[1], x[2], 1, adding_to); }, 1);
}

TEST_F(Softmax, MayReplaceAnOperand) {
  for (int64_t n : {1, 33, 1030})
    for (DType dtype : {float32, float64}) {
      const Tensor x = to_device(normal({3, n}, dtype, 2), device);
      const Tensor g = to_device(normal({3, n}, dtype, 1, 2), device);
      const Tensor g_row = to_device(normal({3, 1}, dtype, 1, 3), device);
      const Tensors right = all_of(x, g, g_row, 1, into);
      under_every_schedule([&] {
        Tensors y;
        for (const Tensor& from : {x, g, x, g, g_row, x}) y.push_back(copy_of(from));
        kernels::softmax(y[0], 1, into(y[0]));
        kernels::softmax_grad(y[1], x, 1, into(y[1]));
        kernels::log_softmax(y[2], 1, into(y[2]));
        kernels::log_softmax_grad(y[3], x, 1, into(y[3]));
        kernels::logsumexp(x, 1, into(y[4]));
        kernels::logsumexp_grad(g_row, y[5], 1, into(y[5]));
        for (size_t k = 0; k < y.size(); ++k)
          EXPECT_EQ(y[k].to_vector<double>(), right[k].to_vector<double>()) << "kernel " << k;
      });
    }
}

// A place in the last digits of what is summed shows, were the order another.
TEST_F(Softmax, OfARowDependsOnThatRowAlone) {
  for (DType dtype : {float32, float64})
    for (int64_t n : {3, 33, 70}) {
      const Tensor x = to_device(normal({9, n}, dtype, 3), device);
      const Tensor g = to_device(normal({9, n}, dtype, 1, 2), device);
      const Tensor g_row = to_device(normal({9, 1}, dtype, 1, 3), device);
      const Tensors all = all_of(x, g, g_row, 1, into);
      for (int64_t r = 0; r < 9; ++r) {
        const auto part = [r](const Tensor& t) { return part_of(t, 0, r, r + 1); };
        const Tensors one = all_of(part(x), part(g), part(g_row), 1, into);
        for (size_t k = 0; k < all.size(); ++k)
          EXPECT_EQ(one[k].to_vector<double>(), part(all[k]).to_vector<double>())
              << "kernel " << k << ", row " << r << " of " << n;
      }
    }
}

// Rows across memory, and rows that are not aligned, against dense ones.
TEST_F(Softmax, OfARowDoesNotDependOnHowItLies) {
  for (DType dtype : {float32, float64})
    for (int64_t n : {5, 33, 300, 1030}) {
      const Tensor x = normal({n, 4}, dtype, 3), g = normal({n, 4}, dtype, 1, 2);
      const Tensor g_row = to_device(normal({3, 1}, dtype, 1, 3), device);
      const auto across = [](const Tensor& t) {
        return part_of(t.alias(layout::transpose(t.layout(), 0, 1)), 0, 1, 4);
      };
      const auto there = [&](const Tensor& t) { return to_device(t, device); };
      const Tensors right =
          all_of(there(copy_of(across(x))), there(copy_of(across(g))), g_row, 1, into);
      const Tensors got = all_of(across(there(x)), across(there(g)), g_row, 1, into);
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(got[k].to_vector<double>(), right[k].to_vector<double>())
            << "kernel " << k << ", rows of " << n;
    }
}

TEST_F(Softmax, OfEqualLogitsIsExact) {
  under_every_schedule([&] {
    const Tensor x = full({2, 64}, 3, float32, device), y = empty_like(x);
    kernels::softmax(x, 1, into(y));
    for (float v : y.to_vector<float>()) EXPECT_EQ(v, 1.0F / 64);
  });
}

// What has been summed is made smaller whenever a larger logit comes; both ends of a row are tried.
TEST_F(Softmax, HoldsForLargeAndSteepRows) {
  for (int64_t n : {33, 1030}) {
    std::vector<double> x;
    for (int64_t i = 0; i < n; ++i) x.push_back(1e4 + 0.5 * static_cast<double>(i));
    for (int64_t i = 0; i < n; ++i) x.push_back(-1e4 - 0.5 * static_cast<double>(i));
    for (int64_t i = 0; i < n; ++i) x.push_back(i == n / 2 ? 300 : 0);
    expect_as_on_cpu(
        {tensor(x, {3, n}), normal({3, n}), normal({3, 1})},
        [](const Tensors& t) { return all_of(t[0], t[1], t[2], 1, into); }, 4);
  }
}

TEST_F(Softmax, OfInfinitiesAndNaNIsTheCpus) {
  for (int64_t n : {1, 5, 8, 33, 1030}) {
    const int64_t rows = 9;
    std::vector<double> x(static_cast<size_t>(rows * n), 0.25);
    const auto at = [&](int64_t r, int64_t i) -> double& {
      return x[static_cast<size_t>(r * n + i)];
    };
    for (int64_t i = 0; i < n; ++i) at(0, i) = -kInf;
    for (int64_t i = 0; i < n; ++i) at(1, i) = kNaN;
    for (int64_t i = 0; i < n; ++i) at(2, i) = kInf;
    at(3, 0) = kNaN;
    at(4, n - 1) = kNaN;
    at(5, n / 2) = kInf;
    at(6, n / 2) = -kInf;
    for (int64_t i = 0; i < n; ++i) at(7, i) = i == n - 1 ? 7 : -kInf;
    at(8, 0) = kInf;
    at(8, n - 1) = n > 1 ? kNaN : kInf;
    for (DType dtype : {float32, float64})
      expect_as_on_cpu(
          {tensor(x, {rows, n}, dtype), normal({rows, n}, dtype), normal({rows, 1}, dtype)},
          [](const Tensors& t) { return all_of(t[0], t[1], t[2], 1, into); }, 8);
  }
}

// More rows than one grid has teams.
TEST_F(Softmax, TakesManyRows) {
  const int64_t rows = (1 << 18) + 3;
  const Tensor x = to_device(arange(0, static_cast<double>(rows), 1, float32), device);
  const Tensor y = empty({rows, 1}, float32, device);
  kernels::logsumexp(x.alias({{rows, 1}, {1, 1}, 0}), 1, into(y));
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
}

}  // namespace
}  // namespace accrue::testing
