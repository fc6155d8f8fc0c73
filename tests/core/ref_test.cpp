#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <accrue/core/error.h>
#include <accrue/core/ref.h>

namespace accrue {
namespace {

struct Counted : RefCounted {
  explicit Counted(int v = 0) : value(v) { ++alive; }
  ~Counted() override { --alive; }
  int value;
  static inline std::atomic<int> alive = 0;
};

template <size_t kBytes>
struct Sized : Counted {
  char bytes[kBytes] = {};
};

TEST(Ref, CountsItsOwners) {
  {
    const Ref<Counted> a = make_ref<Counted>(3);
    EXPECT_EQ(a->use_count(), 1);
    const Ref<Counted> b = a;
    EXPECT_EQ(a->use_count(), 2);
    EXPECT_TRUE(a == b);
    EXPECT_EQ(b->value, 3);
    EXPECT_EQ(Counted::alive, 1);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Ref, MovingHandsOver) {
  Ref<Counted> a = make_ref<Counted>();
  Ref<Counted> b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that it is empty then is a promise
  EXPECT_EQ(b->use_count(), 1);
  b = make_ref<Counted>(5);
  EXPECT_EQ(Counted::alive, 1);
  b = Ref<Counted>();
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Ref, AssigningItselfKeepsTheObject) {
  Ref<Counted> a = make_ref<Counted>(7);
  const Ref<Counted>& same = a;
  a = same;
  EXPECT_EQ(a->value, 7);
  EXPECT_EQ(a->use_count(), 1);
}

TEST(Ref, ABaseMayHoldADerivedOne) {
  Ref<Counted> base = make_ref<Sized<100>>();
  EXPECT_EQ(Counted::alive, 1);
  const Ref<RefCounted> root = base;
  EXPECT_EQ(base->use_count(), 2);
  base = nullptr;
  EXPECT_EQ(Counted::alive, 1);
}

TEST(Ref, DetachGivesUpWithoutReleasing) {
  Ref<Counted> a = make_ref<Counted>();
  Counted* raw = a.detach();
  EXPECT_FALSE(a);
  EXPECT_EQ(raw->use_count(), 1);
  const Ref<Counted> again(raw);
  EXPECT_EQ(raw->use_count(), 2);
  raw->drop_owner();
}

TEST(Ref, AConstructorThatThrowsLeaksNothing) {
  struct Thrower : Counted {
    Thrower() { throw Error("no"); }
  };
  EXPECT_THROW(make_ref<Thrower>(), Error);
  EXPECT_EQ(Counted::alive, 0);
}

template <size_t... kBytes>
void make_many(std::vector<Ref<Counted>>& out, std::index_sequence<kBytes...>) {
  (out.push_back(make_ref<Sized<kBytes * 97 + 1>>()), ...);
}

// Objects of every size class and above, made on some threads and freed on others.
TEST(SmallObject, SizesMixAndCrossThreads) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<Ref<Counted>>> made(3);
    std::vector<std::thread> threads;
    for (auto& mine : made)
      threads.emplace_back([&mine] {
        for (int i = 0; i < 50; ++i) make_many(mine, std::make_index_sequence<13>());
        for (size_t i = 0; i < mine.size(); i += 3) mine[i] = nullptr;
      });
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    for (size_t t = 0; t < made.size(); ++t)
      threads.emplace_back([&theirs = made[(t + 1) % made.size()]] { theirs.clear(); });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace accrue
