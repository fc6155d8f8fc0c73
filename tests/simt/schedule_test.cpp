#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/simt/cases.h"
#include "tests/simt/support.h"

namespace {

using accrue::simt::counts;
using accrue::simt::Order;
using accrue::simt::set_schedule;

class Schedules : public SimtTest {};

std::vector<float> softmax_bits(const accrue::simt::Schedule& schedule) {
  set_schedule(schedule);
  const OnDevice<float> x(some_floats(3 * 700)), y(3 * 700);
  controls::softmax(y.data(), x.data(), 3, 700, nullptr);
  return y.get();
}

TEST_F(Schedules, OpsWithoutFloatAtomicsGiveTheSameBitsUnderAllOfThem) {
  const std::vector<float> forward = softmax_bits({});
  for (const NamedSchedule& named : all_schedules()) {
    EXPECT_EQ(softmax_bits(named.schedule), forward) << named.name;
  }
}

TEST_F(Schedules, EagerWorkIsDoneWhenTheCallReturns) {
  const OnDevice<float> x(std::vector<float>{1, 2});
  controls::scale(x.data(), 2, 2, nullptr);
  EXPECT_EQ(counts().launches, 1U);
}

TEST_F(Schedules, LazyWorkIsDoneWhenSomebodyWaits) {
  const OnDevice<float> x(std::vector<float>{1, 2});
  set_schedule({.lazy = true});
  cudaStream_t s = nullptr, other = nullptr;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  controls::scale(x.data(), 2, 2, s);
  cudaStreamSynchronize(other);
  EXPECT_EQ(counts().launches, 0U);
  cudaStreamSynchronize(s);
  EXPECT_EQ(counts().launches, 1U);
  cudaStreamDestroy(s);
  cudaStreamDestroy(other);
}

TEST_F(Schedules, LazyStreamsRunInDifferentOrdersForDifferentSeeds) {
  std::set<std::vector<float>> outcomes;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    set_schedule({.seed = seed, .lazy = true});
    const OnDevice<float> x(std::vector<float>{1});
    cudaStream_t a = nullptr, b = nullptr;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    controls::scale(x.data(), 0, 1, a);  // 0 then 7, or 7 then 0: nothing orders the two
    const float seven = 7;
    cudaMemcpyAsync(x.data(), &seven, sizeof seven, cudaMemcpyHostToDevice, b);
    outcomes.insert(x.get());
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
  EXPECT_EQ(outcomes.size(), 2U);
}

TEST_F(Schedules, AnEventOrdersTwoLazyStreams) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    set_schedule({.seed = seed, .lazy = true});
    const OnDevice<float> x(std::vector<float>{1});
    cudaStream_t a = nullptr, b = nullptr;
    cudaEvent_t scaled = nullptr;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&scaled, cudaEventDisableTiming);
    controls::scale(x.data(), 0, 1, a);
    cudaEventRecord(scaled, a);
    cudaStreamWaitEvent(b, scaled);
    const float seven = 7;
    cudaMemcpyAsync(x.data(), &seven, sizeof seven, cudaMemcpyHostToDevice, b);
    EXPECT_EQ(x.get()[0], 7);
    cudaEventDestroy(scaled);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
}

TEST_F(Schedules, TheDefaultStreamWaitsForBlockingStreams) {
  set_schedule({.lazy = true});
  const OnDevice<float> x(std::vector<float>{1});
  cudaStream_t blocking = nullptr;
  cudaStreamCreate(&blocking);
  controls::scale(x.data(), 3, 1, blocking);
  float got = 0;
  cudaMemcpy(&got, x.data(), sizeof got, cudaMemcpyDeviceToHost);
  EXPECT_EQ(got, 3);
  cudaStreamDestroy(blocking);
}

TEST_F(Schedules, PreemptionLetsThreadsOfABlockWaitForEachOther) {
  set_schedule({.preempt_every = 16});
  const OnDevice<int> flag(std::vector<int>{0});
  controls::wait_for_flag(flag.data(), nullptr);
  EXPECT_EQ(flag.get()[0], 1);
}

TEST_F(Schedules, OrderOfThreadsIsWhatWasAsked) {
  // Without barriers each thread runs to its end: a maximum in forward order of rising numbers
  // changes for every element, in reverse order once.
  std::vector<float> rising(128);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<float>(i + 1);
  uint64_t accesses[2];
  for (const Order order : {Order::forward, Order::reverse}) {
    set_schedule({.order = order});
    const OnDevice<float> x(rising), out(std::vector<float>{0});
    const uint64_t before = counts().accesses;
    controls::maximum(out.data(), x.data(), 128, nullptr);
    accesses[order == Order::reverse] = counts().accesses - before;
  }
  EXPECT_GT(accesses[0], accesses[1] + 100);
}

TEST_F(Schedules, HostThreadsTakeTurns) {
  std::vector<std::thread> threads;
  std::vector<float> got(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i, &got] {
      cudaSetDevice(i % 2);
      cudaStream_t stream = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      const OnDevice<float> x(std::vector<float>(500, 1));
      for (int round = 0; round < 10; ++round) controls::scale(x.data(), 2, 500, stream);
      cudaStreamSynchronize(stream);
      got[static_cast<size_t>(i)] = x.get()[499];
      cudaStreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, std::vector<float>(4, 1024));
}

}  // namespace
