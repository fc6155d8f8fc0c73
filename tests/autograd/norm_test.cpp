#include "tests/autograd/op_laws.h"

#include <accrue/core/random.h>

#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using namespace testing;

TEST(LayerNorm, IsTheFormulaInEveryDtype) {
  const int64_t rows = 3;
  const int64_t n = 37;
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
    const double tolerance = dtype == DType::float64   ? 1e-14
                             : dtype == DType::float32 ? 2e-6
                                                       : 2e-2;
    const Tensor x = wavy({rows, n}, 0, dtype);
    const Tensor w = wavy({n}, 1, dtype);
    const Tensor b = wavy({n}, 2, dtype);
    const Values in = values(x);
    const Values y = values(layer_norm(x, {n}, w, b, 1e-3));
    const Values plain = values(layer_norm(x, {n}, {}, {}, 1e-3));
    for (size_t r = 0; r < rows; ++r) {
      long double mean = 0;
      long double variance = 0;
      for (size_t j = 0; j < n; ++j) mean += in[r * n + j] / static_cast<long double>(n);
      for (size_t j = 0; j < n; ++j)
        variance += (in[r * n + j] - mean) * (in[r * n + j] - mean) / static_cast<long double>(n);
      for (size_t j = 0; j < n; ++j) {
        const auto hat = static_cast<double>((in[r * n + j] - mean) / std::sqrt(variance + 1e-3L));
        EXPECT_NEAR(plain[r * n + j], hat, tolerance);
        EXPECT_NEAR(y[r * n + j], hat * values(w)[j] + values(b)[j], tolerance * 2);
      }
    }
  }
}

TEST(LayerNorm, GradientLaws) {
  const std::vector<Tensor> x{wavy({4, 3, 5}), wavy({5}, 1), wavy({5}, 2)};
  expect_gradient_laws([](const auto& in) { return layer_norm(in[0], {5}, in[1], in[2]); }, x, 1);
  expect_gradient_laws([](const auto& in) { return layer_norm(in[0], {5}); }, {x[0]});
  expect_gradient_laws([](const auto& in) { return layer_norm(in[0], {5}, in[1]); }, {x[0], x[1]},
                       1);
  expect_gradient_laws([](const auto& in) { return layer_norm(in[0], {5}, {}, in[1]); },
                       {x[0], x[2]}, 1);
}

TEST(LayerNorm, GradientLawsOverSeveralDimensions) {
  const std::vector<Tensor> x{wavy({4, 3, 5}), wavy({3, 5}, 1), wavy({3, 5}, 2)};
  expect_gradient_laws(
      [](const auto& in) {
        return layer_norm(in[0], {3, 5}, in[1], in[2], 0.1);
      },
      x, 1);
  expect_gradient_laws([](const auto& in) { return layer_norm(in[0], {4, 3, 5}); }, {x[0]});
}

/// The gradients of weight and bias after a batch of 48 rows that arrives in pieces.
std::vector<std::vector<float>> gradients_of_pieces(const std::vector<int64_t>& pieces, int64_t n,
                                                    DType dtype) {
  Tensor w = leaf(waves(n, 1), {n}, dtype);
  Tensor b = leaf(waves(n, 2), {n}, dtype);
  const Tensor x = wavy({48, n}, 0, dtype);
  const Tensor dy = wavy({48, n}, 3, dtype);
  int64_t begin = 0;
  for (int64_t rows : pieces) {
    const Tensor part = x.alias(layout::narrow(x.layout(), 0, begin, rows));
    backward(layer_norm(part, {n}, w, b), dy.alias(layout::narrow(dy.layout(), 0, begin, rows)));
    begin += rows;
  }
  return {w.grad().to_vector<float>(), b.grad().to_vector<float>()};
}

TEST(LayerNorm, ABatchMayArriveInPiecesBitForBit) {
  for (DType dtype : {DType::float32, DType::bfloat16}) {
    for (int64_t n : {1, 33, 600}) {
      set_num_threads(1);
      const auto whole = gradients_of_pieces({48}, n, dtype);
      for (int threads : {1, 2, 3}) {
        set_num_threads(threads);
        EXPECT_EQ(gradients_of_pieces({24, 24}, n, dtype), whole);
        EXPECT_EQ(gradients_of_pieces(std::vector<int64_t>(16, 3), n, dtype), whole);
        EXPECT_EQ(gradients_of_pieces({5, 17, 1, 25}, n, dtype), whole);
      }
    }
  }
  set_num_threads(2);
}

TEST(LayerNorm, ARowDoesNotDependOnTheOthersNorOnItsLayoutNorOnThreads) {
  const int64_t n = 1031;
  const Tensor x = wavy({7, n}, 0, DType::float32);
  set_num_threads(1);
  const Values all = values(layer_norm(x, {n}));
  EXPECT_EQ(values(layer_norm(scattered(x), {n})), all);
  for (int64_t r = 0; r < 7; ++r) {
    const Tensor row = x.alias(layout::narrow(x.layout(), 0, r, 1));
    EXPECT_EQ(values(layer_norm(row, {n})), Values(all.begin() + r * n, all.begin() + (r + 1) * n));
  }
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(values(layer_norm(x, {n})), all);
  }
  set_num_threads(2);
}

TEST(LayerNorm, OfNoRowsHasZeroGradients) {
  Tensor x = leaf(Values{}, {0, 3});
  Tensor w = leaf({1, 2, 3}, {3});
  Tensor b = leaf({1, 2, 3}, {3});
  const Tensor y = layer_norm(x, {3}, w, b);
  EXPECT_EQ(y.shape(), (Dims{0, 3}));
  backward(y, zeros({0, 3}, DType::float64));
  EXPECT_EQ(x.grad().shape(), (Dims{0, 3}));
  EXPECT_EQ(values(w.grad()), (Values{0, 0, 0}));
  EXPECT_EQ(values(b.grad()), (Values{0, 0, 0}));
}

TEST(LayerNorm, OneTensorMayBeEveryInput) {
  const auto loss = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return sum(layer_norm(x, {5}, w, b) * wavy({5}, 7));
  };
  const std::vector<Tensor> apart{wavy({5}).set_requires_grad(), wavy({5}).set_requires_grad(),
                                  wavy({5}).set_requires_grad()};
  loss(apart[0], apart[1], apart[2]).backward();
  const Tensor want = apart[0].grad() + apart[1].grad() + apart[2].grad();
  Tensor v = wavy({5}).set_requires_grad();
  loss(v, v, v).backward();
  EXPECT_LT(max(abs(v.grad() - want)).item(), 1e-14);
}

TEST(LayerNorm, RefusesWithASentence) {
  const Tensor x = wavy({2, 3});
  EXPECT_EQ(message_of<ShapeError>([&] { layer_norm(x, {4}); }),
            "layer_norm: the normalized shape [4] must be the last dimensions of x, [2, 3]");
  EXPECT_EQ(message_of<ShapeError>([&] { layer_norm(x, {3}, wavy({2})); }),
            "layer_norm: the weight has shape [2]; it must be the normalized shape [3]");
  EXPECT_EQ(message_of<ValueError>([&] { layer_norm(x, {3}, {}, {}, -1); }),
            "layer_norm: eps is -1; it must be 0 or positive");
  EXPECT_THROW(layer_norm(x, {}), ShapeError);
  EXPECT_THROW(layer_norm(x, {1, 2, 3}), ShapeError);
  EXPECT_THROW(layer_norm(wavy({2, 0}), {0}), ShapeError);
  EXPECT_THROW(layer_norm(arange(3), {3}), DTypeError);
}

TEST(LayerNorm, case_NM_01) {
  Tensor x = leaf({40000, 40001, 40002, 40003}, {1, 4}, DType::float32);
  const Tensor y = layer_norm(x, {4});
  const Values expected_y{-1.3416354, -0.4472118, 0.4472118, 1.3416354};
  const Values expected_dx{0.2683303, -0.3577684, -0.0894434, 0.1788815};
  backward(y, make({1, 0, 0, 0}, {1, 4}, DType::float32));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(values(y)[i], expected_y[i], 3e-7);
    EXPECT_NEAR(values(x.grad())[i], expected_dx[i], 2e-7);
  }
}

TEST(LayerNorm, case_NM_02) {
  for (DType dtype : {DType::float32, DType::float64})
    for (double value : {1234.0, 0.1, 1e30, -3e-30})
      for (int64_t n : {256, 4, 3, 1000})
        EXPECT_EQ(values(layer_norm(full({n}, value, dtype), {n})), Values(static_cast<size_t>(n)));
  Tensor x = leaf(Values(4, 1234), {4}, DType::float32);
  backward(layer_norm(x, {4}), make({1, 0, 0, 0}, {4}, DType::float32));
  const Values expected{237.1708245, -79.0569415, -79.0569415, -79.0569415};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values(x.grad())[i], expected[i], 3e-5);
}

TEST(LayerNorm, case_NM_08) {
  const Dims shape{8, 1 << 19};
  Generator numbers(8);
  const Tensor x = rand(shape, DType::float32, default_device(), numbers);
  const Values in = values(x);
  const auto n = static_cast<double>(in.size());
  double mean = 0;
  double variance = 0;
  for (double v : in) mean += v / n;
  for (double v : in) variance += (v - mean) * (v - mean) / n;
  const Values y = values(layer_norm(x, shape));
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i)
    worst = std::fmax(worst, std::fabs(y[i] - (in[i] - mean) / std::sqrt(variance + 1e-5)));
  EXPECT_LE(worst, 1e-6);
}

}  // namespace
}  // namespace accrue
