#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/out_of_memory.h"
#include <gtest/gtest.h>

#include <accrue/core/allocator.h>
#include <accrue/core/factories.h>
#include <accrue/core/workspace.h>

namespace accrue {
namespace {

using enum MemoryKind;

/// Each test starts and ends with the caching mode, no limit, no failures.
class Memory : public ::testing::Test {
 protected:
  Memory() { reset(); }
  ~Memory() override { reset(); }
  static void reset() {
    memory_testing::set_pass_through(false);
    memory_testing::set_poison(false);
    memory_testing::fail_allocation(0);
    set_memory_limit(0);
  }
  static int64_t live() { return memory_stats().total.live; }
};

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(Memory, CountsTheBytesAskedForByKind) {
  const MemoryStats before = memory_stats();
  {
    const MemoryKindGuard guard(parameter);
    const Tensor w = empty({10, 10});  // 400 bytes
    const Workspace scratch(1000);
    EXPECT_EQ(memory_stats().of(parameter).live - before.of(parameter).live, 400);
    EXPECT_EQ(memory_stats().of(workspace).live - before.of(workspace).live, 1000);
    EXPECT_EQ(memory_stats().of(parameter).count - before.of(parameter).count, 1);
    EXPECT_EQ(live() - before.total.live, 1400);
    EXPECT_EQ(memory_stats().blocks - before.blocks, 1);  // the tensor, not the workspace
  }
  EXPECT_EQ(live(), before.total.live);
  EXPECT_EQ(memory_stats().blocks, before.blocks);
  EXPECT_EQ(current_memory_kind(), activation);
}

TEST_F(Memory, PeakIsTheMostAtOnceSinceTheReset) {
  reset_peak_memory_stats();
  const int64_t base = live();
  {
    const Workspace a(5000);
    { const Workspace b(7000); }
    const Workspace c(1000);
  }
  EXPECT_EQ(memory_stats().total.peak - base, 12000);
  reset_peak_memory_stats();
  EXPECT_EQ(memory_stats().total.peak, live());
}

TEST_F(Memory, RecountMovesLiveBytesToAnotherKind) {
  const Tensor x = empty({25});
  const MemoryStats before = memory_stats();
  x.storage().set_kind(gradient);
  EXPECT_EQ(memory_stats().of(activation).live - before.of(activation).live, -100);
  EXPECT_EQ(memory_stats().of(gradient).live - before.of(gradient).live, 100);
  EXPECT_EQ(live(), before.total.live);
}

TEST_F(Memory, AnEmptyTensorIsABlockOfNoBytes) {
  const MemoryStats before = memory_stats();
  const Tensor x = empty({0, 3});
  EXPECT_EQ(memory_stats().blocks, before.blocks + 1);
  EXPECT_EQ(live(), before.total.live);
}

TEST_F(Memory, EveryBlockIsAlignedAndApartFromAllOthers) {
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes = 1; bytes < (size_t{3} << 20); bytes += 1 + bytes / 7) {
    auto* p = static_cast<char*>(allocate({}, bytes, workspace));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0U) << bytes;
    std::fill_n(p, bytes, static_cast<char>(blocks.size()));
    blocks.emplace_back(p, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [p, bytes] = blocks[i];
    for (size_t k = 0; k < bytes; ++k) ASSERT_EQ(p[k], static_cast<char>(i)) << bytes;
    deallocate({}, p, bytes, workspace);
  }
}

TEST_F(Memory, RandomLivesNeverOverlapAndGrowthEnds) {
  struct Held {
    uint64_t* data;
    size_t n;
    uint64_t tag;
  };
  std::vector<Held> held;
  uint64_t random = 88172645463325252U;
  const auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
  };
  const auto drop = [&](size_t i) {
    const Held h = held[i];
    for (size_t k = 0; k < h.n; ++k) ASSERT_EQ(h.data[k], h.tag);
    deallocate({}, h.data, h.n * 8, workspace);
    held[i] = held.back();
    held.pop_back();
  };
  int64_t requests = 0;
  for (int round = 0; round < 40000; ++round) {
    if (round == 30000) requests = memory_stats().system_requests;
    if (held.size() > 100 || (!held.empty() && next() % 2)) {
      drop(next() % held.size());
    } else {
      const size_t n = 1 + next() % (size_t{1} << (1 + next() % 15));
      auto* data = static_cast<uint64_t*>(allocate({}, n * 8, workspace));
      std::fill_n(data, n, round);
      held.push_back({data, n, static_cast<uint64_t>(round)});
    }
  }
  EXPECT_EQ(memory_stats().system_requests, requests);
  while (!held.empty()) drop(0);
}

TEST_F(Memory, ReusesWhatWasFreedLastFirst) {
  for (const size_t bytes : {size_t{4}, size_t{4000}, size_t{100000}, size_t{3000000}}) {
    void* a = allocate({}, bytes, activation);
    void* wall = allocate({}, bytes, activation);  // keeps a and b from merging
    void* b = allocate({}, bytes, activation);
    void* end = allocate({}, bytes, activation);
    deallocate({}, a, bytes, activation);
    deallocate({}, b, bytes, activation);
    EXPECT_EQ(allocate({}, bytes, activation), b) << bytes;
    EXPECT_EQ(allocate({}, bytes, activation), a) << bytes;
    for (void* p : {a, b, wall, end}) deallocate({}, p, bytes, activation);
  }
}

TEST_F(Memory, FreeNeighboursMergeIntoOneBlock) {
  release_cached_memory();
  constexpr size_t kBytes = size_t{1} << 20;
  void* blocks[8];
  for (void*& p : blocks) p = allocate({}, kBytes, activation);
  for (const int i : {1, 3, 5, 7, 0, 2, 4, 6}) deallocate({}, blocks[i], kBytes, activation);
  const int64_t requests = memory_stats().system_requests;
  const Workspace whole(8 * kBytes);
  EXPECT_EQ(memory_stats().system_requests, requests);
}

TEST_F(Memory, ARepeatedStepAsksTheSystemForNothing) {
  std::vector<Tensor> kept;
  const auto step = [&] {
    for (int64_t layer = 1; layer <= 40; ++layer) {
      kept.push_back(empty({32, 100 * layer}));
      const Tensor temporary = empty({layer, layer, 37});
    }
    while (!kept.empty()) {
      const Tensor gradient = empty(kept.back().shape());
      kept.pop_back();
    }
  };
  step();
  const int64_t requests = memory_stats().system_requests;
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(memory_stats().system_requests, requests);
}

TEST_F(Memory, ReleaseGivesEveryFreeRegionBack) {
  release_cached_memory();
  const int64_t base = memory_stats().reserved;
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 20000; ++i) many.push_back(empty({i % 300}));
    const Tensor large = empty({30, 1 << 20});
    EXPECT_GE(memory_stats().reserved, base + (120 << 20));
    release_cached_memory();
    many[7].data<float>()[0] = 3;  // what is in use stays
    EXPECT_EQ(many[7].at({0}), 3);
    many.resize(8);
    release_cached_memory();
    EXPECT_EQ(many[7].at({0}), 3);
  }
  release_cached_memory();
  EXPECT_EQ(memory_stats().reserved, base);
  EXPECT_EQ(empty({100}).numel(), 100);  // and it can start again
}

TEST_F(Memory, TheLimitRefusesAndChangesNothing) {
  const Tensor held = empty({1000});
  const MemoryStats before = memory_stats();
  set_memory_limit(before.total.live + 4000);
  EXPECT_NO_THROW(empty({1000}));
  EXPECT_THROW(empty({1001}), OutOfMemory);
  EXPECT_EQ(live(), before.total.live);
  EXPECT_EQ(memory_stats().blocks, before.blocks);
  EXPECT_NO_THROW(empty({1000}));
  set_memory_limit(1);  // under what is in use already
  EXPECT_THROW(empty({1}), OutOfMemory);
  EXPECT_NO_THROW(empty({0}));
  EXPECT_THROW(set_memory_limit(-1), ValueError);
  EXPECT_EQ(memory_limit(), 1);
}

TEST_F(Memory, TheMessageSaysWhoHoldsItAndHowManyStepsWouldFit) {
  MemoryStats stats;
  stats.total.live = 18'874'368;
  stats.by_kind[static_cast<size_t>(parameter)].live = 8'388'608;
  stats.by_kind[static_cast<size_t>(activation)].live = 10'485'760;
  // 60 MiB of activations must fit beside 8 MiB of parameters in 64: twice the steps, 30 MiB.
  const Shortage shortage{.asked = 52'428'800,
                          .kind = activation,
                          .limit = 67'108'864,
                          .made_to_fail = false,
                          .stats = stats};
  EXPECT_EQ(message_of([&] { throw_out_of_memory(shortage); }),
            "memory: 52428800 bytes of activation asked for, 18874368 of the limit 67108864 are in "
            "use (10485760 bytes of activation, 8388608 of parameter); use smaller micro-batches: "
            "2 times as many accumulation steps would fit");
}

TEST_F(Memory, TheSuggestionIsTheLeastPowerOfTwoThatFits) {
  MemoryStats stats;
  stats.by_kind[static_cast<size_t>(parameter)].live = 60;
  stats.by_kind[static_cast<size_t>(activation)].live = 30;
  EXPECT_EQ(suggested_steps({50, activation, 100, false, stats}), 2);      // 80 / 2 = 40 of 40
  EXPECT_EQ(suggested_steps({51, workspace, 100, false, stats}), 4);       // 81 / 2 > 40
  EXPECT_EQ(suggested_steps({1000, activation, 61, false, stats}), 2048);  // 1030 in 1
  EXPECT_EQ(suggested_steps({20, gradient, 100, false, stats}), 2);        // 30 / 2 of 20
  EXPECT_EQ(suggested_steps({40, parameter, 100, false, stats}), 0);       // nothing left to cut
  EXPECT_EQ(suggested_steps({50, activation, 60, false, stats}), 0);
}

TEST_F(Memory, ARequestNoSystemCanServeIsAnOutOfMemory) {
  const int64_t before = live();
  const std::string text = message_of([] { Workspace huge(size_t{1} << 60); });
  EXPECT_NE(text.find("1152921504606846976 bytes of workspace"), std::string::npos) << text;
  EXPECT_NE(text.find("the system has no more"), std::string::npos) << text;
  EXPECT_THROW(Workspace(SIZE_MAX), OutOfMemory);
  memory_testing::set_pass_through(true);
  EXPECT_THROW(Workspace(SIZE_MAX - 3), OutOfMemory);
  EXPECT_EQ(live(), before);
}

TEST_F(Memory, TheNthAllocationFailsOnceOrForEver) {
  memory_testing::fail_allocation(3);
  EXPECT_NO_THROW(empty({1}));
  EXPECT_NO_THROW(empty({1}));
  EXPECT_NE(message_of([] { empty({2}); }).find("8 bytes of activation asked for"),
            std::string::npos);
  EXPECT_NO_THROW(empty({1}));
  EXPECT_EQ(memory_testing::allocations_seen(), 4);

  memory_testing::fail_allocation(2, true);
  EXPECT_NO_THROW(empty({1}));
  EXPECT_THROW(empty({1}), OutOfMemory);
  EXPECT_THROW(empty({1}), OutOfMemory);
  memory_testing::fail_allocation(0);
  EXPECT_NO_THROW(empty({1}));
  EXPECT_EQ(memory_testing::allocations_seen(), 1);
}

TEST_F(Memory, PassThroughMayChangeWhileBlocksLive) {
  const int64_t before = live();
  for (const int64_t n : {int64_t{1}, int64_t{100000}}) {
    Tensor cached = ones({n});
    memory_testing::set_pass_through(true);
    const int64_t requests = memory_stats().system_requests;
    Tensor direct = ones({n});
    EXPECT_EQ(memory_stats().system_requests, requests + 1);
    cached = Tensor();
    memory_testing::set_pass_through(false);
    cached = ones({n});
    direct = Tensor();
    cached = Tensor();
    direct = ones({n});
    EXPECT_EQ(direct.at({n - 1}), 1);
  }
  EXPECT_EQ(live(), before);
}

TEST_F(Memory, PoisonMakesFreshAndFreedMemoryNaN) {
  memory_testing::set_poison(true);
  Tensor x = empty({1000});
  for (const float v : x.to_vector<float>()) ASSERT_TRUE(std::isnan(v));
  EXPECT_TRUE(std::isnan(empty({3}, float64).at({1})));
  EXPECT_TRUE(std::isnan(empty({3}, DType::bfloat16).at({1})));
  EXPECT_TRUE(std::isnan(empty({3}, DType::float16).at({1})));
  EXPECT_EQ(empty({3}, int64).at({1}), -1);
}

TEST_F(Memory, ThreadsShareThePool) {
  const MemoryStats before = memory_stats();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::vector<Tensor> held;
      for (int i = 0; i < 5000; ++i) {
        held.push_back(full({1 + i * 7 % 3000}, t));
        if (held.size() > 20) {
          for (const Tensor& x : held) ASSERT_EQ(x.at({x.size(0) - 1}), t);
          held.clear();
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(live(), before.total.live);
  EXPECT_EQ(memory_stats().total.count - before.total.count, 20000);
}

TEST_F(Memory, AThreadThatVisitsThePoolNowAndThenIsCountedToo) {
  const MemoryStats before = memory_stats();
  std::atomic<bool> is_done = false;
  std::thread visitor([&] {
    for (int i = 0; i < 20; ++i) {
      full({100 + i}, i);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    is_done = true;
  });
  int64_t made = 0;
  for (; !is_done; ++made) full({1 + made % 300}, 1);
  visitor.join();
  EXPECT_EQ(live(), before.total.live);
  EXPECT_EQ(memory_stats().total.count - before.total.count, made + 20);
}

TEST_F(Memory, WhatOneThreadMakesAnotherMayFree) {
  std::vector<Tensor> made;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) made.push_back(full({i}, i));
  }).join();
  const int64_t before = live();
  for (int i = 1; i < 1000; ++i) ASSERT_EQ(made[static_cast<size_t>(i)].at({i - 1}), i);
  std::thread([&] { made.clear(); }).join();
  EXPECT_EQ(before - live(), 4 * 999 * 1000 / 2);
}

}  // namespace
}  // namespace accrue
