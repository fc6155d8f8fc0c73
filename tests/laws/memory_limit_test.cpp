// The point of it all: a batch too large for the memory there is trains in pieces, with the same
// result; and what did not fit has changed nothing.
#include "tests/laws/models.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accrue::laws {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// No limit again when a test ends, however it ends.
struct LimitGuard {
  ~LimitGuard() { set_memory_limit(0, default_device()); }
};

class MemoryLimit : public testing::TestWithParam<std::string> {};

TEST_P(MemoryLimit, WhatDoesNotFitAtOnceTrainsInPiecesWithTheSameBits) {
  const Subject subject = make_subject(GetParam());
  subject.accumulate({rows()});
  const std::vector<float> whole = subject.gradients();

  // Room for the activations of small pieces, not for those of all rows at once.
  const std::vector<int64_t> pieces(static_cast<size_t>(rows() / micro_rows()), micro_rows());
  subject.model->zero_grad();
  reset_peak_memory_stats(default_device());
  subject.accumulate(pieces);
  const int64_t small_peak = memory_stats(default_device()).total.peak;
  const LimitGuard guard;
  set_memory_limit(small_peak, default_device());
  subject.model->zero_grad();
  const int64_t live = memory_stats(default_device()).total.live;
  EXPECT_THAT([&] { subject.accumulate({rows()}); },
              ThrowsMessage<OutOfMemory>(HasSubstr("accumulation steps")));
  EXPECT_EQ(memory_stats(default_device()).total.live, live);
  for (const Tensor& p : subject.model->parameters()) EXPECT_FALSE(p.grad().defined());

  subject.accumulate(pieces);
  EXPECT_EQ(subject.gradients(), whole);
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryLimit, testing::Values("mlp", "cnn", "transformer"),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace accrue::laws
