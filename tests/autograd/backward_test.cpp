// The pass: what accumulates, what does not, what is freed, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/trace.h>

#include <accrue/autograd/grad.h>
#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/gradcheck.h>
#include <accrue/autograd/hooks.h>
#include <accrue/autograd/node.h>
#include <accrue/autograd/op.h>
#include <accrue/autograd/ops.h>
#include <accrue/autograd/tape.h>

namespace accrue {
namespace {

using Values = std::vector<double>;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor leaf(std::initializer_list<double> values) {
  return tensor(values, DType::float64).set_requires_grad();
}
Tensor number(double value) { return scalar(value, DType::float64).set_requires_grad(); }
double grad_of(const Tensor& x) { return x.grad().item(); }

TEST(Backward, AddsIntoGradUntilZeroGrad) {
  Tensor w = number(3);
  (w * 2.0).backward();
  (w * 3.0).backward();
  EXPECT_EQ(grad_of(w), 5);  // case_GA_12: two losses on separate graphs
  w.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  (w * 7.0).backward();
  EXPECT_EQ(grad_of(w), 7);
}

TEST(Backward, GradKeepsItsAddress) {
  Tensor w = leaf({1, 2});
  const auto loss = [&] { return matmul(w, tensor({3, 4}, DType::float64)); };
  loss().backward();
  const void* where = w.grad().view().data;
  for (int window = 0; window < 3; ++window) {
    w.zero_grad();
    loss().backward();
    loss().backward();
    EXPECT_EQ(w.grad().view().data, where);
    EXPECT_EQ(w.grad().to_vector<double>(), (Values{6, 8}));
  }
}

TEST(Backward, case_AG_01_DiamondsCountEachPathOnce) {
  Tensor x = number(3);
  Tensor z = x * x;
  (z + z).backward();
  EXPECT_EQ(grad_of(x), 12);
  Tensor a = number(2), b = number(3);
  ((a + b) * a).backward();
  EXPECT_EQ(grad_of(a), 7);
  EXPECT_EQ(grad_of(b), 2);
}

TEST(Backward, case_AG_02_SixtyDoublingsVisitSixtyNodes) {
  Tensor x = number(1);
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  EXPECT_EQ(Tape::of(y).size(), 60U);
  y.backward();
  EXPECT_EQ(grad_of(x), 0x1p60);
}

TEST(Backward, case_B17_RetainedGraphDoublesLeavesAndNothingElse) {
  Tensor a = number(3), b = number(2), d = number(1);
  Tensor e = (a + b) * d;
  e.backward({.retain_graph = true});
  e.backward();
  EXPECT_EQ(grad_of(a), 2);
  EXPECT_EQ(grad_of(d), 10);
}

TEST(Backward, SecondPassOverAFreedGraphNamesTheNode) {
  Tensor x = number(1);
  Tensor y = tanh(x) * 2.0;
  y.backward();
  EXPECT_THAT([&] { y.backward(); },
              ThrowsMessage<AutogradError>(HasSubstr("backward through this node a second time")));
  EXPECT_NEAR(grad_of(x), 2 * (1 - std::tanh(1) * std::tanh(1)), 1e-15);
}

TEST(Backward, SecondPassOverAFreedGraphLeavesGradientsAsTheyWere) {
  Tensor w = number(2), v = number(1);
  Tensor y = w * w;
  y.backward();
  (v * 3.0).backward();
  EXPECT_THROW((y + v).backward(), AutogradError);  // reaches v before it reaches y
  EXPECT_EQ(grad_of(v), 3);
  EXPECT_EQ(grad_of(w), 4);
}

TEST(Backward, case_GA_06_AWeightUsedFiveTimes) {
  Tensor w = number(2);
  const auto fifth_power = [&] { return w * w * w * w * w; };
  fifth_power().backward();
  EXPECT_EQ(grad_of(w), 80);
  fifth_power().backward();
  EXPECT_EQ(grad_of(w), 160);
}

TEST(Backward, case_B26_TiedWeightInOnePass) {
  Tensor w = number(1);
  (w * 2.0 + w * 3.0).backward();
  EXPECT_EQ(grad_of(w), 5);
}

TEST(Backward, case_VI_07_GradientsNeverAliasEachOther) {
  Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensor seed = tensor({1, 1}, DType::float64);
  for (int i = 0; i < 2; ++i) (a + b).backward({.gradient = seed});
  EXPECT_EQ(b.grad().to_vector<double>(), (Values{2, 2}));
  Tensor g = a.grad();
  g *= 2.0;
  EXPECT_EQ(a.grad().to_vector<double>(), (Values{4, 4}));
  EXPECT_EQ(b.grad().to_vector<double>(), (Values{2, 2}));
  EXPECT_EQ(seed.to_vector<double>(), (Values{1, 1}));
}

TEST(Backward, case_AG_05_RootNeedsOneElementOrAFittingSeed) {
  Tensor x = leaf({1, 2});
  Tensor y = x * 2.0;
  EXPECT_THAT(
      [&] { y.backward(); },
      ThrowsMessage<ShapeError>(HasSubstr("the loss must be one number, but has shape [2]")));
  EXPECT_THAT([&] { y.backward({.gradient = zeros({3}, DType::float64)}); },
              ThrowsMessage<ShapeError>(HasSubstr("has shape [3], the tensor [2]")));
  EXPECT_THROW(y.backward({.gradient = zeros({2})}), DTypeError);
  EXPECT_FALSE(x.grad().defined());
  y.backward({.gradient = tensor({1, 10}, DType::float64)});
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{2, 20}));
}

TEST(Backward, case_AG_06_WithoutAGraphIsAnErrorNotACrash) {
  EXPECT_THAT([] { ones({1}).backward(); },
              ThrowsMessage<AutogradError>(HasSubstr("does not require grad")));
  Tensor x = number(1);
  EXPECT_THROW(detach(x * 2.0).backward(), AutogradError);
  EXPECT_THROW(Tensor().backward(), AutogradError);
}

TEST(Backward, ALeafIsItsOwnRoot) {
  Tensor x = number(5);
  x.backward();
  x.backward();
  EXPECT_EQ(grad_of(x), 2);
}

TEST(Backward, ALeafThatIsItsOwnRootKeepsTheRulesOfAPass) {
  Tensor x = number(5);
  HookHandle refuse = after_accumulate(x, [](const Tensor&) { throw Error("refused"); });
  EXPECT_THROW(x.backward(), Error);
  EXPECT_FALSE(x.grad().defined());
  refuse.remove();
  x.backward();
  register_hook(x, [](const Tensor& g) { return g * 10.0; });
  x.backward();
  EXPECT_EQ(grad_of(x), 11);
  const Tensor seed = number(7).set_requires_grad(false);
  const Tensor g = grad(x, {x}, {.gradient = seed})[0];
  EXPECT_EQ(g.item(), 70);
  EXPECT_FALSE(g.same_storage(seed));
}

TEST(Backward, case_B18_ASeedMayBeTheGradientThatIsAddedTo) {
  const Tensor g = randn({40, 40}, DType::float64);
  Tensor w = zeros({40, 40}, DType::float64).set_requires_grad();
  set_grad(w, g);
  const Tensor a = randn({40, 40}, DType::float64);
  matmul(a, w).backward({.gradient = w.grad()});
  EXPECT_LT(max(abs(w.grad() - (g + matmul(t(a), g)))).item(), 1e-12);
  set_grad(w, g);
  (w + t(w)).backward({.gradient = w.grad()});
  EXPECT_LT(max(abs(w.grad() - (g * 2.0 + t(g)))).item(), 1e-12);
  set_grad(w, t(w.grad()));
  EXPECT_LT(max(abs(w.grad() - (t(g) * 2.0 + g))).item(), 1e-12);
}

TEST(Backward, AGradientMayNotBeBoundToItsOwnValues) {
  Tensor w = leaf({1, 2});
  EXPECT_THROW(bind_grad(w, detach(w)), AutogradError);
  const Tensor buffer = zeros({2}, DType::float64);
  bind_grad(w, buffer);
  sum(w * 3.0).backward();
  EXPECT_EQ(buffer.to_vector<double>(), (Values{3, 3}));
}

TEST(Backward, case_AG_10_AThrowingOperatorLeavesEverythingAsItWas) {
  Tensor w = leaf({1, 2});
  Tensor y = w * 3.0;
  {
    const NoGrad off;
    EXPECT_THROW(matmul(zeros({2, 3}), zeros({4, 5})), ShapeError);
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  y.backward({.gradient = ones({2}, DType::float64)});
  EXPECT_EQ(w.grad().to_vector<double>(), (Values{3, 3}));
}

TEST(Backward, NothingIsLeftAlive) {
  const int64_t nodes = Node::live();
  const int64_t storages = Storage::live();
  {
    Tensor x = leaf({1, 2});
    Tensor h = tanh(x * x) + exp(x);
    Tensor y = matmul(h, h);
    y.backward();
    const Tensor forgotten = sigmoid(h);  // never walked
  }
  EXPECT_EQ(Node::live(), nodes);
  EXPECT_EQ(Storage::live(), storages);
}

TEST(Backward, SavedTensorsAreFreedAsThePassGoes) {
  Tensor x = leaf({1, 2});
  Tensor y = matmul(tanh(x), tanh(x));
  EXPECT_GT(Tape::of(y).saved_bytes(), 0);
  y.backward();
  EXPECT_EQ(Tape::of(y).saved_bytes(), 0);
}

TEST(Backward, RetainGradKeepsAndAccumulatesAnInteriorGradient) {
  Tensor x = number(2);
  Tensor h = x * 3.0;
  retain_grad(h);
  Tensor y = h * h;
  y.backward({.retain_graph = true});
  EXPECT_EQ(grad_of(h), 12);
  y.backward();
  EXPECT_EQ(grad_of(h), 24);
  h.zero_grad();
  EXPECT_FALSE(h.grad().defined());
  EXPECT_EQ(grad_of(x), 72);
}

TEST(Backward, SixteenBitLeavesHaveFloat32Gradients) {  // B23
  Tensor w = scalar(1, DType::bfloat16).set_requires_grad();
  const Tensor small = scalar(0x1p-9, DType::bfloat16);
  w.backward();
  for (int i = 0; i < 256; ++i) (w * small).backward();
  EXPECT_EQ(w.grad().dtype(), DType::float32);
  EXPECT_EQ(grad_of(w), 1.5);
}

struct Refuse {
  static constexpr const char* name = "refuse";
  Tensor forward(const Tensor& x) { return x.alias(x.layout()); }
  void backward(const Tensor&, GradSink) { throw Error("refused"); }
};

TEST(Backward, FailingPassLeavesNoHalfGradient) {
  Tensor fresh = number(1), filled = number(1);
  (filled * 4.0).backward();
  // The loss reaches both leaves before it reaches the operator that refuses.
  const auto loss = [&] { return apply(Refuse{}, fresh * 1.0) * filled * fresh; };
  EXPECT_THROW(loss().backward(), Error);
  EXPECT_FALSE(fresh.grad().defined());
  EXPECT_THROW(filled.grad(), AutogradError);
  EXPECT_THROW((filled * 1.0).backward(), AutogradError);
  filled.zero_grad();
  (filled * 1.0).backward();
  EXPECT_EQ(grad_of(filled), 1);
}

TEST(Backward, FailingPassLeavesNoRetainedGradient) {
  Tensor x = number(1);
  Tensor h = apply(Refuse{}, x * 2.0);
  retain_grad(h);
  EXPECT_THROW((h * 3.0).backward(), Error);
  EXPECT_FALSE(h.grad().defined());
}

TEST(Grad, ReturnsFreshTensorsAndTouchesNoGrad) {  // R7
  Tensor a = leaf({1, 2}), b = leaf({3, 4});
  Tensor h = a + b;
  Tensor y = matmul(h, h);
  const auto g = grad(y, {a, b, h});
  for (const Tensor& gi : g) EXPECT_EQ(gi.to_vector<double>(), (Values{8, 12}));
  Tensor first = g[0];
  first *= 0.0;
  EXPECT_EQ(g[1].to_vector<double>(), (Values{8, 12}));
  EXPECT_EQ(g[2].to_vector<double>(), (Values{8, 12}));
  EXPECT_FALSE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
}

TEST(Grad, UnusedInputIsAnErrorUnlessAllowed) {
  Tensor a = number(1), unused = number(1);
  EXPECT_THROW(grad(a * 2.0, {a, unused}), AutogradError);
  const auto g = grad(a * 2.0, {a, unused}, {.allow_unused = true});
  EXPECT_EQ(g[0].item(), 2);
  EXPECT_FALSE(g[1].defined());
  EXPECT_THROW(grad(a * 2.0, {scalar(1)}), AutogradError);
  Tensor y = a * a;
  EXPECT_THROW(grad(y, {a, unused}), AutogradError);
  EXPECT_EQ(grad(y, {a})[0].item(), 2);  // the graph is still there
}

TEST(Grad, RunsOnlyWhatLiesBetween) {
  Tensor x = number(2), w = number(3);
  Tensor h = x * w;
  Tensor y = h * h;
  kernels::Trace trace;
  EXPECT_EQ(grad(y, {h})[0].item(), 12);
  EXPECT_EQ(trace.count("mul"), 2);  // both factors of h·h, nothing below h
  const Tensor refusing = apply(Refuse{}, x * 1.0);
  EXPECT_EQ(grad(refusing * 3.0, {refusing})[0].item(), 3);
}

TEST(GradMode, NestsAndSurvivesExceptions) {
  Tensor x = number(1);
  try {
    const NoGrad off;
    EXPECT_FALSE((x * 2.0).requires_grad());
    {
      const EnableGrad on;
      EXPECT_TRUE((x * 2.0).requires_grad());
    }
    EXPECT_FALSE(grad_enabled());
    throw Error("leaves the guard");
  } catch (const Error&) {
  }
  EXPECT_TRUE((x * 2.0).requires_grad());
}

TEST(RequiresGrad, IsForFloatingLeaves) {
  EXPECT_THROW(arange(3).set_requires_grad(), DTypeError);
  Tensor x = number(1);
  Tensor y = x * 2.0;
  EXPECT_THROW(y.set_requires_grad(false), AutogradError);
  x.set_requires_grad(false);
  EXPECT_FALSE((x * 2.0).requires_grad());
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(y.is_leaf());
}

struct WrongSquare {
  static constexpr const char* name = "wrong_square";
  Saved saved;
  Tensor forward(const Tensor& v) {
    saved = v;
    const NoGrad off;
    return v * v;
  }
  void backward(const Tensor& dy, GradSink dx) { dx.add(dy * saved.get()); }  // lacks the 2
};

TEST(Gradcheck, AcceptsTheRightAndNamesTheWrongEntry) {
  const Tensor x = leaf({0.3, -0.7, 1.1});
  EXPECT_LT(gradcheck([](const auto& v) { return tanh(v[0]) * v[0]; }, {x}), 1e-8);
  EXPECT_THAT([&] { gradcheck([](const auto& v) { return apply(WrongSquare{}, v[0]); }, {x}); },
              ThrowsMessage<AutogradError>(HasSubstr("by backward and")));
}

}  // namespace
}  // namespace accrue
