#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "peak.h"
#include "timing.h"

#include <accrue/kernels/cpu/parallel.h>

namespace accrue::bench {
namespace {

// Twelve chains hide the latency of the two multiply-add units: 4 cycles, of which each unit
// starts one a cycle.
constexpr int kChains = 12;
constexpr int64_t kSteps = 20000;

/// Runs the chains and returns the multiply-adds done, in FLOP. `seed` keeps them from being
/// computed in advance, `out` from being left out.
using Chains = double (*)(float seed, float* out);

double chains_scalar(float seed, float* out) {
  float x[kChains];
  for (int i = 0; i < kChains; ++i) x[i] = seed + static_cast<float>(i);
  for (int64_t step = 0; step < kSteps; ++step)
    for (float& chain : x) chain = chain * seed + 1e-6F;
  for (float chain : x) *out += chain;
  return 2.0 * kChains * kSteps;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double chains_512(float seed, float* out) {
  const __m512 a = _mm512_set1_ps(seed);
  const __m512 b = _mm512_set1_ps(1e-6F);
  __m512 x[kChains];
  for (__m512& chain : x) chain = a;
  for (int64_t step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (__m512& chain : x) chain = _mm512_fmadd_ps(chain, a, b);
  for (const __m512& chain : x) *out += _mm512_cvtss_f32(chain);
  return 2.0 * 16 * kChains * kSteps;
}

__attribute__((target("avx2,fma"))) double chains_256(float seed, float* out) {
  const __m256 a = _mm256_set1_ps(seed);
  const __m256 b = _mm256_set1_ps(1e-6F);
  __m256 x[kChains];
  for (__m256& chain : x) chain = a;
  for (int64_t step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (__m256& chain : x) chain = _mm256_fmadd_ps(chain, a, b);
  for (const __m256& chain : x) *out += _mm256_cvtss_f32(chain);
  return 2.0 * 8 * kChains * kSteps;
}
#endif

Chains widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return chains_512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return chains_256;
#endif
  return chains_scalar;
}

}  // namespace

double fma_rate(int threads) {
  static const Chains chains = widest();
  static std::atomic<float> sink = 0;
  double flop = 0;
  const double time = seconds([&] {
    kernels::cpu::parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
      float out = 0;
      double done = 0;
      for (int64_t i = begin; i < end; ++i) done += chains(0.999F, &out);
      sink.store(out, std::memory_order_relaxed);
      if (begin == 0) flop = done / static_cast<double>(end - begin);
    });
  });
  return flop * threads / time;
}

}  // namespace accrue::bench
