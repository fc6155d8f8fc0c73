// Rows of 16-bit floating point numbers to float and back, vectorised: the same values as the
// conversions of core/half.h, and the same bits but for a NaN's payload.
#pragma once
#include <cstdint>

#include <accrue/core/half.h>

namespace accrue::kernels::cpu {

void widen(const bfloat16* from, int64_t n, float* to);
void widen(const float16* from, int64_t n, float* to);
/// Rounds to nearest, ties to even.
void round_to(const float* from, int64_t n, bfloat16* to);
void round_to(const float* from, int64_t n, float16* to);

}  // namespace accrue::kernels::cpu
