// What lies on which device: modules and optimizers that move, gradients that come home, refusals.
#include "tests/cuda/support.h"

#include <accrue/core/factories.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/gradcheck.h>
#include <accrue/autograd/ops.h>

#include <accrue/nn/linear.h>
#include <accrue/optim/adam.h>
#include <accrue/optim/clip.h>

namespace accrue::testing {
namespace {

using Devices = OnExecutor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

TEST_F(Devices, AModuleMovesWithItsGradientsAndEveryHandleSeesIt) {
  under_every_schedule([&] {
    nn::Linear layer(3, 2);
    const Tensor weight = layer.weight;
    sum(layer(ones({4, 3}))).backward();
    const std::vector<double> w = values(weight), g = values(weight.grad());
    layer.to(device);
    EXPECT_EQ(weight.device(), device);
    EXPECT_EQ(weight.grad().device(), device);
    EXPECT_EQ(values(weight), w);
    EXPECT_EQ(values(weight.grad()), g);
    sum(layer(ones({4, 3}, float32, device))).backward();
    EXPECT_EQ(values(weight.grad()), std::vector<double>(6, 8)) << "the second adds to the first";
    layer.to(Device::cuda(1)).to(Device::cpu());
    EXPECT_EQ(values(weight), w);
    EXPECT_EQ(values(weight.grad()), std::vector<double>(6, 8));
  });
}

TEST_F(Devices, StateOfAModuleAndOfAnOptimizerLoadsOnAnyDevice) {
  const auto step = [](nn::Linear& layer, optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    sum(layer(ones({4, 3}, float32, layer.weight.device()))).backward();
    optimizer.step();
    return values(layer.weight);
  };
  nn::Linear here(3, 2), there(3, 2);
  there.to(device);
  optim::AdamW mine(here.named_parameters(), {.lr = 0.1});
  optim::AdamW other(there.named_parameters(), {.lr = 0.1});
  for (int i = 0; i < 2; ++i) step(here, mine);
  there.load_state_dict(here.state_dict());
  other.load_state_dict(mine.state_dict());
  EXPECT_EQ(there.weight.device(), device);
  const std::vector<double> right = step(here, mine), got = step(there, other);
  for (size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(got[i], right[i], 1e-7);
  for (const auto& [name, value] : other.state_dict())  // numbers of the group lie on the host
    EXPECT_EQ(value.device(), name.starts_with("exp_avg") ? device : Device::cpu()) << name;
  here.load_state_dict(there.state_dict());
  mine.load_state_dict(other.state_dict());
  EXPECT_EQ(values(here.weight), got);
}

TEST_F(Devices, AnOptimizerFromBeforeTheMoveSaysSo) {
  nn::Linear layer(3, 2);
  optim::AdamW optimizer(layer.named_parameters(), {.lr = 0.1});
  sum(layer(ones({1, 3}))).backward();
  optimizer.step();
  layer.to(device);
  const std::vector<double> before = values(layer.weight);
  EXPECT_THAT([&] { optimizer.step(); },
              ThrowsMessage<DeviceError>(AllOf(HasSubstr("AdamW: the state of "),
                                               HasSubstr("is on cpu, the parameter on cuda:0"),
                                               HasSubstr("make the optimizer after to()"))));
  EXPECT_EQ(values(layer.weight), before);
}

TEST_F(Devices, ANormGoesOverGradientsOfSeveralDevices) {
  std::vector<Tensor> leaves;
  for (Device where : {Device::cpu(), device, Device::cuda(1), device}) {
    leaves.push_back(zeros({2}, float32, where).set_requires_grad());
    sum(leaves.back() * 3.0).backward();
  }
  EXPECT_DOUBLE_EQ(optim::clip_grad_norm(leaves, 1), std::sqrt(8 * 9.0));
  for (const Tensor& x : leaves) EXPECT_NEAR(x.grad().at({1}), 3 / std::sqrt(72.0), 1e-7);
}

TEST_F(Devices, AGradientComesHome) {
  under_every_schedule([&] {
    const Tensor x = arange(0, 6, 1, float32).set_requires_grad();
    const Tensor y = to(to(x * 2.0, device) * 3.0, Device::cuda(1));
    EXPECT_EQ(y.device(), Device::cuda(1));
    sum(y * y).backward();
    EXPECT_EQ(x.grad().device(), Device::cpu());
    EXPECT_EQ(values(x.grad()), (std::vector<double>{0, 72, 144, 216, 288, 360}));
  });
}

TEST_F(Devices, AKernelRefusesOperandsOfTwoDevices) {
  const Tensor a = ones({2}, float32, device), b = ones({2}), c = ones({2}, float32, device);
  EXPECT_THAT([&] { kernels::binary(Binary::add, a, b, into(c)); },
              ThrowsMessage<DeviceError>("add: the tensors are on cuda:0 and cpu; "
                                         "all must be on one device"));
  EXPECT_EQ(values(c), values(b));
  Tensor target = b;
  EXPECT_THAT([&] { copy_(target, a); },
              ThrowsMessage<DeviceError>(HasSubstr("copy_: the tensors are on cpu and cuda:0")));
}

TEST_F(Devices, NumbersAreReadAndPrintedAnywhere) {
  const Tensor x = to(arange(6, float32), device);
  const Tensor columns = transpose(reshape(x, {2, 3}), 0, 1);
  EXPECT_EQ(columns.to_string(), transpose(reshape(arange(6, float32), {2, 3}), 0, 1).to_string());
  EXPECT_EQ(columns.at({2, 1}), 5);
  EXPECT_EQ(sum(x).item(), 15);
}

TEST_F(Devices, GradcheckStepsOnTheDevice) {
  const Tensor x = to(linspace(-1, 1, 6, float64), device);
  const Tensor rows = reshape(x, {2, 3});
  Tensor leaf = rows.alias(layout::transpose(rows.layout(), 0, 1));
  leaf.set_requires_grad();
  const std::vector<double> before = values(leaf);
  EXPECT_LT(gradcheck([](const auto& in) { return sin(in[0]) * in[0]; }, {leaf}), 1e-7);
  EXPECT_EQ(values(leaf), before);
}

}  // namespace
}  // namespace accrue::testing
