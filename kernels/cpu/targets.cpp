#include <cstdlib>
#include <string_view>

// targets.h first: it tells Highway which targets there are, and with that where each stands in
// the tables.
// clang-format off
#include <accrue/core/error.h>

#include <accrue/kernels/cpu/targets.h>

#include <hwy/highway.h>
#include <hwy/targets.h>
// clang-format on

namespace accrue::kernels::cpu {
namespace {

// Highway numbers its targets so that a better one of the same architecture has the lower bit.
#if HWY_ARCH_X86
constexpr int64_t kAvx3 = HWY_AVX3;
constexpr int64_t kAvx2 = HWY_AVX2;
#else
constexpr int64_t kAvx3 = 0;
constexpr int64_t kAvx2 = 0;
#endif

void limit(std::string_view name) {
  const bool known = name.empty() || name == "avx3" || name == "avx2" || name == "baseline";
  check<ValueError>(known, "ACCRUE_CPU: unknown instruction set ", name,
                    "; it is avx3, avx2 or baseline");
  hwy::SetSupportedTargetsForTest(0);
  int64_t allowed = hwy::SupportedTargets();
  if (name == "avx2" || name == "baseline") allowed &= ~(kAvx3 | (kAvx3 - (kAvx3 != 0)));
  if (name == "baseline") allowed &= ~(kAvx2 | (kAvx2 - (kAvx2 != 0)));
  if (!name.empty()) hwy::SetSupportedTargetsForTest(allowed);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  target_index.store(hwy::GetChosenTarget().GetIndex(), std::memory_order_relaxed);
}

// Before main, so that it holds for every kernel; a name that is wrong is ignored here and
// reported by simd_target()'s caller, `accrue doctor`.
const bool kEnvironmentApplied = [] {
  const char* name = std::getenv("ACCRUE_CPU");
  const std::string_view text = name ? name : "";
  if (text == "avx3" || text == "avx2" || text == "baseline") limit(text);
  return true;
}();

}  // namespace

const char* simd_target() {
  const int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  if (usable & kAvx3) return "avx3";
  return usable & kAvx2 ? "avx2" : "baseline";
}

size_t choose_target() {
  hwy::ChosenTarget& target = hwy::GetChosenTarget();
  if (!target.IsInitialized()) target.Update(hwy::SupportedTargets());
  target_index.store(target.GetIndex(), std::memory_order_relaxed);
  return target.GetIndex();
}

void limit_simd_target(const char* name) { limit(name); }

}  // namespace accrue::kernels::cpu
