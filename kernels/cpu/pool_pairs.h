// The commonest pooling, 2 by 2 windows side by side, as vector code. Internal to pool.cpp.
#pragma once
#include <cstdint>

namespace accrue::kernels::cpu {

// y[j] = max of above[2j], above[2j + 1], below[2j], below[2j + 1] for j < n; index[j] = first + 2j
// if it is the first of them, first + 2j + width if the third, and so on.
void max_of_pairs(const float* above, const float* below, int64_t n, int32_t first, int32_t width,
                  float* y, int32_t* index);

}  // namespace accrue::kernels::cpu
