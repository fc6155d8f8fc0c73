#include "tests/autograd/op_laws.h"

#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using namespace testing;

constexpr Reduction kReductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

Tensor classes(const Values& t, const Dims& shape, DType dtype = DType::int64) {
  return make(t, shape, dtype);
}

/// The loss of one row, from the definition, in long double.
long double row_loss(const double* x, size_t n, size_t t, const Values& w, double eps) {
  long double sum = 0;
  for (size_t c = 0; c < n; ++c) sum += std::exp(static_cast<long double>(x[c]));
  const long double lse = std::log(sum);
  long double loss = (1 - eps) * w[t] * (lse - x[t]);
  for (size_t c = 0; c < n; ++c) loss += eps / static_cast<long double>(n) * w[c] * (lse - x[c]);
  return loss;
}

TEST(CrossEntropy, IsTheFormulaWithWeightsSmoothingAndEveryReduction) {
  const Values w{1, 2, 0.5, 0.25, 3};
  const Values targets{4, -100, 0, 2, 1, 1};
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16})
    for (double eps : {0.0, 0.1, 1.0})
      for (bool weighted : {false, true}) {
        const double tolerance = dtype == DType::float64   ? 1e-13
                                 : dtype == DType::float32 ? 2e-5
                                                           : 1e-1;
        const Tensor x = wavy({6, 5}, 0, dtype);
        const Values in = values(x);
        CrossEntropyOptions options{.label_smoothing = eps};
        if (weighted) options.weight = make(w, {5}, dtype);
        const Values used = weighted ? w : Values(5, 1);
        Values each;
        double sum = 0;
        double counted = 0;
        for (size_t r = 0; r < 6; ++r) {
          if (targets[r] < 0) {
            each.push_back(0);
            continue;
          }
          const auto t = static_cast<size_t>(targets[r]);
          each.push_back(static_cast<double>(row_loss(in.data() + 5 * r, 5, t, used, eps)));
          sum += each.back();
          counted += used[t];
        }
        for (DType index : {DType::int64, DType::int32}) {
          const Tensor t = classes(targets, {6}, index);
          options.reduction = Reduction::none;
          const Values found = values(cross_entropy(x, t, options));
          for (size_t r = 0; r < 6; ++r) EXPECT_NEAR(found[r], each[r], tolerance);
          options.reduction = Reduction::sum;
          EXPECT_NEAR(cross_entropy(x, t, options).item(), sum, tolerance * 2);
          options.reduction = Reduction::mean;
          EXPECT_NEAR(cross_entropy(x, t, options).item(), sum / counted, tolerance);
        }
      }
}

TEST(CrossEntropy, GradientLaws) {
  const Tensor t = classes({4, -100, 0, 2, 1, 1}, {6});
  for (Reduction reduction : kReductions)
    for (double eps : {0.0, 0.2})
      for (const Tensor& weight : {Tensor(), make({1, 2, 0.5, 0.25, 3}, {5})}) {
        const CrossEntropyOptions options{
            .weight = weight, .reduction = reduction, .label_smoothing = eps};
        expect_gradient_laws([&](const auto& in) { return cross_entropy(in[0], t, options); },
                             {wavy({6, 5})});
      }
}

TEST(CrossEntropy, GradientLawsOfPixelsAndOfOneItem) {
  const Tensor t = classes({2, 0, 1, 1, -100, 0, 2, 2}, {2, 2, 2});
  for (Reduction reduction : kReductions) {
    const CrossEntropyOptions options{.reduction = reduction};
    expect_gradient_laws([&](const auto& in) { return cross_entropy(in[0], t, options); },
                         {wavy({2, 3, 2, 2})});
    expect_gradient_laws(
        [&](const auto& in) { return cross_entropy(in[0], classes({1}, {}), options); },
        {wavy({3})});
  }
}

TEST(CrossEntropy, PixelsAreRows) {
  const Tensor x = wavy({2, 3, 4});
  const Tensor t = classes({0, 1, 2, 0, 2, 2, 1, 0}, {2, 4});
  const Tensor rows = x.alias(layout::permute(x.layout(), {0, 2, 1}));
  const Tensor flat = make(values(rows), {8, 3});
  const CrossEntropyOptions none{.reduction = Reduction::none};
  EXPECT_EQ(values(cross_entropy(x, t, none)),
            values(cross_entropy(flat, make(values(t), {8}, DType::int64), none)));
  EXPECT_EQ(values(cross_entropy(x, scattered(t), none)), values(cross_entropy(x, t, none)));
}

/// The gradient of a summed loss of 48 rows that arrives in pieces.
std::vector<float> gradient_of_pieces(const std::vector<int64_t>& pieces, double eps) {
  const Tensor x = wavy({48, 33}, 0, DType::float32);
  Values targets;
  for (int i = 0; i < 48; ++i) targets.push_back(i % 7 == 3 ? -100 : i * 5 % 33);
  const Tensor t = classes(targets, {48});
  std::vector<float> all;
  int64_t begin = 0;
  for (int64_t rows : pieces) {
    Tensor part = leaf(x.alias(layout::narrow(x.layout(), 0, begin, rows)));
    cross_entropy(part, t.alias(layout::narrow(t.layout(), 0, begin, rows)),
                  {.reduction = Reduction::sum, .label_smoothing = eps})
        .backward();
    const auto g = part.grad().to_vector<float>();
    all.insert(all.end(), g.begin(), g.end());
    begin += rows;
  }
  return all;
}

TEST(CrossEntropy, ARowsGradientOfASumDependsOnThatRowAlone) {
  for (double eps : {0.0, 0.1}) {
    set_num_threads(1);
    const auto whole = gradient_of_pieces({48}, eps);
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(gradient_of_pieces({48}, eps), whole);
      EXPECT_EQ(gradient_of_pieces({5, 17, 1, 25}, eps), whole);
      EXPECT_EQ(gradient_of_pieces(std::vector<int64_t>(48, 1), eps), whole);
    }
  }
  set_num_threads(2);
}

TEST(CrossEntropy, LargeLogitsLoseNothing) {
  Tensor x = leaf({10000, 10001, 10002}, {1, 3}, DType::float32);
  const Tensor loss = cross_entropy(x, classes({0}, {1}));
  EXPECT_NEAR(loss.item(), 2.4076059644, 3e-7);
  loss.backward();
  const Values expected{-0.9099694324, 0.2447284711, 0.6652409558};
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(values(x.grad())[i], expected[i], 1e-7);
}

TEST(CrossEntropy, OneKernelEachWay) {
  Tensor x = leaf(wavy({6, 5}));
  const Tensor t = classes({4, -100, 0, 2, 1, 1}, {6});
  const kernels::Trace trace;
  const Tensor loss = cross_entropy(x, t);
  EXPECT_EQ(trace.names(), std::vector<std::string>{"cross_entropy"});
  loss.backward();
  EXPECT_EQ(trace.count("cross_entropy_grad"), 1);
}

TEST(CrossEntropy, OfNothingIsNoItems) {
  for (Reduction reduction : kReductions) {
    Tensor x = leaf(Values{}, {0, 3});
    const Tensor loss = cross_entropy(x, classes({}, {0}), {.reduction = reduction});
    EXPECT_EQ(values(loss), reduction == Reduction::none ? Values{} : Values{0});
    backward(loss, ones(loss.shape(), DType::float64));
    EXPECT_EQ(x.grad().shape(), (Dims{0, 3}));
  }
}

TEST(CrossEntropy, AClassOfWeightZeroDoesNotCount) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = leaf({-infinity, 1, 2, 0, 1, 2}, {2, 3});
  const CrossEntropyOptions options{.weight = make({0, 1, 1}, {3}), .label_smoothing = 0.1};
  const Tensor loss = cross_entropy(x, classes({1, 0}, {2}), options);
  EXPECT_TRUE(std::isfinite(loss.item()));
  loss.backward();
  for (double g : values(x.grad())) EXPECT_TRUE(std::isfinite(g));
}

TEST(CrossEntropy, RefusesWithASentence) {
  const Tensor x = wavy({4, 3});
  EXPECT_EQ(message_of<ShapeError>([&] {
              cross_entropy(x, classes({0, 1, 2}, {3}));
            }),
            "cross_entropy: logits [4, 3] need a target of shape [4], but it is [3]");
  EXPECT_EQ(message_of<DTypeError>([&] { cross_entropy(x, wavy({4})); }),
            "cross_entropy: the target is float64; it must hold class indices as int64 or int32");
  EXPECT_THROW(cross_entropy(wavy({4, 0}), classes({0, 0, 0, 0}, {4})), ShapeError);
  EXPECT_THROW(cross_entropy(wavy({0, 0}), classes({}, {0})), ShapeError);
  EXPECT_THROW(cross_entropy(wavy(Dims{}), classes({0}, {})), ShapeError);
  EXPECT_THROW(cross_entropy(arange(3), classes({0}, {})), DTypeError);
  const Tensor t = classes({0, 1, 2, 0}, {4});
  EXPECT_EQ(message_of<ValueError>([&] { cross_entropy(x, t, {.label_smoothing = 1.5}); }),
            "cross_entropy: label_smoothing is 1.5; it must be in [0, 1]");
  EXPECT_THROW(cross_entropy(x, t, {.label_smoothing = std::nan("")}), ValueError);
  EXPECT_EQ(message_of<ShapeError>([&] { cross_entropy(x, t, {.weight = wavy({4})}); }),
            "cross_entropy: the class weights are [4]; there must be one for each class, [3]");
}

TEST(CrossEntropy, case_CE_01) {
  for (Reduction reduction : kReductions) {
    Tensor x = leaf({1, 2, 3, 3, 2, 1}, {2, 3});
    const Tensor loss = cross_entropy(x, classes({-100, -100}, {2}), {.reduction = reduction});
    for (double v : values(loss)) EXPECT_EQ(v, 0);
    backward(loss, ones(loss.shape(), DType::float64));
    EXPECT_EQ(values(x.grad()), Values(6, 0));
  }
}

TEST(CrossEntropy, case_CE_02) {
  const Tensor t = classes({0, 255, 2}, {3});
  CrossEntropyOptions options{.ignore_index = 255, .reduction = Reduction::none};
  Tensor x = leaf({1, 2, 3, 3, 2, 1, 0, 0, 0}, {3, 3});
  const Values each = values(cross_entropy(x, t, options));
  EXPECT_NEAR(each[0], 2.4076059644, 1e-10);
  EXPECT_EQ(each[1], 0);
  EXPECT_NEAR(each[2], 1.0986122887, 1e-10);
  options.reduction = Reduction::mean;
  EXPECT_NEAR(cross_entropy(x, t, options).item(), 1.7531091266, 1e-10);
  options.reduction = Reduction::sum;
  const Tensor sum = cross_entropy(x, t, options);
  EXPECT_NEAR(sum.item(), 3.5062182531, 1e-10);
  sum.backward();
  const Values dx = values(x.grad());
  EXPECT_EQ(Values(dx.begin() + 3, dx.begin() + 6), (Values{0, 0, 0}));
}

TEST(CrossEntropy, case_CE_03) {
  Tensor x = leaf({1, 2, 3}, {1, 3});
  EXPECT_EQ(
      message_of<IndexError>([&] { cross_entropy(x, classes({-4}, {1}), {.ignore_index = -1}); }),
      "cross_entropy: target -4 at position 0 is outside [0, 3) and is not ignore_index -1");
  EXPECT_EQ(message_of<IndexError>([&] { cross_entropy(x, classes({3}, {1})); }),
            "cross_entropy: target 3 at position 0 is outside [0, 3) and is not ignore_index -100");
  Values many(13, 0);
  many[12] = 7;
  EXPECT_EQ(
      message_of<IndexError>([&] {
        cross_entropy(wavy({13, 5}), classes(many, {13}));
      }),
      "cross_entropy: target 7 at position 12 is outside [0, 5) and is not ignore_index -100");
}

TEST(CrossEntropy, case_CE_05) {
  const Tensor x = make({2, 0, -1, 0.5, 1, 0}, {2, 3});
  const Tensor t = classes({0, 2}, {2});
  CrossEntropyOptions options{.weight = make({1, 2, 0.5}, {3})};
  EXPECT_NEAR(cross_entropy(x, t, options).item(), 0.6733205699, 1e-10);
  options.label_smoothing = 0.1;
  EXPECT_NEAR(cross_entropy(x, t, options).item(), 0.8165530666, 1e-10);
}

TEST(CrossEntropy, case_CE_07) {
  const CrossEntropyOptions options{.label_smoothing = 0.1};
  EXPECT_NEAR(cross_entropy(make({2, 0}, {1, 2}), classes({0}, {1}), options).item(), 0.2269280110,
              1e-10);
}

TEST(CrossEntropy, case_CE_08) {
  Tensor x = leaf({1, 2, 3, 1, 2, 3, 3, 2, 1}, {3, 3});
  const Tensor loss = cross_entropy(x, classes({1, -100, 0}, {3}));
  EXPECT_NEAR(loss.item(), 0.9076059644, 1e-10);
  loss.backward();
  const Values dx = values(x.grad());
  EXPECT_EQ(Values(dx.begin() + 3, dx.begin() + 6), (Values{0, 0, 0}));
}

using PairLoss = Tensor (*)(const Tensor&, const Tensor&, Reduction);

TEST(PairLosses, AreTheirFormulas) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
    const double tolerance = dtype == DType::float64   ? 1e-14
                             : dtype == DType::float32 ? 1e-6
                                                       : 5e-2;
    const Tensor a = wavy({3, 7}, 0, dtype);
    const Tensor b = wavy({3, 7}, 1, dtype);
    Values squares;
    Values absolutes;
    double square = 0;
    double absolute = 0;
    for (size_t i = 0; i < 21; ++i) {
      const double d = values(a)[i] - values(b)[i];
      squares.push_back(d * d);
      absolutes.push_back(std::fabs(d));
      square += d * d;
      absolute += std::fabs(d);
    }
    const auto none_of = [&](PairLoss f) { return values(f(a, b, Reduction::none)); };
    for (size_t i = 0; i < 21; ++i) {
      EXPECT_NEAR(none_of(mse_loss)[i], squares[i], tolerance * 10);
      EXPECT_NEAR(none_of(l1_loss)[i], absolutes[i], tolerance * 10);
    }
    EXPECT_NEAR(mse_loss(a, b).item(), square / 21, tolerance);
    EXPECT_NEAR(l1_loss(a, b).item(), absolute / 21, tolerance);
    EXPECT_NEAR(mse_loss(a, b, Reduction::sum).item(), square, tolerance * 40);
    EXPECT_NEAR(l1_loss(a, b, Reduction::sum).item(), absolute, tolerance * 40);
  }
}

TEST(PairLosses, GradientLaws) {
  for (PairLoss f : {PairLoss(mse_loss), PairLoss(l1_loss)})
    for (Reduction reduction : kReductions)
      for (const Dims& shape : {Dims{3, 7}, Dims{}, Dims{2, 3, 4}})
        expect_gradient_laws([&](const auto& in) { return f(in[0], in[1], reduction); },
                             {wavy(shape), wavy(shape, 1)});
}

TEST(PairLosses, OfNothingIsNoItems) {
  for (PairLoss f : {PairLoss(mse_loss), PairLoss(l1_loss)})
    for (Reduction reduction : kReductions) {
      Tensor x = leaf(Values{}, {0, 3});
      const Tensor loss = f(x, make({}, {0, 3}), reduction);
      EXPECT_EQ(values(loss), reduction == Reduction::none ? Values{} : Values{0});
      backward(loss, ones(loss.shape(), DType::float64));
      EXPECT_EQ(x.grad().shape(), (Dims{0, 3}));
    }
}

TEST(PairLosses, EqualPairsHaveNoGradient) {
  Tensor x = leaf({1, 2, 3}, {3});
  l1_loss(x, make({1, 2, 3}, {3}), Reduction::sum).backward();
  EXPECT_EQ(values(x.grad()), (Values{0, 0, 0}));
}

TEST(PairLosses, RefuseIntegers) {
  EXPECT_THROW(mse_loss(wavy({3}), arange(3)), DTypeError);
  EXPECT_THROW(l1_loss(arange(3), wavy({3})), DTypeError);
}

TEST(PairLosses, case_BC_07) {
  const Tensor prediction = make({1, 2, 3}, {3, 1});
  const Tensor target = make({1, 2, 3}, {3});
  EXPECT_EQ(message_of<ShapeError>([&] { mse_loss(prediction, target); }),
            "mse_loss: prediction [3, 1] and target [3] differ; reshape the target to [3, 1]");
  EXPECT_EQ(message_of<ShapeError>([&] { l1_loss(target, prediction); }),
            "l1_loss: prediction [3] and target [3, 1] differ; reshape the target to [3]");
}

}  // namespace
}  // namespace accrue
