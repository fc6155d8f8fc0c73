// Adding costs nothing: no kernel, no memory, no moved address, no request to the system.
#include "tests/laws/models.h"
#include <gtest/gtest.h>

#include <accrue/kernels/trace.h>

#include <accrue/autograd/node.h>

#include <accrue/optim/adam.h>

namespace accrue::laws {
namespace {

using kernels::Trace;

class FreeAccumulation : public testing::TestWithParam<std::string> {
 protected:
  Subject subject = make_subject(GetParam());
};

TEST_P(FreeAccumulation, SecondMicroStepLaunchesExactlyTheFirstOnesKernels) {
  std::vector<std::string> first, second;
  int64_t first_bytes = 0, second_bytes = 0;
  {
    const Trace trace;
    subject.loss(0, micro_rows()).backward();
    first = trace.names();
    first_bytes = trace.bytes();
  }
  {
    const Trace trace;
    subject.loss(micro_rows(), micro_rows()).backward();
    second = trace.names();
    second_bytes = trace.bytes();
    EXPECT_EQ(trace.count("fill"), 0);
    if (GetParam() != "transformer") {  // its residuals are adds
      EXPECT_EQ(trace.count("add"), 0);
    }
  }
  EXPECT_EQ(first, second);
  // All it moves in addition is the gradient it adds to, read once.
  EXPECT_EQ(second_bytes - first_bytes, subject.model->num_parameters() * 4);
}

TEST_P(FreeAccumulation, GradientsKeepTheirAddress) {
  const auto addresses = [&] {
    std::vector<const void*> all;
    for (const Tensor& p : subject.model->parameters()) all.push_back(p.grad().view().data);
    return all;
  };
  subject.loss(0, micro_rows()).backward();
  const auto before = addresses();
  for (int window = 0; window < 3; ++window) {
    subject.model->zero_grad();
    subject.accumulate({micro_rows(), micro_rows()});
    EXPECT_EQ(addresses(), before);
  }
}

TEST_P(FreeAccumulation, ZeroGradLaunchesNothingAndKeepsTheMemory) {
  subject.loss(0, micro_rows()).backward();
  const int64_t live = memory_stats(default_device()).of(MemoryKind::gradient).live;
  const Trace trace;
  subject.model->zero_grad();
  EXPECT_TRUE(trace.calls().empty());
  EXPECT_EQ(memory_stats(default_device()).of(MemoryKind::gradient).live, live);
  for (const Tensor& p : subject.model->parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST_P(FreeAccumulation, PeakMemoryOfEightMicroBatchesIsThatOfOne) {  // B41
  const auto peak = [&](size_t count) {
    subject.model->zero_grad();
    reset_peak_memory_stats(default_device());
    subject.accumulate(std::vector<int64_t>(count, micro_rows()));
    return memory_stats(default_device()).total.peak;
  };
  peak(1);  // makes the gradients
  const int64_t one = peak(1);
  EXPECT_EQ(peak(8), one);
}

TEST_P(FreeAccumulation, AfterTheFirstStepTheSystemIsAskedForNothing) {
  // A law of the caching allocator; under the address sanitizer the default is to ask every time.
  memory_testing::set_pass_through(false, default_device());
  optim::AdamW optimizer(subject.model->named_parameters(), {.lr = 1e-3});
  const auto step = [&] {
    subject.accumulate(std::vector<int64_t>(8, micro_rows()));
    optimizer.step({.grad_scale = 1.0 / kBatch});
    optimizer.zero_grad();
  };
  step();
  const MemoryStats before = memory_stats(default_device());
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(memory_stats(default_device()).system_requests, before.system_requests);
  EXPECT_EQ(memory_stats(default_device()).reserved, before.reserved);
  EXPECT_EQ(memory_stats(default_device()).total.live, before.total.live);
  memory_testing::set_pass_through(ACCRUE_ADDRESS_SANITIZER, default_device());
}

TEST_P(FreeAccumulation, EachTapeIsGoneBeforeTheNextForward) {  // B47
  const int64_t nodes = Node::live();
  subject.loss(0, micro_rows()).backward();
  EXPECT_EQ(Node::live(), nodes);
}

INSTANTIATE_TEST_SUITE_P(Models, FreeAccumulation, testing::Values("mlp", "cnn", "transformer"),
                         [](const auto& model) { return model.param; });

TEST(LateDivision, PowerOfTwoWindowsEqualDividedLossesBitForBit) {  // A2
  const Subject summed = make_subject("mlp");
  const Subject divided = make_subject("mlp");
  const auto parameters = [](const Subject& s) {
    std::vector<std::vector<float>> all;
    for (const Tensor& p : s.model->parameters()) all.push_back(p.to_vector<float>());
    return all;
  };
  ASSERT_EQ(parameters(summed), parameters(divided));
  optim::AdamW late(summed.model->named_parameters(), {.lr = 1e-3});
  optim::AdamW early(divided.model->named_parameters(), {.lr = 1e-3});
  constexpr int64_t window = 32;
  summed.accumulate(std::vector<int64_t>(4, window / 4));
  late.step({.grad_scale = 1.0 / window});
  for (int64_t i = 0; i < 4; ++i) (divided.loss(i * 8, 8) / window).backward();
  early.step();
  EXPECT_EQ(parameters(summed), parameters(divided));
}

}  // namespace
}  // namespace accrue::laws
