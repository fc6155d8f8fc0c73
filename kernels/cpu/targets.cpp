#include <cstdlib>
#include <string_view>

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <accrue/core/error.h>

#include <accrue/kernels/cpu/targets.h>

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
}

// Before main, so that it holds for every kernel; a name that is wrong is ignored here and
// reported by simd_target()'s caller, `accrue doctor`.
const bool applied_environment = [] {
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

void limit_simd_target(const char* name) { limit(name); }

}  // namespace accrue::kernels::cpu
