// Random bits as a pure function: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011). No state walks from number to number, so any thread or
// device can make any element: its bits depend on (seed, call, index) and on nothing else.
#pragma once
#include <cstdint>

#include <accrue/core/macros.h>

namespace accrue {

/// 128 bits, the lowest word first.
struct PhiloxWords {
  uint32_t word[4];

  /// Half 0 or 1 as one number.
  ACCRUE_HD constexpr uint64_t half(int i) const {
    return i == 0 ? word[0] | uint64_t{word[1]} << 32 : word[2] | uint64_t{word[3]} << 32;
  }
};

/// Ten rounds: in each, two 32 by 32 bit products are mixed with the key, which then moves on.
ACCRUE_HD constexpr PhiloxWords philox(PhiloxWords counter, uint64_t key) {
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter.word[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.word[1] ^ key0, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.word[3] ^ key1, static_cast<uint32_t>(a)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// Where the bits of one call of a random operation come from; a kernel takes it by value.
/// Block b serves elements 4 b .. 4 b + 3 with a word each, or 2 b and 2 b + 1 with a half each.
struct Philox {
  uint64_t seed = 0;
  uint64_t call = 0;

  ACCRUE_HD constexpr PhiloxWords block(uint64_t b) const {
    return philox({{static_cast<uint32_t>(b), static_cast<uint32_t>(b >> 32),
                    static_cast<uint32_t>(call), static_cast<uint32_t>(call >> 32)}},
                  seed);
  }
  ACCRUE_HD constexpr uint32_t bits32(int64_t element) const {
    const auto i = static_cast<uint64_t>(element);
    return block(i / 4).word[i % 4];
  }
  ACCRUE_HD constexpr uint64_t bits64(int64_t element) const {
    const auto i = static_cast<uint64_t>(element);
    return block(i / 2).half(static_cast<int>(i % 2));
  }
};

/// A multiple of 2^-24 in [0, 1).
ACCRUE_HD constexpr float unit_float(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}
/// A multiple of 2^-53 in [0, 1).
ACCRUE_HD constexpr double unit_double(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace accrue
