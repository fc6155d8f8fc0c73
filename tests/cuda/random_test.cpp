#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/random.h>

namespace accrue::testing {
namespace {

using Random = OnExecutor;

// 1 / (1 - p) is a power of two, so that no rounding differs: the same elements are dropped.
TEST_F(Random, DropoutDropsWhatTheCpuDrops) {
  for (int64_t n : {1, 33, 1000, 4098}) {
    const Tensor x = arange(1, static_cast<double>(n + 1), 1, float32);
    const Philox bits{.seed = 5, .call = 3};
    Tensor right = empty_like(x);
    kernels::dropout(x, 0.5, bits, into(right));
    const std::vector<float> expected = right.to_vector<float>();
    under_every_schedule([&] {
      const Tensor y = empty(x.shape(), float32, device);
      kernels::dropout(to_device(x, device), 0.5, bits, into(y));
      EXPECT_EQ(y.to_vector<float>(), expected) << n;
    });
  }
}

}  // namespace
}  // namespace accrue::testing
