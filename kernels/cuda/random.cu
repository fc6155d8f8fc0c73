#include <accrue/kernels/cuda/element.cuh>
#include <accrue/kernels/cuda/launch.cuh>
#include <accrue/kernels/random.h>

namespace accrue::kernels::cuda {
namespace {

/// One Philox block, which serves four elements, for each thread.
template <class C, class X, class Y>
__global__ void dropout_kernel(X x, Y y, long n, uint64_t threshold, C scale, Philox bits) {
  for (long b = thread_number(); 4 * b < n; b += thread_count()) {
    const PhiloxWords words = bits.block(static_cast<uint64_t>(b));
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long i = 4 * b + j;
      if (i < n) y.set(i, words.word[j] >= threshold ? x[i] * scale : C(0));
    }
  }
}

}  // namespace

void dropout(const ConstView& x, double p, const Philox& bits, const Dest& y) {
  const long n = numel(y.view.shape);
  if (n == 0) return;
  const Launcher on(y.view.device);
  visit_operands(
      y.view.dtype,
      [&]<class C, class X, class Y>() {
        on.check(LAUNCH((dropout_kernel<C, X, Y>), blocks_for((n + 3) / 4), kThreads, 0,
                        on.stream(), X(x), Y(y), n, static_cast<uint64_t>(p * 0x1p32),
                        static_cast<C>(1 / (1 - p)), bits),
                 "dropout");
      },
      x, y);
}

}  // namespace accrue::kernels::cuda
