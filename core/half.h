// The two 16-bit floating point types: storage formats, the same bits on host and device.
//
// Arithmetic happens in float; conversion rounds to nearest, ties to even. float16 is IEEE
// binary16; bfloat16 is the upper half of a float32.
#pragma once
#include <bit>
#include <cstdint>

#include <accrue/core/macros.h>

namespace accrue {

struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  ACCRUE_HD explicit constexpr bfloat16(float value) : bits(round(value)) {}
  ACCRUE_HD constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  ACCRUE_HD static constexpr uint16_t round(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((u >> 16) | 0x40U);  // NaN
    return static_cast<uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
  }
};

struct float16 {
  uint16_t bits = 0;

  float16() = default;
  ACCRUE_HD explicit constexpr float16(float value) : bits(round(value)) {}
  ACCRUE_HD constexpr operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
    const uint32_t magnitude = bits & 0x7fffU;
    if (magnitude >= 0x7c00U)  // infinity, NaN
      return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
    if (magnitude < 0x0400U)  // zero, subnormal: a multiple of 2^-24
      return std::bit_cast<float>(
          sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F));
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
  }

 private:
  ACCRUE_HD static constexpr uint16_t round(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000U);
    const uint32_t magnitude = u & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return sign | 0x7e00U;   // NaN
    if (magnitude >= 0x477ff000U) return sign | 0x7c00U;  // 65520 and above: infinity
    if (magnitude < 0x38800000U) {  // below 2^-14: subnormal; adding 0.5 rounds at 2^-24
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
    }
    const uint32_t rounded = magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U);
    return static_cast<uint16_t>(sign | (rounded >> 13));
  }
};

static_assert(sizeof(bfloat16) == 2 && sizeof(float16) == 2);

}  // namespace accrue
