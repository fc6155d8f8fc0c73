// Memory, copies, streams and events of device cuda.
#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/memory.h>
#include <accrue/core/random.h>

#include <accrue/kernels/elementwise.h>

#include <accrue/autograd/ops/shape.h>

namespace accrue::testing {
namespace {

using CudaMemory = OnExecutor;
using CudaCopy = OnExecutor;

TEST_F(CudaMemory, IsCountedByKindAndLimited) {
  const int64_t before = memory_stats(device).total.live;
  {
    const MemoryKindGuard kind(MemoryKind::parameter);
    const Tensor x = empty({1000}, float32, device);
    EXPECT_EQ(memory_stats(device).total.live, before + 4000);
    EXPECT_GE(memory_stats(device).of(MemoryKind::parameter).live, 4000);
    EXPECT_GE(memory_stats(device).reserved, 4000);
    EXPECT_EQ(memory_stats().of(MemoryKind::parameter).live, 0) << "the host's is another count";
  }
  EXPECT_EQ(memory_stats(device).total.live, before);
  set_memory_limit(before + 100, device);
  EXPECT_THROW(empty({1000}, float32, device), OutOfMemory);
  set_memory_limit(0, device);
  EXPECT_EQ(memory_stats(device).total.live, before);
}

TEST_F(CudaMemory, PassThroughAsksTheSystemForEachBlock) {
  memory_testing::set_pass_through(true, device);
  const int64_t requests = memory_stats(device).system_requests;
  { const Tensor x = empty({10}, float32, device), y = empty({10}, float32, device); }
  memory_testing::set_pass_through(false, device);
  EXPECT_GE(memory_stats(device).system_requests, requests + 2);
}

TEST_F(CudaCopy, ThereAndBackKeepsEveryDtypeAndLayout) {
  under_every_schedule([&] {
    for (DType t :
         {float32, float64, DType::bfloat16, DType::float16, int64, int32, uint8, DType::boolean}) {
      const Tensor x = arange(24, t).alias(layout::contiguous({2, 3, 4}));
      const Tensor views[] = {x,
                              transpose(x, 0, 2),
                              slice(x, 2, 1, 4, 2),
                              select(x, 1, 1),
                              expand(select(x, 0, 0), {5, 3, 4}),
                              slice(x, 0, 0, 0)};
      for (const Tensor& v : views) {
        const Tensor there = to_device(v, device);
        EXPECT_EQ(there.device(), device);
        EXPECT_EQ(there.to_vector<double>(), v.to_vector<double>());
        const Tensor back = to_device(there, Device::cpu());
        EXPECT_EQ(back.to_vector<double>(), v.to_vector<double>());
        EXPECT_TRUE(back.is_contiguous());
      }
      const Tensor on_device = to_device(x, device);
      EXPECT_EQ(transpose(on_device, 0, 2).to_vector<double>(),
                transpose(x, 0, 2).to_vector<double>());
    }
  });
}

TEST_F(CudaCopy, BetweenDevicesWaitsForWhoMadeItAndHoldsUpItsRelease) {
  under_every_schedule([&] {
    const Device other = Device::cuda(1);
    Tensor there;
    {
      const Tensor x = to_device(arange(1000, float32), device);
      there = to_device(x, other);
    }  // x's memory may be given out again
    const Tensor noise = to_device(full({1000}, 7), device);
    EXPECT_EQ(there.to_vector<float>(), arange(1000, float32).to_vector<float>());
  });
}

TEST_F(CudaCopy, FromPinnedMemoryMayBeAsynchronous) {
  under_every_schedule([&] {
    const int64_t before = pinned_memory_stats().total.live;
    const Tensor x = pin_memory(arange(1000, float32));
    EXPECT_TRUE(is_pinned(x));
    EXPECT_EQ(pinned_memory_stats().total.live, before + 4000);
    const Tensor there = to_device(x, device, true);
    EXPECT_EQ(there.to_vector<float>(), x.to_vector<float>());
  });
}

TEST_F(CudaCopy, RandomNumbersAreThoseOfTheCpu) {
  manual_seed(3);
  const Tensor x = randn({100});
  manual_seed(3);
  const Tensor y = randn({100}, float32, device);
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  manual_seed(3);
  Tensor z = empty({100}, float32, device);
  normal_(z, 0, 1);
  EXPECT_EQ(z.to_vector<float>(), x.to_vector<float>());
}

TEST_F(CudaCopy, StreamsAreOrderedByEvents) {
  under_every_schedule([&] {
    const Stream side = Stream::create(device);
    Tensor x;
    Event made(device);
    {
      const StreamGuard guard(side);
      x = to_device(arange(100, float32), device);
      made.record(side);
    }
    current_stream(device).wait(made);
    EXPECT_EQ(x.to_vector<float>(), arange(100, float32).to_vector<float>());
    EXPECT_TRUE(made.is_done());
    side.synchronize();
    EXPECT_TRUE(side.is_idle());
    x = Tensor();  // made on one stream, freed on another
  });
}

// CUDA remembers "not ready" as it does errors.
TEST_F(CudaCopy, WorkMayGoOnAfterAskingWhetherItIsDone) {
  simt::set_schedule({.order = simt::Order::forward, .lazy = true});
  const Tensor x = empty({100}, float32, device);
  Event done(device);
  kernels::fill(1, into(x));
  done.record(current_stream(device));
  EXPECT_FALSE(done.is_done());
  EXPECT_NO_THROW(kernels::fill(2, into(x)));
  EXPECT_FALSE(current_stream(device).is_idle());
  EXPECT_NO_THROW(kernels::fill(3, into(x)));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(100, 3));
}

}  // namespace
}  // namespace accrue::testing
