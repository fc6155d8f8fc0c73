#include "tests/cuda/inputs.h"
#include "tests/cuda/support.h"

#include <accrue/core/error.h>

#include <accrue/kernels/loss.h>

namespace accrue::testing {
namespace {

using kernels::CrossEntropy;

/// Class numbers in [0, classes), every seventh of them ignored.
Tensor labels(const Dims& shape, int64_t classes, DType dtype = int64) {
  std::vector<double> t;
  for (int64_t r = 0; r < numel(shape); ++r)
    t.push_back(r % 7 == 3 ? -100 : static_cast<double>((5 * r + r / 3) % classes));
  return tensor(t, shape, dtype);
}

/// Loss, lse, counted and dx; inputs are x, target, dy and perhaps weights.
Tensors both(const CrossEntropy& p, const Tensors& in, const Tensor& old_loss, const Tensor& old_dx,
             const std::function<Dest(const Tensor&)>& write) {
  const Tensor &x = in[0], &target = in[1], &dy = in[2];
  const ConstView weight = in.size() > 3 && in[3].defined() ? ConstView(in[3]) : ConstView();
  const Tensor loss = copy_of(old_loss), dx = copy_of(old_dx);
  const Tensor lse = empty(target.shape(), float64, x.device());
  const Tensor counted = empty({}, float64, x.device());
  kernels::cross_entropy(p, x, target, weight, write(loss), into(lse), into(counted));
  kernels::cross_entropy_grad(p, dy, x, target, weight, lse, counted, write(dx));
  return {loss, lse, counted, dx};
}

class Loss : public OnExecutor {
 protected:
  void expect_both_as_on_cpu(const CrossEntropy& p, const Tensor& x, const Tensor& target,
                             const Tensor& weight, double units,
                             const std::function<Dest(const Tensor&)>& write = into) {
    const Dims result = p.reduction == Reduction::none ? target.shape() : Dims();
    const DType like = x.dtype();
    const Tensor upstream = normal(target.shape(), like, 1, 9);
    expect_as_on_cpu(
        {x, target, upstream, weight, full(result, 2, like), normal(x.shape(), like, 1, 8)},
        [&](const Tensors& in) {
          Tensors y = both(p, {in[0], in[1], in[2], in[3]}, in[4], in[5], write);
          y[1] = to_device(tensor(y[1].to_vector<double>(), y[1].shape(), float32), y[1].device());
          return y;
        },
        units);
  }
};

TEST_F(Loss, CrossEntropyIsTheCpusForRowsOfAnyLength) {
  for (Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum})
    for (double smoothing : {0.0, 0.1}) {
      const CrossEntropy p{.reduction = reduction, .label_smoothing = smoothing};
      for (int64_t n : {1, 3, 5, 8, 33, 1000, 1030})
        for (bool weighted : {false, true})
          expect_both_as_on_cpu(p, normal({5, n}, float32, 2), labels({5}, n),
                                weighted ? normal({n}, float32, 1, 4) : Tensor(), 8);
      for (int64_t rows : {0, 33, 70})
        expect_both_as_on_cpu(p, normal({rows, 10}, float32, 2), labels({rows}, 10), Tensor(), 8);
    }
}

TEST_F(Loss, CrossEntropyIsTheCpusForEveryDtypeAndClassDimension) {
  for (const auto& [dtype, units] :
       {std::pair{float64, 16}, {DType::bfloat16, 1}, {DType::float16, 1}, {float32, 8}})
    for (int dim : {0, 1, 2}) {
      Dims rows = {4, 9, 6};
      const int64_t classes = rows[dim];
      rows.erase(dim);
      for (DType number : {int64, DType::int32})
        expect_both_as_on_cpu({.class_dim = dim, .label_smoothing = 0.25},
                              normal({4, 9, 6}, dtype, 2), labels(rows, classes, number),
                              normal({classes}, float64, 1, 4), units);
    }
}

TEST_F(Loss, CrossEntropyAddsToOldContent) {
  for (Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum})
    for (DType dtype : {float32, DType::bfloat16})
      for (int64_t n : {8, 33})
        expect_both_as_on_cpu({.reduction = reduction}, normal({9, n}, dtype), labels({9}, n),
                              Tensor(), dtype == float32 ? 8 : 1, adding_to);
}

TEST_F(Loss, CrossEntropyTakesOperandsOfAnyStrides) {
  // x: [3, 5, 8] of [3, 8, 10]; target: [3, 8] of [8, 6]; dy and lse likewise.
  expect_as_on_cpu(
      {normal({3, 8, 10}, float32, 2), labels({8, 6}, 5), normal({8, 6}), normal({10, 2})},
      [](const Tensors& in) {
        const Tensor x = strided_part(in[0]), target = strided_part(in[1]);
        const Tensor weight = part_of(strided_part(in[3]), 1, 0, 5);
        const Tensor loss = zeros_like(in[2]);
        const Tensor lse = to_device(zeros({8, 6}, float64), x.device());
        const Tensor counted = to_device(zeros({}, float64), x.device());
        const Tensor dx = ones_like(in[0]);
        const CrossEntropy p{.reduction = Reduction::none, .label_smoothing = 0.5};
        const ConstView w = weight.alias({{5}, {weight.strides()[1]}, weight.layout().offset});
        kernels::cross_entropy(p, x, target, w, into(strided_part(loss)), into(strided_part(lse)),
                               into(counted));
        kernels::cross_entropy_grad(p, strided_part(in[2]), x, target, w, strided_part(lse),
                                    counted, into(strided_part(dx)));
        return Tensors{loss, counted, dx};
      },
      8);
}

// The sum in the order of the rows, which in another order would be another.
TEST_F(Loss, SumsInTheOrderOfTheRows) {
  for (int64_t rows : {1, 31, 32, 33, 100}) {
    const CrossEntropy p{.reduction = Reduction::none};
    const Tensor x = to_device(normal({rows, 2}, float64, 5), device);
    const Tensor target = to_device(labels({rows}, 2), device);
    const Tensor w = to_device(tensor({0.1, 1.7}, float64), device);
    const Tensor each = empty({rows}, float64, device), lse = empty({rows}, float64, device);
    const Tensor counted = empty({}, float64, device), sum = empty({}, float64, device);
    kernels::cross_entropy(p, x, target, w, into(each), into(lse), into(counted));
    kernels::cross_entropy({.reduction = Reduction::sum}, x, target, w, into(sum), into(lse),
                           into(counted));
    double right = 0, weights = 0;
    for (double loss : each.to_vector<double>()) right += loss;
    for (int64_t t : target.to_vector<int64_t>()) weights += t < 0 ? 0 : t == 0 ? 0.1 : 1.7;
    EXPECT_EQ(sum.item(), right);
    EXPECT_EQ(counted.item(), weights);
  }
}

// Two equal logits: ln 2, and half of the gradient to either side.
TEST_F(Loss, OfTwoEqualLogitsIsLnTwo) {
  under_every_schedule([&] {
    const Tensor x = zeros({4, 2}, float32, device);
    const Tensor target = to_device(tensor({0, 1, -100, 1}, int64), device);
    const Tensors y =
        both({}, {x, target, ones({4}, float32, device)}, zeros({}, float32, device), x, into);
    EXPECT_FLOAT_EQ(static_cast<float>(y[0].item()), std::log(2.0F));
    EXPECT_EQ(y[2].item(), 3);
    const float g = 0.5F / 3;
    const std::vector<float> dx = y[3].to_vector<float>();
    const std::vector<float> right = {-g, g, g, -g, 0, 0, g, -g};
    for (size_t i = 0; i < dx.size(); ++i) EXPECT_FLOAT_EQ(dx[i], right[i]) << i;
  });
}

TEST_F(Loss, IgnoredRowsAreExactlyZeroWhateverTheyHold) {
  for (int64_t n : {5, 33, 1030})
    for (Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
      const Tensor target = tensor({-100, 2, -100}, int64);
      std::vector<double> x(static_cast<size_t>(3 * n), 1);
      for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = i % 2 == 0 ? kNaN : kInf;
      const Tensor logits = tensor(x, {3, n});
      const Tensors y = both(
          {.reduction = reduction},
          {to_device(logits, device), to_device(target, device), to_device(full({3}, 3), device)},
          zeros(reduction == Reduction::none ? Dims{3} : Dims{}, float32, device),
          zeros({3, n}, float32, device), into);
      for (double v : part_of(y[3], 0, 0, 1).to_vector<double>()) EXPECT_EQ(v, 0);
      for (double v : part_of(y[3], 0, 2, 3).to_vector<double>()) EXPECT_EQ(v, 0);
      EXPECT_EQ(y[1].to_vector<double>()[0], 0);
      EXPECT_EQ(y[2].item(), 1);
      EXPECT_NEAR(y[0].to_vector<double>()[reduction == Reduction::none ? 1 : 0],
                  std::log(static_cast<double>(n)), 1e-6);
    }
}

TEST_F(Loss, IsZeroIfNothingCounts) {
  for (Reduction reduction : {Reduction::mean, Reduction::sum})
    expect_both_as_on_cpu({.reduction = reduction}, normal({2, 5}), full({2}, -100, int64),
                          Tensor(), 0);
  expect_both_as_on_cpu({}, normal({2, 5}), tensor({1, 1}, int64), zeros({5}), 0);
}

TEST_F(Loss, OfInfinitiesAndNaNIsTheCpus) {
  std::vector<double> x(48, 0.5);
  for (size_t i = 0; i < 8; ++i) x[i] = -kInf;
  x[8 + 2] = kNaN;
  x[16 + 2] = kInf;
  x[24 + 5] = kInf;
  x[32 + 2] = -kInf;
  x[40 + 5] = -kInf;
  const Tensor weight = tensor({1, 1, 1, 1, 1, 0, 1, 1});
  for (double smoothing : {0.0, 0.5})
    for (const Tensor& w : {Tensor(), weight})
      expect_both_as_on_cpu({.reduction = Reduction::none, .label_smoothing = smoothing},
                            tensor(x, {6, 8}), full({6}, 2, int64), w, 8);
}

TEST_F(Loss, RefusesABadTargetBeforeAnythingIsWritten) {
  for (int64_t rows : {3, 300}) {
    std::vector<double> t(static_cast<size_t>(rows), 1);
    t[0] = 0;
    t[1] = -100;
    t.back() = -7;
    for (double bad : {5.0, -1.0}) {
      t[2] = bad;
      for (DType dtype : {int64, DType::int32}) {
        const Tensor target = to_device(tensor(t, {rows}, dtype), device);
        const Tensor x = zeros({rows, 5}, float32, device), loss = ones({}, float32, device),
                     lse = ones({rows}, float64, device), counted = ones({}, float64, device);
        std::string text;
        try {
          kernels::cross_entropy({}, x, target, {}, into(loss), into(lse), into(counted));
        } catch (const IndexError& e) {
          text = e.what();
        }
        EXPECT_EQ(text, "cross_entropy: target " + std::to_string(static_cast<int>(bad)) +
                            " at position 2 is outside [0, 5) and is not ignore_index -100");
        EXPECT_EQ(loss.item(), 1);
        EXPECT_EQ(counted.item(), 1);
        for (double v : lse.to_vector<double>()) EXPECT_EQ(v, 1);
      }
    }
  }
}

TEST_F(Loss, ARowsGradientOfASumDependsOnThatRowAlone) {
  for (DType dtype : {float32, float64}) {
    const CrossEntropy p{.reduction = Reduction::sum, .label_smoothing = 0.1};
    const Tensor x = to_device(normal({9, 33}, dtype, 3), device);
    const Tensor target = to_device(labels({9}, 33), device);
    const Tensor dy = to_device(normal({9}, dtype, 1, 2), device);
    const Tensor loss = zeros({}, dtype, device);
    const Tensor dx = both(p, {x, target, dy}, loss, x, into)[3];
    for (int64_t r = 0; r < 9; ++r) {
      const Tensors part = {part_of(x, 0, r, r + 1), part_of(target, 0, r, r + 1),
                            part_of(dy, 0, r, r + 1)};
      EXPECT_EQ(both(p, part, loss, part[0], into)[3].to_vector<double>(),
                part_of(dx, 0, r, r + 1).to_vector<double>());
    }
  }
}

}  // namespace
}  // namespace accrue::testing
