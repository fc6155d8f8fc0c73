#include "tests/cuda/support.h"

#include <accrue/core/factories.h>
#include <accrue/core/random.h>

#include <accrue/kernels/random.h>

namespace accrue::testing {
namespace {

using Random = OnExecutor;

// 1 / (1 - p) is a power of two, so that no rounding differs: the same elements are dropped.
TEST_F(Random, DropoutDropsWhatTheCpuDrops) {
  for (DType t : {float32, float64, DType::bfloat16})
    for (int64_t n : {0, 1, 33, 1000, 4098})
      expect_as_on_cpu({arange(1, static_cast<double>(n + 1), 1, t)},
                       [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
                         const Tensor y = empty_like(x[0]);
                         kernels::dropout(x[0], 0.5, {.seed = 5, .call = 3}, into(y));
                         return {y};
                       });
}

}  // namespace
}  // namespace accrue::testing
