// Adding changes nothing: the gradients of one batch equal the accumulated gradients of its pieces
// bit for bit, whatever the pieces and the number of threads.
#include <cstring>

#include "tests/laws/models.h"
#include <gtest/gtest.h>

namespace accrue::laws {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<std::vector<int64_t>> all_splits() {
  std::vector<std::vector<int64_t>> splits;
  for (int64_t pieces : {2, 3, 4, 6, 8, 12, 16})
    if (rows() % pieces == 0) splits.emplace_back(static_cast<size_t>(pieces), rows() / pieces);
  if (rows() == 48)
    splits.push_back({5, 17, 1, 25});
  else
    splits.push_back({1, 3, 1, rows() - 5});
  return splits;
}

class SplitLaw : public testing::TestWithParam<std::string> {};

TEST_P(SplitLaw, GradientsOfABatchAreThoseOfItsPieces) {
  const Subject subject = make_subject(GetParam());
  std::vector<float> whole;
  for (int threads : {1, 2}) {
    if (threads > 1 && !default_device().is_cpu()) break;  // threads are the CPU's
    const Threads guard(threads);
    subject.model->zero_grad();
    subject.accumulate({rows()});
    const std::vector<float> mine = subject.gradients();
    if (whole.empty()) whole = mine;
    EXPECT_TRUE(same_bits(mine, whole)) << threads << " threads";
    for (const auto& split : all_splits()) {
      subject.model->zero_grad();
      subject.accumulate(split);
      EXPECT_TRUE(same_bits(subject.gradients(), whole))
          << threads << " threads, " << split.size() << " pieces, the first of " << split[0];
    }
  }
  const auto nonzero = [](float g) { return g != 0; };
  EXPECT_TRUE(std::any_of(whole.begin(), whole.end(), nonzero));
}

INSTANTIATE_TEST_SUITE_P(Models, SplitLaw, testing::Values("mlp", "cnn", "transformer"),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace accrue::laws
