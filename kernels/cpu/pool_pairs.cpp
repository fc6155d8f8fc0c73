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

void max_of_pairs_rows(const float* above, const float* below, int64_t n, int32_t first,
                       int32_t width, float* y, int32_t* index) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(di, 1), below_by = hn::Set(di, width);
  int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    auto best = hn::Undefined(d), b = best, c = best, e = best;
    hn::LoadInterleaved2(d, above + 2 * j, best, b);
    hn::LoadInterleaved2(d, below + 2 * j, c, e);
    const auto step = hn::Iota(di, 0);
    auto at = hn::Add(hn::Add(step, step), hn::Set(di, first + static_cast<int32_t>(2 * j)));
    const auto start = at;
    take(b, hn::Add(start, one), best, at);
    take(c, hn::Add(start, below_by), best, at);
    take(e, hn::Add(start, hn::Add(below_by, one)), best, at);
    hn::StoreU(best, d, y + j);
    hn::StoreU(at, di, index + j);
  }
  for (; j < n; ++j) {
    const float window[] = {above[2 * j], above[2 * j + 1], below[2 * j], below[2 * j + 1]};
    const auto start = first + static_cast<int32_t>(2 * j);
    const int32_t places[] = {start, start + 1, start + width, start + width + 1};
    int best = 0;
    for (int i = 1; i < 4; ++i) {
      const bool stays = window[i] <= window[best] || window[best] != window[best];
      best = stays ? best : i;
    }
    y[j] = window[best];
    index[j] = places[best];
  }
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {

HWY_EXPORT(max_of_pairs_rows);

void max_of_pairs(const float* above, const float* below, int64_t n, int32_t first, int32_t width,
                  float* y, int32_t* index) {
  HWY_DYNAMIC_DISPATCH(max_of_pairs_rows)(above, below, n, first, width, y, index);
}

}  // namespace accrue::kernels::cpu
#endif
