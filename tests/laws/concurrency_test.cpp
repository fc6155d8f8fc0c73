// Several threads of a user at once: what they may share, and what is refused. Most of it shows in
// a build with the thread sanitizer (`./check --all`); the results are compared everywhere.
#include <atomic>
#include <thread>

#include "tests/laws/models.h"
#include <gtest/gtest.h>

#include <accrue/core/error.h>

namespace accrue::laws {
namespace {

constexpr int kUsers = 4;

/// body(0) ... body(kUsers - 1), each in a thread of its own.
void at_once(const std::function<void(int)>& body) {
  std::vector<std::thread> users;
  for (int user = 0; user < kUsers; ++user)
    users.emplace_back([&body, user, device = default_device()] {
      set_default_device(device);
      body(user);
    });
  for (std::thread& user : users) user.join();
}

class Concurrency : public testing::TestWithParam<std::string> {
 private:
  const Threads two_ = Threads(2);
};

TEST_P(Concurrency, OneModelAnswersSeveralThreads) {
  const Subject shared = make_subject(GetParam());
  const double alone = shared.loss(0, micro_rows()).item();
  at_once([&](int) {
    const NoGrad no_grad;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(shared.loss(0, micro_rows()).item(), alone);
  });
}

TEST_P(Concurrency, DisjointGraphsAreWalkedByTheirThreads) {
  std::vector<Subject> own;
  for (int user = 0; user < kUsers; ++user) own.push_back(make_subject(GetParam()));
  own[0].accumulate({micro_rows(), 2 * micro_rows()});
  const std::vector<float> alone = own[0].gradients();
  own[0].model->zero_grad();
  at_once([&](int user) {
    own[static_cast<size_t>(user)].accumulate({micro_rows(), 2 * micro_rows()});
  });
  for (const Subject& subject : own) EXPECT_EQ(subject.gradients(), alone);
}

INSTANTIATE_TEST_SUITE_P(Models, Concurrency, testing::Values("mlp", "cnn", "transformer"),
                         [](const auto& model) { return model.param; });

TEST(ConcurrencyOfLeaves, AWalkThatMeetsAnotherIsRefusedAndMayTryAgain) {
  Tensor w = zeros({64});
  w.set_requires_grad();
  std::atomic<int> refused = 0;
  at_once([&](int) {
    for (int done = 0; done < 50;) {
      try {
        sum(w * 2.0).backward();
        ++done;
      } catch (const AutogradError&) {
        ++refused;
        std::this_thread::yield();
      }
    }
  });
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(64, 2.0F * 50 * kUsers))
      << "after " << refused << " refusals";
}

TEST(ConcurrencyOfThreads, TheirNumberMayChangeBetweenAndDuringKernels) {
  const Threads guard(2);
  const Tensor x = rand({64, 200});
  const Tensor alone = matmul(x, transpose(x, 0, 1));
  at_once([&](int user) {
    for (int i = 0; i < 20; ++i) {
      if (user == 0) set_num_threads(1 + i % 3);
      EXPECT_EQ(matmul(x, transpose(x, 0, 1)).to_vector<float>(), alone.to_vector<float>());
    }
  });
}

TEST(ConcurrencyOfRandomness, EachCallOfEachThreadHasNumbersOfItsOwn) {
  std::vector<std::vector<float>> drawn(kUsers);
  at_once([&](int user) {
    for (int i = 0; i < 50; ++i) drawn[static_cast<size_t>(user)].push_back(rand({8}).at({0}));
  });
  std::vector<float> all;
  for (const auto& some : drawn) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  // 200 of 2^24 values: fewer than two pairs are equal but once in a million.
  EXPECT_GE(std::unique(all.begin(), all.end()) - all.begin(), 199);
}

}  // namespace
}  // namespace accrue::laws
