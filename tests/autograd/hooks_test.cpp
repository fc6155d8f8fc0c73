#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <accrue/core/factories.h>

#include <accrue/autograd/grad_mode.h>
#include <accrue/autograd/hooks.h>
#include <accrue/autograd/ops.h>

namespace accrue {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor number(double value) { return scalar(value, DType::float64).set_requires_grad(); }

TEST(Hooks, case_AG_08_LeafHookSeesTheSumOnceAndAfterAccumulateSeesGrad) {
  Tensor x = number(2);
  std::vector<double> seen, after;
  register_hook(x, [&](const Tensor& g) {
    seen.push_back(g.item());
    return g * 10.0;
  });
  after_accumulate(x, [&](const Tensor& g) { after.push_back(g.item()); });
  (x * 3.0 + x * 4.0).backward();
  EXPECT_EQ(seen, std::vector<double>{7});
  EXPECT_EQ(x.grad().item(), 70);
  EXPECT_EQ(after, std::vector<double>{70});
  (x * 1.0).backward();
  EXPECT_EQ(x.grad().item(), 80);
}

TEST(Hooks, case_GA_13_SharedParameterFiresOnce) {
  Tensor w = number(3);
  int fired = 0;
  after_accumulate(w, [&](const Tensor&) { ++fired; });
  (w * (w * 2.0)).backward();
  EXPECT_EQ(w.grad().item(), 12);
  EXPECT_EQ(fired, 1);
}

TEST(Hooks, AfterAccumulateFiresUnderTheRestOfThePass) {
  // The last layer's leaf is complete before the first layer's operator has run backward.
  Tensor first = number(2), last = number(3);
  std::vector<std::string> order;
  after_accumulate(first, [&](const Tensor&) { order.emplace_back("first"); });
  after_accumulate(last, [&](const Tensor&) { order.emplace_back("last"); });
  (tanh(first * 1.0) * last).backward();
  EXPECT_EQ(order, (std::vector<std::string>{"last", "first"}));
}

TEST(Hooks, case_VI_11_ChangingTheReceivedGradientReachesNoSibling) {
  Tensor a = number(1), b = number(1);
  Tensor left = a * 1.0, right = b * 1.0;
  register_hook(left, [](const Tensor& g) {
    Tensor same = g;
    same *= 100.0;
    return Tensor();
  });
  (left + right).backward();
  EXPECT_EQ(a.grad().item(), 100);
  EXPECT_EQ(b.grad().item(), 1);
}

TEST(Hooks, RemovedHooksStaySilentAndMayRemoveThemselves) {
  Tensor x = number(1);
  int calls = 0;
  HookHandle handle = register_hook(x, [&](const Tensor&) {
    ++calls;
    handle.remove();
    return Tensor();
  });
  (x * 1.0).backward();
  (x * 1.0).backward();
  EXPECT_EQ(calls, 1);
}

TEST(Hooks, MayChangeInPlaceAGradientThatWasRepeatedByItsStrides) {
  Tensor x = tensor({{1, 2}, {3, 4}}, DType::float64).set_requires_grad();
  Tensor h = x * 1.0;
  register_hook(h, [](Tensor g) {
    g *= 0.5;
    return Tensor();
  });
  sum(h).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(4, 0.5));
}

TEST(Hooks, RemovingALeafsHookInTheMidstOfAPassLosesNoContribution) {
  Tensor w = number(1);
  HookHandle handle = register_hook(w, [](const Tensor&) { return Tensor(); });
  Tensor early = w * 2.0;
  register_hook(early, [&](const Tensor&) {
    handle.remove();
    return Tensor();
  });
  Tensor late = w * 3.0;  // gives its part to w before the hook goes
  (early + late).backward();
  EXPECT_EQ(w.grad().item(), 5);
}

TEST(Hooks, AGradientThatAHookForgetsIsShownToNoOther) {
  Tensor w = number(1);
  int seen = 0;
  after_accumulate(w, [&](const Tensor&) { w.zero_grad(); });
  after_accumulate(w, [&](const Tensor&) { ++seen; });
  (w * 2.0).backward();
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(w.grad().defined());
}

TEST(Hooks, MayNotAddToALeafOfTheirOwnPass) {
  Tensor w = number(1), other = number(1);
  Tensor h = w * 2.0;
  register_hook(h, [&](const Tensor&) {
    const EnableGrad record;
    (other * 7.0).backward();  // a graph of its own
    EXPECT_THAT([&] { (w * 3.0).backward(); },
                ThrowsMessage<AutogradError>(HasSubstr("not from a hook of that pass")));
    return Tensor();
  });
  h.backward();
  EXPECT_EQ(w.grad().item(), 2);
  EXPECT_EQ(other.grad().item(), 7);
}

TEST(Hooks, MayNotChangeShapeOrDtype) {
  Tensor x = number(1);
  register_hook(x, [](const Tensor&) { return zeros({2}, DType::float64); });
  EXPECT_THROW((x * 1.0).backward(), AutogradError);
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THROW(register_hook(zeros({1}), [](const Tensor& g) { return g; }), AutogradError);
  EXPECT_THROW(after_accumulate(x * 1.0, [](const Tensor&) {}), AutogradError);
}

}  // namespace
}  // namespace accrue
