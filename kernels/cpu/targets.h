// The instruction sets that accrue's vector code is compiled for: AVX-512, AVX2 with FMA, and what
// every processor of the architecture has. The best one that runs here is chosen at the first call;
// ACCRUE_CPU=avx3|avx2|baseline in the environment sets an upper bound, for tests and comparisons.
//
// Included before <hwy/foreach_target.h> by every file that uses it.
#pragma once

#undef HWY_DISABLED_TARGETS
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The code of AVX-512 is AVX2's with wider vectors, and instrumented it takes longest to compile.
#define HWY_DISABLED_TARGETS                                                          \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128 | HWY_RVV)
#else
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

namespace accrue::kernels::cpu {

/// "avx3", "avx2" or "baseline": what the vector code runs as on this machine.
const char* simd_target();

/// As ACCRUE_CPU, from now on; "" lifts the bound. Throws ValueError for another name. For tests,
/// while no kernel runs.
void limit_simd_target(const char* name);

}  // namespace accrue::kernels::cpu
