#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/error.h>

#include <accrue/kernels/cpu/parallel.h>

namespace {

using accrue::get_num_threads;
using accrue::set_num_threads;
using accrue::kernels::cpu::parallel_for;

class Parallel : public testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }

 private:
  const int before_ = get_num_threads();
};

std::vector<std::pair<int64_t, int64_t>> pieces_of(int64_t n, int64_t grain) {
  std::vector<std::pair<int64_t, int64_t>> pieces;
  std::mutex guard;
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(guard);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

TEST_F(Parallel, PiecesAreContiguousDisjointAndAtLeastGrain) {
  for (const int threads : {1, 2, 3, 5}) {
    set_num_threads(threads);
    for (const int64_t n : {0, 1, 2, 3, 7, 64, 1000}) {
      for (const int64_t grain : {0, 1, 3, 64, 5000}) {
        const auto pieces = pieces_of(n, grain);
        EXPECT_LE(pieces.size(), static_cast<size_t>(threads));
        int64_t at = 0;
        for (const auto& [begin, end] : pieces) {
          EXPECT_EQ(begin, at);
          EXPECT_LT(begin, end);
          if (pieces.size() > 1) {
            EXPECT_GE(end - begin, grain);
          }
          at = end;
        }
        EXPECT_EQ(at, n);
      }
    }
  }
}

TEST_F(Parallel, TheSplitIsTheSameEveryTime) {
  set_num_threads(3);
  const auto first = pieces_of(1000, 1);
  EXPECT_EQ(first.size(), 3U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(pieces_of(1000, 1), first);
}

TEST_F(Parallel, EachPieceKeepsItsThread) {
  set_num_threads(3);
  const auto threads = [] {
    std::vector<std::thread::id> ids(3);
    parallel_for(3, 1, [&](int64_t begin, int64_t) {
      ids[static_cast<size_t>(begin)] = std::this_thread::get_id();
    });
    return ids;
  };
  const auto first = threads();
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_NE(first[1], first[2]);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(threads(), first);
}

TEST_F(Parallel, WritesOfAllPiecesAreSeenAfterwards) {
  set_num_threads(4);
  std::vector<int64_t> values(4096);
  for (int64_t round = 1; round <= 300; ++round) {
    parallel_for(4096, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += i;
    });
    if (round % 100 == 0) {
      EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), round * 4096 * 4095 / 2);
    }
    if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(Parallel, NestedRegionsRunInline) {
  set_num_threads(2);
  std::atomic<int> inner_pieces{0};
  parallel_for(2, 1, [&](int64_t, int64_t) {
    const auto me = std::this_thread::get_id();
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), me);
      EXPECT_EQ(end - begin, 100);
      ++inner_pieces;
    });
  });
  EXPECT_EQ(inner_pieces, 2);
}

TEST_F(Parallel, FirstPiecesExceptionArrivesAndThePoolLivesOn) {
  set_num_threads(3);
  std::atomic<int> ran{0};
  const auto failing = [&](int64_t bad) {
    parallel_for(3, 1, [&, bad](int64_t begin, int64_t) {
      ++ran;
      if (begin >= bad) throw std::runtime_error("piece " + std::to_string(begin));
    });
  };
  for (const int64_t bad : {0, 1, 2}) {
    try {
      failing(bad);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "piece " + std::to_string(bad));
    }
  }
  EXPECT_EQ(ran, 9);
  failing(3);
  EXPECT_EQ(ran, 12);
}

TEST_F(Parallel, SeveralUserThreadsMayCallAtOnce) {
  set_num_threads(2);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 3; ++u) {
    users.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        parallel_for(10, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (auto& user : users) user.join();
  EXPECT_EQ(total, 3 * 500 * 10);
}

TEST_F(Parallel, ThreadCountMustBePositive) {
  set_num_threads(2);
  EXPECT_THROW(set_num_threads(0), accrue::ValueError);
  EXPECT_THROW(set_num_threads(-3), accrue::ValueError);
  EXPECT_EQ(get_num_threads(), 2);
}

}  // namespace
