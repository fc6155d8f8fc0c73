// The vector loops of half_rows.h, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "half_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <accrue/kernels/cpu/half_rows.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using F32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(F32()));

HWY_INLINE const uint16_t* bits_of(const bfloat16* x) {
  return reinterpret_cast<const uint16_t*>(x);
}
HWY_INLINE const uint16_t* bits_of(const float16* x) {
  return reinterpret_cast<const uint16_t*>(x);
}
HWY_INLINE uint16_t* bits_of(bfloat16* x) { return reinterpret_cast<uint16_t*>(x); }

void widen_bfloat16(const bfloat16* from, int64_t n, float* to) {
  const U32 d;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto bits = hn::PromoteTo(d, hn::LoadU(U16(), bits_of(from + i)));
    hn::StoreU(hn::BitCast(F32(), hn::ShiftLeft<16>(bits)), F32(), to + i);
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

void round_to_bfloat16(const float* from, int64_t n, bfloat16* to) {
  const U32 d;
  const hn::RebindToSigned<F32> s;
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto x = hn::LoadU(F32(), from + i);
    const auto bits = hn::BitCast(d, x);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(upper, hn::Set(d, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd));
    const auto nan = hn::RebindMask(d, hn::Not(hn::Eq(x, x)));
    const auto result = hn::IfThenElse(nan, hn::Or(upper, hn::Set(d, 0x40)), rounded);
    hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(s, result)), U16(), bits_of(to + i));
  }
  for (; i < n; ++i) to[i] = bfloat16(from[i]);
}

#if HWY_TARGET <= HWY_AVX2  // where one instruction does it
using F16 = hn::Rebind<hwy::float16_t, F32>;
void widen_float16(const float16* from, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto x = hn::BitCast(F16(), hn::LoadU(U16(), bits_of(from + i)));
    hn::StoreU(hn::PromoteTo(F32(), x), F32(), to + i);
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
void round_to_float16(const float* from, int64_t n, float16* to) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const auto x = hn::DemoteTo(F16(), hn::LoadU(F32(), from + i));
    hn::StoreU(hn::BitCast(U16(), x), U16(), reinterpret_cast<uint16_t*>(to + i));
  }
  for (; i < n; ++i) to[i] = float16(from[i]);
}
#else
void widen_float16(const float16* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
void round_to_float16(const float* from, int64_t n, float16* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = float16(from[i]);
}
#endif

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(widen_bfloat16);
HWY_EXPORT(widen_float16);
HWY_EXPORT(round_to_bfloat16);
HWY_EXPORT(round_to_float16);

void widen(const bfloat16* from, int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_bfloat16)(from, n, to);
}
void widen(const float16* from, int64_t n, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_float16)(from, n, to);
}
void round_to(const float* from, int64_t n, bfloat16* to) {
  HWY_DYNAMIC_DISPATCH(round_to_bfloat16)(from, n, to);
}
void round_to(const float* from, int64_t n, float16* to) {
  HWY_DYNAMIC_DISPATCH(round_to_float16)(from, n, to);
}

}  // namespace accrue::kernels::cpu
#endif
