// The vector loop of 2 by 2 pooling, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pool_pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <accrue/kernels/cpu/pool_pairs.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Takes `value` where it is larger than `best`, or the first NaN.
template <class V, class I>
HWY_INLINE void take(V value, I at, V& best, I& index) {
  const auto stays = hn::Or(hn::Le(value, best), hn::IsNaN(best));
  const hn::DFromV<I> di;
  best = hn::IfThenElse(stays, best, value);
  index = hn::IfThenElse(hn::RebindMask(di, stays), index, at);
}

// With vectors of N lanes, N <= n; the last one overlaps the one before it.
template <size_t N>
HWY_INLINE void max_by_lanes(const float* above, const float* below, int64_t n, int32_t first,
                             int32_t width, float* y, int32_t* index) {
  const hn::CappedTag<float, N> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto twice = hn::Add(hn::Iota(di, 0), hn::Iota(di, 0));
  for (int64_t j = 0; j < n; j += lanes) {
    j = HWY_MIN(j, n - lanes);
    auto best = hn::Zero(d), right = best, low = best, low_right = best;
    hn::LoadInterleaved2(d, above + 2 * j, best, right);
    hn::LoadInterleaved2(d, below + 2 * j, low, low_right);
    const auto start = hn::Add(twice, hn::Set(di, first + static_cast<int32_t>(2 * j)));
    auto at = start;
    take(right, hn::Add(start, hn::Set(di, 1)), best, at);
    take(low, hn::Add(start, hn::Set(di, width)), best, at);
    take(low_right, hn::Add(start, hn::Set(di, width + 1)), best, at);
    hn::StoreU(best, d, y + j);
    hn::StoreU(at, di, index + j);
  }
}

void max_of_pairs_row(const float* above, const float* below, int64_t n, int32_t first,
                      int32_t width, float* y, int32_t* index) {
  if (n >= 16) return max_by_lanes<16>(above, below, n, first, width, y, index);
  if (n >= 8) return max_by_lanes<8>(above, below, n, first, width, y, index);
  if (n >= 4) return max_by_lanes<4>(above, below, n, first, width, y, index);
  max_by_lanes<1>(above, below, n, first, width, y, index);
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {

HWY_EXPORT(max_of_pairs_row);

void max_of_pairs(const float* above, const float* below, int64_t n, int32_t first, int32_t width,
                  float* y, int32_t* index) {
  HWY_DYNAMIC_DISPATCH(max_of_pairs_row)(above, below, n, first, width, y, index);
}

}  // namespace accrue::kernels::cpu
#endif
