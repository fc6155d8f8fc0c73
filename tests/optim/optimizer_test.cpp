// What every optimizer does: absent gradients, groups, state by name, refusals.
#include <cmath>
#include <limits>
#include <set>

#include "tests/optim/support.h"
#include <gmock/gmock.h>

#include <accrue/core/memory.h>

#include <accrue/kernels/trace.h>

#include <accrue/autograd/ops/arithmetic.h>

#include <accrue/optim/adam.h>
#include <accrue/optim/sgd.h>

namespace accrue {
namespace {

using optim::Adam;
using optim::AdamOptions;
using optim::AdamW;
using optim::AdamWOptions;
using optim::Optimizer;
using optim::Parameters;
using optim::SGD;
using optim::SGDOptions;
using test::give;
using test::leaf;
using test::message;
using test::values;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using Maker = std::function<std::unique_ptr<Optimizer>(const Parameters&)>;
const std::vector<Maker> kEveryOptimizer = {
    [](const Parameters& p) {
      return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1});
    },
    [](const Parameters& p) {
      return std::make_unique<Adam>(p, AdamOptions{.lr = 0.1, .weight_decay = 0.1});
    },
    [](const Parameters& p) {
      return std::make_unique<AdamW>(p, AdamWOptions{.lr = 0.1, .weight_decay = 0.1});
    }};

TEST(Optimizer, case_OP_10_AnAbsentGradientIsSkippedWholly) {
  for (const Maker& make : kEveryOptimizer) {
    Tensor w = leaf({1}), other = leaf({1});
    const auto optimizer = make({w, other});
    give(other, {1});
    const int64_t before = memory_stats(default_device()).of(MemoryKind::optimizer).live;
    const uint32_t version = w.version();
    const kernels::Trace trace;
    optimizer->step();
    EXPECT_EQ(trace.calls().size(), 1U);  // of `other`
    EXPECT_EQ(w.item(), 1);
    EXPECT_EQ(w.version(), version);
    EXPECT_EQ(optimizer->steps("0"), 0);
    EXPECT_EQ(optimizer->steps("1"), 1);
    const int64_t for_other =
        memory_stats(default_device()).of(MemoryKind::optimizer).live - before;
    give(w, {1});
    optimizer->step();
    EXPECT_EQ(memory_stats(default_device()).of(MemoryKind::optimizer).live - before,
              2 * for_other);
    EXPECT_EQ(optimizer->steps("0"), 1);
  }
}

TEST(Optimizer, AGradientOfZerosIsAGradient) {
  for (const Maker& make : kEveryOptimizer) {
    Tensor w = leaf({1});
    const auto optimizer = make({w});
    give(w, {0});
    optimizer->step();
    EXPECT_LT(w.item(), 1);  // decayed
    EXPECT_EQ(optimizer->steps("0"), 1);
  }
}

TEST(Optimizer, ALateParameterStartsAsAFreshOneWould) {
  for (const Maker& make : kEveryOptimizer) {
    Tensor early = leaf({1}), late = leaf({1}), fresh = leaf({1});
    const auto both = make({early, late});
    for (int i = 0; i < 5; ++i) {
      give(early, {1});
      both->step();
    }
    give(late, {0.5});
    both->step();
    const auto alone = make({fresh});
    give(fresh, {0.5});
    alone->step();
    EXPECT_EQ(late.item(), fresh.item());
  }
}

TEST(Optimizer, ZeroGradLaunchesNothingAndTheNextBackwardOverwrites) {
  for (const Maker& make : kEveryOptimizer) {
    Tensor w = leaf({1, 2});
    const auto optimizer = make({w});
    give(w, {3, 4});
    const void* address = w.grad().data<double>();
    {
      const kernels::Trace trace;
      optimizer->zero_grad();
      EXPECT_THAT(trace.calls(), IsEmpty());
    }
    EXPECT_FALSE(w.grad().defined());
    give(w, {5, 6});
    EXPECT_EQ(w.grad().data<double>(), address);
  }
}

TEST(Optimizer, AStepChangesTheVersionSoThatAStaleGraphIsAnError) {
  Tensor w = leaf({2});
  SGD sgd({w}, {.lr = 1});
  const Tensor y = w * w;
  give(w, {1});
  const uint32_t before = w.version();
  sgd.step();
  EXPECT_GT(w.version(), before);
  EXPECT_THROW(y.backward(), AutogradError);
}

TEST(Optimizer, case_OP_14_TheSameTensorTwiceIsRefused) {
  Tensor w = leaf({1}), v = leaf({1});
  for (const Maker& make : kEveryOptimizer) {
    EXPECT_THAT(message<ValueError>([&] {
                  make({v, w, w});
                }),
                AllOf(HasSubstr("parameter 2"), HasSubstr("stepped twice")));
    EXPECT_THAT(message<ValueError>([&] {
                  make(Parameters{{"a", w}, {"a", v}});
                }),
                HasSubstr("two parameters are called a"));
  }
  SGD sgd({w}, {.lr = 0.1});
  EXPECT_THROW(sgd.add_group({v, w}, {}), ValueError);
  EXPECT_EQ(sgd.groups(), 1U);
}

TEST(Optimizer, WhatIsNoParameterIsRefused) {
  for (const Maker& make : kEveryOptimizer) {
    EXPECT_THAT(message<ValueError>([&] { make(std::vector<Tensor>{}); }),
                HasSubstr("no parameters"));
    EXPECT_THAT(message<ValueError>([&] {
                  make(Parameters{{"a.b", Tensor()}});
                }),
                HasSubstr("parameter a.b is not defined"));
    EXPECT_THAT(message<DTypeError>([&] { make({tensor({1}, DType::int64)}); }),
                HasSubstr("parameter 0 is int64"));
    const Tensor expanded = zeros({1}).alias(layout::expand(zeros({1}).layout(), {4}));
    EXPECT_THROW(make({expanded}), ShapeError);
  }
}

template <class O, class Options>
void expect_refused(const Options& options, const std::string& field) {
  EXPECT_THAT(message<ValueError>([&] { O({leaf({1})}, options); }),
              HasSubstr(": " + field + " is "));
  O fine({leaf({1})}, Options{});
  EXPECT_THAT(message<ValueError>([&] { fine.set_options(0, options); }), HasSubstr(field));
  EXPECT_EQ(fine.options().lr, Options{}.lr);
}

template <class O, class Options>
void expect_nonsense_refused() {
  for (const double bad : {-1.0, kNaN, HUGE_VAL}) {
    expect_refused<O>(Options{.lr = bad}, "lr");
    expect_refused<O>(Options{.weight_decay = bad}, "weight_decay");
    if constexpr (std::is_same_v<O, SGD>) {
      expect_refused<O>(Options{.momentum = bad}, "momentum");
      if (bad != -1.0) expect_refused<O>(Options{.dampening = bad}, "dampening");
    } else {
      expect_refused<O>(Options{.eps = bad}, "eps");
      expect_refused<O>(Options{.betas = {bad, 0.9}}, "betas[0]");
      expect_refused<O>(Options{.betas = {0.9, bad}}, "betas[1]");
    }
  }
  if constexpr (!std::is_same_v<O, SGD>) {
    expect_refused<O>(Options{.betas = {1, 0.9}}, "betas[0]");
    expect_refused<O>(Options{.betas = {0.9, 1}}, "betas[1]");
  }
  O fine({leaf({1})}, Options{});
  EXPECT_THAT(message<ValueError>([&] { fine.set_lr(kNaN); }), HasSubstr("lr is nan"));
  EXPECT_THAT(message<ValueError>([&] { fine.set_lr(1, 0.1); }), HasSubstr("no group 1"));
}

TEST(Optimizer, case_OP_15_NonsenseHyperParametersAreRefusedByName) {
  expect_nonsense_refused<SGD, SGDOptions>();
  expect_nonsense_refused<Adam, AdamOptions>();
  expect_nonsense_refused<AdamW, AdamWOptions>();
}

// Three steps of an optimizer with these options.
template <class O, class Options>
double after_three(const Options& options) {
  Tensor w = leaf({1});
  O optimizer({w}, options);
  for (const double g : {0.5, -1.0, 0.25}) {
    give(w, {g});
    optimizer.step();
  }
  return w.item();
}

// Changes one hyper-parameter after another; returns those for which the change was a valid one.
template <class O, class Options>
std::set<std::string> all_that_matter(const Options& start) {
  Options probe = start;
  std::set<std::string> tried;
  for (const optim::HyperParameter& h : probe.hyper_parameters()) {
    const double old = h.get();
    h.set(std::holds_alternative<bool*>(h.value) ? 1 - old : old * 0.5 + 0.01);
    if (message<ValueError>([&] { probe.check("test"); }) == "nothing was thrown") {
      EXPECT_NE(after_three<O>(probe), after_three<O>(start)) << h.name;
      tried.insert(h.name);
    }
    h.set(old);
  }
  return tried;
}

TEST(Optimizer, case_OP_13_EveryHyperParameterChangesTheUpdate) {
  auto tried = all_that_matter<SGD>(SGDOptions{.momentum = 0.9, .weight_decay = 0.1});
  EXPECT_EQ(tried.size(), 6U);
  tried = all_that_matter<Adam>(AdamOptions{.lr = 0.1, .betas = {0.9, 0.5}, .weight_decay = 0.1});
  EXPECT_EQ(tried.size(), 7U);
  tried = all_that_matter<AdamW>(AdamWOptions{.lr = 0.1, .betas = {0.9, 0.5}, .weight_decay = 0.1});
  EXPECT_EQ(tried.size(), 7U);
}

TEST(Optimizer, GroupsHaveTheirOwnOptionsAndRates) {
  Tensor a = leaf({1}), b = leaf({1});
  SGD sgd({a}, {.lr = 0.5});
  sgd.add_group({b}, {.lr = 0.25});
  EXPECT_EQ(sgd.groups(), 2U);
  give(a, {1});
  give(b, {1});
  sgd.step();
  EXPECT_EQ(a.item(), 0.5);
  EXPECT_EQ(b.item(), 0.75);
  sgd.set_lr(1, 1);
  EXPECT_EQ(sgd.lr(0), 0.5);
  EXPECT_EQ(sgd.lr(1), 1);
  sgd.set_lr(2);
  EXPECT_EQ(sgd.lr(0), 2);
  EXPECT_EQ(sgd.options(1).lr, 2);
  EXPECT_EQ(sgd.steps("1"), 1);  // unnamed parameters are numbered through
}

TEST(Optimizer, case_OP_12_StateIsMatchedByNameAndNothingIsHalfLoaded) {
  const auto named = [](const Tensor& a, const Tensor& b, const Tensor& c, bool swapped) {
    if (swapped) return Parameters{{"a", a}, {"c", c}, {"b", b}};
    return Parameters{{"a", a}, {"b", b}, {"c", c}};
  };
  Tensor a = leaf({1}), b = leaf({1, 2}), c = leaf({1, 2, 3});
  Adam saved(named(a, b, c, false), {.lr = 0.125});
  for (int i = 0; i < 3; ++i) {
    give(a, {1});
    give(c, {1, -1, 0.5});  // b is frozen
    saved.step();
  }
  const StateDict dict = saved.state_dict();
  EXPECT_FALSE(dict.contains("exp_avg.b"));

  Tensor a2 = leaf({a.item()}), b2 = leaf({1, 2}),
         c2 = leaf(tensor(values(c), {3}, DType::float64));
  Adam loaded(named(a2, b2, c2, true), {.lr = 7});
  loaded.load_state_dict(dict);
  EXPECT_EQ(loaded.lr(), 0.125);
  EXPECT_EQ(loaded.steps("c"), 3);
  EXPECT_EQ(loaded.steps("b"), 0);
  for (Optimizer* optimizer : {&saved, &loaded}) {
    Tensor &x = optimizer == &saved ? a : a2, &y = optimizer == &saved ? c : c2;
    give(x, {0.5});
    give(y, {2, 3, 4});
    optimizer->step();
  }
  EXPECT_EQ(values(a), values(a2));
  EXPECT_EQ(values(c), values(c2));

  StateDict bad = dict;
  bad.at("exp_avg.c") = zeros({2}, DType::float64);
  bad.erase("exp_avg_sq.a");
  bad.erase("step.b");
  bad["exp_avg.d"] = zeros({1});
  bad.at("group.0.lr") = scalar(99, DType::float64);
  const StateDict before = loaded.state_dict();
  EXPECT_THAT(message<ValueError>([&] { loaded.load_state_dict(bad); }),
              AllOf(HasSubstr("Adam: the state does not fit; nothing was loaded:"),
                    HasSubstr("missing: exp_avg_sq.a"), HasSubstr("missing: step.b"),
                    HasSubstr("wrong shape: exp_avg.c is float64 [2], the parameter [3]"),
                    HasSubstr("unexpected: exp_avg.d")));
  const StateDict after = loaded.state_dict();
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [key, value] : before) EXPECT_EQ(values(after.at(key)), values(value)) << key;
}

TEST(Optimizer, ALoadedHyperParameterIsCheckedAndNothingIsChanged) {
  Tensor w = leaf({1}), v = leaf({1});
  SGD sgd({w}, {.lr = 0.5});
  sgd.add_group({v}, {.lr = 0.25});
  StateDict dict = sgd.state_dict();
  dict.at("group.0.lr") = scalar(3, DType::float64);
  dict.at("group.1.momentum") = scalar(-1, DType::float64);
  EXPECT_THAT(message<ValueError>([&] { sgd.load_state_dict(dict); }),
              HasSubstr("SGD: momentum is -1"));
  EXPECT_EQ(sgd.lr(0), 0.5);
}

TEST(Optimizer, ASavedStateDoesNotMoveWithLaterSteps) {
  for (const Maker& make : kEveryOptimizer) {
    Tensor w = leaf({1});
    const auto optimizer = make({w});
    give(w, {1});
    optimizer->step();
    const StateDict dict = optimizer->state_dict();
    const double at_save = w.item();
    optimizer->step();
    const double next = w.item();
    optimizer->step();
    optimizer->load_state_dict(dict);
    w.data<double>()[0] = at_save;
    optimizer->step();
    EXPECT_EQ(w.item(), next);
  }
}

TEST(Optimizer, AFailedAllocationChangesNothing) {
  for (const Maker& make : kEveryOptimizer) {
    Tensor a = leaf({1}), b = leaf({1});
    const auto optimizer = make({a, b});
    give(a, {1});
    give(b, {1});
    const int64_t live = memory_stats(default_device()).of(MemoryKind::optimizer).live;
    memory_testing::fail_allocation(2, false, default_device());
    EXPECT_THROW(optimizer->step(), OutOfMemory);
    memory_testing::fail_allocation(0, false, default_device());
    EXPECT_EQ(a.item(), 1);
    EXPECT_EQ(optimizer->steps("0"), 0);
    EXPECT_EQ(memory_stats(default_device()).of(MemoryKind::optimizer).live, live);
    optimizer->step();
    EXPECT_NE(b.item(), 1);
  }
}

}  // namespace
}  // namespace accrue
