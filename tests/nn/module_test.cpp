#include "tests/nn/support.h"
#include <gmock/gmock.h>

#include <accrue/core/memory.h>

#include <accrue/kernels/trace.h>

#include <accrue/autograd/ops.h>

#include <accrue/nn/activation.h>
#include <accrue/nn/container.h>
#include <accrue/nn/embedding.h>
#include <accrue/nn/linear.h>
#include <accrue/optim/adam.h>
#include <accrue/optim/sgd.h>

namespace accrue {
namespace {

using nn::Linear;
using nn::Module;
using test::message;
using test::names_of;
using test::values;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Mlp : Module {
  std::shared_ptr<Linear> fc1 = add<Linear>("fc1", 3, 4);
  std::shared_ptr<Linear> fc2 = add<Linear>("fc2", 4, 2);
  Tensor forward(const Tensor& x) override { return (*fc2)(relu((*fc1)(x))); }
};

struct Counter : Module {
  Tensor gain, seen;
  Counter() {
    register_parameter("gain", gain, ones({2}));
    register_buffer("seen", seen, zeros({}, DType::int64));
  }
  Tensor forward(const Tensor& x) override { return x * gain; }
};

struct Nested : Module {
  std::shared_ptr<nn::ModuleList<Mlp>> layers = add<nn::ModuleList<Mlp>>("layers");
  std::shared_ptr<nn::Sequential> head = add<nn::Sequential>("head");
  Nested() {
    layers->add();
    layers->add();
    head->add<Linear>(2, 2);
    head->add<nn::ReLU>();
    head->add<Counter>();
  }
};

TEST(Module, NamesFollowTheTreeAsInPyTorch) {
  Nested net;
  EXPECT_THAT(names_of(net.named_parameters()),
              ElementsAre("layers.0.fc1.weight", "layers.0.fc1.bias", "layers.0.fc2.weight",
                          "layers.0.fc2.bias", "layers.1.fc1.weight", "layers.1.fc1.bias",
                          "layers.1.fc2.weight", "layers.1.fc2.bias", "head.0.weight",
                          "head.0.bias", "head.2.gain"));
  EXPECT_THAT(names_of(net.named_buffers()), ElementsAre("head.2.seen"));
  EXPECT_EQ(net.num_parameters(), 2 * (3 * 4 + 4 + 4 * 2 + 2) + (2 * 2 + 2) + 2);
  std::vector<std::string> modules;
  for (const auto& [name, module] : net.named_modules()) modules.push_back(name);
  EXPECT_THAT(modules,
              ElementsAre("", "layers", "layers.0", "layers.0.fc1", "layers.0.fc2", "layers.1",
                          "layers.1.fc1", "layers.1.fc2", "head", "head.0", "head.1", "head.2"));
}

TEST(Module, ParametersRequireGradAndAreCountedAsParameters) {
  const auto live = [] { return memory_stats(default_device()).of(MemoryKind::parameter).live; };
  const int64_t before = live();
  {
    Mlp net;
    for (const Tensor& p : net.parameters()) EXPECT_TRUE(p.requires_grad());
    EXPECT_EQ(live() - before, net.num_parameters() * 4);
  }
  EXPECT_EQ(live(), before);
  Counter counter;
  EXPECT_FALSE(counter.seen.requires_grad());
}

TEST(Module, ForwardIsTheCallOperatorAndGradientsReachEveryParameter) {
  Mlp net;
  const Tensor x = ones({5, 3});
  EXPECT_EQ(values(net(x)), values(net.forward(x)));
  net(x).backward({.gradient = ones({5, 2})});
  for (const NamedTensor& p : net.named_parameters())
    EXPECT_TRUE(p.value.grad().defined()) << p.name;
  const kernels::Trace trace;
  net.zero_grad();
  EXPECT_THAT(trace.calls(), IsEmpty());
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(Module, AModuleWithoutForwardSaysWhichOneItIs) {
  Nested net;
  EXPECT_THAT(message<Error>([&] { net(ones({1})); }),
              AllOf(HasSubstr("no forward() of one tensor"), HasSubstr("Nested(")));
}

// y = x·w·2 + x·w·3 at x = 1: the weight's two uses add to 5 in one backward.
TEST(Module, case_B26_ATiedWeightIsOneParameterWithTheSumOfItsGradients) {
  struct Tied : Module {
    std::shared_ptr<Linear> a = add<Linear>("a", 1, 1, nn::LinearOptions{.bias = false});
    std::shared_ptr<Linear> b = add<Linear>("b", 1, 1, nn::LinearOptions{.bias = false});
    Tied() { b->weight = a->weight; }
    Tensor forward(const Tensor& x) override { return (*a)(x)*2.0 + (*b)(x)*3.0; }
  };
  Tied net;
  EXPECT_THAT(names_of(net.named_parameters()), ElementsAre("a.weight"));
  EXPECT_EQ(net.num_parameters(), 1);
  net(ones({1, 1})).backward();
  EXPECT_EQ(net.a->weight.grad().item(), 5);
  EXPECT_EQ(net.b->weight.grad().item(), 5);
  EXPECT_EQ(net.state_dict().size(), 2U);  // under each of its names, as PyTorch writes it
}

TEST(Module, AModuleInTwoPlacesIsListedOnce) {
  const auto shared = std::make_shared<Linear>(2, 2);
  nn::Sequential net(shared, std::make_shared<nn::ReLU>(), shared);
  EXPECT_THAT(names_of(net.named_parameters()), ElementsAre("0.weight", "0.bias"));
  EXPECT_EQ(net.named_modules().size(), 3U);
}

TEST(Module, TrainAndEvalReachEverything) {
  Nested net;
  EXPECT_TRUE(net.training());
  net.eval();
  for (const auto& [name, module] : net.named_modules()) EXPECT_FALSE(module->training()) << name;
  net.head->train();
  EXPECT_FALSE(net.training());
  EXPECT_TRUE((*net.head)[0].training());
}

TEST(Module, ApplyVisitsChildrenBeforeTheirParent) {
  Mlp net;
  std::vector<const Module*> order;
  net.apply([&](Module& module) { order.push_back(&module); });
  EXPECT_THAT(order, ElementsAre(net.fc1.get(), net.fc2.get(), &net));
}

TEST(Module, NamesMustBeFreeAndWithoutDots) {
  struct Bad : Module {
    Tensor a, b;
    explicit Bad(const std::string& name) {
      register_parameter("a", a, ones({1}));
      register_buffer(name, b, ones({1}));
    }
  };
  EXPECT_THAT(message<ValueError>([] { Bad("a"); }), HasSubstr("something called a already"));
  EXPECT_THAT(message<ValueError>([] { Bad("a.b"); }), HasSubstr("\"a.b\" cannot be a name"));
  EXPECT_THROW(Bad(""), ValueError);
  nn::Sequential net;
  EXPECT_THROW(net.push(nullptr), ValueError);
}

TEST(Module, AParameterIsALeafAndFloatingAndARefusedOneChangesNothing) {
  struct Holder : nn::Module {
    Tensor w;
    using nn::Module::register_parameter;
  } holder;
  Tensor start = ones({2}).set_requires_grad();
  EXPECT_THROW(holder.register_parameter("w", holder.w, start * 0.1), AutogradError);
  EXPECT_THROW(holder.register_parameter("w", holder.w, arange(2)), DTypeError);
  EXPECT_FALSE(holder.w.defined());
  holder.register_parameter("w", holder.w, ones({2}) * 0.1);
  EXPECT_TRUE(holder.w.requires_grad());
}

TEST(Module, StateGoesOutAndComesBackBitForBit) {
  manual_seed(1);
  Nested from;
  manual_seed(2);
  Nested to;
  const StateDict state = from.state_dict();
  EXPECT_EQ(state.size(), 12U);
  EXPECT_FALSE(state.at("head.0.weight").requires_grad());
  const uint32_t version = to.parameters()[0].version();
  to.load_state_dict(state);
  EXPECT_GT(to.parameters()[0].version(), version);
  const StateDict loaded = to.state_dict();
  for (const auto& [name, value] : state) EXPECT_EQ(values(loaded.at(name)), values(value)) << name;
  EXPECT_TRUE(to.parameters()[0].requires_grad());
}

TEST(Module, AStateDictDoesNotMoveWithTheModule) {
  Counter counter;
  const StateDict state = counter.state_dict();
  counter.gain.data<float>()[0] = 7;
  EXPECT_THAT(values(state.at("gain")), ElementsAre(1, 1));
}

TEST(Module, ItsOwnTensorsMayBeLoadedIntoEachOther) {
  nn::Sequential net(std::make_shared<Linear>(3, 3), std::make_shared<Linear>(3, 3));
  const StateDict before = net.state_dict();
  StateDict live;
  for (auto& [name, x] : net.named_parameters()) live.emplace(name, x);
  net.load_state_dict({{"0.weight", live.at("1.weight")},
                       {"1.weight", live.at("0.weight")},
                       {"0.bias", live.at("1.bias")},
                       {"1.bias", live.at("0.bias")}});
  for (const char* name : {"weight", "bias"})
    for (const auto& [to, from] : {std::pair{"0.", "1."}, std::pair{"1.", "0."}})
      EXPECT_EQ(values(live.at(std::string(to) + name)),
                values(before.at(std::string(from) + name)));
}

TEST(Module, WhatDoesNotFitIsListedWholeAndNothingIsLoaded) {
  Mlp net;
  StateDict state = net.state_dict();
  state.at("fc1.weight") = zeros({4, 3});
  state.at("fc1.bias") = zeros({5});
  state.erase("fc2.weight");
  state["fc3.weight"] = zeros({1});
  const std::vector<double> before = values(net.fc1->weight);
  EXPECT_THAT(message<ValueError>([&] { net.load_state_dict(state); }),
              AllOf(HasSubstr("load_state_dict: the state does not fit; nothing was loaded:"),
                    HasSubstr("wrong shape: fc1.bias is [5], the module's [4]"),
                    HasSubstr("missing: fc2.weight"), HasSubstr("unexpected: fc3.weight")));
  EXPECT_EQ(values(net.fc1->weight), before);
  EXPECT_THROW(net.load_state_dict(state, {.strict = false}), ValueError);  // the shape
  state.at("fc1.bias") = zeros({4});
  const nn::LoadReport report = net.load_state_dict(state, {.strict = false});
  EXPECT_THAT(report.missing, ElementsAre("fc2.weight"));
  EXPECT_THAT(report.unexpected, ElementsAre("fc3.weight"));
  EXPECT_EQ(values(net.fc1->weight), std::vector<double>(12, 0.0));
}

TEST(Module, ToConvertsInPlaceSoThatEveryHandleSeesIt) {
  Mlp net;
  Counter counter;
  const Tensor handle = net.fc1->weight;
  net(ones({1, 3})).backward({.gradient = ones({1, 2})});
  const std::vector<double> weight = values(handle), grad = values(handle.grad());
  net.to(DType::float64);
  EXPECT_EQ(handle.dtype(), DType::float64);
  EXPECT_TRUE(handle.requires_grad());
  EXPECT_EQ(values(handle), weight);
  EXPECT_EQ(handle.grad().dtype(), DType::float64);
  EXPECT_EQ(values(handle.grad()), grad);
  net(ones({1, 3}, DType::float64)).backward({.gradient = ones({1, 2}, DType::float64)});
  net.to(DType::bfloat16);
  EXPECT_EQ(handle.grad().dtype(), DType::float32);  // sums of 16-bit gradients are kept in float32
  counter.to(DType::float64);
  EXPECT_EQ(counter.seen.dtype(), DType::int64);
  EXPECT_THAT(message<DTypeError>([&] { net.to(DType::int64); }), HasSubstr("int64"));
}

TEST(Module, AnOptimizerMadeBeforeToWorksOnIfItHasNoStateAndElseRefuses) {
  const auto learn = [](Mlp& net, DType dtype) {
    net.zero_grad();
    net(ones({1, 3}, dtype)).backward({.gradient = ones({1, 2}, dtype)});
  };
  Mlp net;
  optim::SGD plain(net.named_parameters(), {.lr = 0.5});
  optim::AdamW stateful(net.parameters());
  learn(net, DType::float32);
  stateful.step();
  net.to(DType::float64);
  learn(net, DType::float64);
  const std::vector<double> before = values(net.fc2->bias);
  EXPECT_THAT(message<DTypeError>([&] { stateful.step(); }),
              AllOf(HasSubstr("AdamW: the state of 0 is float32, the parameter float64"),
                    HasSubstr("make the optimizer after to()")));
  EXPECT_EQ(values(net.fc2->bias), before);
  plain.step();  // its gradient is 1
  EXPECT_THAT(values(net.fc2->bias), ElementsAre(before[0] - 0.5, before[1] - 0.5));
  EXPECT_EQ(plain.steps("fc1.weight"), 1);
}

// What a step in 16 bits has kept in float32 is of no use after to().
TEST(Module, AnOptimizerGoesOnFrom16BitsIfItHasNoState) {
  Linear net(3, 2);
  net.to(DType::bfloat16);
  optim::SGD sgd(net.named_parameters(), {.lr = 0.5});
  for (DType dtype : {DType::bfloat16, DType::float64, DType::bfloat16, DType::float32}) {
    net.to(dtype);
    net.zero_grad();
    const std::vector<double> before = values(net.bias);
    net(ones({1, 3}, dtype)).backward({.gradient = ones({1, 2}, dtype)});
    sgd.step();
    const double places = dtype == DType::bfloat16 ? 0x1p-7 : 0x1p-22;
    for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(values(net.bias)[i], before[i] - 0.5, places);
  }
  EXPECT_EQ(sgd.steps("bias"), 4);
}

TEST(Module, AFailedConversionChangesNothing) {
  Mlp net;
  memory_testing::fail_allocation(3, false, default_device());
  EXPECT_THROW(net.to(DType::float64), OutOfMemory);
  memory_testing::fail_allocation(0, false, default_device());
  for (const Tensor& p : net.parameters()) EXPECT_EQ(p.dtype(), DType::float32);
}

TEST(Module, PrintsAsATree) {
  Nested net;
  nn::Sequential small(std::make_shared<Linear>(3, 4), std::make_shared<nn::ReLU>());
  EXPECT_EQ(testing::PrintToString(small) + "\n", R"(Sequential(
  (0): Linear(in_features=3, out_features=4, bias=true)
  (1): ReLU()
)
)");
  std::ostringstream out;
  out << net;
  EXPECT_THAT(out.str(), HasSubstr("(layers): ModuleList(\n    (0): Mlp(\n      (fc1): Linear("));
}

}  // namespace
}  // namespace accrue
