// Kernels whose result depends on random bits: pure functions of (seed, call, element), so that a
// backward, or a second forward, makes the same bits again instead of remembering them.
#pragma once
#include <accrue/core/philox.h>

#include <accrue/kernels/dispatch.h>

namespace accrue::kernels {

namespace cpu {
void dropout(const ConstView& x, double p, const Philox& bits, const Dest& y);
}  // namespace cpu
namespace cuda {
ACCRUE_OPTIONAL void dropout(const ConstView& x, double p, const Philox& bits, const Dest& y);
}  // namespace cuda

/// y = x / (1 - p) where bits32(i) >= p · 2³², else 0; i is the element's row-major index. It is
/// its own derivative: dx = dropout(dy).
inline void dropout(const ConstView& x, double p, const Philox& bits, const Dest& y) {
  dispatch("dropout", y.view.device, cpu::dropout, cuda::dropout, x, p, bits, y);
}

}  // namespace accrue::kernels
