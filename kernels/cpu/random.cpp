// Philox of core/philox.h with one block in each lane, for every target of targets.h.
#include <accrue/kernels/cpu/targets.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "random.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <accrue/core/philox.h>

#include <accrue/kernels/cpu/arithmetic.h>
#include <accrue/kernels/cpu/parallel.h>
#include <accrue/kernels/cpu/rows.h>
#include <accrue/kernels/random.h>

HWY_BEFORE_NAMESPACE();
namespace accrue::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::ScalableTag<uint32_t>;
using Words = hn::Vec<U32>;

/// The upper half of each product.
HWY_INLINE Words multiply_high(Words a, Words b) {
  const U32 d;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, static_cast<uint32_t>(uint64_t{hn::GetLane(a)} * hn::GetLane(b) >> 32));
#else
  const hn::Repartition<uint64_t, U32> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))),
                               hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, b))));
  return hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
#endif
}

/// words[4 i + j] = word j of block first + i. REQUIRES: `count` is a multiple of 16, which is the
/// most lanes there are.
void philox_blocks(Philox bits, uint64_t first, int64_t count, uint32_t* words) {
  const U32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Words multiplier0 = hn::Set(d, 0xD2511F53);
  const Words multiplier1 = hn::Set(d, 0xCD9E8D57);
  for (int64_t i = 0; i < count; i += lanes) {
    const uint64_t block = first + static_cast<uint64_t>(i);
    const Words low = hn::Set(d, static_cast<uint32_t>(block));
    Words c0 = hn::Add(low, hn::Iota(d, 0));
    // Where the lower half wraps around, the upper one is one more.
    const Words carry = hn::IfThenElseZero(hn::Lt(c0, low), hn::Set(d, 1));
    Words c1 = hn::Add(hn::Set(d, static_cast<uint32_t>(block >> 32)), carry);
    Words c2 = hn::Set(d, static_cast<uint32_t>(bits.call));
    Words c3 = hn::Set(d, static_cast<uint32_t>(bits.call >> 32));
    auto key0 = static_cast<uint32_t>(bits.seed);
    auto key1 = static_cast<uint32_t>(bits.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Words high0 = multiply_high(multiplier0, c0);
      const Words high1 = multiply_high(multiplier1, c2);
      const Words low0 = hn::Mul(multiplier0, c0);
      const Words low1 = hn::Mul(multiplier1, c2);
      c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
      c1 = low1;
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
      c3 = low0;
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + 4 * i);
  }
}

}  // namespace accrue::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace accrue::kernels::cpu {
HWY_EXPORT(philox_blocks);

void dropout(const ConstView& x, double p, const Philox& bits, const Dest& y) {
  constexpr int64_t chunk = 1024;
  const auto threshold = static_cast<uint64_t>(p * 0x1p32);
  const int64_t n = numel(y.view.shape);
  visit_compute(y.view.dtype, [&]<class C>() {
    const auto scale = static_cast<C>(1 / (1 - p));
    const RowReader<C> in(x, 0, x.shape.size());
    const RowWriter<C> out(y, 0, y.view.shape.size());
    parallel_for(ceil_div(n, chunk), 8, [&](int64_t begin, int64_t end) {
      alignas(64) uint32_t words[chunk];
      C buffer[chunk];
      C result[chunk];
      for (int64_t at = begin * chunk; at < std::min(n, end * chunk); at += chunk) {
        const int64_t count = std::min(chunk, n - at);
        HWY_DYNAMIC_DISPATCH(philox_blocks)(bits, static_cast<uint64_t>(at / 4), chunk / 4, words);
        const C* const from = in.read(0, at, count, buffer);
        C* const to = out.place(0, at, result);
        for (int64_t i = 0; i < count; ++i) to[i] = words[i] >= threshold ? from[i] * scale : C(0);
        out.put(0, at, count, to);
      }
    });
  });
}

}  // namespace accrue::kernels::cpu
#endif
