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

#include <atomic>
#include <cstdint>

namespace accrue::kernels::cpu {

/// Where the chosen target's code stands in Highway's tables; 0 until something has asked.
inline constinit std::atomic<size_t> target_index{0};
size_t choose_target();

/// HWY_DYNAMIC_DISPATCH(f), with the choice remembered where it costs one load.
#define ACCRUE_TARGET_DISPATCH(f) ::accrue::kernels::cpu::of_target(HWY_DISPATCH_TABLE(f))
template <class F, size_t n>
F of_target(const F (&table)[n]) {
  if (n == 1) return table[0];  // an architecture with one instruction set
  const size_t index = target_index.load(std::memory_order_relaxed);
  return table[index != 0 ? index : choose_target()];
}

/// "avx3", "avx2" or "baseline": what the vector code runs as on this machine.
const char* simd_target();

/// As ACCRUE_CPU, from now on; "" lifts the bound. Throws ValueError for another name. For tests,
/// while no kernel runs.
void limit_simd_target(const char* name);

}  // namespace accrue::kernels::cpu
